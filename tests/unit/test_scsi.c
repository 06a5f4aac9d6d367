/* What SCSI answers mean: verdicts, reason classes, capacity, identity, LUN lists; truncated and
 * senseless answers are refused.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "iscsi/scsi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CHECK_CONDITION 2

static void test_scsi_judge_repeats_events_and_busy(void **state)
{
    static const struct {
        struct nm_scsi_status status;
        enum nm_scsi_verdict verdict;
    } cases[] = {
        {{0, 0, 0}, NM_SCSI_GOOD},
        {{8, 0, 0}, NM_SCSI_BUSY},
        {{0x28, 0, 0}, NM_SCSI_BUSY},
        {{0x40, 0, 0}, NM_SCSI_AGAIN},
        {{0x18, 0, 0}, NM_SCSI_FAILED},
        {{CHECK_CONDITION, 6, 0x2900}, NM_SCSI_AGAIN},
        {{CHECK_CONDITION, 6, 0x3f0e}, NM_SCSI_AGAIN},
        {{CHECK_CONDITION, 0xb, 0}, NM_SCSI_AGAIN},
        {{CHECK_CONDITION, 1, 0}, NM_SCSI_GOOD},
        {{CHECK_CONDITION, 2, 0x0401}, NM_SCSI_BUSY},
        {{CHECK_CONDITION, 2, 0x3a00}, NM_SCSI_FAILED},
        {{CHECK_CONDITION, 3, 0x1100}, NM_SCSI_FAILED},
        {{0x0f000000, 0, 0}, NM_SCSI_LOST},
        {{0x0f000001, 0, 0}, NM_SCSI_LOST},
        {{0x0f000002, 0, 0}, NM_SCSI_LOST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(nm_scsi_judge(&cases[i].status), cases[i].verdict);
}

static void test_scsi_error_has_class_and_raw_code(void **state)
{
    static const struct {
        struct nm_scsi_status status;
        bool writing;
        int code;
        enum nm_reason reason;
        const char *raw;
    } cases[] = {
        {{CHECK_CONDITION, 3, 0x1100}, true, -ENOSPC, NM_REASON_NO_SPACE, "SENSE 3/1100"},
        {{CHECK_CONDITION, 3, 0x1100}, false, -EIO, NM_REASON_INTERNAL, "SENSE 3/1100"},
        {{CHECK_CONDITION, 7, 0x2700}, true, -EROFS, NM_REASON_READ_ONLY, "SENSE 7/2700"},
        {{CHECK_CONDITION, 7, 0x2707}, true, -ENOSPC, NM_REASON_NO_SPACE, "SENSE 7/2707"},
        {{CHECK_CONDITION, 5, 0x2500}, false, -ENXIO, NM_REASON_NOT_FOUND, "SENSE 5/2500"},
        {{CHECK_CONDITION, 5, 0x2000}, false, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "SENSE 5/2000"},
        {{CHECK_CONDITION, 9, 0x8000}, false, -EIO, NM_REASON_INTERNAL, "SENSE 9/8000"},
        {{0x18, 0, 0}, true, -EBUSY, NM_REASON_PROTECTED, "RESERVATION CONFLICT"},
        {{0x0f000002, 0, 0}, true, -ETIMEDOUT, NM_REASON_TIMEOUT, "TIMEOUT"},
        {{0x0f000000, 0, 0}, true, -ECONNRESET, NM_REASON_CONNECTION_LOST, "CANCELLED"},
    };
    struct nm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(nm_scsi_error(&err, &cases[i].status, cases[i].writing, "x"),
                         cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.reason, cases[i].reason);
        assert_string_equal(err.raw, cases[i].raw);
    }
}

static void test_scsi_capacity_is_64_bit_and_checked(void **state)
{
    /* 3 TiB of 512-byte blocks, thin, deallocated blocks read as zero. */
    uint8_t data[32] = {0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff, 0, 0, 2, 0, 0, 3, 0xc0, 7};
    struct nm_scsi_capacity capacity;

    (void)state;
    assert_int_equal(nm_scsi_parse_capacity16(data, 32, &capacity), 0);
    assert_true(capacity.blocks * capacity.block_bytes == UINT64_C(3) << 40);
    assert_true(capacity.thin);
    assert_int_equal(capacity.physical_bytes, 4096);
    assert_int_equal(capacity.offset_bytes, 7 * 512);
    assert_int_equal(nm_scsi_parse_capacity16(data, 11, &capacity), -EBADMSG);
    memset(data, 0xff, 8); /* no blocks: the last address + 1 wraps */
    assert_int_equal(nm_scsi_parse_capacity16(data, 32, &capacity), -EBADMSG);
    data[0] = 0x7f;
    assert_int_equal(nm_scsi_parse_capacity16(data, 32, &capacity), -EBADMSG);

    const uint8_t small[8] = {0, 0, 0x7f, 0xff, 0, 0, 2, 0};
    const uint8_t too_large[8] = {0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0};

    assert_int_equal(nm_scsi_parse_capacity10(small, 8, &capacity), 0);
    assert_true(capacity.blocks == 32768 && capacity.block_bytes == 512);
    assert_int_equal(nm_scsi_parse_capacity10(too_large, 8, &capacity), -EBADMSG);
}

