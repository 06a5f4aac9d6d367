/* Memory that held a secret (credentials.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"

#include <string.h>

void nm_secrets_wipe(void *memory, size_t size)
{
    explicit_bzero(memory, size);
}
