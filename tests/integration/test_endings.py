"""Killed and interrupted at random moments: no stored trial is lost, no process is left, and the
targets become what they were.

NASMARK_TEST_ROUNDS=long (ctest -L long): 200 kills, 50 interruptions of each kind of target; else
a few. NASMARK_TEST_SEED=N repeats the moments of a run that failed; the seed is printed. A lab of
its own, so that nobody else's directories are in the listings.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import harness
from harness import Lab

FULL = os.environ.get("NASMARK_TEST_ROUNDS") == "long"
KILLS = 200 if FULL else 3
INTERRUPTIONS = 50 if FULL else 1
LONGEST_S = 2.0 if FULL else 1.0  # from the start to the signal
SEED = int(os.environ.get("NASMARK_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
ENDED_WITHIN_S = 15
MIB = 1 << 20

# What a run is made of; every kind of target has its own.
TARGETS = ("smb", "nfs", "local", "lunfs", "raw")


class EndingsTestCase(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"\nNASMARK_TEST_SEED={SEED}", file=sys.stderr)
        directory = tempfile.mkdtemp(prefix="nasmark-endings-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="smb nfs iscsi", volumes="plain", lun="256M",
                         net="host")
        cls.addClassCleanup(cls.lab.down)
        cls.share = pathlib.Path(cls.lab["LOCAL_DIR_plain"])

    def setUp(self):
        super().setUp()
        self.random = random.Random(f"{SEED} {self.id()}")
        # What is somebody else's looks as much like ours as it can.
        (self.share / "nasmark-00000000-0-smb").mkdir(exist_ok=True)
        (self.share / "nasmark-00000000-0-smb" / "f0000000").write_text("a photo")
        (self.share / "nasmark-mine").mkdir(exist_ok=True)
        (self.share / "report.txt").write_text("a report")
        self.first = self.listing()

    def url(self, target):
        lab = self.lab
        return {"smb": lab["SMB_TARGET_plain"], "nfs": lab["NFS_TARGET_plain"],
                "local": f"local:{self.share}", "lunfs": lab["ISCSI_TARGET_scratch"],
                "raw": lab["ISCSI_TARGET_plain"]}[target]

    def lun(self, name):
        return self.share.parent / "lun" / name

    def plan(self, targets, workloads, trials):
        path = self.scratch / "plan.ini"
        volumes = "".join(
            f"[volume {name}]\nkind = other\n"
            f"{'iscsi' if name in ('lunfs', 'raw') else name} = {self.url(name)}\n"
            for name in targets)
        iqn = self.lab["ISCSI_IQN"]
        path.write_text(f"""[nas]
name = lab
firmware = {'+'.join(targets)}
{volumes}[run]
workloads = {workloads}
protocols = smb nfs iscsi local
trials = {trials}
pause = 0s
timeout = 5s
[iscsi]
allow_destroy = {iqn}:scratch/1 {iqn}:plain/1
""")
        return path

    def listing(self):
        """Everything in the share: path, kind, contents of files."""
        found = []
        for path in sorted(self.share.rglob("*")):
            what = ("link", os.readlink(path)) if path.is_symlink() else \
                   ("directory", "") if path.is_dir() else ("file", path.read_bytes())
            found.append((str(path.relative_to(self.share)), *what))
        return found

    def lun_listing(self, name):
        """What lies in the file system on a LUN, which must be sound."""
        image = self.lun(name)
        harness.run(harness.tool("debugfs", "e2fsprogs"), "-R", "ls -p /", image)
        checked = harness.run("e2fsck", "-fn", image, expect=None)
        self.assertEqual(0, checked.status, checked)
        return [line.split("/")[5] for line in
                harness.run("debugfs", "-R", "ls -p /", image).out.split("\n") if "/" in line]

    def start(self, plan, *more):
        log = open(self.scratch / "err", "w+", encoding="utf-8", errors="replace")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [harness.program(), "run", plan, "--credentials", self.lab.credentials, *more],
            env={**os.environ, **self.environment(TMPDIR=str(self.scratch))}, cwd=self.scratch,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
            start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def said(self):
        return (self.scratch / "err").read_text(encoding="utf-8", errors="replace")

    @staticmethod
    def session(leader):
        """(pid, name) of the processes of a session that live."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            fields = tail.split()
            if int(fields[3]) == leader and fields[0] not in "ZX":
                yield int(entry.name), head.partition("(")[2]

    def wait_until(self, condition):
        limit = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), limit, self.said())
            time.sleep(0.005)

    def assert_nobody_is_left(self, leader, within_s=5):
        limit = time.monotonic() + within_s
        while left := list(self.session(leader)):
            self.assertLess(time.monotonic(), limit, f"processes outlive the program: {left}")
            time.sleep(0.02)


