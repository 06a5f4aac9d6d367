/* Checks that hold for files and blocks alike (common.c).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TEST_CONTRACT_COMMON_H
#define NM_TEST_CONTRACT_COMMON_H

#include "contract.h"

void describe_twice(struct session *s);
void protected_before_claim(struct session *s);
void unsupported_kinds(struct session *s);
void disconnect_null(struct session *s);
void frozen_server(struct session *s);

#endif
