/* queue-bench URL write|read|randread BLOCK DEPTH SIZE SECONDS: one backend's queue without the
 * engine, for comparison with fio and for the cost of the harness. The file (or the device) is used
 * over and over from the start; no data are generated or checked. Prints operations and bytes per
 * second, and the CPU time per operation.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"
#include "clock.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct nm_error err;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "queue-bench: %s: %s\n", what, err.text);
    exit(1);
}

static uint64_t size_of(const char *text)
{
    uint64_t bytes = 0;

    must(!nm_units_parse_bytes(text, &bytes, &err) && bytes, "size");
    return bytes;
}

static uint64_t next_random(uint64_t *state) /* xorshift64 */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void run_one(struct nm_session *session, struct nm_op *op)
{
    nm_session_run(session, op, 60 * NM_NS_PER_S);
    err = op->err;
    must(op->result >= 0, nm_op_kind_name(op->kind));
}

/* Keeps the queue full until the time is over; returns the number of operations. */
static uint64_t pump(struct nm_session *session, struct nm_op *queue, unsigned depth,
                     uint64_t blocks, bool at_random, uint64_t until_ns)
{
    uint64_t n = 0, state = 88172645463325252u;
    uint32_t block = queue[0].length_bytes;

    for (unsigned i = 0; i < depth; i++, n++) {
        queue[i].offset_bytes = (at_random ? next_random(&state) % blocks : n % blocks) * block;
        nm_session_submit(session, &queue[i]);
    }
    while (session->in_flight) {
        struct nm_op *op = nm_session_reap(session, nm_clock_now_ns() + NM_NS_PER_S, &err);

        if (!op)
            continue;
        err = op->err;
        must(op->result == block, "operation");
        if (op->done_ns >= until_ns)
            continue;
        op->offset_bytes = (at_random ? next_random(&state) % blocks : n % blocks) * block;
        n++;
        nm_session_submit(session, op);
    }
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: queue-bench URL write|read|randread BLOCK DEPTH SIZE SECONDS\n");
        return 2;
    }
    bool write = !strcmp(argv[2], "write"), at_random = !strcmp(argv[2], "randread");
    uint32_t block = (uint32_t)size_of(argv[3]);
    unsigned depth = (unsigned)size_of(argv[4]);
    uint64_t size = size_of(argv[5]), seconds = size_of(argv[6]);
    struct nm_credentials nobody = {0};
    struct nm_connect how = {.volume = "bench",
                             .credentials = &nobody,
                             .timeout_ns = 30 * NM_NS_PER_S,
                             .depth = depth,
                             .block_bytes = block,
                             .streams = 1};
    size_t slot_bytes = (block + 4095u) / 4096u * 4096u;
    struct nm_op *queue = calloc(depth, sizeof(*queue));
    struct nm_session *session;
    struct nm_url *url;
    char *password = NULL;

    must(!nm_url_parse(argv[1], &url, &password, &err), "URL");
    const struct nm_backend_ops *ops = nm_backend_select(url, 0, 0, &err);

    must(ops && queue, "backend");
    how.url = url;
    how.options = ops->options ? calloc(1, ops->options->size) : NULL;
    if (how.options)
        must(!nm_options_init(ops->options, (void *)how.options, &err), "options");
    how.buffers_bytes = depth * slot_bytes;
    how.buffers = mmap(NULL, how.buffers_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    must(how.buffers != MAP_FAILED, "buffers");
    must(!nm_backend_connect(ops, &how, &session, &err), "connect");

    struct nm_op file = {.kind = write ? NM_OP_CREATE : NM_OP_OPEN,
                         .path = ops->traits & NM_TRAIT_FILES ? "queue-bench" : "",
                         .open_flags = NM_OPEN_READ,
                         .expected_bytes = size};

    run_one(session, &file);
    for (unsigned i = 0; i < depth; i++)
        queue[i] = (struct nm_op){.kind = write ? NM_OP_WRITE : NM_OP_READ,
                                  .file = file.file,
                                  .length_bytes = block,
                                  .slot = i,
                                  .buf = (char *)how.buffers + i * slot_bytes};
    uint64_t start_ns = nm_clock_now_ns(), cpu_ns = nm_clock_process_cpu_ns();
    uint64_t n =
        pump(session, queue, depth, size / block, at_random, start_ns + seconds * NM_NS_PER_S);

    if (write)
        run_one(session, &(struct nm_op){.kind = NM_OP_FLUSH, .file = file.file});
    uint64_t took_ns = nm_clock_now_ns() - start_ns;

    cpu_ns = nm_clock_process_cpu_ns() - cpu_ns;
    printf("%.0f op/s %.1f MB/s %.2f us CPU/op\n", (double)n * 1e9 / (double)took_ns,
           (double)n * block * 1e3 / (double)took_ns, (double)cpu_ns / 1e3 / (double)n);
    run_one(session, &(struct nm_op){.kind = NM_OP_CLOSE, .file = file.file});
    ops->disconnect(session);
    if (how.options)
        nm_options_done(ops->options, (void *)how.options);
    free((void *)how.options);
    munmap(how.buffers, how.buffers_bytes);
    nm_url_free(url);
    free(queue);
    return 0;
}
