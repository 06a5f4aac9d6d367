"""The copy procedure of the reference review, on every volume and protocol of the lab.

NASMARK_TEST_FULL=1 (./check --long) copies 1x64MB, 50x2MB and 500x2KB; otherwise less, same shape.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import harness
from harness import program

FULL = os.environ.get("NASMARK_TEST_FULL") == "1"
SETS = {"1x64MB": 64_000_000, "50x2MB": 100_000_000, "500x2KB": 1_000_000} if FULL else \
       {"1x8MB": 8_000_000, "5x2MB": 10_000_000, "50x2KB": 100_000}
WORKLOADS = " ".join(f"copy:{text}" for text in SETS)
PROTOCOLS = ("smb", "iscsi", "nfs")
VOLUMES = ("single", "raid0", "raid1", "raid5", "compressed", "encrypted", "usb")
TRIALS = 3


def plan_arguments(lab, *more):
    return ["run", lab.plan, "--credentials", lab.credentials, "--set",
            f"run.workloads={WORKLOADS}", "--set", f"run.protocols={' '.join(PROTOCOLS)}", *more]


def cells(document):
    """{(volume, protocol, workload, phase): cell} of a table document."""
    return {(row["volume"], table["protocol"], table["workload"], phase): cell
            for table in document["tables"] for row in table["rows"]
            for phase, cell in row["phases"].items()}


def leftovers(lab):
    """Everything that lies in the shares; an empty list is what every test must leave."""
    return [str(path) for volume in VOLUMES
            for path in pathlib.Path(lab[f"LOCAL_DIR_{volume}"]).iterdir()
            if not path.name.startswith(".fuse_hidden")]  # NTFS: still open in the NFS server


def sweep(lab):
    """Removes what an earlier test left, so that one failure stays one."""
    for path in leftovers(lab):
        shutil.rmtree(path)


class Campaign(harness.LabTestCase):
    """One campaign in two sessions, as a reviewer does it: two volumes first, the rest later."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sweep(cls.lab)
        scratch = tempfile.TemporaryDirectory(prefix="nasmark-test-")
        cls.addClassCleanup(scratch.cleanup)
        cls.database = pathlib.Path(scratch.name) / "campaign.db"
        cls.first = cls.session("--volume", "single", "--volume", "raid0")
        cls.second = cls.session()

    @classmethod
    def session(cls, *more):
        return harness.run(program(), "--db", cls.database, *plan_arguments(cls.lab, *more),
                           "--json", deadline_s=900 if FULL else 300)

    def test_first_session_measures_only_its_volumes(self):
        for key, cell in cells(self.first.json()).items():
            with self.subTest(key):
                self.assertEqual(cell["status"],
                                 "ok" if key[0] in ("single", "raid0") else
                                 "na" if key[:2] == ("usb", "iscsi") else "missing")

    def test_a_table_per_workload_and_protocol(self):
        tables = [(table["workload"], table["protocol"]) for table in self.second.json()["tables"]]
        self.assertEqual(sorted(tables), sorted((f"copy:{text}", protocol)
                                                for text in SETS for protocol in PROTOCOLS))
        for table in self.second.json()["tables"]:
            self.assertEqual([row["volume"] for row in table["rows"]], list(VOLUMES))

    def test_every_trial_is_there(self):
        for (volume, protocol, workload, phase), cell in cells(self.second.json()).items():
            with self.subTest((volume, protocol, workload, phase)):
                if (volume, protocol) == ("usb", "iscsi"):
                    self.assertEqual(cell["status"], "na")
                    self.assertIsNone(cell.get("bytes_per_s"))
                    continue
                self.assertEqual(cell["status"], "ok")
                self.assertEqual([trial["pass"] for trial in cell["trials"]],
                                 list(range(1, TRIALS + 1)))
                rates = []
                for trial in cell["trials"]:
                    self.assertEqual(trial["status"], "ok")
                    self.assertEqual(trial["bytes"], SETS[workload.removeprefix("copy:")])
                    rates.append(trial["bytes"] / trial["duration_ns"] * 1e9)
                geometric = (rates[0] * rates[1] * rates[2]) ** (1 / 3)
                self.assertAlmostEqual(cell["bytes_per_s"] / geometric, 1, places=6)
                self.assertAlmostEqual(cell["min"] / min(rates), 1, places=6)
                self.assertAlmostEqual(cell["max"] / max(rates), 1, places=6)

    def test_second_session_keeps_what_the_first_measured(self):
        before, after = cells(self.first.json()), cells(self.second.json())
        for key, cell in before.items():
            if cell["status"] == "ok":
                self.assertEqual(cell["trials"], after[key]["trials"], key)

    def test_a_complete_campaign_measures_nothing_more(self):
        again = self.session()
        self.assertEqual(cells(again.json()), cells(self.second.json()))

    def test_text_table_says_not_applicable(self):
        table = self.nasmark("--db", self.database, "table", "protocol=iscsi").out
        usb = [line for line in table.splitlines() if re.match(r"\W*(usb|USB)", line)]
        self.assertEqual(len(usb), len(SETS), table)
        for line in usb:
            self.assertIn("n/a", line)

    def test_database_holds_what_the_table_says(self):
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as db:
            count = db.execute("SELECT count(*) FROM trial WHERE status='ok'").fetchone()[0]
        measured = (len(VOLUMES) * len(PROTOCOLS) - 1) * len(SETS) * 2 * TRIALS
        self.assertEqual(count, measured)

    def test_no_secret_is_stored_or_said(self):
        said = self.first.out + self.first.err + self.second.out + self.second.err
        self.assertNotIn(self.lab["SMB_PASS"], said)
        for path in self.database.parent.iterdir():
            self.assertNotIn(self.lab["SMB_PASS"].encode(), path.read_bytes(), path)

    def test_nothing_is_left_on_the_shares(self):
        self.assertEqual(leftovers(self.lab), [])


