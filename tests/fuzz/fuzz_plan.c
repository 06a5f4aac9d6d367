/* Plans from anybody, with the real tables of backends and workloads. The part behind a NUL byte is
 * a --set. What is accepted, printed and read again is the same plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Text that a plan can carry: --set may hold what would be a comment in a file. */
static bool survives_a_file(const char *text)
{
    return !strstr(text, " ;") && !strstr(text, "\t;");
}

static void check_again(const struct nm_plan *plan, struct nm_vault *vault)
{
    char *text = nm_plan_format(plan), *first = nm_plan_canonical_run(plan), *second;
    char *warnings = NULL;
    struct nm_plan *again = NULL;

    if (survives_a_file(text)) {
        require(nm_plan_parse("again", text, strlen(text), NULL, 0, vault, &again, &warnings,
                              NULL) == 0);
        second = nm_plan_canonical_run(again);
        require(!strcmp(first, second));
        free(second);
        nm_plan_free(again);
        free(warnings);
    }
    free(text);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    char *set = end ? strndup((const char *)end + 1, size - length - 1) : NULL;
    struct nm_plan *plan = NULL;
    struct nm_vault *vault = NULL;
    char *warnings = NULL;
    struct nm_error err = {0};

    require(nm_vault_new(&vault, NULL) == 0);
    if (nm_plan_parse("fuzz", (const char *)data, length, (const char *const *)&set, set ? 1 : 0,
                      vault, &plan, &warnings, &err) == 0) {
        require(plan->n_volumes && plan->n_workloads && plan->n_protocols);
        check_again(plan, vault);
    } else {
        require(!plan && !warnings && err.code < 0 && err.text[0]);
    }
    nm_plan_free(plan);
    nm_vault_free(vault);
    free(warnings);
    free(set);
    return 0;
}
