/* URLs: every spelling that works, every one that does not, and no password in any message.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct nm_url *parse(const char *text)
{
    struct nm_url *url = NULL;
    char *password = NULL;
    struct nm_error err;

    if (nm_url_parse(text, &url, &password, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    assert_null(password);
    return url;
}

static void test_url_parts_of_smb(void **state)
{
    struct nm_url *url = NULL;
    char *password = NULL;

    (void)state;
    assert_int_equal(nm_url_parse("SMB://OFFICE;rev%20iewer:p%40s%3As%25w%2Fd@NAS.local:8445/"
                                  "my%20share%20%C3%A9//d%23/",
                                  &url, &password, NULL),
                     0);
    assert_int_equal(url->protocol, NM_PROTOCOL_SMB);
    assert_string_equal(url->domain, "OFFICE");
    assert_string_equal(url->user, "rev iewer");
    assert_string_equal(password, "p@s:s%w/d");
    assert_string_equal(url->host, "nas.local");
    assert_int_equal(url->port, 8445);
    assert_string_equal(url->share, "my share \xc3\xa9");
    assert_string_equal(url->path, "d#");
    nm_url_free(url);
    free(password);

    url = parse("smb://h/a@b;c/d");
    assert_null(url->user);
    assert_string_equal(url->host, "h");
    assert_string_equal(url->share, "a@b;c");
    nm_url_free(url);
}

static void test_url_parts_of_the_others(void **state)
{
    struct nm_url *url;

    (void)state;
    url = parse("nfs://[fe80::1%25lo]:2050/data/e%20x/?version=3&uid=0&gid=65534&mountport=20048");
    assert_string_equal(url->host, "fe80::1%lo");
    assert_int_equal(url->port, 2050);
    assert_string_equal(url->path, "/data/e x");
    assert_string_equal(nm_url_arg(url, "version"), "3");
    assert_string_equal(nm_url_arg(url, "gid"), "65534");
    assert_null(nm_url_arg(url, "fs"));
    nm_url_free(url);

    url = parse("ISCSI://chap@[::1]:3277/iqn.2026-01.org.example:disk@home/16383?fs=raw");
    assert_string_equal(url->user, "chap");
    assert_string_equal(url->host, "::1");
    assert_string_equal(url->share, "iqn.2026-01.org.example:disk@home");
    assert_int_equal(url->lun, 16383);
    assert_string_equal(url->path, "");
    nm_url_free(url);

    url = parse("https://u@nas:8443/dav/");
    assert_true(url->tls);
    assert_int_equal(url->port, 8443);
    assert_string_equal(url->path, "/dav");
    nm_url_free(url);

    url = parse("/mnt/100%/a?b");
    assert_int_equal(url->protocol, NM_PROTOCOL_LOCAL);
    assert_null(url->host);
    assert_string_equal(url->path, "/mnt/100%/a?b");
    nm_url_free(url);

    url = parse("null:disk?rate=100MB&anything=goes");
    assert_string_equal(url->path, "disk");
    assert_string_equal(nm_url_arg(url, "anything"), "goes");
    nm_url_free(url);
}

static void test_url_has_one_canonical_spelling(void **state)
{
    static const char *const cases[][2] = {
        {"smb://h/share", "smb://h/share"},
        {"smb://h/share/", "smb://h/share"},
        {"smb://H:445//share//d/./", "smb://h/share/d"},
        {"smb://h/hid$/d", "smb://h/hid$/d"},
        {"smb://h/my share \xc3\xa9/d", "smb://h/my%20share%20%C3%A9/d"},
        {"smb://h/my%20share%20%c3%a9/d", "smb://h/my%20share%20%C3%A9/d"},
        {"smb://d;u@h/s", "smb://d;u@h/s"},
        {"smb://u%40x:secret@h/s", "smb://u%40x@h/s"},
        {"smb://h/100%25", "smb://h/100%25"},
        {"smb://h/s/#recycle", "smb://h/s/%23recycle"},
        {"nfs://h/e/", "nfs://h/e"},
        {"nfs://h/", "nfs://h/"},
        {"nfs://h:2049/e", "nfs://h:2049/e"},
        {"nfs://[0:0::1]/e?version=4&uid=007", "nfs://[::1]/e?uid=7&version=4"},
        {"nfs://[FE80::1%25eth0.2]/e", "nfs://[fe80::1%25eth0.2]/e"},
        {"nfs://h/e?", "nfs://h/e"},
        {"iscsi://h:3260/naa.6001405/5/", "iscsi://h/naa.6001405/5"},
        {"iscsi://[::1]:3277/eui.02004567A425678D/0", "iscsi://[::1]:3277/eui.02004567A425678D/0"},
        {"local:/a//b/", "local:/a/b"},
        {"/a//b/", "local:/a/b"},
        {"/a b%", "local:/a%20b%25"},
        {"local:/", "local:/"},
        {"/\xe9", "local:/%E9"},
        {"http://h:80/", "http://h/"},
        {"null:", "null:"},
        {"null:x?store=yes&rate=1MB", "null:x?rate=1MB&store=yes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nm_url *url = NULL;
        char *password = NULL, *text;

        assert_int_equal(nm_url_parse(cases[i][0], &url, &password, NULL), 0);
        free(password);
        text = nm_url_format(url);
        assert_string_equal(text, cases[i][1]);
        nm_url_free(url);
        url = parse(text); /* it parses back */
        free(text);
        text = nm_url_format(url);
        assert_string_equal(text, cases[i][1]);
        free(text);
        nm_url_free(url);
    }
}

