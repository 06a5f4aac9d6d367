/* Plans: what is accepted, what is refused and where, identity and template. Backends and workloads
 * are fakes: this file defines the two tables, so that the real ones are not linked.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- fakes --- */

struct fake_options {
    char *list;
    uint32_t number;
    uint64_t bytes;
};

static const struct nm_option smb_rows[] = {
    {.name = "lanes",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct fake_options, number),
     .preset = "auto",
     .zero_word = "auto",
     .help = "x"},
};
static const struct nm_option iscsi_rows[] = {
    {.name = "allow_destroy",
     .type = NM_OPTION_LIST,
     .offset = offsetof(struct fake_options, list),
     .local = true,
     .help = "x"},
    {.name = "sessions",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct fake_options, number),
     .preset = "1",
     .help = "x"},
};
static const struct nm_option sequential_rows[] = {
    {.name = "length",
     .type = NM_OPTION_SIZE,
     .offset = offsetof(struct fake_options, bytes),
     .preset = "256MiB",
     .help = "x"},
};

#define SECTION(title, rows)                                                                       \
    {                                                                                              \
        .name = title, .options = rows, .n_options = NM_OPTION_COUNT(rows),                        \
        .size = sizeof(struct fake_options), .help = "x"                                           \
    }

static const struct nm_option_section smb_section = SECTION("smb", smb_rows);
static const struct nm_option_section iscsi_section = SECTION("iscsi", iscsi_rows);
static const struct nm_option_section sequential_section = SECTION("sequential", sequential_rows);

static const struct nm_backend_ops fake_smb = {.name = "smb", .options = &smb_section};
static const struct nm_backend_ops fake_iscsi = {.name = "iscsi", .options = &iscsi_section};
static const struct nm_backend_ops fake_lunfs = {.name = "lunfs", .options = &iscsi_section};

const struct nm_backend_ops *const nm_backend_table[] = {&fake_smb, &fake_iscsi, &fake_lunfs, NULL};

struct fake_workload {
    struct nm_workload base;
    char key[64];
    const struct fake_options *options;
};

static const struct nm_workload_ops fake_copy, fake_sequential, fake_bonnie;

static int fake_parse(const char *arguments, const void *options, struct nm_workload **ret,
                      struct nm_error *err)
{
    struct fake_workload *workload;

    if (!options && (!arguments || !strchr(arguments, 'x')))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "COUNTxSIZE is missing");
    workload = calloc(1, sizeof(*workload));
    workload->base.ops = options ? &fake_sequential : &fake_copy;
    workload->options = options;
    snprintf(workload->key, sizeof(workload->key), "%s%s%s", workload->base.ops->name,
             arguments ? ":" : "", arguments ? arguments : "");
    *ret = &workload->base;
    return 0;
}

static void fake_free(struct nm_workload *workload)
{
    free(workload);
}

static char *fake_key(const struct nm_workload *workload)
{
    return strdup(((const struct fake_workload *)workload)->key);
}

static const struct nm_workload_ops fake_copy = {
    .name = "copy", .parse = fake_parse, .free = fake_free, .key = fake_key};
static const struct nm_workload_ops fake_sequential = {.name = "sequential",
                                                       .options = &sequential_section,
                                                       .parse = fake_parse,
                                                       .free = fake_free,
                                                       .key = fake_key};
static const struct nm_workload_ops fake_bonnie = {.name = "bonnie",
                                                   .unavailable = "made without it"};

const struct nm_workload_ops *const nm_workload_table[] = {&fake_copy, &fake_sequential,
                                                           &fake_bonnie, NULL};

static const struct nm_profile_item atto_items[] = {{"length", "64MiB"}};
static const struct nm_profile atto = {
    .name = "atto2", .workload = "sequential", .items = atto_items, .n_items = 1};

const struct nm_profile *const nm_profile_table[] = {&atto, NULL};

/* --- helpers --- */

static int parse_sets(const char *text, const char *const *sets, size_t n_sets,
                      struct nm_plan **ret_plan, char **ret_warnings, struct nm_error *err)
{
    struct nm_vault *vault = NULL;
    int r;

    *err = (struct nm_error){0};
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    r = nm_plan_parse("p.ini", text, strlen(text), sets, n_sets, vault, ret_plan, ret_warnings,
                      err);
    nm_vault_free(vault);
    return r;
}

static struct nm_plan *parse(const char *text, const char *set)
{
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;

