/* Figures on a canvas that takes notes: whatever the data and the names, every coordinate is a
 * number, every text lies on the paper and no two texts overlap.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart/chart.h"

#include "text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXTS_MAX 4000

/* ---- the canvas */

struct box {
    double left, right, top, bottom;
    char text[80];
};

struct notes {
    struct nm_canvas canvas;
    struct box *boxes;
    size_t n_boxes, n_shapes, n_points, n_cut;
};

static struct notes *notes_of(struct nm_canvas *canvas)
{
    return (struct notes *)canvas;
}

static void note_rectangle(struct nm_canvas *canvas, double x, double y, double width,
                           double height, enum nm_ink ink)
{
    assert_true(isfinite(x) && isfinite(y) && isfinite(width) && isfinite(height));
    assert_true(width >= 0 && height >= 0 && ink < NM_INKS);
    notes_of(canvas)->n_shapes++;
}

static void note_points(struct nm_canvas *canvas, const struct nm_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(points[i].x) && isfinite(points[i].y));
    notes_of(canvas)->n_shapes++;
    notes_of(canvas)->n_points += n;
}

static void note_lines(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                       enum nm_ink ink, double width, enum nm_dash dash)
{
    assert_true(ink < NM_INKS && width > 0 && dash < NM_DASHES);
    note_points(canvas, points, n);
}

static void note_segments(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                          enum nm_ink ink, double width)
{
    assert_true(ink < NM_INKS && width > 0 && n % 2 == 0);
    note_points(canvas, points, n);
}

static void note_polygon(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                         enum nm_ink fill, enum nm_ink outline)
{
    assert_true(fill < NM_INKS && outline < NM_INKS);
    note_points(canvas, points, n);
}

static void note_circle(struct nm_canvas *canvas, double x, double y, double radius,
                        enum nm_ink fill, enum nm_ink outline)
{
    const struct nm_point center = {x, y};

    assert_true(radius > 0 && fill < NM_INKS && outline < NM_INKS);
    note_points(canvas, &center, 1);
}

static void note_text(struct nm_canvas *canvas, const struct nm_text *t)
{
    struct notes *notes = notes_of(canvas);
    double width = nm_canvas_width(t->text, t->size);
    double left = t->x - (t->anchor == NM_ANCHOR_START    ? 0
                          : t->anchor == NM_ANCHOR_MIDDLE ? width / 2
                                                          : width);

    notes->n_cut += strstr(t->text, "\u2026") != NULL;
    assert_true(isfinite(t->x) && isfinite(t->y) && t->size > 0);
    assert_true(nm_text_is_printable(t->text, strlen(t->text)));
    assert_true(notes->n_boxes < TEXTS_MAX);
    if (!*t->text)
        return;
    notes->boxes[notes->n_boxes] = (struct box){.left = left,
                                                .right = left + width,
                                                .top = t->y - 0.75 * t->size,
                                                .bottom = t->y + 0.1 * t->size};
    snprintf(notes->boxes[notes->n_boxes++].text, sizeof(notes->boxes[0].text), "%s", t->text);
}

static const struct nm_canvas_ops ops = {
    .rectangle = note_rectangle,
    .lines = note_lines,
    .segments = note_segments,
    .polygon = note_polygon,
    .circle = note_circle,
    .text = note_text,
};

static void check_boxes(const struct notes *notes, double width, double height)
{
    for (size_t i = 0; i < notes->n_boxes; i++) {
        const struct box *a = &notes->boxes[i];

        if (a->left < -1 || a->right > width + 1 || a->top < -1 || a->bottom > height + 1)
            fail_msg("'%s' leaves the paper: %.1f..%.1f x %.1f..%.1f of %.0f x %.0f", a->text,
                     a->left, a->right, a->top, a->bottom, width, height);
        for (size_t k = 0; k < i; k++) {
            const struct box *b = &notes->boxes[k];

            if (a->left < b->right && b->left < a->right && a->top < b->bottom &&
                b->top < a->bottom)
                fail_msg("'%s' overlaps '%s'", a->text, b->text);
        }
    }
}

/* On a wide and on a narrow paper. Returns what was drawn last; its boxes are freed. */
static struct notes draw(const struct nm_figure *figure)
{
    static const double widths[] = {720, 420, 300};
    struct notes notes = {.canvas = {.ops = &ops}};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        double height = nm_figure_height(figure, widths[i]);