static void test_url_refusals_say_what_to_write(void **state)
{
    static char longest[9000];
    static const char *const cases[][2] = {
        {"", "neither a URL nor an absolute path"},
        {"mnt/x", "the full path from \"/\""},
        {"./x", "the full path"},
        {"local:x", "begins with \"/\""},
        {"//nas/share", "smb://SERVER/SHARE"},
        {"\\\\nas\\share", "smb://SERVER/SHARE"},
        {"nas:/export", "nfs://nas/"},
        {"smbb://h/s", "did you mean \"smb\"?"},
        {"ftp://h/s", "unknown protocol \"ftp\""},
        {"smb:/h/s", "\"//\" is missing"},
        {"smb://", "host name is missing"},
        {"smb:///s", "host name is missing"},
        {"smb://h", "the share is missing"},
        {"smb://h/", "the share is missing"},
        {"smb://@h/s", "user name before \"@\" is missing"},
        {"smb://:x@h/s", "user name before \"@\" is missing"},
        {"smb://h:/s", "port is not a number"},
        {"smb://h:0/s", "port is not a number"},
        {"smb://h:65536/s", "port is not a number"},
        {"smb://h:4x/s", "port is not a number"},
        {"smb://h h/s", "cannot contain \" \""},
        {"smb://h/s/../t", "\"..\""},
        {"smb://h/100%", "itself is %25"},
        {"smb://h/%zz", "itself is %25"},
        {"smb://h/a%00b", "control character"},
        {"smb://h/a\nb", "control character"},
        {"smb://h/%E9", "not UTF-8"},
        {"smb://h/a%2Fb", "encoded \"/\""},
        {"smb://h/s?x=1", "%3F"},
        {"nfs://::1/e", "brackets"},
        {"nfs://[::1/e", "\"]\""},
        {"nfs://[::1]x/e", "may follow"},
        {"nfs://[1.2.3.4]/e", "no IPv6 address"},
        {"nfs://[fe80::1%lo]/e", "[fe80::1%25eth0]"},
        {"nfs://[fe80::1%25]/e", "[fe80::1%25eth0]"},
        {"nfs://[fe80::1%25a b]/e", "interface"},
        {"nfs://host", "path, which begins with \"/\", is missing"},
        {"nfs://h?version=3", "path, which begins with \"/\", is missing"},
        {"nfs://u@h/e", "takes no user"},
        {"nfs://h/e?verison=4", "did you mean \"version\"?"},
        {"nfs://h/e?version=9", "version=9 is not possible; valid: 3 4"},
        {"nfs://h/e?version=3&version=4", "given twice"},
        {"nfs://h/e?uid=-1", "uid is not a number from 0 to 4294967295"},
        {"nfs://h/e?mountport=0", "mountport is not a number from 1 to 65535"},
        {"nfs://h/e?version", "NAME=VALUE"},
        {"nfs://h/e?version=3&", "NAME=VALUE"},
        {"iscsi://h/iqn.x", "the LUN is missing"},
        {"iscsi://h/", "name of the target is missing"},
        {"iscsi://h/iqn.x/-1", "LUN is not a number"},
        {"iscsi://h/iqn.x/16384", "LUN is not a number"},
        {"iscsi://h/iqn.x/0/1", "LUN is not a number"},
        {"iscsi://h/iqn.x/0?fs=xfs", "fs=xfs is not possible; valid: ext4 raw"},
        {longest, "more than 8192 bytes"},
    };

    (void)state;
    memset(longest, 'a', sizeof(longest) - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nm_url *url = NULL;
        char *password = NULL;
        struct nm_error err;

        if (nm_url_parse(cases[i][0], &url, &password, &err) != -EINVAL)
            fail_msg("accepted \"%s\"", cases[i][0]);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i][0], err.text, cases[i][1]);
        assert_null(url);
        assert_null(password);
    }
}