    if (parse_sets(text, &set, set ? 1 : 0, &plan, &warnings, &err) < 0)
        fail_msg("%s", err.text);
    assert_null(warnings);
    return plan;
}

#define NAS    "[nas]\nname = n\nfirmware = 1\n"
#define VOLUME "[volume a]\nsmb = smb://h/a\n"

static const char full[] = "\xef\xbb\xbf; comment\r\n"
                           "[nas]\n"
                           "  name = readynas-104          ; groups results; required\n"
                           "vendor = NETGEAR\n"
                           "firmware: 6.1.2\n"
                           "firmware_date = 2012-02-29\n"
                           "ram = 512MiB\n"
                           "# comment\n"
                           "[client]\n"
                           "switch = GSM7212\n"
                           "[volume single]\n"
                           "kind = single\n"
                           "label = Pojedynczy; wolumin\n"
                           "smb = smb://reviewer@nas/a@b;c/\n"
                           "iscsi = iscsi://nas/iqn.1994-11.com.netgear:nas:lun1/0\n"
                           "[volume usb disk]\n"
                           "kind = usb\n"
                           "interface = USB 3.0\n"
                           "smb = smb://reviewer@nas/usb   ; no iscsi line: that cell is n/a\n"
                           "[run]\n"
                           "workloads = copy:1x2GB   copy:10x2KB atto2 mine\n"
                           "protocols = iscsi smb\n"
                           "depth = 32\n"
                           "data = compressible:50%\n"
                           "keep = yes\n"
                           "[smb]\n"
                           "[iscsi]\n"
                           "sessions = 2\n"
                           "allow_destroy = iqn.1994-11.com.netgear:nas:lun1/0\n"
                           "[profile mine]\n"
                           "length = 1g\n"
                           "workload = sequential\n";

/* --- tests --- */

static void test_plan_full(void **state)
{
    struct nm_plan *plan = parse(full, NULL);
    const struct nm_volume *volume;
    const struct fake_options *iscsi, *lunfs;

    (void)state;
    assert_string_equal(plan->nas.name, "readynas-104");
    assert_string_equal(plan->nas.firmware, "6.1.2");
    assert_int_equal(plan->nas.ram_bytes, 512 << 20);
    assert_string_equal(plan->client.switch_name, "GSM7212");
    assert_int_equal(plan->n_volumes, 2);
    volume = nm_plan_volume(plan, "usb disk");
    assert_ptr_equal(volume, &plan->volumes[1]);
    assert_string_equal(volume->options.interface, "USB 3.0");
    assert_null(volume->urls[NM_PROTOCOL_ISCSI]);
    assert_string_equal(plan->volumes[0].options.label, "Pojedynczy; wolumin");
    assert_string_equal(plan->volumes[0].urls[NM_PROTOCOL_SMB]->share, "a@b;c");
    assert_string_equal(plan->volumes[0].options.urls[NM_PROTOCOL_SMB], "smb://reviewer@nas/a@b;c");
    assert_int_equal(plan->n_protocols, 2);
    assert_int_equal(plan->protocols[0], NM_PROTOCOL_ISCSI);
    assert_int_equal(plan->run.depth, 32);
    assert_int_equal(plan->run.trials, 3);
    assert_int_equal(plan->run.timeout_ns, 30000000000);
    assert_true(plan->run.keep);
    iscsi = nm_plan_backend_options(plan, "iscsi");
    lunfs = nm_plan_backend_options(plan, "lunfs");
    assert_int_equal(iscsi->number, 2); /* one section, two rows */
    assert_int_equal(lunfs->number, 2);
    assert_int_equal(plan->n_workloads, 4);
    assert_string_equal(plan->workloads[0].key, "copy:1x2GB");
    assert_string_equal(plan->workloads[2].key, "atto2");
    assert_int_equal(((struct fake_workload *)plan->workloads[2].workload)->options->bytes,
                     64 << 20);
    assert_string_equal(plan->workloads[3].key, "mine");
    assert_int_equal(((struct fake_workload *)plan->workloads[3].workload)->options->bytes,
                     1 << 30);
    nm_plan_free(plan);
}

