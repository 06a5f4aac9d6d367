/* Importer kdiskmark.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import_target.h"

FUZZ_IMPORTER("kdiskmark")