        notes.n_boxes = notes.n_shapes = notes.n_points = 0;
        notes.boxes = calloc(TEXTS_MAX, sizeof(*notes.boxes));
        assert_non_null(notes.boxes);
        assert_true(isfinite(height) && height > 0);
        assert_true(fabs(nm_figure_draw(figure, &notes.canvas, 0, 0, widths[i]) - height) < 1e-6);
        check_boxes(&notes, widths[i], height);
        free(notes.boxes);
        notes.boxes = NULL;
    }
    return notes;
}

/* ---- bars */

static struct nm_figure_bar bar(const char *label, double value, const char *text)
{
    return (struct nm_figure_bar){
        .label = label, .value = value, .low = NAN, .high = NAN, .text = text};
}

static struct nm_figure bars_of(struct nm_figure_group *groups, size_t n)
{
    return (struct nm_figure){.form = NM_FIGURE_BARS,
                              .title = "Copying a large file (2 GB)",
                              .subtitle = "nas, firmware 1",
                              .y_name = "MB/s",
                              .decimal_sign = '.',
                              .groups = groups,
                              .n_groups = n};
}

static const char *const hostile[] = {
    "",
    " ",
    "<script>alert(1)</script>",
    "&amp; \"quotes\" 'and' ]]> --",
    "two\nlines\ttab \033[31m",
    "\u202Ertl override\u202C",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0645\u0631\u062d\u0628\u0627",
    "\u65e5\u672c\u8a9e\u306e\u30dc\u30ea\u30e5\u30fc\u30e0",
    "\U0001f600\U0001f4be e\u0301",
    "not utf-8: \xff\xfe\xc3",
    "=SUM(A1)|x",
    "a name that is far too long for any paper and goes on and on without any end in sight so "
    "that it has to be cut somewhere, wherever that may be, without falling apart",
    "a_name_without_any_blank_at_which_it_could_be_broken_0123456789_0123456789_0123456789_0123456"
    "789_0123456789",
};

static void test_bars_of_nothing(void **state)
{
    struct nm_figure_group empty[1] = {{.label = "volume"}};
    struct nm_figure figure = bars_of(NULL, 0);

    (void)state;
    draw(&figure);
    figure = bars_of(empty, 1);
    draw(&figure);
}

static void test_bars_say_why_there_is_no_value(void **state)
{
    struct nm_figure_bar bars[] = {bar("SMB Upload", NAN, "n/a"),
                                   bar("SMB Download", NAN, "failed (connection lost)")};
    struct nm_figure_group group = {.label = "USB 3.0 disk", .bars = bars, .n_bars = 2};
    struct nm_figure figure = bars_of(&group, 1);

    (void)state;
    assert_int_equal(draw(&figure).n_boxes > 4, true);
}

static void test_bars_of_any_size(void **state)
{
    static const double values[] = {0, 1e-12, 0.004, 1, 47.3, 1e6, 1e15};
    static const double dots[] = {1e-12, 46, 1e15};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct nm_figure_bar bars[] = {bar("SMB Upload", values[i], "47.3"),
                                       bar("SMB Download", 47.3, "123456.7")};
        struct nm_figure_group group = {.label = "RAID5", .bars = bars, .n_bars = 2};
        struct nm_figure figure = bars_of(&group, 1);

        bars[0].low = values[i] / 2;
        bars[0].high = values[i] * 1.1;
        bars[0].trials = dots;
        bars[0].n_trials = 3;
        bars[1].hatch = 1;
        draw(&figure);
    }
}

static void test_bars_of_hostile_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        struct nm_figure_bar bars[] = {bar(hostile[i], 10, "10.0"), bar("SMB", 20, hostile[i])};
        struct nm_figure_group group = {.label = hostile[i], .bars = bars, .n_bars = 1};
        struct nm_figure figure = bars_of(&group, 1);

        figure.title = hostile[i];
        figure.subtitle = hostile[i];
        figure.note = hostile[i];
        draw(&figure);
    }
}