static void test_url_length_limits(void **state)
{
    char text[8000], name[300];
    struct nm_url *url = NULL;
    char *password = NULL;
    struct nm_error err;

    (void)state;
    memset(name, 'x', sizeof(name));
    snprintf(text, sizeof(text), "iscsi://h/iqn.%.219s/0", name); /* 223 bytes */
    nm_url_free(parse(text));
    snprintf(text, sizeof(text), "iscsi://h/iqn.%.220s/0", name);
    assert_int_equal(nm_url_parse(text, &url, &password, &err), -EINVAL);
    assert_non_null(strstr(err.text, "223 bytes"));
    memset(text, 'y', sizeof(text));
    memcpy(text, "smb://h/", 8);
    text[8 + 4095] = '\0';
    nm_url_free(parse(text));
    text[8 + 4095] = 'y';
    text[8 + 4100] = '\0';
    assert_int_equal(nm_url_parse(text, &url, &password, &err), -EINVAL);
    assert_non_null(strstr(err.text, "longer than 4096 bytes"));
}

static void test_url_messages_never_hold_the_password(void **state)
{
    static const char *const cases[][2] = {
        {"smb://user:se@cretXY@h/s", "raw \"@\"; write it as %40"},
        {"smb://user:se:cretXY@h/s", "raw \":\"; write it as %3A"},
        {"smb://user:se/cretXY@h/s", "raw \"/\"; write it as %2F"},
        {"smb://user:se?cretXY@h/s", "raw \"?\"; write it as %3F"},
        {"smb://user:se%cretXY@h/s", "raw \"%\"; write it as %25"},
        {"smb://user:p@s:s%w/cretXY@h/s", "--credentials FILE"},
        {"smb://user:cretXY@h:port/s", "port"},
        {"smb://user:cretXY@h/", "share is missing"},
        {"smb://user:cretXY@/s", "host name is missing"},
        {"smb://user:cretXY@h/s?x=1", "no arguments"},
        {"smb://user:cretXY/s", "port is not a number"},
        {"smb://user:cretXY%01@h/s", "control character"},
        {"iscsi://user%cretXY@h/iqn.x/0", "user name"},
        {"iscsi://user:cretXY@h/iqn.x/-1", "LUN"},
        {"nfs://user:cretXY@h/e", "takes no user"},
        {"smbx://user:cretXY@h/e", "did you mean \"smb\"?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nm_url *url = NULL;
        char *password = NULL;
        struct nm_error err;

        if (nm_url_parse(cases[i][0], &url, &password, &err) != -EINVAL)
            fail_msg("accepted \"%s\"", cases[i][0]);
        if (!strstr(err.text, cases[i][1]) || strstr(err.text, "cretXY"))
            fail_msg("%s: \"%s\"", cases[i][0], err.text);
        assert_null(password);
    }
}

static void test_url_gvfs_paths_are_shares(void **state)
{
    static const char *const cases[][2] = {
        {"/run/user/1000/gvfs/smb-share:server=nas.local,share=data/sub",
         "use smb://nas.local/data"},
        {"/run/user/1000/gvfs/smb-share:server=nas,share=a b,user=x", "use smb://nas/a b"},
        {"/run/user/1000/gvfs/sftp:host=nas", "use smb://SERVER/SHARE"},
        {"local:/run/user/0/gvfs", "use smb://SERVER/SHARE"},
    };
    struct nm_url *url = NULL;
    char *password = NULL;
    struct nm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(nm_url_parse(cases[i][0], &url, &password, &err), -EINVAL);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s: \"%s\"", cases[i][0], err.text);
    }
    nm_url_free(parse("/run/user/1000/gvfsdata"));
    nm_url_free(parse("/run/user/1000/other"));
}

static void test_url_names(void **state)
{
    static const char *const cases[][3] = {
        {"smb://nas/data", "nas", "data"},
        {"smb://nas:8445/data/a/b", "nas:8445", "b"},
        {"nfs://[::1]:2050/data/single/", "[::1]:2050", "single"},
        {"nfs://[fe80::1%25lo]/", "[fe80::1%lo]", "fe80::1%lo"},
        {"iscsi://nas/iqn.1994-11.com.netgear:nas:lun1/0", "nas", "lun1"},
        {"iscsi://nas/naa.6001405/0", "nas", "naa.6001405"},
        {"/mnt/usb", "", "usb"},
        {"/", "", "local"},
        {"http://nas/", "nas", "nas"},
        {"null:", "", "null"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nm_url *url = parse(cases[i][0]);
        char *host = nm_url_host_port(url);

        assert_string_equal(host, cases[i][1]);
        assert_string_equal(nm_url_volume_name(url), cases[i][2]);
        free(host);
        nm_url_free(url);
    }
    assert_int_equal(nm_protocol_parse("iscsi"), NM_PROTOCOL_ISCSI);
    assert_int_equal(nm_protocol_parse("ISCSI"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_parts_of_smb),
        cmocka_unit_test(test_url_parts_of_the_others),
        cmocka_unit_test(test_url_has_one_canonical_spelling),
        cmocka_unit_test(test_url_refusals_say_what_to_write),
        cmocka_unit_test(test_url_length_limits),
        cmocka_unit_test(test_url_messages_never_hold_the_password),
        cmocka_unit_test(test_url_gvfs_paths_are_shares),
        cmocka_unit_test(test_url_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