class Killed(EndingsTestCase):
    """kill -9 during a campaign over every kind of target."""

    WORKLOADS = "copy:1x6MB copy:60x2KB,2x1MB"
    FILES = ("smb", "nfs", "local", "lunfs")

    def rows(self, directory):
        """What the database of the killed program holds, read from a copy: the original is
        recovered by the program."""
        directory.mkdir()
        for path in self.scratch.glob("test.db*"):
            shutil.copy(path, directory)
        with sqlite3.connect(directory / "test.db") as db:
            self.assertEqual([("ok",)], db.execute("PRAGMA integrity_check").fetchall())
            self.assertEqual([], db.execute("PRAGMA foreign_key_check").fetchall())
            names = {name for name, in db.execute("SELECT name FROM sqlite_master"
                                                  " WHERE type = 'table'")}
            rows = {name: set(db.execute(f"SELECT * FROM {name}"))
                    for name in names - {"trial", "session", "sqlite_sequence"}}
            # A pass that was cut off is measured anew; what there was of it stays, void.
            rows["trial"] = set(db.execute(
                "SELECT id, cell_id, session_id, pass, status, start_utc_ns, duration_ns, bytes,"
                " files, operations, cpu_ns, flags FROM trial"))
            trials = db.execute("SELECT run, volume.name, phase.name, pass, status FROM trial"
                                " JOIN session ON session.id = session_id"
                                " JOIN cell ON cell.id = cell_id"
                                " JOIN volume ON volume.id = cell.volume_id"
                                " JOIN phase ON phase.id = cell.phase_id"
                                " ORDER BY trial.id").fetchall()
        shutil.rmtree(directory)
        return rows, trials

    def reported(self):
        """Lines of the killed run that say a trial is done; the last may be cut off."""
        return [line for line in self.said().split("\n")[:-1] if ", pass " in line
                and " in " in line.partition(", pass ")[2]]

    def test_random_kills(self):
        plan = self.plan(self.FILES, self.WORKLOADS, 1000)
        self.nasmark("run", plan, "--credentials", self.lab.credentials, "--trials", "1")
        empty_lun = self.lun_listing("scratch")
        before, trials = self.rows(self.scratch / "copy")
        for number in range(KILLS):
            process = self.start(plan)
            if number % 2:  # half of them in the middle of the work
                self.wait_until(self.reported)
            time.sleep(self.random.uniform(0.02, 1.0))
            self.assertIsNone(process.poll(), self.said())
            process.kill()
            process.wait()
            self.assert_nobody_is_left(process.pid)
            after, now = self.rows(self.scratch / "copy")
            for table, rows in before.items():
                self.assertEqual(set(), rows - after[table], f"kill {number}: lost from {table}")
            mine = now[len(trials):]
            self.assertEqual(now[:len(trials)], trials)
            self.assertGreaterEqual(len(mine), len(self.reported()), self.said())
            self.assertLessEqual(len(mine), len(self.reported()) + 1, self.said())
            self.assertEqual({"ok"}, {row[4] for row in mine} | {"ok"}, self.said())
            before, trials = after, now
        passes = max(row[3] for row in trials)
        print(f"{KILLS} kills, {len(trials)} trials, {passes} passes", file=sys.stderr)
        done = self.nasmark("run", plan, "--credentials", self.lab.credentials, "--resume",
                            "--trials", passes + 1, "--json", deadline_s=1200)
        for table in done.json()["tables"]:
            for row in table["rows"]:
                if row["volume"] in self.FILES and table["protocol"] in (row["volume"], "iscsi"):
                    for phase, cell in row["phases"].items():
                        if cell["status"] != "na":
                            self.assertEqual(("ok", passes + 1), (cell["status"], cell["n"]),
                                             (row["volume"], phase))
        self.assertEqual(empty_lun, self.lun_listing("scratch"))
        self.nasmark("clean", "--credentials", self.lab.credentials)
        self.assertEqual(self.first, self.listing())
        # Killed while it connected: what is an hour old goes at the next connect.
        for path in self.scratch.glob("nasmark-smb-*"):
            os.utime(path, (1, 1))
        self.nasmark("probe", self.url("smb"), "--credentials", self.lab.credentials,
                     env={"TMPDIR": str(self.scratch)})
        self.assertEqual([], list(self.scratch.glob("nasmark-smb-*")))


