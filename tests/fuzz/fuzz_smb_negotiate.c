/* The answer of an SMB server to NEGOTIATE: whatever it is, nothing is read beyond it, and what is
 * accepted has a dialect that was asked for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb/smb.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_smb_server server;
    struct nm_error err = {0};

    if (nm_smb_negotiate_parse(data, size, NM_SMB_2_10, NM_SMB_3_11, 0, &server, &err) == 0) {
        if (server.dialect < NM_SMB_2_10 || server.dialect > NM_SMB_3_11 ||
            !*nm_smb_cipher_name(server.cipher) || !*nm_smb_signing_name(server.signing_algorithm))
            abort();
    } else if (!err.code || !*err.text) {
        abort();
    }
    return 0;
}