static void test_bars_of_a_hundred_volumes(void **state)
{
    static struct nm_figure_group groups[100];
    static struct nm_figure_bar bars[100][4];
    static char names[100][24];
    struct nm_figure figure = bars_of(groups, 100);

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "volume %u", i);
        groups[i] = (struct nm_figure_group){.label = names[i], .bars = bars[i], .n_bars = 4};
        for (unsigned k = 0; k < 4; k++) {
            bars[i][k] = bar("iSCSI Download", i + k, "100.0");
            bars[i][k].hue = k / 2;
            bars[i][k].hatch = k;
        }
    }
    assert_int_equal(draw(&figure).n_cut, 0);
}

static void test_bars_show_the_link_only_where_it_fits(void **state)
{
    struct nm_figure_bar one = bar("SMB Upload", 100, "100.0");
    struct nm_figure_group group = {.label = "single", .bars = &one, .n_bars = 1};
    struct nm_figure figure = bars_of(&group, 1);
    struct notes near, far;

    (void)state;
    figure.n_across = 1;
    figure.across[0] = (struct nm_figure_rule){.at = 117.7, .label = "link, 1000 Mbit/s"};
    near = draw(&figure);
    figure.across[0].at = 1177;
    far = draw(&figure);
    assert_int_equal(near.n_boxes, far.n_boxes + 1);
}

/* ---- lines */

static struct nm_figure lines_of(struct nm_figure_line *lines, size_t n)
{
    return (struct nm_figure){.form = NM_FIGURE_LINES,
                              .title = "Course",
                              .x_name = "seconds since the start",
                              .y_name = "MB/s",
                              .decimal_sign = ',',
                              .lines = lines,
                              .n_lines = n};
}

static void test_lines_of_few_points(void **state)
{
    static struct nm_point points[][3] = {
        {{0, 0}, {0, 0}, {0, 0}},
        {{5, 47}, {5, 47}, {5, 47}},
        {{0, 1e-9}, {1, 1e-9}, {2, 1e12}},
        {{0, 100}, {1, 100}, {2, 100}},
    };
    struct nm_figure none = lines_of(NULL, 0);

    (void)state;
    draw(&none);
    for (size_t i = 0; i < 4; i++)
        for (size_t n = 0; n <= 3; n++) {
            struct nm_figure_line line = {
                .label = "pass 1: 47,3 MB/s", .points = points[i], .n = n, .marks = true};
            struct nm_figure figure = lines_of(&line, 1);

            for (int scale = NM_SCALE_LINEAR; scale <= NM_SCALE_NAMES; scale++) {
                static const char *const names[] = {"6.1.0", "6.1.1", "6.1.2", "a", "b", "c"};

                figure.x_scale = (enum nm_figure_scale)scale;
                figure.names = names;
                figure.n_names = 6;
                draw(&figure);
            }
        }
}

static void test_lines_keep_every_point(void **state)
{
    static struct nm_point points[1000];
    struct nm_figure_line line = {.label = "pass 1", .points = points, .n = 1000};
    struct nm_figure figure = lines_of(&line, 1);

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        points[i] = (struct nm_point){(double)i, 50 + (double)(i % 7)};
    assert_true(draw(&figure).n_points >= 1000);
    line.apart = true;
    assert_true(draw(&figure).n_points >= 1000);
}

static void test_lines_of_many_versions_with_changes(void **state)
{
    static struct nm_point points[300];
    static const char *names[300];
    struct nm_figure_line line = {.points = points, .n = 300, .marks = true};
    struct nm_figure figure = lines_of(&line, 1);

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        points[i] = (struct nm_point){(double)i, 90 + (double)(i % 3)};
        names[i] = hostile[i % (sizeof(hostile) / sizeof(hostile[0]))];
    }
    figure.x_scale = NM_SCALE_NAMES;
    figure.names = names;
    figure.n_names = 300;
    figure.n_upright = figure.n_across = NM_FIGURE_RULES;
    for (size_t i = 0; i < NM_FIGURE_RULES; i++) {
        figure.upright[i] = (struct nm_figure_rule){(double)i / 3, "-7.0 %"};
        figure.across[i] = (struct nm_figure_rule){90, "link"};
    }
    figure.n_across = 1;
    draw(&figure);
}

