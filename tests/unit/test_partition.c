/* Partition tables and their alignment: numbers found in the field, damaged and hostile tables, on
 * disks that exist only as a few sectors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alignment.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* --- a disk of some written places, zero elsewhere --- */

#define PIECES_MAX 160

static struct {
    uint64_t at_bytes;
    uint32_t length;
    unsigned char *data;
} pieces[PIECES_MAX];
static unsigned n_pieces, n_reads;
static uint64_t disk_bytes;

static unsigned char *piece(uint64_t at_bytes, uint32_t length)
{
    assert_true(n_pieces < PIECES_MAX);
    pieces[n_pieces].at_bytes = at_bytes;
    pieces[n_pieces].length = length;
    pieces[n_pieces].data = calloc(1, length);
    return pieces[n_pieces++].data;
}

static int wipe(void **state)
{
    (void)state;
    while (n_pieces)
        free(pieces[--n_pieces].data);
    return 0;
}

static int read_disk(void *context, uint64_t offset, void *buf, uint32_t length,
                     struct nm_error *err)
{
    (void)err;
    assert_true(offset <= disk_bytes && length <= disk_bytes - offset);
    assert_int_equal(offset % *(uint32_t *)context, 0);
    n_reads++;
    memset(buf, 0, length);
    for (unsigned i = 0; i < n_pieces; i++) {
        uint64_t begin = pieces[i].at_bytes, end = begin + pieces[i].length;

        if (begin < offset)
            begin = offset;
        if (end > offset + length)
            end = offset + length;
        if (begin < end)
            memcpy((char *)buf + (begin - offset), pieces[i].data + (begin - pieces[i].at_bytes),
                   end - begin);
    }
    return 0;
}

static struct nm_partition_table table;

static void look(uint64_t size_bytes, uint32_t sector_bytes)
{
    uint32_t unit = sector_bytes ? sector_bytes : 512;
    const struct nm_disk disk = {.read = read_disk,
                                 .context = &unit,
                                 .size_bytes = size_bytes,
                                 .sector_bytes = sector_bytes};

    disk_bytes = size_bytes;
    n_reads = 0;
    assert_int_equal(nm_partition_read(&disk, &table, NULL), 0);
    assert_true(n_reads < 200); /* whatever is on it: over at once */
}

static bool warned(const char *word)
{
    for (uint32_t i = 0; i < table.n_warnings; i++)
        if (strstr(table.warnings[i], word))
            return true;
    return false;
}

/* --- writing tables --- */

static void le(unsigned char *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> 8 * i);
}

static void entry(unsigned char *sector, int i, unsigned char type, uint32_t first, uint32_t count)
{
    unsigned char *p = sector + 446 + 16 * i;

    p[4] = type;
    le(p + 8, first, 4);
    le(p + 12, count, 4);
    sector[510] = 0x55;
    sector[511] = 0xaa;
}