static void test_plan_defaults_follow_the_urls(void **state)
{
    struct nm_plan *plan = parse(
        NAS "[volume a]\nlocal = /mnt/a\n[volume b]\nsmb = smb://h/b\nlocal = /mnt/b\n", NULL);

    (void)state;
    assert_int_equal(plan->n_protocols, 2);
    assert_int_equal(plan->protocols[0], NM_PROTOCOL_SMB);
    assert_int_equal(plan->protocols[1], NM_PROTOCOL_LOCAL);
    assert_int_equal(plan->n_workloads, 3);
    assert_string_equal(plan->workloads[2].key, "copy:10000x2KB");
    assert_string_equal(plan->volumes[0].options.kind, "other");
    nm_plan_free(plan);
}

static void test_plan_refuses_with_place_and_remedy(void **state)
{
    static const char *const cases[][2] = {
        {NAS VOLUME "[run]\nblok_size: 4k\n",
         "p.ini:7: unknown key \"blok_size\" in [run]; did you mean \"block\"?"},
        {NAS VOLUME "[run]\nTrials = 3\n",
         "p.ini:7: unknown key \"Trials\" in [run]; did you mean \"trials\"?"},
        {NAS VOLUME "[run]\nsigning = off\n", "p.ini:7: unknown key \"signing\" in [run]"},
        {NAS VOLUME "[run]\ntrials = three\n", "p.ini:7: trials: \"three\" is not a whole number"},
        {NAS VOLUME "[run]\ntrials = 1,5\n", "p.ini:7: trials: \"1,5\""},
        {NAS VOLUME "[run]\norder = pases\n", "did you mean \"passes\"?"},
        {NAS VOLUME "[rum]\n", "p.ini:6: unknown section [rum]; did you mean \"run\"?"},
        {NAS VOLUME "[atto2]\n",
         "p.ini:6: unknown section [atto2]; a profile is written [profile atto2]"},
        {NAS VOLUME "[run fast]\n", "p.ini:6: [run] takes no name"},
        {NAS "[volume]\n", "p.ini:4: a name is missing: [volume NAME]"},
        {NAS "[volume a/b]\n", "p.ini:4: the name of a volume cannot contain \"/\""},
        {NAS VOLUME VOLUME, "p.ini:6: [volume a] begins at line 4 already"},
        {NAS VOLUME "smb = smb://h/b\n", "p.ini:6: \"smb\" stands at line 5 already"},
        {NAS VOLUME "kind = raid55\n",
         "p.ini:6: kind: \"raid55\" is not a valid value; did you mean \"raid5\"?"},
        {NAS VOLUME "nfs = smb://h/x\n", "p.ini:6: nfs: this is a URL for \"smb\""},
        {NAS VOLUME "nfs =\n", "p.ini:6: nfs: the URL is empty"},
        {NAS VOLUME "nfs = nfs://h/e?verison=3\n",
         "p.ini:6: nfs: nfs URL: unknown argument \"verison\"; did you mean \"version\"?"},
        {NAS VOLUME "nfs = nfs://::1/e\n", "brackets"},
        {NAS, "p.ini: there is no volume"},
        {NAS "[volume a]\nkind = usb\n", "p.ini:4: [volume a] has no URL"},
        {"[nas]\nname = n\n" VOLUME, "p.ini:1: [nas] lacks \"firmware\""},
        {"[nas]\nname =\nfirmware = 1\n" VOLUME, "p.ini:2: [nas] lacks \"name\""},
        {VOLUME, "p.ini: [nas] lacks \"name\""},
        {NAS "firmware_date = 2013-02-29\n" VOLUME,
         "p.ini:4: firmware_date: \"2013-02-29\" is not a date"},
        {NAS "firmware_date = 20.8.2013\n" VOLUME, "write it like 2013-08-20"},
        {NAS VOLUME "[run]\nprotocols = smb smb\n", "p.ini:7: protocols: \"smb\" stands twice"},
        {NAS VOLUME "[run]\nprotocols = cifs\n", "p.ini:7: protocols: unknown protocol \"cifs\""},
        {NAS VOLUME "[run]\nworkloads = copi:1x2GB\n",
         "p.ini:7: workloads: copi:1x2GB: unknown workload \"copi\"; did you mean \"copy\"?"},
        {NAS VOLUME "[run]\nworkloads = 1x2GB\n", "a file set is written copy:1x2GB"},
        {NAS VOLUME "[run]\nworkloads = copy:1\n",
         "p.ini:7: workloads: copy:1: COUNTxSIZE is missing"},
        {NAS VOLUME "[run]\nworkloads =\n", "p.ini:7: workloads: the list is empty"},
        {NAS VOLUME "[run]\nworkloads = copy:1x1 copy:1x1\n", "copy:1x1: stands twice in the list"},
        {NAS VOLUME "[run]\nworkloads = bonnie\n", "bonnie: not built: made without it"},
        {NAS VOLUME "[run]\nworkloads = atto2:fast\n", "a profile takes no arguments"},
        {NAS VOLUME "[profile p]\nlength = 1k\n", "p.ini:6: [profile p] lacks \"workload\""},
        {NAS VOLUME "[profile p]\nworkload = sequental\n",
         "p.ini:7: unknown workload \"sequental\"; did you mean \"sequential\"?"},
        {NAS VOLUME "[profile p]\nworkload = sequential\nlen = 1k\n",
         "p.ini:8: unknown key \"len\" in [sequential]"},
        {NAS VOLUME "[profile p]\nworkload = copy\nlength = 1k\n",
         "p.ini:8: unknown key \"length\": the workload \"copy\" has no options"},
        {NAS VOLUME "[profile copy]\nworkload = copy\n",
         "p.ini:7: \"copy\" is the name of a workload"},
        {"x = 1\n", "p.ini:1: stands before the first [SECTION]"},
        {NAS "junk\n", "p.ini:4: is neither [SECTION] nor KEY = VALUE"},
        {NAS "vendor = \xe9\n", "p.ini:4: the line is not UTF-8"},
        {NAS "[volume \xe9]\n", "p.ini:4: the section is not UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nm_plan *plan = NULL;
        char *warnings = NULL;
        struct nm_error err;

        if (parse_sets(cases[i][0], NULL, 0, &plan, &warnings, &err) >= 0)
            fail_msg("accepted:\n%s", cases[i][0]);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("\"%s\" instead of \"%s\"", err.text, cases[i][1]);
        assert_null(plan);
        assert_null(warnings);
    }
}

static void test_plan_sets_override_and_are_checked_alike(void **state)
{
    static const char *const refused[][2] = {
        {"run.trils=5",
         "--set run.trils: unknown key \"trils\" in [run]; did you mean \"trials\"?"},
        {"rum.trials=5", "--set rum.trials: unknown section [rum]; did you mean \"run\"?"},
        {"run.trials=x", "--set run.trials: trials: \"x\" is not a whole number"},
        {"trials=5", "SECTION.KEY=VALUE"},
        {"run.trials", "SECTION.KEY=VALUE"},
        {".x=5", "SECTION.KEY=VALUE"},
        {"run.=5", "SECTION.KEY=VALUE"},
        {"volume c.smb=smb://h/c", "--set: the plan has no [volume c]"},
        {"run.pause=\x01", "plain UTF-8"},
        {"a.smb=smb://u:cretXY/z@h/s", "--set volume a.smb: smb: smb URL"},
    };
    static const char *const sets[] = {"run.trials=5", "run.trials=7",        "a.label=A",
                                       "smb.lanes=4",  "volume b.c.kind=usb", "nas.firmware=2"};
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;

    (void)state;
    assert_int_equal(
        parse_sets(NAS VOLUME "[volume b.c]\nlocal = /b\n", sets, 6, &plan, &warnings, &err), 0);
    assert_int_equal(plan->run.trials, 7);
    assert_string_equal(plan->nas.firmware, "2");
    assert_string_equal(plan->volumes[0].options.label, "A");
    assert_string_equal(plan->volumes[1].options.kind, "usb");
    assert_int_equal(((const struct fake_options *)nm_plan_backend_options(plan, "smb"))->number,
                     4);
    nm_plan_free(plan);
    plan = parse(NAS VOLUME, "volume.kind=raid5"); /* the only one */
    assert_string_equal(plan->volumes[0].options.kind, "raid5");
    nm_plan_free(plan);
    plan = NULL;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (parse_sets(NAS VOLUME, &refused[i][0], 1, &plan, &warnings, &err) >= 0)
            fail_msg("accepted %s", refused[i][0]);
        if (!strstr(err.text, refused[i][1]) || strstr(err.text, "cretXY"))
            fail_msg("\"%s\" instead of \"%s\"", err.text, refused[i][1]);
    }
}

