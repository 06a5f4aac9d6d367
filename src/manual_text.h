/* The prose of the man page; everything else in it comes from tables (manual.c).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_MANUAL_TEXT_H
#define NM_MANUAL_TEXT_H

struct nm_manual_block {
    const char *heading; /* begins a section; NULL = goes on */
    const char *term;    /* a definition, "term: text"; NULL = paragraph */
    const char *text;    /* begins with a blank: literal lines */
};

extern const struct nm_manual_block
    nm_manual_before[]; /* before the commands; ends with text NULL */
extern const struct nm_manual_block nm_manual_after[]; /* behind the tables */

#endif