class Interrupted(EndingsTestCase):
    """SIGINT, SIGTERM and a second SIGINT at random moments."""

    WORKLOADS = {"raw": "sequential:24MB"}

    def check_nothing_is_left(self, target):
        if target == "lunfs":
            self.assertEqual(self.empty_lun, self.lun_listing("scratch"), self.said())
        elif target == "raw":
            with open(self.lun("lun"), "rb") as image:
                self.assertEqual(bytes(MIB), image.read(MIB), self.said())
                image.seek(24_000_000 - MIB)
                self.assertEqual(bytes(MIB), image.read(MIB), self.said())
        else:
            self.assertEqual(self.first, self.listing(), self.said())

    def interrupt(self, target, plan, signals, status):
        process = self.start(plan)
        time.sleep(self.random.uniform(0.1, LONGEST_S))
        self.assertIsNone(process.poll(), self.said())
        for number in signals:
            process.send_signal(number)
            time.sleep(self.random.uniform(0, 0.2) if len(signals) > 1 else 0)
        began = time.monotonic()
        try:
            process.wait(ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.fail(f"not done within {ENDED_WITHIN_S} s: {self.said()}")
        # Before its handlers stand the program ends as every program does.
        early = -signals[0] if not self.said() else status
        self.assertIn(process.returncode, (status, early), self.said())
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.assert_nobody_is_left(process.pid)
        if len(signals) == 1:
            self.check_nothing_is_left(target)

    def statuses(self):
        with sqlite3.connect(self.db) as db:
            self.assertEqual([("ok",)], db.execute("PRAGMA integrity_check").fetchall())
            return {status for status, in db.execute("SELECT status FROM trial")}

    def check_target(self, target):
        plan = self.plan([target], self.WORKLOADS.get(target, "copy:1x24MB copy:400x2KB"), 1000)
        self.nasmark("run", plan, "--credentials", self.lab.credentials, "--trials", "1")
        self.slowest = 0
        if target == "lunfs":
            self.empty_lun = self.lun_listing("scratch")
        kinds = [((signal.SIGINT,), 130)] * INTERRUPTIONS
        kinds += [((signal.SIGTERM,), 143)] * max(1, INTERRUPTIONS // 5)
        kinds += [((signal.SIGINT, signal.SIGINT), 130)] * max(1, INTERRUPTIONS // 5)
        for signals, status in kinds:
            self.interrupt(target, plan, signals, status)
        print(f"{target}: {len(kinds)} interruptions, the slowest end took {self.slowest:.1f} s",
              file=sys.stderr)
        self.assertLessEqual(self.statuses(), {"ok", "aborted", "na"})
        if target not in ("lunfs", "raw"):
            self.nasmark("clean", "--credentials", self.lab.credentials)
            self.assertEqual(self.first, self.listing())
        self.assertEqual([], list(self.scratch.glob("nasmark-smb-*")))


class Stopped(EndingsTestCase):
    """SIGSTOP and SIGCONT of all its processes (Ctrl-Z; nearly what suspend does): the trial does
    not count, the others do, and everything is cleaned up."""

    STOPPED_S = 13 if FULL else 4  # longer than a worker may be silent, or not

    def working(self, target):
        if target in ("lunfs", "raw"):
            image = self.lun("scratch" if target == "lunfs" else "lun")
            return image.stat().st_blocks * 512 > 60 * MIB
        return any(path.stat().st_size > 20 * MIB for path in self.share.glob("nasmark-*-*/g*/f*"))

    def stop_and_go_on(self, leader):
        os.kill(leader, signal.SIGSTOP)
        stopped = [pid for pid, _ in self.session(leader)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(self.STOPPED_S)
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)

    def trials(self):
        with sqlite3.connect(self.db) as db:
            return db.execute("SELECT status, reason, message FROM trial WHERE status <> 'na'"
                              " ORDER BY id").fetchall()

    def check_target(self, target):
        for name in ("scratch", "lun"):  # what is written shows
            size = self.lun(name).stat().st_size
            os.truncate(self.lun(name), 0)
            os.truncate(self.lun(name), size)
        plan = self.plan([target], "sequential:200MB" if target == "raw" else "copy:1x200MB", 2)
        process = self.start(plan)
        self.wait_until(lambda: self.working(target) or process.poll() is not None)
        self.stop_and_go_on(process.pid)
        self.assertEqual(1, process.wait(60), self.said())
        trials = self.trials()
        self.assertEqual(["failed", "client_limit"], list(trials[0][:2]), trials)
        self.assertIn("was stopped for", trials[0][2])
        self.assertEqual([("failed", "client_limit"), ("ok", None), ("ok", None)],
                         [trial[:2] for trial in trials[1:]], trials)
        self.assertEqual(self.first, self.listing())


def check_of(target):
    def test(self):
        self.check_target(target)
    test.__name__ = f"test_{target}"
    return test


for name in TARGETS:
    setattr(Interrupted, f"test_{name}", check_of(name))
    if FULL or name in ("smb", "raw"):
        setattr(Stopped, f"test_{name}", check_of(name))


if __name__ == "__main__":
    harness.main()
