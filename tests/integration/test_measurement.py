"""The measurement itself, without a server: data, order, clock, damage, resume, interruption,
cleaning up.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import gzip
import os
import pathlib
import signal
import sqlite3
import subprocess
import time
import unittest

import harness

FAST = ("--set", "run.pause=0s")


def blocks_of(root):
    """Every 512-byte block of every test file below root."""
    for path in sorted(pathlib.Path(root).rglob("f*")):
        data = path.read_bytes()
        for at in range(0, len(data) - 511, 512):
            yield data[at : at + 512]


class Data(harness.TestCase):
    """MEA-01, MEA-02: incompressible and unique per 512-byte block, over files, workers, runs."""

    def test_blocks_are_unique_and_do_not_compress(self):
        target = self.scratch / "target"
        target.mkdir()
        for _ in range(2):
            self.nasmark(
                "bench",
                f"local:{target}",
                "-w",
                "copy:3x8MB,200x2KB",
                "--trials",
                "2",
                "--streams",
                "4",
                "--set",
                "run.keep=yes",
                "--again",
                *FAST,
            )
        blocks = list(blocks_of(target))
        self.assertGreater(len(blocks), 180000)
        self.assertEqual(len(blocks), len(set(blocks)))
        sample = b"".join(blocks[:4096])
        self.assertGreater(len(gzip.compress(sample, 1)) / len(sample), 0.99)

    def test_other_kinds_of_data_are_conditions_of_their_own(self):
        target = self.scratch / "target"
        target.mkdir()
        self.nasmark("bench", f"local:{target}", "-w", "copy:1x8MB", "--trials", "1", *FAST)
        self.nasmark(
            "bench",
            f"local:{target}",
            "-w",
            "copy:1x8MB",
            "--trials",
            "1",
            "--set",
            "run.keep=yes",
            "--set",
            "run.data=compressible:50%",
            *FAST,
        )
        data = b"".join(blocks_of(target))
        self.assertAlmostEqual(data.count(0) / len(data), 0.5, delta=0.02)
        with sqlite3.connect(self.db) as db:
            texts = [row[0] for row in db.execute("SELECT text FROM key_conditions")]
        self.assertTrue(any("data=random" in text for text in texts))
        self.assertTrue(any("data=compressible:50%" in text for text in texts))


class Damage(harness.TestCase):
    """MEA-21: a flipped byte is found, and named by file and offset."""

    def test_a_flipped_byte_fails_the_download(self):
        result = self.nasmark(
            "bench",
            "null:x?store=yes&fault=corrupt@3",
            "-w",
            "copy:4x4MB",
            "--trials",
            "1",
            "--set",
            "run.verify=full",
            "--json",
            *FAST,
            expect=1,
        )
        phases = result.json()["tables"][0]["rows"][0]["phases"]
        self.assertEqual(phases["upload"]["status"], "ok")
        self.assertEqual(phases["download"]["status"], "failed")
        self.assertEqual(phases["download"]["trials"][0]["reason"], "corrupt")
        self.assertIn("/f000000", result.err)
        self.assertRegex(result.err, r"byte \d+")

    def test_without_a_fault_verification_passes(self):
        self.nasmark(
            "bench",
            "null:x?store=yes",
            "-w",
            "copy:4x4MB,1x1000003",
            "--trials",
            "2",
            "--set",
            "run.verify=full",
            "--depth",
            "8",
            *FAST,
        )


class Course(harness.TestCase):
    """MEA-14, MEA-22: what a single mean hides."""

    def test_a_burst_is_shown_with_both_levels(self):
        result = self.nasmark(
            "bench",
            "null:x?burst=2GB:100MB&rate=500MB",
            "-w",
            "sequential:3GB",
            "--trials",
            "1",
            "--json",
            *FAST,
        )
        phase = result.json()["tables"][0]["rows"][0]["phases"]["write"]
        self.assertIn("burst", phase["flags"])
        metrics = {metric["name"]: metric["value"] for metric in phase["metrics"]}
        self.assertAlmostEqual(metrics["burst_rate"] / 500e6, 1, delta=0.15)
        self.assertAlmostEqual(metrics["sustained_rate"] / 100e6, 1, delta=0.15)

    def test_a_phase_too_short_has_no_value(self):
        result = self.nasmark(
            "bench", "null:x", "-w", "copy:1x1B", "--trials", "1", "--json", *FAST
        )
        phase = result.json()["tables"][0]["rows"][0]["phases"]["upload"]
        self.assertEqual(phase["status"], "too_short")
        self.assertIsNone(phase["bytes_per_s"])


class Order(harness.TestCase):
    """MEA-05: trials of a cell lie apart; the same seed gives the same order."""

    def order(self, seed):
        self.db = self.scratch / f"order-{seed}-{time.monotonic_ns()}.db"
        self.nasmark(
            "bench",
            "null:x",
            "-w",
            "copy:1x4MB",
            "-w",
            "copy:2x4MB",
            "-w",
            "copy:3x4MB",
            "-w",
            "copy:4x4MB",
            "--trials",
            "3",
            "--set",
            f"run.seed={seed}",
            *FAST,
        )
        with sqlite3.connect(self.db) as db:
            rows = db.execute(
                "SELECT w.key, t.pass FROM trial t JOIN cell c ON c.id=t.cell_id JOIN phase p ON "
                "p.id=c.phase_id JOIN workload w ON w.id=p.workload_id WHERE p.name='upload' "
                "ORDER BY t.id"
            ).fetchall()
        return rows

    def test_passes_and_seed(self):
        first, again, other = self.order(7), self.order(7), self.order(8)
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual([row[1] for row in first], [1] * 4 + [2] * 4 + [3] * 4)
        self.assertEqual(len(set(first[:4])), 4)


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
/* CLOCK_REALTIME an hour later from the 4th call on, an hour earlier from the 7th. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    static int calls;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += ++calls > 6 ? -3600 : calls > 3 ? 3600 : 0;
    return r;
}
"""