static void test_plan_passwords_go_to_the_vault_alone(void **state)
{
    static const char text[] = NAS "[volume a]\nsmb = smb://u:cretXY%40@h/a\n[run]\n";
    struct nm_plan *plan = NULL;
    struct nm_vault *vault = NULL;
    char *warnings = NULL, *run, *all;

    (void)state;
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    assert_int_equal(nm_plan_parse("p", text, strlen(text), NULL, 0, vault, &plan, &warnings, NULL),
                     0);
    assert_non_null(strstr(warnings, "the smb URL of volume \"a\" holds a password"));
    assert_null(strstr(warnings, "cretXY"));
    assert_string_equal(plan->volumes[0].options.urls[NM_PROTOCOL_SMB], "smb://u@h/a");
    run = nm_plan_canonical_run(plan);
    all = nm_plan_format(plan);
    assert_null(strstr(run, "cretXY"));
    assert_null(strstr(all, "cretXY"));
    assert_int_equal(nm_plan_resolve_credentials(plan, vault, false, NULL), 0);
    assert_string_equal(plan->volumes[0].credentials[NM_PROTOCOL_SMB].password, "cretXY@");
    free(run);
    free(all);
    free(warnings);
    nm_plan_free(plan);
    nm_vault_free(vault);
}

static void test_plan_identity_leaves_out_what_does_not_matter(void **state)
{
    struct nm_plan *plan = parse(full, NULL), *again;
    char *run = nm_plan_canonical_run(plan), *other, *all;

    (void)state;
    assert_string_equal(run, "[run]\n"
                             "workloads = copy:1x2GB copy:10x2KB atto2 mine\n"
                             "protocols = iscsi smb\n"
                             "depth = 32\n"
                             "data = compressible:50%\n"
                             "\n[iscsi]\nsessions = 2\n"
                             "\n[profile mine]\nworkload = sequential\nlength = 1GiB\n"
                             "\n[profile atto2]\nworkload = sequential\nlength = 64MiB\n");
    all = nm_plan_format(plan);
    again = parse(all, NULL); /* the whole plan as text is a plan, and the same one */
    other = nm_plan_canonical_run(again);
    assert_string_equal(other, run);
    assert_string_equal(again->volumes[1].options.urls[NM_PROTOCOL_SMB], "smb://reviewer@nas/usb");
    assert_true(again->run.keep);
    free(other);
    nm_plan_free(again);

    again = parse(full, "run.trials=9"); /* more trials, another pause: the same campaign */
    other = nm_plan_canonical_run(again);
    assert_string_equal(other, run);
    free(other);
    nm_plan_free(again);
    again = parse(full, "run.streams=2");
    other = nm_plan_canonical_run(again);
    assert_string_not_equal(other, run);
    free(other);
    nm_plan_free(again);
    free(all);
    free(run);
    nm_plan_free(plan);
}

