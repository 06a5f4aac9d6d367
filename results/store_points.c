/* What a trial measured place by place (workload.h, nm_curve_point): one blob of LEB128 numbers,
 * three per point, that only charts, `show` and export read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "select.h"
#include "store_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 3 /* of one point */

_Static_assert(sizeof(struct nm_curve_point) == NUMBERS * sizeof(uint64_t),
               "packed as plain numbers");

int nm_store_points(struct nm_store *store, int64_t trial_id, const struct nm_curve_point *points,
                    size_t n, struct nm_error *err)
{
    unsigned char *blob;
    uint64_t *numbers;
    size_t size;
    int r;

    if (!n)
        return 0;
    numbers = malloc(n * sizeof(*points));
    if (numbers)
        memcpy(numbers, points, n * sizeof(*points));
    blob = numbers ? nm_pack_bins(numbers, n * NUMBERS, &size) : NULL;
    free(numbers);
    if (!blob)
        return nm_error_errno(err, -ENOMEM, "store: out of memory");
    r = nm_sql_run(store, "INSERT INTO points VALUES(?, ?, ?)", err, "iub", trial_id, (uint64_t)n,
                   blob, size);
    free(blob);
    return r;
}

int nm_select_points(struct nm_store *store, int64_t trial_id, struct nm_curve_point **ret_points,
                     size_t *ret_n, struct nm_error *err)
{
    uint64_t *numbers;
    sqlite3_stmt *statement;
    size_t n;
    int r = nm_sql_query(store, "SELECT data FROM points WHERE trial_id=?", &statement, err, "i",
                         trial_id);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r == 0)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "trial %" PRId64 " has no samples over position", trial_id);
    if (r < 0)
        return r;
    r = nm_pack_read(sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0),
                     &numbers, &n, err);
    sqlite3_reset(statement);
    if (r < 0)
        return r;
    *ret_points = calloc(n / NUMBERS + 1, sizeof(**ret_points));
    if (*ret_points)
        memcpy(*ret_points, numbers, n / NUMBERS * sizeof(**ret_points));
    free(numbers);
    if (!*ret_points)
        return nm_error_errno(err, -ENOMEM, "samples over position: out of memory");
    *ret_n = n / NUMBERS;
    return 0;
}