class Interrupted(harness.LabTestCase):
    """What an interrupted session has measured stays; the next one goes on."""

    WHAT = ("--volume", "single", "--volume", "raid1")

    def setUp(self):
        super().setUp()
        sweep(self.lab)

    def start(self):
        process = subprocess.Popen(
            [program(), *plan_arguments(self.lab, *self.WHAT)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, **self.environment()})
        self.addCleanup(process.kill)
        return process

    def trials(self):
        """(id, status) of every stored trial."""
        if not self.db.exists():
            return []
        try:
            with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=5) as db:
                return db.execute("SELECT id, status FROM trial ORDER BY id").fetchall()
        except sqlite3.OperationalError:  # not created yet
            return []

    def start_and_wait_for_trials(self, count):
        process = self.start()
        limit = time.monotonic() + 60
        while len(self.trials()) < count:
            self.assertIsNone(process.poll(), "ended before it could be interrupted")
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        return process

    def group_is_gone(self, process, within_s):
        limit = time.monotonic() + within_s
        while time.monotonic() < limit:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.02)
        return False

    def test_kill_loses_nothing_and_the_next_run_goes_on(self):
        process = self.start_and_wait_for_trials(3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assertTrue(self.group_is_gone(process, 10), "processes outlive the program")
        stored = self.trials()
        self.assertGreaterEqual(len(stored), 3)
        done = self.nasmark(*plan_arguments(self.lab, *self.WHAT), "--json", deadline_s=300)
        self.assertEqual(self.trials()[:len(stored)], stored)
        for key, cell in cells(done.json()).items():
            if key[0] in ("single", "raid1"):
                # The group that was killed between its phases ran again as a whole.
                self.assertEqual((cell["status"], cell["n"]), ("ok", TRIALS), key)
        # What is left is the killed run's own directories, one per target; `clean` knows them.
        self.assertLessEqual(len(leftovers(self.lab)), 4)
        for volume in ("single", "raid1"):
            mine = pathlib.Path(self.lab[f"LOCAL_DIR_{volume}"], "nasmark-mine")
            mine.mkdir()
            self.addCleanup(mine.rmdir)
        self.nasmark("clean", "--credentials", self.lab.credentials)
        self.assertEqual([os.path.basename(path) for path in leftovers(self.lab)],
                         ["nasmark-mine"] * 2)

    def test_interrupt_cleans_up(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(status):
                process = self.start_and_wait_for_trials(len(self.trials()) + 1)
                os.kill(process.pid, number)
                self.assertEqual(process.wait(60), status)
                self.assertTrue(self.group_is_gone(process, 10))
                self.assertEqual(leftovers(self.lab), [])


class BeforeAnythingIsMeasured(harness.LabTestCase):
    def setUp(self):
        super().setUp()
        sweep(self.lab)

    def test_dry_run_touches_nothing(self):
        done = self.nasmark(*plan_arguments(self.lab, "--dry-run"))
        for text in SETS:
            self.assertIn(text, done.out + done.err)
        self.assertEqual(leftovers(self.lab), [])
        self.assertFalse(self.db.exists())

    def test_password_is_on_no_command_line(self):
        url = self.lab["SMB_TARGET_single"].replace("@", f":{self.lab['SMB_PASS']}@", 1)
        process = subprocess.Popen([program(), "bench", url, "--workload", "copy:200x2MB",
                                    "--trials", "1"], env={**os.environ, **self.environment()},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        seen = 0
        while process.poll() is None:
            commands = [command for pid, command in self.processes() if pid == process.pid]
            # Alone, it may not have come to scrubbing its command line.
            if len(commands) > 1:
                seen += 1
                for command in commands:
                    self.assertNotIn(self.lab["SMB_PASS"], command)
            time.sleep(0.02)
        self.assertGreater(seen, 0)
        self.assertEqual(process.returncode, 0)

    @staticmethod
    def processes():
        """(process group, command line) of every process."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                yield os.getpgid(int(entry.name)), (entry / "cmdline").read_text(errors="replace")
            except OSError:
                continue  # it has ended

    def test_wrong_password_is_said_and_stored(self):
        done = self.nasmark("bench", self.lab["SMB_TARGET_single"], "--workload", "copy:1x1MB",
                            "--trials", "1", "--json", env={"NASMARK_PASSWORD": "wrong"},
                            expect=1)
        self.assertIn("authentication", done.err.lower())


if __name__ == "__main__":
    harness.main()
