/* Checks in files of their own: common.c holds for files and blocks alike, names.c for files.
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

void make_directory(struct session *s);
void directories(struct session *s);
void missing_names(struct session *s);
void listing(struct session *s);
void renaming(struct session *s);
void names(struct session *s);
void deep_directory(struct session *s);
void remove_everything(struct session *s);

/* RENAME within the suite's directory; the result, and op as it was run. */
int64_t rename_to(struct session *s, const char *from, const char *to, struct nm_op *op);

#endif