static void test_plan_from_url(void **state)
{
    static const char *const words[] = {"copy:1x1", "atto2"};
    static const char *const sets[] = {"nas.firmware=6.1.3", "volume.kind=raid1", "run.depth=4"};
    struct nm_vault *vault = NULL;
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;

    (void)state;
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    assert_int_equal(nm_plan_from_url("nfs://nas/data/single", NULL, words, 2, sets, 3, vault,
                                      &plan, &warnings, &err),
                     0);
    assert_string_equal(plan->nas.name, "nas");
    assert_string_equal(plan->nas.firmware, "6.1.3");
    assert_string_equal(plan->volumes[0].name, "single");
    assert_string_equal(plan->volumes[0].options.kind, "raid1");
    assert_int_equal(plan->n_protocols, 1);
    assert_int_equal(plan->protocols[0], NM_PROTOCOL_NFS);
    assert_int_equal(plan->n_workloads, 2);
    assert_null(plan->path);
    nm_plan_free(plan);
    assert_int_equal(
        nm_plan_from_url("/mnt/usb", NULL, NULL, 0, NULL, 0, vault, &plan, &warnings, &err), 0);
    assert_string_equal(plan->nas.name, "local");
    assert_string_equal(plan->nas.firmware, "unknown");
    assert_int_equal(plan->n_workloads, 3);
    nm_plan_free(plan);
    assert_true(nm_plan_from_url("smb://u:cretXY@h", NULL, NULL, 0, NULL, 0, vault, &plan,
                                 &warnings, &err) < 0);
    assert_string_equal(err.text, "smb URL: the share is missing; write it like "
                                  "smb://user@nas/share/folder");
    assert_true(nm_plan_from_url("smb://h/s", "mine", NULL, 0, (const char *[]){"run.block=3"}, 1,
                                 vault, &plan, &warnings, &err) < 0);
    assert_string_equal(err.text, "--set run.block: block: \"3\" is below the minimum, 512B");
    nm_vault_free(vault);
}