class Clock(harness.TestCase):
    """MEA-18: the wall clock jumps, durations do not."""

    def test_wall_clock_jumps(self):
        source, shim = self.scratch / "shim.c", self.scratch / "shim.so"
        source.write_text(SHIM)
        harness.run("cc", "-shared", "-fPIC", "-o", shim, source, "-ldl")
        preload = str(shim)
        if "asan" in harness.program():
            self.skipTest("a preload shim and the sanitizers exclude each other")
        result = self.nasmark(
            "bench",
            "null:x?rate=100MB",
            "-w",
            "copy:1x50MB",
            "--trials",
            "3",
            "--json",
            *FAST,
            env={"LD_PRELOAD": preload},
        )
        trials = result.json()["tables"][0]["rows"][0]["phases"]["upload"]["trials"]
        self.assertEqual(len(trials), 3)
        for trial in trials:
            self.assertAlmostEqual(trial["duration_ns"] / 0.5e9, 1, delta=0.4)


class Ending(harness.TestCase):
    """CLI-01, DB-07: interrupted and killed runs."""

    def start(self, target, *more):
        return subprocess.Popen(
            [
                harness.program(),
                "bench",
                f"local:{target}",
                "-w",
                "copy:500x64KB",
                "--trials",
                "50",
                *FAST,
                *more,
            ],
            env={**os.environ, **self.environment()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ended(self, process, deadline_s=20):
        try:
            return process.communicate(timeout=deadline_s)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.fail("it did not end")

    def trials(self):
        with sqlite3.connect(self.db) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            return db.execute("SELECT count(*) FROM trial WHERE status='ok'").fetchone()[0]

    def wait_for_trials(self, wanted, deadline_s=60):
        end = time.monotonic() + deadline_s
        while time.monotonic() < end:
            if self.db.exists():
                try:
                    if self.trials() >= wanted:
                        return
                except sqlite3.OperationalError:
                    pass  # being made
            time.sleep(0.05)
        self.fail(f"no {wanted} trials in {deadline_s} s")

    def test_signals_end_the_run_and_leave_nothing(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for delay_s in (0.05, 0.3, 0.9):
                with self.subTest(signal=number, delay_s=delay_s):
                    target = self.scratch / f"target-{number}-{delay_s}"
                    target.mkdir()
                    (target / "foreign").write_text("stays")
                    process = self.start(target)
                    time.sleep(delay_s)
                    process.send_signal(number)
                    err = self.ended(process)
                    # before its handlers stand, the program ends as every program does
                    self.assertIn(process.returncode, (code, -number), err)
                    self.assertEqual(os.listdir(target), ["foreign"])

    def test_kill_loses_no_stored_trial_and_leaves_no_process(self):
        target = self.scratch / "target"
        target.mkdir()
        stored = 0
        for delay_s in (0.01, 0.1, 0.3):
            process = self.start(target)
            self.wait_for_trials(stored + 1)
            time.sleep(delay_s)
            process.kill()
            self.ended(process)
            time.sleep(0.3)
            alive = harness.run("pgrep", "-f", str(target), expect=None).out.split()
            self.assertEqual(alive, [])
            now = self.trials()
            self.assertGreater(now, stored)
            stored = now
        # The campaign goes on where it stopped: no pass counts twice. (An upload whose download was
        # cut off is measured again, the files were gone: the first one is void.)
        with sqlite3.connect(self.db) as db:
            doubles = db.execute(
                "SELECT count(*) FROM (SELECT t.cell_id FROM trial t JOIN cell c ON c.id=t.cell_id"
                " JOIN phase p ON p.id=c.phase_id WHERE t.status='ok' AND t.void_why IS NULL"
                " GROUP BY t.cell_id, t.pass HAVING count(*) > 1)"
            ).fetchone()[0]
        self.assertEqual(doubles, 0)
        self.assertTrue(any(name.startswith("nasmark-") for name in os.listdir(target)))
        result = self.nasmark("clean", f"local:{target}")
        self.assertEqual(os.listdir(target), [], result)

    def test_resume_wants_the_same_plan(self):
        target = self.scratch / "target"
        target.mkdir()
        plan = self.scratch / "plan.ini"
        text = (
            f"[nas]\nname = box\nfirmware = 1\n[volume v]\nkind = single\nlocal = {target}\n"
            "[run]\nworkloads = copy:2x1MB\nprotocols = local\ntrials = 2\npause = 0s\n"
        )
        plan.write_text(text)
        self.nasmark("run", plan, "--resume", expect=2)
        self.nasmark("run", plan, "--trials", "1")
        plan.write_text(text + "depth = 3\n")
        result = self.nasmark("run", plan, "--resume", expect=2)
        self.assertIn("depth", result.err)
        plan.write_text(text)
        before = self.trials()
        self.nasmark("run", plan)
        self.assertGreater(self.trials(), before)


class Local(harness.TestCase):
    """Source and destination directories, eviction, streams."""

    def test_source_and_destination_are_made_and_removed(self):
        target, source, destination = (
            self.scratch / name for name in ("target", "source", "destination")
        )
        for directory in (target, source, destination):
            directory.mkdir()
            (directory / "mine").write_text("stays")
        result = self.nasmark(
            "bench",
            f"local:{target}",
            "-w",
            "copy:3x2MB",
            "--trials",
            "1",
            "--set",
            f"run.source={source}",
            "--set",
            f"run.destination={destination}",
            "--set",
            "run.verify=full",
            "--json",
            *FAST,
        )
        self.assertEqual(
            result.json()["tables"][0]["rows"][0]["phases"]["download"]["status"], "ok"
        )
        for directory in (target, source, destination):
            self.assertEqual(os.listdir(directory), ["mine"])

    def test_eviction_reads_other_data_and_cleans_up(self):
        target = self.scratch / "target"
        target.mkdir()
        self.nasmark(
            "bench",
            f"local:{target}",
            "-w",
            "copy:3x2MB",
            "--trials",
            "2",
            "--set",
            "run.evict=20MB",
            *FAST,
        )
        self.assertEqual(os.listdir(target), [])

    def test_prepare_runs_before_reading_back_and_must_succeed(self):
        target, log = self.scratch / "target", self.scratch / "log"
        target.mkdir()
        command = f"echo $NASMARK_VOLUME $NASMARK_PROTOCOL $NASMARK_WORKLOAD $NASMARK_PHASE >>{log}"
        self.nasmark(
            "bench",
            f"local:{target}",
            "-w",
            "copy:1x1MB",
            "--trials",
            "2",
            "--set",
            f"run.prepare={command}",
            *FAST,
        )
        self.assertEqual(log.read_text(), "target local copy:1x1MB download\n" * 2)
        result = self.nasmark(
            "bench",
            f"local:{target}",
            "-w",
            "copy:1x1MB",
            "--trials",
            "1",
            "--json",
            "--set",
            "run.prepare=exit 3",
            *FAST,
            expect=1,
        )
        phases = result.json()["tables"][0]["rows"][0]["phases"]
        self.assertEqual(
            (phases["upload"]["status"], phases["download"]["status"]), ("ok", "failed")
        )
        self.assertIn("exit status 3", result.err)

    def test_full_target_is_refused_before_and_reported_during(self):
        if os.geteuid() != 0:
            harness.unavailable("needs root for a small tmpfs")
        target = self.scratch / "small"
        target.mkdir()
        harness.run("mount", "-t", "tmpfs", "-o", "size=64m", "none", target)
        self.addCleanup(harness.run, "umount", target)
        for more in ((), ("--set", "run.preflight=no")):
            result = self.nasmark(
                "bench",
                f"local:{target}",
                "-w",
                "copy:1x200MB",
                "--trials",
                "1",
                "--json",
                *FAST,
                *more,
                expect=1,
            )
            trial = result.json()["tables"][0]["rows"][0]["phases"]["upload"]["trials"][0]
            self.assertEqual((trial["status"], trial["reason"]), ("failed", "no_space"))
            self.assertEqual(os.listdir(target), [])


if __name__ == "__main__":
    harness.main()
