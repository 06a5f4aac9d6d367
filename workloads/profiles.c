/* Every built-in profile, in the order of `list profiles` (workload.h). A new one is one row.
 *
 * Sources: ATTO Disk Benchmark 2.47 and 4.01 defaults; CrystalDiskMark 3.0, 8.0 and 9.0 default and
 * NVMe profiles. ATTO's small sizes end by time (5 s) before 256 MiB are moved; the metric
 * ended_by_time says so.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload.h"

#define PROFILE(IDENTIFIER, NAME, WORKLOAD, HELP)                                                  \
    static const struct nm_profile IDENTIFIER = {.name = NAME,                                     \
                                                 .workload = WORKLOAD,                             \
                                                 .help = HELP,                                     \
                                                 .items = IDENTIFIER##_items,                      \
                                                 .n_items = NM_OPTION_COUNT(IDENTIFIER##_items)}

static const struct nm_profile_item atto2_items[] = {
    {"steps", "seq512B-q4t1-write seq512B-q4t1-read seq1KiB-q4t1-write "
              "seq1KiB-q4t1-read seq2KiB-q4t1-write seq2KiB-q4t1-read "
              "seq4KiB-q4t1-write seq4KiB-q4t1-read seq8KiB-q4t1-write "
              "seq8KiB-q4t1-read seq16KiB-q4t1-write seq16KiB-q4t1-read "
              "seq32KiB-q4t1-write seq32KiB-q4t1-read seq64KiB-q4t1-write "
              "seq64KiB-q4t1-read seq128KiB-q4t1-write seq128KiB-q4t1-read "
              "seq256KiB-q4t1-write seq256KiB-q4t1-read seq512KiB-q4t1-write "
              "seq512KiB-q4t1-read seq1MiB-q4t1-write seq1MiB-q4t1-read "
              "seq2MiB-q4t1-write seq2MiB-q4t1-read seq4MiB-q4t1-write "
              "seq4MiB-q4t1-read seq8MiB-q4t1-write seq8MiB-q4t1-read"},
    {"size", "256MiB"},
    {"length", "256MiB"},
    {"time", "5s"},
};
PROFILE(atto2, "atto2", "access", "ATTO-like: 512 B to 8 MiB, write and read, depth 4");

static const struct nm_profile_item atto4_items[] = {
    {"steps", "seq512B-q4t1-write seq512B-q4t1-read seq1KiB-q4t1-write "
              "seq1KiB-q4t1-read seq2KiB-q4t1-write seq2KiB-q4t1-read "
              "seq4KiB-q4t1-write seq4KiB-q4t1-read seq8KiB-q4t1-write "
              "seq8KiB-q4t1-read seq16KiB-q4t1-write seq16KiB-q4t1-read "
              "seq32KiB-q4t1-write seq32KiB-q4t1-read seq64KiB-q4t1-write "
              "seq64KiB-q4t1-read seq128KiB-q4t1-write seq128KiB-q4t1-read "
              "seq256KiB-q4t1-write seq256KiB-q4t1-read seq512KiB-q4t1-write "
              "seq512KiB-q4t1-read seq1MiB-q4t1-write seq1MiB-q4t1-read "
              "seq2MiB-q4t1-write seq2MiB-q4t1-read seq4MiB-q4t1-write "
              "seq4MiB-q4t1-read seq8MiB-q4t1-write seq8MiB-q4t1-read "
              "seq16MiB-q4t1-write seq16MiB-q4t1-read seq32MiB-q4t1-write "
              "seq32MiB-q4t1-read seq64MiB-q4t1-write seq64MiB-q4t1-read"},
    {"size", "256MiB"},
    {"length", "256MiB"},
    {"time", "5s"},
};
PROFILE(atto4, "atto4", "access", "ATTO-like: 512 B to 64 MiB, write and read, depth 4");

static const struct nm_profile_item cdm3_items[] = {
    {"steps", "seq1MiB-q1t1-read rnd512KiB-q1t1-read rnd4KiB-q1t1-read "
              "rnd4KiB-q32t1-read seq1MiB-q1t1-write rnd512KiB-q1t1-write "
              "rnd4KiB-q1t1-write rnd4KiB-q32t1-write"},
    {"size", "1000MiB"},
    {"length", "0"},
    {"time", "5s"},
    {"runs", "5"},
};
PROFILE(cdm3, "cdm3", "access", "CrystalDiskMark 3: Seq, 512K, 4K, 4K QD32; 5 runs, 1000 MiB");

static const struct nm_profile_item cdm8_items[] = {
    {"steps", "seq1MiB-q8t1-read seq1MiB-q1t1-read rnd4KiB-q32t1-read "
              "rnd4KiB-q1t1-read seq1MiB-q8t1-write seq1MiB-q1t1-write "
              "rnd4KiB-q32t1-write rnd4KiB-q1t1-write"},
    {"size", "1GiB"},
    {"length", "0"},
    {"time", "5s"},
    {"runs", "5"},
    {"warmup", "5s"},
    {"pause", "5s"},
};
PROFILE(cdm8, "cdm8", "access",
        "CrystalDiskMark 8: SEQ1M Q8T1 Q1T1, RND4K Q32T1 Q1T1; 5 runs, 1 GiB");

static const struct nm_profile_item cdm8_nvme_items[] = {
    {"steps", "seq1MiB-q8t1-read seq128KiB-q32t1-read rnd4KiB-q32t16-read "
              "rnd4KiB-q1t1-read seq1MiB-q8t1-write seq128KiB-q32t1-write "
              "rnd4KiB-q32t16-write rnd4KiB-q1t1-write"},
    {"size", "1GiB"},
    {"length", "0"},
    {"time", "5s"},
    {"runs", "5"},
    {"warmup", "5s"},
    {"pause", "5s"},
};
PROFILE(cdm8_nvme, "cdm8-nvme", "access",
        "CrystalDiskMark 8, NVMe: SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16 Q1T1");

static const struct nm_profile_item cdm9_items[] = {
    {"steps", "seq1MiB-q8t1-read seq1MiB-q1t1-read rnd4KiB-q32t1-read "
              "rnd4KiB-q1t1-read seq1MiB-q8t1-write seq1MiB-q1t1-write "
              "rnd4KiB-q32t1-write rnd4KiB-q1t1-write"},
    {"size", "1GiB"},
    {"length", "0"},
    {"time", "5s"},
    {"runs", "3"},
    {"warmup", "5s"},
    {"pause", "5s"},
};
PROFILE(cdm9, "cdm9", "access", "CrystalDiskMark 9: as 8, 3 runs");

static const struct nm_profile_item hd_items[] = {{"bitrate", "8Mbit"}};
PROFILE(hd, "hd", "video", "films of 8 Mbit/s (HD): how many play at once");

static const struct nm_profile_item bluray_items[] = {{"bitrate", "40Mbit"}};
PROFILE(bluray, "bluray", "video", "films of 40 Mbit/s (Blu-ray): how many play at once");

static const struct nm_profile_item uhd_items[] = {{"bitrate", "100Mbit"}};
PROFILE(uhd, "uhd", "video", "films of 100 Mbit/s (UHD): how many play at once");

static const struct nm_profile_item jellyfish200_items[] = {{"bitrate", "200Mbit"}};
PROFILE(jellyfish200, "jellyfish200", "video", "films of 200 Mbit/s: how many play at once");

static const struct nm_profile_item office_items[] = {
    {"readers", "2"}, {"bitrate", "25Mbit"}, {"writers", "1"}};
PROFILE(office, "office", "mix", "two films of 25 Mbit/s are watched while files are uploaded");

const struct nm_profile *const nm_profile_table[] = {
    &atto2, &atto4,  &cdm3, &cdm8,         &cdm8_nvme, &cdm9,
    &hd,    &bluray, &uhd,  &jellyfish200, &office,    NULL,
};
