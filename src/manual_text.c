/* The prose of the man page (manual_text.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "manual_text.h"

#include <stddef.h>

const struct nm_manual_block nm_manual_before[] = {
    {"DESCRIPTION", NULL,
     "nasmark measures how fast files go to and come from network storage. It speaks SMB, NFS and "
     "iSCSI itself, so no root, no mount and no page cache of this machine stand between the "
     "number and the NAS; directories and devices of this machine can be measured too. Every "
     "trial, with its samples and conditions, goes into one database file. Tables, charts and "
     "comparisons are made from there, at any later time."},
    {NULL, NULL,
     "A number is published only if it was measured: what failed is shown as failed with its "
     "reason, what does not apply as n/a. Nothing that nasmark did not create is overwritten or "
     "deleted."},
    {"TERMS", "NAS", "the device under test, with its firmware version."},
    {NULL, "volume", "one storage configuration of it (single disk, RAID 5, encrypted ...)."},
    {NULL, "protocol", "smb, iscsi, nfs, local or http."},
    {NULL, "target", "one volume over one protocol, named by a URL."},
    {NULL, "workload", "what is done, like copy:1x2GB; it has phases, like upload and download."},
    {NULL, "cell", "target, workload and phase: one number of a table."},
    {NULL, "trial", "one measured execution of a cell."},
    {NULL, "pass", "one round over all cells; the trials of a cell belong to different passes."},
    {NULL, "condition",
     "anything in force that can change the number. Cells whose key conditions differ are never "
     "pooled."},
    {NULL, NULL, NULL},
};

const struct nm_manual_block nm_manual_after[] = {
    {"TARGETS", NULL,
     " smb://[[DOMAIN;]USER@]HOST[:PORT]/SHARE[/PATH]\n"
     " nfs://HOST[:PORT]/EXPORT/PATH[?version=3|4&uid=N&gid=N&mountport=N]\n"
     " iscsi://[USER@]HOST[:PORT]/TARGET/LUN[?fs=ext4|raw]\n"
     " http[s]://[USER@]HOST[:PORT]/PATH\n"
     " local:/PATH or /PATH\n"
     " null:[NAME][?KEY=VALUE...]"},
    {NULL, NULL,
     "IPv6 addresses stand in brackets, a zone as in [fe80::1%25eth0]. Anything may be "
     "percent-encoded, and a blank or a letter beyond ASCII need not be. An argument that is not "
     "known is an error. A port of NFS is that of the NFS service itself; naming it leaves out the "
     "portmapper. ?fs= says what is on a LUN: ext4 for files (default of workloads that need "
     "files), raw for its blocks."},
    {"SECRETS", NULL,
     "Passwords come from the first of: the file of --credentials, the environment variable "
     "NASMARK_PASSWORD (for URLs that name a user), the URL itself, a prompt on the terminal. "
     "The file must not be readable by others (chmod 600):"},
    {NULL, NULL,
     " [nas]\n"
     " user = reviewer\n"
     " password = anything, verbatim up to the end of the line\n"
     " domain = OFFICE\n"
     " [nas/private]\n"
     " user = admin\n"
     " password = for one share\n"
     " [[fe80::1]:3260/iqn.1994-11.com.example:lun1]\n"
     " chap_user = initiator\n"
     " chap_secret = twelve or more characters\n"
     " chap_target_user = target\n"
     " chap_target_secret = for mutual CHAP"},
    {NULL, NULL,
     "A section is a host, host:port, or either with /share or /target. A section that names "
     "another user than the URL does not apply. In a URL the characters @ : / % of a password are "
     "percent-encoded. No secret is stored, logged or shown, and command line and environment are "
     "overwritten at start."},
    {"SELECTIONS", NULL,
     "Commands that read the database take words KEY=VALUE, all of which must fit; VALUE may hold "
     "* ? and [...]: nas, firmware, volume, kind, protocol, workload, phase, run, campaign, since "
     "(a date), source (measured or imported). Without any: the newest firmware of each NAS, its "
     "newest campaign."},
    {"CSV FILES", NULL,
     "`import csv` knows a file by its header. Columns stand in any order and are named exactly "
     "so; "
     "lines that begin with # are remarks. Trials (a further column is a condition of that name; "
     "the columns behind duration_ns may be missing, `export --format csv` writes them all):"},
    {NULL, NULL,
     " nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns,\n"
     " status,reason,raw,message,files,operations,cpu_ns,streams,flags,origin,source_text,\n"
     " run,round,start_utc_ns,firmware_date,label,interface"},
    {NULL, NULL,
     "Published tables; NAS and firmware come from --nas and --firmware, an empty rate is \"not "
     "applicable\":"},
    {NULL, "protocol,workload,volume,volume_kind,upload_mb_s,download_mb_s",
     "copies; the workload is a set of files like 1000x2MB."},
    {NULL, "filesystem,out_chr_k_s,out_block_k_s,rewrite_k_s,in_block_k_s,seeks_s",
     "Bonnie++; also size, in_chr_k_s, and out_chr_cpu, lat_out_chr ... of each."},
    {NULL, "device,part,average_read_mb_s", "drive benchmarks; also note."},
    {NULL, "layout,start_sector,run,seconds,mb_s", "runs of dd; also real_s, user_s, sys_s."},
    {"UNITS", NULL,
     "Sizes: B; kB KB MB GB TB are powers of 1000; KiB MiB GiB TiB, and k m g t alone, powers of "
     "1024. Durations: ns us ms s m h; a number alone is seconds. MB/s is 10^6 bytes per second "
     "everywhere."},
    {"ENVIRONMENT", "NASMARK_DB", "the database, when --db does not say."},
    {NULL, "NASMARK_PASSWORD", "see SECRETS."},
    {NULL, "NO_COLOR", "no colours when it is set."},
    {NULL, "XDG_DATA_HOME", "where the default database lives; default ~/.local/share."},
    {"FILES", "$XDG_DATA_HOME/nasmark/nasmark.db", "the default database."},
    {"EXIT STATUS", "0", "done."},
    {NULL, "1", "a trial failed, or a comparison regressed."},
    {NULL, "2", "usage, plan or database error; nothing was measured."},
    {NULL, "3", "compare --require-proof: a row is UNCLEAR or INSUFFICIENT."},
    {NULL, "4", "compare: a row is NOT-COMPARABLE."},
    {NULL, "130, 143", "interrupted, terminated; what was complete is stored."},
    {NULL, NULL, "Where several apply: 2, then 4, then 1, then 3."},
    {"EXAMPLES", NULL,
     " nasmark bench smb://reviewer@nas/share/bench\n"
     " nasmark plan > review.ini\n"
     " nasmark run review.ini --volume raid5\n"
     " nasmark table nas=readynas-104 --format md\n"
     " nasmark compare 'firmware=6.1.2' 'firmware=6.1.3'"},
    {NULL, NULL, NULL},
};
