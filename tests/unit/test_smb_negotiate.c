/* SMB: the NEGOTIATE message and its answer (MS-SMB2 2.2.3, 2.2.4).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb/smb.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UTC_NS (UINT64_C(1700000000) * 1000000000u)

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

static void put32(unsigned char *at, uint32_t value)
{
    put16(at, value & 0xffff);
    put16(at + 2, value >> 16);
}

static unsigned get16(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

/* An answer as Samba gives it; returns its length. */
static size_t make_answer(unsigned char out[512], unsigned revision)
{
    unsigned char *body = out + 64, *context;
    uint64_t time_100ns = (UINT64_C(11644473600) + 1700000000u) * 10000000u + 25000000u;

    memset(out, 0, 512);
    memcpy(out, "\xfeSMB", 4);
    put16(out + 4, 64);
    put32(out + 16, 1); /* a response */
    put16(body, 65);
    put16(body + 2, 3); /* signing enabled and required */
    put16(body + 4, revision);
    memcpy(body + 8, "labnas", 6);
    put32(body + 24, 0x47); /* capabilities, encryption among them */
    put32(body + 28, 8u << 20);
    put32(body + 32, 8u << 20);
    put32(body + 36, 4u << 20);
    put32(body + 40, (uint32_t)time_100ns);
    put32(body + 44, (uint32_t)(time_100ns >> 32));
    put16(body + 56, 128);
    put16(body + 58, 10); /* security buffer */
    if (revision != 0x0311)
        return 138;
    put16(body + 6, 3);
    put32(body + 60, 144);
    context = out + 144;
    put16(context, 1); /* preauthentication: 1 algorithm, 4 bytes of salt */
    put16(context + 2, 10);
    put16(context + 8, 1);
    put16(context + 10, 4);
    put16(context + 12, 1);
    context += 24;
    put16(context, 2); /* cipher AES-128-GCM */
    put16(context + 2, 4);
    put16(context + 8, 1);
    put16(context + 10, 2);
    context += 16;
    put16(context, 8); /* signing AES-128-GMAC */
    put16(context + 2, 4);
    put16(context + 8, 1);
    put16(context + 10, 2);
    return (size_t)(context + 12 - out);
}

static void test_smb_negotiate_offers_the_range_asked_for(void **state)
{
    unsigned char message[256], *body = message + 64;
    size_t length = nm_smb_negotiate_build(NM_SMB_2_10, NM_SMB_3_02, message);

    (void)state;
    assert_int_equal(length, 64 + 36 + 3 * 2);
    assert_memory_equal(message, "\xfeSMB", 4);
    assert_int_equal(get16(body), 36);
    assert_int_equal(get16(body + 2), 3);
    assert_int_equal(get16(body + 36), 0x0210);
    assert_int_equal(get16(body + 40), 0x0302);
    assert_int_equal(get32(body + 28), 0); /* no contexts */

    /* SMB1 is never on offer. */
    length = nm_smb_negotiate_build(NM_SMB_NT1, NM_SMB_2_02, message);
    assert_int_equal(length, 64 + 36 + 2);
    assert_int_equal(get16(body + 2), 1);
    assert_int_equal(get16(body + 36), 0x0202);
}

static void test_smb_negotiate_311_has_aligned_contexts(void **state)
{
    unsigned char message[256];
    size_t length = nm_smb_negotiate_build(NM_SMB_2_02, NM_SMB_3_11, message);
    size_t at = get32(message + 64 + 28);
    static const unsigned types[] = {1, 2, 8};

    (void)state;
    assert_int_equal(get16(message + 64 + 32), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(at % 8, 0);
        assert_int_equal(get16(message + at), types[i]);
        at += 8 + get16(message + at + 2);
        if (i < 2)
            at = (at + 7) & ~(size_t)7;
    }
    assert_int_equal(at, length);
}