static uint32_t crc32_of(const unsigned char *data, size_t length)
{
    uint32_t crc = UINT32_MAX;

    while (length--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

struct gpt {
    uint64_t size_bytes;
    uint32_t unit;
    struct {
        uint64_t first, last;
    } parts[4];
    unsigned n;
    unsigned char *first, *first_entries, *backup, *backup_entries; /* after write_gpt() */
};

static void header(unsigned char *h, const struct gpt *gpt, uint64_t own, uint64_t other,
                   uint64_t entries_at, const unsigned char *entries)
{
    memcpy(h, "EFI PART", 8);
    le(h + 8, 0x10000, 4);
    le(h + 12, 92, 4);
    le(h + 24, own, 8);
    le(h + 32, other, 8);
    le(h + 40, 34, 8);
    le(h + 48, gpt->size_bytes / gpt->unit - 34, 8);
    le(h + 72, entries_at, 8);
    le(h + 80, 128, 4);
    le(h + 84, 128, 4);
    le(h + 88, crc32_of(entries, 128 * 128), 4);
    le(h + 16, crc32_of(h, 92), 4);
}

static void write_gpt(struct gpt *gpt)
{
    uint64_t last = gpt->size_bytes / gpt->unit - 1;
    uint64_t backup_entries = last - 128 * 128 / gpt->unit;
    uint32_t mbr_count = last > UINT32_MAX ? UINT32_MAX : (uint32_t)last;

    entry(piece(0, 512), 0, 0xee, 1, mbr_count);
    gpt->first = piece(gpt->unit, 512);
    gpt->first_entries = piece((uint64_t)2 * gpt->unit, 128 * 128);
    gpt->backup_entries = piece(backup_entries * gpt->unit, 128 * 128);
    gpt->backup = piece(last * gpt->unit, 512);
    for (unsigned i = 0; i < gpt->n; i++) {
        unsigned char *e = gpt->first_entries + 128 * i;

        for (int k = 0; k < 32; k++)
            e[k] = (unsigned char)(k + 1);
        le(e + 32, gpt->parts[i].first, 8);
        le(e + 40, gpt->parts[i].last, 8);
        le(e + 56, 0x017c0141, 4); /* A, z with dot */
        le(e + 60, 0x001b, 2);     /* escape */
    }
    memcpy(gpt->backup_entries, gpt->first_entries, 128 * 128);
    header(gpt->first, gpt, 1, last, 2, gpt->first_entries);
    header(gpt->backup, gpt, last, 1, backup_entries, gpt->backup_entries);
}

static struct nm_alignment_verdict judge(const struct nm_partition *p, uint32_t physical,
                                         uint32_t minimum)
{
    const struct nm_disk_shape shape = {.size_bytes = disk_bytes,
                                        .sector_bytes = 512,
                                        .physical_bytes = physical,
                                        .minimum_io_bytes = minimum};
    struct nm_alignment_verdict verdict;

    nm_alignment_judge(&shape, p, &verdict);
    return verdict;
}

static void assert_verdict(uint32_t i, uint32_t physical, enum nm_alignment want, uint64_t off)
{
    struct nm_alignment_verdict verdict;

    assert_true(i < table.count);
    verdict = judge(&table.items[i], physical, 0);
    assert_int_equal(verdict.alignment, want);
    if (want != NM_ALIGNMENT_OK && want != NM_ALIGNMENT_NONE)
        assert_int_equal(verdict.off_bytes, off);
}

/* --- MBR --- */

static void test_start_at_sector_63(void **state)
{
    const uint64_t size = UINT64_C(2000398934016);
    unsigned char *mbr = piece(0, 512);
    struct nm_alignment_verdict verdict;

    (void)state;
    entry(mbr, 0, 0x83, 63, 3907029167u - 63 + 1);
    look(size, 512);
    assert_int_equal(table.scheme, NM_SCHEME_MBR);
    assert_int_equal(table.count, 1);
    assert_int_equal(table.n_warnings, 0);
    assert_true(table.items[0].start_bytes == 32256);
    assert_true(table.items[0].size_bytes == (UINT64_C(3907029167) - 63 + 1) * 512);
    assert_string_equal(table.items[0].type, "0x83");
    assert_verdict(0, 4096, NM_ALIGNMENT_WRONG, 512);
    assert_verdict(0, 512, NM_ALIGNMENT_UNKNOWN, 512); /* a big disk behind a bridge */
    verdict = judge(&table.items[0], 4096, 0);
    assert_true(verdict.better_bytes == MIB);
    assert_false(verdict.on_mib);
    look(size, 512);
    disk_bytes = 160000000000; /* a small one: its media have 512 */
    assert_verdict(0, 512, NM_ALIGNMENT_WRONG_ON_4K, 512);
}

static void test_extended_container_is_no_fault(void **state)
{
    const uint64_t size = UINT64_C(1000204886016);
    unsigned char *mbr = piece(0, 512), *ebr;

    (void)state;
    entry(mbr, 0, 0x83, 2048, 204800);
    entry(mbr, 1, 0x83, 206848, 511793152);
    entry(mbr, 2, 0x83, 512000000, 16000000);
    entry(mbr, 3, 0x05, 528003070, 1425520642);
    ebr = piece(UINT64_C(528003070) * 512, 512);
    entry(ebr, 0, 0x83, 2, 292968448);
    entry(ebr, 1, 0x05, 292968450, 1000);
    ebr = piece((UINT64_C(528003070) + 292968450) * 512, 512);
    entry(ebr, 0, 0x82, 0, 512);
    look(size, 512);
    assert_int_equal(table.count, 6);
    assert_int_equal(table.n_warnings, 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_verdict(i, 4096, NM_ALIGNMENT_OK, 0);
    assert_true(table.items[3].container);
    assert_verdict(3, 4096, NM_ALIGNMENT_NONE, 0);
    assert_int_equal(table.items[4].number, 5);
    assert_true(table.items[4].logical);
    assert_true(table.items[4].start_bytes == UINT64_C(528003072) * 512);
    assert_verdict(4, 4096, NM_ALIGNMENT_OK, 0);
    assert_int_equal(table.items[5].number, 6);
    assert_true(table.items[5].start_bytes == UINT64_C(820971520) * 512);
    assert_verdict(5, 4096, NM_ALIGNMENT_OK, 0);
}

static void test_mbr_reaches_two_tib(void **state)
{
    const uint64_t size = UINT64_C(8001594851328), reach = UINT64_C(1) << 41;
    unsigned char *mbr = piece(0, 512);
    struct nm_alignment_verdict verdict;
    char beyond[40];

    (void)state;
    entry(mbr, 0, 0xfd, 128, UINT32_MAX); /* no 32-bit arithmetic */
    look(size, 512);
    snprintf(beyond, sizeof(beyond), "%llu bytes beyond", (unsigned long long)(size - reach));
    assert_true(warned(beyond));
    assert_false(table.damaged);
    assert_true(table.items[0].size_bytes == UINT64_C(0xffffffff) * 512);
    verdict = judge(&table.items[0], 512, 131072); /* chunks of a RAID */
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_WRONG);
    assert_int_equal(verdict.off_bytes, 65536);
    assert_int_equal(verdict.grain_bytes, 131072);
    look(size, 4096); /* sectors of 4096 bytes reach 16 TiB */
    assert_false(warned("beyond 2"));
}

static void test_mbr_that_lies_is_said_to(void **state)
{
    unsigned char *mbr = piece(0, 512), *ebr;

    (void)state;
    entry(mbr, 0, 0x83, 2048, UINT32_MAX);
    look(64 * MIB, 512);
    assert_true(table.damaged);
    assert_true(warned("beyond the end"));
    wipe(NULL);
    mbr = piece(0, 512); /* a chain that bites its tail, and one that goes on for ever */
    entry(mbr, 0, 0x0f, 2048, 100000);
    ebr = piece(UINT64_C(2048) * 512, 512);
    entry(ebr, 0, 0x83, 2048, 100);
    entry(ebr, 1, 0x05, 0, 100);
    look(64 * MIB, 512);
    assert_true(table.damaged);
    assert_true(warned("circle"));
    wipe(NULL);
    mbr = piece(0, 512);
    entry(mbr, 0, 0x05, 2048, 100000);
    for (uint32_t i = 0; i < PIECES_MAX - 1; i++) {
        ebr = piece((UINT64_C(2048) + i) * 512, 512);
        entry(ebr, 0, 0x83, 1, 1);
        entry(ebr, 1, 0x05, i + 1, 2);
    }
    look(64 * MIB, 512);
    assert_true(warned("more than 128 logical"));
    assert_int_equal(table.count, 129);
    wipe(NULL);
    mbr = piece(0, 512); /* the chain breaks off */
    entry(mbr, 0, 0x05, 2048, 100000);
    look(64 * MIB, 512);
    assert_true(warned("breaks at sector 2048"));
}

/* --- GPT --- */

static void test_gpt_starts_from_the_field(void **state)
{
    static const struct {
        uint64_t size_bytes, first;
        uint32_t unit;
        enum nm_alignment want;
        uint64_t off_bytes;
        bool on_mib;
    } cases[] = {
        {UINT64_C(18000207937536), 34, 512, NM_ALIGNMENT_WRONG, 3072, false},
        {UINT64_C(4000787030016), 65535, 512, NM_ALIGNMENT_WRONG, 512, false},
        {UINT64_C(500107862016), 292969, 512, NM_ALIGNMENT_WRONG, 3584, false},
        {UINT64_C(500107862016), 792969, 512, NM_ALIGNMENT_WRONG, 3584, false},
        {UINT64_C(500107862016), 2049, 512, NM_ALIGNMENT_WRONG, 3584, false},
        {UINT64_C(500107862016), 2048, 512, NM_ALIGNMENT_OK, 0, true},
        {UINT64_C(500107862016), 4096, 512, NM_ALIGNMENT_OK, 0, true},
        {UINT64_C(4000787030016), 256, 4096, NM_ALIGNMENT_OK, 0, true},
        {UINT64_C(4000787030016), 6, 4096, NM_ALIGNMENT_OK, 0, false},   /* byte 24576 */
        {UINT64_C(4000787030016), 2048, 4096, NM_ALIGNMENT_OK, 0, true}, /* 8 MiB */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t last = cases[i].size_bytes / cases[i].unit - 34;
        struct gpt gpt = {.size_bytes = cases[i].size_bytes,
                          .unit = cases[i].unit,
                          .parts = {{cases[i].first, last}},
                          .n = 1};

        write_gpt(&gpt);
        look(cases[i].size_bytes, cases[i].unit);
        assert_int_equal(table.scheme, NM_SCHEME_GPT);
        assert_int_equal(table.count, 1);
        assert_int_equal(table.n_warnings, 0);
        assert_int_equal(table.sector_bytes, cases[i].unit);
        assert_true(table.items[0].start_bytes == cases[i].first * cases[i].unit);
        assert_true(table.items[0].size_bytes == (last - cases[i].first + 1) * cases[i].unit);
        assert_string_equal(table.items[0].name, "\u0141\u017c?");
        assert_string_equal(table.items[0].type, "04030201-0605-0807-090A-0B0C0D0E0F10");
        assert_verdict(0, 4096, cases[i].want, cases[i].off_bytes);
        assert_int_equal(judge(&table.items[0], 4096, 0).on_mib, cases[i].on_mib);
        wipe(NULL);
    }
}

static void test_gpt_for_4096_byte_sectors_is_found(void **state)
{
    struct gpt gpt = {.size_bytes = 64 * MIB, .unit = 4096, .parts = {{256, 511}}, .n = 1};

    (void)state;
    write_gpt(&gpt);
    look(64 * MIB, 0); /* an image */
    assert_int_equal(table.sector_bytes, 4096);
    assert_true(table.items[0].start_bytes == MIB);
    assert_int_equal(table.n_warnings, 0);
    look(64 * MIB, 512); /* behind another bridge */
    assert_int_equal(table.scheme, NM_SCHEME_GPT);
    assert_int_equal(table.sector_bytes, 4096);
    assert_int_equal(table.count, 1); /* none invented */
    assert_true(warned("cannot be used here"));
}

static void test_gpt_damage(void **state)
{
    struct gpt gpt = {.size_bytes = 64 * MIB, .unit = 512, .parts = {{2048, 4095}}, .n = 1};

    (void)state;
    write_gpt(&gpt);
    gpt.first[40] ^= 1;
    look(64 * MIB, 512);
    assert_true(table.backup_used && table.damaged);
    assert_int_equal(table.count, 1);
    assert_true(warned("read from the backup"));
    gpt.first[40] ^= 1;
    gpt.first_entries[56] ^= 1; /* the header is whole, its entries are not */
    look(64 * MIB, 512);
    assert_true(table.backup_used);
    assert_int_equal(table.count, 1);
    gpt.backup[0] = 0; /* neither */
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_GPT);
    assert_int_equal(table.count, 0);
    assert_true(warned("and so is the backup"));
    gpt.first_entries[56] ^= 1;
    look(64 * MIB, 512);
    assert_false(table.damaged);
    assert_int_equal(table.count, 1);
    assert_true(warned("backup header at the end is missing"));
    look(96 * MIB, 512); /* the disk grew */
    assert_true(warned("resized or copied"));
    wipe(NULL);
    write_gpt(&gpt);
    memset(pieces[0].data, 0, 512);
    memset(gpt.first, 0, 512); /* only the backup is left */
    look(64 * MIB, 512);
    assert_int_equal(table.count, 1);
    assert_true(warned("no protective MBR"));
    wipe(NULL);
    entry(piece(0, 512), 0, 0xee, 1, 1000);
    look(64 * MIB, 512);
    assert_true(table.damaged);
    assert_true(warned("no GPT header"));
}

static void test_gpt_hybrid(void **state)
{
    struct gpt gpt = {
        .size_bytes = 64 * MIB, .unit = 512, .parts = {{2048, 4095}, {4096, 8191}}, .n = 2};

    (void)state;
    write_gpt(&gpt);
    entry(pieces[0].data, 1, 0x0c, 4096, 4096);
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_HYBRID);
    assert_int_equal(table.count, 2);
    assert_true(warned("hybrid"));
}