static void test_scsi_mode_tells_protection_and_cache(void **state)
{
    /* Header, block descriptor of 8 bytes, control page, caching page with WCE. */
    uint8_t data[] = {0, 0, 0x80, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0x0a, 2, 0, 0, 0x08, 2, 4, 0};
    bool write_protected = false;
    int cache;

    (void)state;
    assert_int_equal(nm_scsi_parse_mode6(data, sizeof(data), &write_protected, &cache), 0);
    assert_true(write_protected);
    assert_int_equal(cache, 1);
    data[2] = 0;
    assert_int_equal(nm_scsi_parse_mode6(data, 16, &write_protected, &cache), 0);
    assert_false(write_protected);
    assert_int_equal(cache, -1);
    data[3] = 200; /* a descriptor longer than the answer */
    assert_int_equal(nm_scsi_parse_mode6(data, sizeof(data), &write_protected, &cache), 0);
    assert_int_equal(nm_scsi_parse_mode6(data, 3, &write_protected, &cache), -EBADMSG);
}

static void test_scsi_identity_prefers_naa_of_the_unit(void **state)
{
    const uint8_t page[] = {0, 0x83, 0, 36,                                       /* header */
                            2, 1,    0, 6,  'V',  'E', 'N',  'D', 'O', 'R',       /* T10 */
                            1, 0x93, 0, 8,  1,    2,   3,    4,   5,   6,   7, 8, /* port */
                            1, 3,    0, 8,  0x60, 1,   0x40, 5,   0,   0,   0, 9};
    char out[64];

    (void)state;
    nm_scsi_parse_identity(page, sizeof(page), out, sizeof(out));
    assert_string_equal(out, "naa.6001400500000009");
    nm_scsi_parse_identity(page, 20, out, sizeof(out)); /* cut: the NAA is not there */
    assert_string_equal(out, "t10.VENDOR");
    nm_scsi_parse_identity(page, 3, out, sizeof(out));
    assert_string_equal(out, "");
    nm_scsi_parse_identity(page, sizeof(page), out, 9); /* a small buffer is not overrun */
    assert_true(strlen(out) < 9);
}

static void test_scsi_texts_are_trimmed_and_printable(void **state)
{
    const uint8_t page[] = {0, 0x80, 0, 8, ' ', ' ', 'a', 1, 'b', ' ', 0, ' '};
    char out[16];

    (void)state;
    nm_scsi_parse_serial(page, sizeof(page), out, sizeof(out));
    assert_string_equal(out, "a?b");
    nm_scsi_parse_serial(page, 7, out, sizeof(out)); /* page says 8, three bytes came */
    assert_string_equal(out, "a");
}

static void test_scsi_luns_are_decoded_and_cut(void **state)
{
    uint8_t data[8 + 40 * 8] = {0, 0, 0, 24};
    char out[32];

    (void)state;
    data[8 + 1] = 5;
    data[16] = 0x41; /* flat addressing: 256 + 44 */
    data[17] = 0x2c;
    assert_int_equal(nm_scsi_parse_luns(data, 8 + 24, out, sizeof(out)), 3);
    assert_string_equal(out, "5, 300, 0");
    data[2] = 1; /* 280 bytes of LUNs */
    assert_int_equal(nm_scsi_parse_luns(data, sizeof(data), out, sizeof(out)), 35);
    assert_true(strlen(out) < sizeof(out));
    assert_int_equal(nm_scsi_parse_luns(data, 7, out, sizeof(out)), 0);
    assert_int_equal(nm_scsi_encode_lun(5), 5);
    assert_int_equal(nm_scsi_encode_lun(300), 0x412c);
}

static void test_scsi_lba_status_covers_the_address(void **state)
{
    uint8_t data[24] = {0, 0, 0, 20};
    bool unmapped = false;

    (void)state;
    data[15] = 100; /* first block */
    data[19] = 50;  /* blocks */
    data[20] = 1;   /* deallocated */
    assert_int_equal(nm_scsi_parse_lba_status(data, 24, 100, &unmapped), 50);
    assert_true(unmapped);
    assert_int_equal(nm_scsi_parse_lba_status(data, 24, 120, &unmapped), 30);
    assert_int_equal(nm_scsi_parse_lba_status(data, 24, 150, &unmapped), 0);
    assert_int_equal(nm_scsi_parse_lba_status(data, 24, 99, &unmapped), 0);
    assert_int_equal(nm_scsi_parse_lba_status(data, 23, 100, &unmapped), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scsi_judge_repeats_events_and_busy),
        cmocka_unit_test(test_scsi_error_has_class_and_raw_code),
        cmocka_unit_test(test_scsi_capacity_is_64_bit_and_checked),
        cmocka_unit_test(test_scsi_mode_tells_protection_and_cache),
        cmocka_unit_test(test_scsi_identity_prefers_naa_of_the_unit),
        cmocka_unit_test(test_scsi_texts_are_trimmed_and_printable),
        cmocka_unit_test(test_scsi_luns_are_decoded_and_cut),
        cmocka_unit_test(test_scsi_lba_status_covers_the_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