static void test_plan_sets_change_built_in_profiles(void **state)
{
    static const char *const sets[] = {"atto2.length=9KiB", "mine.length=3KiB"};
    static const char text[] = NAS VOLUME "[run]\nworkloads = atto2 mine\n"
                                          "[profile mine]\nworkload = sequential\n";
    const struct fake_options *options;
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;

    (void)state;
    assert_int_equal(parse_sets(text, sets, 2, &plan, &warnings, &err), 0);
    assert_int_equal(plan->n_profiles, 2);
    assert_string_equal(plan->profiles[1].name, "atto2");
    options = plan->profiles[1].options;
    assert_int_equal(options->bytes, 9 << 10);
    nm_plan_free(plan);
    assert_true(parse_sets(text, (const char *[]){"atto2.lenth=9"}, 1, &plan, &warnings, &err) < 0);
    assert_non_null(strstr(err.text, "did you mean \"length\""));
}

static void test_plan_template_is_a_plan(void **state)
{
    char *text = nm_plan_template(), *all = strdup(text);
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;
    size_t used = 0;

    (void)state;
    /* As printed it lacks a URL and nothing else; no line is misread. */
    assert_true(parse_sets(text, NULL, 0, &plan, &warnings, &err) < 0);
    assert_non_null(strstr(err.text, "[volume single] has no URL"));
    /* With every setting switched on, it is valid. */
    for (const char *at = text; *at; at++)
        if (*at != ';' || (at > text && at[-1] != '\n') || at[1] == ' ')
            all[used++] = *at;
    all[used] = '\0';
    plan = parse(all, NULL);
    assert_int_equal(plan->n_protocols, 5);
    assert_int_equal(plan->n_profiles, 1);
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++)
        for (size_t i = 0; i < (*s)->n_options; i++)
            if (!strstr(text, (*s)->options[i].name))
                fail_msg("%s.%s is missing", (*s)->name, (*s)->options[i].name);
    nm_plan_free(plan);
    free(text);
    free(all);
}

static void test_plan_load_reads_files(void **state)
{
    char path[] = "/tmp/nm-plan-XXXXXX";
    struct nm_vault *vault = NULL;
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;
    int fd = mkstemp(path);

    (void)state;
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    assert_int_equal(write(fd, full, strlen(full)), strlen(full));
    assert_int_equal(nm_plan_load(path, NULL, 0, vault, &plan, &warnings, &err), 0);
    assert_string_equal(plan->path, path);
    nm_plan_free(plan);
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_int_equal(nm_plan_load(path, NULL, 0, vault, &plan, &warnings, &err), -E2BIG);
    assert_non_null(strstr(err.text, "larger than a plan"));
    close(fd);
    unlink(path);
    assert_int_equal(nm_plan_load(path, NULL, 0, vault, &plan, &warnings, &err), -ENOENT);
    assert_non_null(strstr(err.text, ": No such file"));
    assert_int_equal(nm_plan_load("/tmp", NULL, 0, vault, &plan, &warnings, &err), -EISDIR);
    nm_vault_free(vault);
}

static void test_plan_too_many_settings_end_soon(void **state)
{
    static char text[200000];
    struct nm_plan *plan = NULL;
    char *warnings = NULL;
    struct nm_error err;
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 10000; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "[profile %d]\n", i);
    assert_true(parse_sets(text, NULL, 0, &plan, &warnings, &err) < 0);
    assert_non_null(strstr(err.text, "p.ini:4097: more than 4096 settings"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_full),
        cmocka_unit_test(test_plan_defaults_follow_the_urls),
        cmocka_unit_test(test_plan_refuses_with_place_and_remedy),
        cmocka_unit_test(test_plan_sets_override_and_are_checked_alike),
        cmocka_unit_test(test_plan_passwords_go_to_the_vault_alone),
        cmocka_unit_test(test_plan_identity_leaves_out_what_does_not_matter),
        cmocka_unit_test(test_plan_from_url),
        cmocka_unit_test(test_plan_sets_change_built_in_profiles),
        cmocka_unit_test(test_plan_template_is_a_plan),
        cmocka_unit_test(test_plan_load_reads_files),
        cmocka_unit_test(test_plan_too_many_settings_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