static void test_gpt_that_lies_ends_at_once(void **state)
{
    static const struct {
        int at, bytes;
        uint64_t value;
    } lies[] = {{80, 4, UINT32_MAX}, {84, 4, UINT32_MAX},        {84, 4, 129},
                {84, 4, 0},          {72, 8, UINT64_MAX},        {12, 4, UINT32_MAX},
                {80, 4, 8192},       {72, 8, UINT64_C(1) << 55}, {80, 4, 0}};
    struct gpt gpt = {.size_bytes = 64 * MIB,
                      .unit = 512,
                      .parts = {{4095, 2048}, {0, UINT64_MAX}, {UINT64_C(1) << 62, UINT64_MAX - 1}},
                      .n = 3};

    (void)state;
    write_gpt(&gpt);
    look(64 * MIB, 512);
    assert_true(table.damaged);
    assert_int_equal(table.count, 0);
    assert_true(warned("ends before it begins"));
    assert_true(warned("beyond 2^64"));
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        unsigned char *both[] = {gpt.first, gpt.backup};

        for (int k = 0; k < 2; k++) {
            le(both[k] + lies[i].at, lies[i].value, lies[i].bytes);
            le(both[k] + 16, 0, 4);
            le(both[k] + 16, crc32_of(both[k], 92), 4);
        }
        look(64 * MIB, 512);
        assert_int_equal(table.count, 0);
        assert_true(table.damaged);
        wipe(NULL);
        write_gpt(&gpt);
    }
}

