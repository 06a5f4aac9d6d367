/* From the bytes of a file to the text that importers read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_IMPORT_DECODE_H
#define NM_IMPORT_DECODE_H

#include "../../src/error.h"

#include <stddef.h>

/* UTF-16 with a byte order mark, as programs on Windows save it, becomes UTF-8 in new memory; the
 * old is freed. Other text stays as it is: what is not UTF-8 is up to the importer. -EBADMSG when
 * it is no text. */
int nm_import_decode(char **text, size_t *length, struct nm_error *err) NM_MUST_CHECK;

#endif
