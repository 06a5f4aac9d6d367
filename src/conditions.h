/* Conditions: everything that was in force during a trial and can change its number.
 *
 * One table (conditions.c) declares every name with unit and class; code that sets an undeclared
 * name is a defect and fails the tests. The set itself is plain data of fixed size, so that a
 * worker can fill it in shared memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CONDITIONS_H
#define NM_CONDITIONS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_condition_class {
    NM_CONDITION_KEY,     /* part of the identity of a cell: trials that differ are never pooled */
    NM_CONDITION_IMPLIED, /* not part of it, but two cells that differ are compared only when a
                             factor in `implied_by` is what is compared */
    NM_CONDITION_INFO,    /* stored and shown, never compared */
};

/* Factors a comparison can be about; a bit mask. */
enum nm_factor {
    NM_FACTOR_FIRMWARE = 1 << 0,
    NM_FACTOR_VOLUME = 1 << 1,
    NM_FACTOR_PROTOCOL = 1 << 2,
    NM_FACTOR_CLIENT = 1 << 3,
    NM_FACTOR_NAS = 1 << 4,
};

struct nm_condition_def {
    const char *name; /* "smb.dialect", "block_bytes" */
    const char *unit; /* "B", "Mbit/s", "" */
    enum nm_condition_class class;
    unsigned implied_by; /* mask of nm_factor: comparing one of them explains the difference */
    const char *help;
};

#define NM_CONDITIONS_MAX 96

struct nm_condition {
    char name[32];
    char value[128];
};

struct nm_conditions {
    uint32_t count;
    struct nm_condition items[NM_CONDITIONS_MAX];
};

/* Sets or replaces; values longer than the field are cut. Nothing is lost silently: in a full set
 * the last item becomes "conditions.overflow", which is a key condition. */
void nm_conditions_set(struct nm_conditions *set, const char *name, const char *fmt, ...)
    NM_PRINTF(3, 4);
const char *nm_conditions_get(const struct nm_conditions *set,
                              const char *name); /* NULL = absent */
void nm_conditions_merge(struct nm_conditions *set, const struct nm_conditions *other);

extern const struct nm_condition_def nm_condition_table[];
extern const size_t nm_condition_table_length;
const struct nm_condition_def *nm_condition_find(const char *name); /* NULL = not declared */

/* Canonical text of the key conditions ("name=value\n" sorted by name), the input of the comparison
 * hash. Heap; NULL when out of memory. */
char *nm_conditions_key_text(const struct nm_conditions *set);

/* The first condition that forbids comparing a with b when `factors` are compared and the names in
 * `allowed` (NULL-terminated, may be NULL) are waived; rows of the table from *from on, which moves
 * behind the one found. NULL = comparable. A condition that one side does not know (other protocol,
 * imported data) forbids nothing. */
const struct nm_condition_def *nm_conditions_conflict(const struct nm_conditions *a,
                                                      const struct nm_conditions *b,
                                                      unsigned factors, const char *const *allowed,
                                                      size_t *from);

#endif