/* --- no table --- */

static void test_without_a_table(void **state)
{
    unsigned char *boot;

    (void)state;
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_NONE);
    assert_string_equal(table.contents, "");
    look(0, 512);
    assert_int_equal(table.count, 0);
    look(100, 0);
    assert_int_equal(table.count, 0);
    look(1024, 512);
    assert_int_equal(table.count, 0);
    boot = piece(0, 512); /* signature of an MBR, but text where entries are */
    memset(boot + 446, 'x', 64);
    boot[510] = 0x55;
    boot[511] = 0xaa;
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_NONE);
    memset(boot + 446, 0, 64); /* an empty MBR */
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_MBR);
    assert_int_equal(table.count, 0);
    unsigned char *swap = piece(4096 - 10, 10);

    memcpy(swap, "SWAPSPACE2", 10);
    le(piece(1024, 4), 1, 4);
    le(piece(1028, 4), 16383, 4);
    look(64 * MIB, 512);
    assert_int_equal(table.scheme, NM_SCHEME_NONE);
    assert_non_null(strstr(table.contents, "swap"));
}

static void test_alignment_offset_and_odd_grains(void **state)
{
    /* Jumper of a WD20EARS: the first physical block begins at sector 7. */
    struct nm_disk_shape shape = {.size_bytes = UINT64_C(2000398934016),
                                  .sector_bytes = 512,
                                  .physical_bytes = 4096,
                                  .offset_bytes = 3584};
    struct nm_partition partition = {.start_bytes = 63 * 512};
    struct nm_alignment_verdict verdict;

    (void)state;
    nm_alignment_judge(&shape, &partition, &verdict);
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_OK);
    partition.start_bytes = 64 * 512;
    nm_alignment_judge(&shape, &partition, &verdict);
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_WRONG);
    assert_int_equal(verdict.off_bytes, 3584);
    partition.start_bytes = verdict.better_bytes;
    nm_alignment_judge(&shape, &partition, &verdict);
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_OK);
    /* a stripe of 3 x 64 KiB */
    shape = (struct nm_disk_shape){
        .size_bytes = 64 * MIB, .physical_bytes = 512, .minimum_io_bytes = 196608};
    partition.start_bytes = MIB;
    nm_alignment_judge(&shape, &partition, &verdict);
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_WRONG);
    partition.start_bytes = verdict.better_bytes;
    nm_alignment_judge(&shape, &partition, &verdict);
    assert_int_equal(verdict.alignment, NM_ALIGNMENT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_start_at_sector_63, wipe),
        cmocka_unit_test_teardown(test_extended_container_is_no_fault, wipe),
        cmocka_unit_test_teardown(test_mbr_reaches_two_tib, wipe),
        cmocka_unit_test_teardown(test_mbr_that_lies_is_said_to, wipe),
        cmocka_unit_test_teardown(test_gpt_starts_from_the_field, wipe),
        cmocka_unit_test_teardown(test_gpt_for_4096_byte_sectors_is_found, wipe),
        cmocka_unit_test_teardown(test_gpt_damage, wipe),
        cmocka_unit_test_teardown(test_gpt_hybrid, wipe),
        cmocka_unit_test_teardown(test_gpt_that_lies_ends_at_once, wipe),
        cmocka_unit_test_teardown(test_without_a_table, wipe),
        cmocka_unit_test_teardown(test_alignment_offset_and_odd_grains, wipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