static void test_lines_with_a_long_legend(void **state)
{
    static struct nm_point points[2] = {{0, 1}, {1, 2}};
    struct nm_figure_line lines[20];
    struct nm_figure figure = lines_of(lines, 20);

    (void)state;
    for (size_t i = 0; i < 20; i++)
        lines[i] = (struct nm_figure_line){
            .label = hostile[i % (sizeof(hostile) / sizeof(hostile[0]))], .points = points, .n = 2};
    draw(&figure);
}

/* ---- text */

static void test_fit_cuts_at_a_character(void **state)
{
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
        for (double width = 0; width < 400; width += 7) {
            nm_canvas_fit(hostile[i], 11, width, out, sizeof(out));
            if (nm_text_is_utf8(hostile[i], strlen(hostile[i])))
                assert_true(nm_text_is_utf8(out, strlen(out)));
            assert_true(nm_text_is_printable(out, strlen(out)));
            assert_true(nm_canvas_width(out, 11) <= fmax(width, nm_canvas_width("\u2026", 11)));
            assert_null(strstr(out, "\u202e"));
        }
    assert_string_equal(nm_canvas_fit("RAID5", 11, 100, out, sizeof(out)), "RAID5");
}

static void test_wrap_keeps_the_words(void **state)
{
    char lines[8][NM_CANVAS_LINE], joined[400] = "";
    static const char text[] =
        "Bar: geometric mean; line across its end: slowest to fastest trial; "
        "dots: trials.";
    size_t n = nm_canvas_wrap(text, 11, 200, lines, 8);

    (void)state;
    assert_in_range(n, 3, 6);
    for (size_t i = 0; i < n; i++) {
        assert_true(nm_canvas_width(lines[i], 11) <= 200);
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", i ? " " : "",
                 lines[i]);
    }
    assert_string_equal(joined, text);
}

static void test_ticks_hold_the_data(void **state)
{
    static const double ranges[][2] = {{0, 1},   {0, 117.7}, {0, 0},        {5, 5},
                                       {90, 93}, {0, 1e-9},  {0, 1e15},     {-3, 4},
                                       {0, NAN}, {7, 3},     {0, INFINITY}, {0.1, 0.100001}};

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        double first, step;
        size_t n = nm_figure_ticks(ranges[i][0], ranges[i][1], 6, &first, &step);

        assert_in_range(n, 2, 12);
        assert_true(step > 0 && isfinite(first));
        if (ranges[i][1] > ranges[i][0] && isfinite(ranges[i][1])) {
            assert_true(first <= ranges[i][0] + step * 1e-6);
            assert_true(first + step * (double)(n - 1) >= ranges[i][1] - step * 1e-6);
        }
    }
}

/* ---- SVG */

static void test_svg_escapes_names(void **state)
{
    struct nm_figure_bar one = bar("<b>", 1.5, "1.5");
    struct nm_figure_group group = {.label = "<script>\"&'", .bars = &one, .n_bars = 1};
    struct nm_figure figure = bars_of(&group, 1);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    figure.title = "\"><script>";
    nm_chart_inline(&figure, 420, out);
    assert_int_equal(fclose(out), 0);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "http"));
    assert_non_null(strstr(text, "&lt;script&gt;&quot;&amp;&#39;"));
    free(text);
}

static void test_step_sizes_are_read(void **state)
{
    (void)state;
    assert_int_equal(nm_chart_step_bytes("seq512B-q4t1-write"), 512);
    assert_int_equal(nm_chart_step_bytes("seq64MiB-q4t1-read"), 67108864);
    assert_int_equal(nm_chart_step_bytes("rnd4KiB-q1t1-read"), 0);
    assert_int_equal(nm_chart_step_bytes("upload"), 0);
    assert_int_equal(nm_chart_step_bytes("seq-read"), 0);
}

/* ---- from cells */

static const struct nm_metrics no_metrics;
static const struct nm_conditions no_conditions;
static struct nm_cell some[16];
static struct nm_trial a_trial = {.status = NM_STATUS_OK, .metrics = &no_metrics};
static struct nm_cells cells;