static void test_smb_negotiate_parse_reads_everything(void **state)
{
    unsigned char answer[512];
    size_t length = make_answer(answer, 0x0311);
    struct nm_smb_server server;
    struct nm_error err;

    (void)state;
    assert_int_equal(
        nm_smb_negotiate_parse(answer, length, NM_SMB_2_02, NM_SMB_3_11, UTC_NS, &server, &err), 0);
    assert_int_equal(server.dialect, NM_SMB_3_11);
    assert_true(server.signing_required);
    assert_string_equal(nm_smb_cipher_name(server.cipher), "AES-128-GCM");
    assert_string_equal(nm_smb_signing_name(server.signing_algorithm), "AES-128-GMAC");
    assert_int_equal(server.max_read_bytes, 8 << 20);
    assert_int_equal(server.max_write_bytes, 4 << 20);
    assert_int_equal(server.clock_skew_ms, 2500);
    assert_memory_equal(server.guid, "labnas", 6);

    length = make_answer(answer, 0x0300);
    assert_int_equal(
        nm_smb_negotiate_parse(answer, length, NM_SMB_2_02, NM_SMB_3_11, UTC_NS, &server, &err), 0);
    assert_string_equal(nm_smb_cipher_name(server.cipher), "AES-128-CCM");
    assert_string_equal(nm_smb_signing_name(server.signing_algorithm), "AES-128-CMAC");

    length = make_answer(answer, 0x0202);
    assert_int_equal(
        nm_smb_negotiate_parse(answer, length, NM_SMB_2_02, NM_SMB_3_11, UTC_NS, &server, &err), 0);
    assert_int_equal(server.cipher, 0);
    assert_string_equal(nm_smb_signing_name(server.signing_algorithm), "HMAC-SHA256");
}

static void test_smb_negotiate_parse_names_a_refusal(void **state)
{
    unsigned char answer[512];
    size_t length = make_answer(answer, 0x0311);
    struct nm_smb_server server = {.dialect = 77};
    struct nm_error err;

    (void)state;
    put32(answer + 8, 0xC00000BB);
    assert_int_equal(
        nm_smb_negotiate_parse(answer, 73, NM_SMB_3_00, NM_SMB_3_02, UTC_NS, &server, &err),
        -EPROTONOSUPPORT);
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    assert_string_equal(err.raw, "NT_STATUS_NOT_SUPPORTED");
    assert_non_null(strstr(err.text, "SMB3_00 to SMB3_02"));

    /* A version that was not asked for is no agreement either. */
    put32(answer + 8, 0);
    assert_int_equal(
        nm_smb_negotiate_parse(answer, length, NM_SMB_3_00, NM_SMB_3_02, UTC_NS, &server, &err),
        -EPROTONOSUPPORT);
    assert_int_equal(server.dialect, 77);
}

/* The exact bytes on the heap, so that a sanitizer sees one byte too far. */
static void test_smb_negotiate_parse_survives_damage(void **state)
{
    unsigned char answer[512];
    size_t length = make_answer(answer, 0x0311);
    struct nm_smb_server server;
    struct nm_error err;

    (void)state;
    for (size_t cut = 0; cut < length; cut++) {
        unsigned char *copy = malloc(cut ? cut : 1);
        int r;

        memcpy(copy, answer, cut);
        r = nm_smb_negotiate_parse(copy, cut, NM_SMB_2_02, NM_SMB_3_11, UTC_NS, &server, &err);
        assert_int_equal(r, -EPROTO);
        assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
        free(copy);
    }
    for (size_t at = 0; at < length; at++) {
        unsigned char *copy = malloc(length);

        memcpy(copy, answer, length);
        copy[at] = 0xff;
        if (nm_smb_negotiate_parse(copy, length, NM_SMB_2_02, NM_SMB_3_11, UTC_NS, &server, &err) <
            0)
            assert_true(*err.text);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smb_negotiate_offers_the_range_asked_for),
        cmocka_unit_test(test_smb_negotiate_311_has_aligned_contexts),
        cmocka_unit_test(test_smb_negotiate_parse_reads_everything),
        cmocka_unit_test(test_smb_negotiate_parse_names_a_refusal),
        cmocka_unit_test(test_smb_negotiate_parse_survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
