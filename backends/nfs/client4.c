/* Who we are to an NFSv4 server: a client identity with a lease that has to be renewed.
 *
 * Every session is a client of its own, so that nothing of an earlier one is in the way. The lease
 * is renewed by what carries open state, and before an operation after a pause.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int nm_nfs4_client_begin(struct nm_nfs_session *s, struct nm_error *err)
{
    static const enum nm_nfs_call_kind kinds[] = {NM_NFS_CLIENT_SET, NM_NFS_CLIENT_CONFIRM};
    char machine[48] = "";
    uint64_t unique = 0;

    if (getrandom(&unique, sizeof(unique), 0) != sizeof(unique))
        unique = nm_clock_utc_ns();
    (void)gethostname(machine, sizeof(machine) - 1);
    snprintf(s->client_name, sizeof(s->client_name), "nasmark %s %d %016llx", machine,
             (int)getpid(), (unsigned long long)unique);
    memcpy(s->client_verifier, &unique, sizeof(s->client_verifier));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct nm_nfs_call call;
        int status;

        nm_nfs_call_init(&call, s, kinds[i]);
        status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
        if (status)
            return nm_nfs_status_error(s, status, call.rejection, err, "register at %s as client",
                                       s->peer.name);
    }
    s->renewed_ns = nm_clock_now_ns();
    s->cannot_write = !nm_nfs4_large_calls();
    return 0;
}

int nm_nfs4_client_keep(struct nm_nfs_session *s, struct nm_error *err)
{
    struct nm_nfs_call call;
    int status;

    if (!s->proto->has_opens || nm_clock_now_ns() - s->renewed_ns < s->lease_ns / 2)
        return 0;
    nm_nfs_call_init(&call, s, NM_NFS_RENEW);
    status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
    if ((status == NM_NFS_EXPIRED || status == NM_NFS_STALE_CLIENTID) &&
        s->open_files.next == &s->open_files)
        return nm_nfs4_client_begin(s, err); /* nothing was open, so nothing is lost */
    if (status)
        return nm_nfs_status_error(s, status, call.rejection, err, "renew the lease at %s",
                                   s->peer.name);
    s->renewed_ns = nm_clock_now_ns();
    return 0;
}