static void add(const char *workload, const char *protocol, const char *phase, double bytes_per_s)
{
    bool ok = isfinite(bytes_per_s);
    size_t at = cells.count++;

    cells.items = some;
    some[at] = (struct nm_cell){.nas = "nas",
                                .firmware = "1",
                                .volume = "v",
                                .kind = "other",
                                .protocol = protocol,
                                .workload = workload,
                                .phase = phase,
                                .phase_index = (int)at,
                                .conditions_hash = "x",
                                .conditions = &no_conditions,
                                .trials = &a_trial,
                                .n_trials = 1,
                                .n_ok = ok,
                                .status = ok ? NM_CELL_OK : NM_CELL_NA,
                                .bytes_per_s = bytes_per_s,
                                .min_bytes_per_s = bytes_per_s,
                                .max_bytes_per_s = bytes_per_s,
                                .files_per_s = NAN};
}

static struct nm_chart *chart_of(const char *kind)
{
    const struct nm_chart_input input = {.cells = &cells, .language = nm_language_find("en")};
    struct nm_chart *chart = NULL;
    struct nm_error err = {0};

    if (nm_chart_new(nm_chart_find(kind), &input, 0, &chart, &err) < 0)
        fail_msg("%s", err.text);
    return chart;
}

static void test_bars_only_of_what_has_a_rate_somewhere(void **state)
{
    struct nm_chart *chart;

    (void)state;
    cells.count = 0;
    add("copy:1x2GB", "smb", "upload", NAN);
    add("copy:1x2GB", "local", "upload", 1e8);
    add("copy:1x2GB", "local", "seeks", NAN);
    add("copy:2x2GB", "smb", "upload", NAN); /* no figure at all */
    chart = chart_of("bars");
    assert_int_equal(chart->n_figures, 1);
    assert_int_equal(chart->figures[0].n_groups, 1);
    assert_int_equal(chart->figures[0].groups[0].n_bars, 1);
    assert_string_equal(chart->figures[0].groups[0].bars[0].label, "local Upload");
    nm_chart_free(chart);
}

static void test_bars_do_not_mix_bonnie_with_what_is_like_it(void **state)
{
    struct nm_chart *chart;

    (void)state;
    cells.count = 0;
    add("bonnie:1GiB", "smb", "write_char", 1e8);
    add("bonnie:1GiB", "local", "write_char", 1e6);
    chart = chart_of("bars");
    assert_int_equal(chart->n_figures, 2);
    assert_string_equal(chart->figures[0].title, "bonnie-like:1GiB");
    assert_string_equal(chart->figures[1].title, "bonnie:1GiB");
    nm_chart_free(chart);
}

static void test_curves_need_a_point(void **state)
{
    static const char *const steps[] = {
        "seq512B-q4t1-write", "seq512B-q4t1-read", "seq1KiB-q4t1-write", "seq1KiB-q4t1-read",
        "seq2KiB-q4t1-write", "seq2KiB-q4t1-read", "seq4KiB-q4t1-write", "seq4KiB-q4t1-read"};
    struct nm_chart *chart;

    (void)state;
    for (int with = 0; with < 2; with++) {
        cells.count = 0;
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
            add("atto2", "smb", steps[i], with && i == 3 ? 1e6 : NAN);
        chart = chart_of("atto");
        assert_int_equal(chart->n_figures, with);
        nm_chart_free(chart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bars_of_nothing),
        cmocka_unit_test(test_bars_say_why_there_is_no_value),
        cmocka_unit_test(test_bars_of_any_size),
        cmocka_unit_test(test_bars_of_hostile_names),
        cmocka_unit_test(test_bars_of_a_hundred_volumes),
        cmocka_unit_test(test_bars_show_the_link_only_where_it_fits),
        cmocka_unit_test(test_lines_of_few_points),
        cmocka_unit_test(test_lines_keep_every_point),
        cmocka_unit_test(test_lines_of_many_versions_with_changes),
        cmocka_unit_test(test_lines_with_a_long_legend),
        cmocka_unit_test(test_fit_cuts_at_a_character),
        cmocka_unit_test(test_wrap_keeps_the_words),
        cmocka_unit_test(test_ticks_hold_the_data),
        cmocka_unit_test(test_svg_escapes_names),
        cmocka_unit_test(test_step_sizes_are_read),
        cmocka_unit_test(test_bars_only_of_what_has_a_rate_somewhere),
        cmocka_unit_test(test_bars_do_not_mix_bonnie_with_what_is_like_it),
        cmocka_unit_test(test_curves_need_a_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
