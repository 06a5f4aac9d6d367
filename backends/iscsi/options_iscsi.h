/* Section [iscsi] of the plan, common to the raw LUN and to the file system on it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ISCSI_OPTIONS_H
#define NM_ISCSI_OPTIONS_H

#include "options.h"

struct nm_iscsi_options {
    char *allow_destroy; /* words IQN/LUN */
    uint32_t sessions;
    bool prefill;
    char *initiator; /* NULL = made from the host name */
};

extern const struct nm_option_section nm_iscsi_section;

#endif
