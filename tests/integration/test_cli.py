"""The command line against real servers: where passwords come from and that they show up nowhere,
one target however it is spelt, plans that are refused before anything runs, locales.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import json
import pathlib
import socket
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import time

import harness
from harness import run

ODD_ENCODED = "p%40s%3As%25w%2Fd"


def family(pid):
    """A process and its descendants."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for member in found:
        found.extend(children.get(member, []))
    return found


class Secrets(harness.LabTestCase):
    def setUp(self):
        super().setUp()
        self.target = self.lab["SMB_TARGET_odd"]
        self.password = self.lab["SMB_ODD_PASS"]

    def with_password(self, text):
        return self.target.replace("odd@", f"odd:{text}@")

    def test_odd_password_from_a_file(self):
        self.nasmark("probe", self.target, "--credentials", self.lab["LAB_CREDENTIALS_ODD"])

    def test_odd_password_from_the_environment(self):
        self.nasmark("probe", self.target, env={"NASMARK_PASSWORD": self.password})

    def test_odd_password_encoded_in_the_url_warns(self):
        result = self.nasmark("probe", self.with_password(ODD_ENCODED))
        self.assertIn("holds a password", result.err)
        self.assertNotIn(ODD_ENCODED, result.out + result.err)

    def test_odd_password_raw_in_the_url_is_refused(self):
        result = self.nasmark("probe", self.with_password(self.password), expect=2)
        self.assertIn('raw "/"; write it as %2F', result.err)
        self.assertIn("--credentials FILE", result.err)
        self.assertNotIn("s%w", result.err)

    def test_odd_password_typed_on_a_terminal(self):
        pid, master = pty.fork()
        if pid == 0:
            os.execve(harness.program(), ["nasmark", "probe", self.target],
                      {**os.environ, **self.environment()})
        shown, typed, end = b"", False, time.monotonic() + 60
        while time.monotonic() < end:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                data = os.read(master, 4096)
            except OSError: # the terminal is gone with its last user
                break
            shown += data
            if b"Password for odd at" in shown and not typed:
                os.write(master, self.password.encode() + b"\n")
                typed = True
        os.close(master)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.assertEqual(status, 0, shown)
        self.assertIn(b"identity = ", shown)
        self.assertNotIn(self.password.encode(), shown)

    def test_wrong_password_is_an_authentication_failure(self):
        result = self.nasmark("probe", self.target, env={"NASMARK_PASSWORD": "wrong"}, expect=1)
        self.assertIn("auth", result.err)

    def test_credentials_that_others_can_read_are_refused(self):
        copy = self.scratch / "credentials"
        shutil.copy(self.lab["LAB_CREDENTIALS_ODD"], copy)
        copy.chmod(0o644)
        result = self.nasmark("probe", self.target, "--credentials", copy, expect=2)
        self.assertIn(f"chmod 600 {copy}", result.err)

    def test_no_process_and_no_file_shows_a_secret(self):
        """Command line and environment of parent, spawner and workers while they measure."""
        secrets = (self.password.encode(), ODD_ENCODED.encode())
        process = subprocess.Popen(
            [harness.program(), "bench", self.with_password(ODD_ENCODED), "-w", "copy:500x2KB",
             "--trials", "1", "--set", "run.pause=0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **self.environment(NASMARK_PASSWORD=self.password)})
        self.addCleanup(process.kill)
        workers = 0
        while process.poll() is None:
            members = family(process.pid)
            if len(members) > 1: # the parent has come beyond its first instructions
                workers = max(workers, len(members) - 1)
                for member in members:
                    for name in ("cmdline", "environ"):
                        text = self.read(f"/proc/{member}/{name}")
                        for secret in secrets:
                            self.assertNotIn(secret, text, f"{name} of {member}")
            time.sleep(0.02)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(workers, 1, "no worker was seen")
        for secret in secrets:
            self.assertNotIn(secret, out + err)
            for file in self.scratch.iterdir(): # the database and its journals
                self.assertNotIn(secret, file.read_bytes())

    @staticmethod
    def read(path):
        try:
            return pathlib.Path(path).read_bytes()
        except OSError: # it has ended
            return b""


class Targets(harness.LabTestCase):
    def test_a_share_is_one_target_however_it_is_spelt(self):
        encoded = self.lab["SMB_TARGET_named"]
        raw = encoded.replace("%20", " ").replace("%C3%A9", "\u00e9")
        for spelling in (encoded, raw, encoded + "/", encoded.replace("smb://", "SMB://")):
            with self.subTest(spelling):
                self.nasmark("bench", spelling, "-w", "copy:1x1MB", "--trials", "1", "--again",
                             "--set", "run.pause=0", "--credentials", self.lab.credentials)
        with sqlite3.connect(self.db) as db:
            urls = [row[0] for row in db.execute("SELECT DISTINCT url FROM target")]
        self.assertEqual(urls, [encoded])

    def test_hidden_share_folder_below_and_at_sign(self):
        for target in (self.lab["SMB_TARGET_hidden"] + "//", self.lab["SMB_TARGET_at"]):
            with self.subTest(target):
                self.nasmark("probe", target, "--credentials", self.lab.credentials)


class WithoutAPlan(harness.TestCase):
    def bench(self, url, *arguments):
        return self.nasmark("bench", url, "-w", "copy:1x20MB", "--trials", "1", "--json", "--set",
                            "run.pause=0s", *arguments).json()

    def test_measures_each_time_and_shows_its_own_run(self):
        for name, rate in (("one", "100MB"), ("two", "200MB"), ("one", "300MB")):
            tables = self.bench(f"null:x?rate={rate}", "--volume", name)["tables"]
            rows = [row for table in tables for row in table["rows"]]
            self.assertEqual([row["volume"] for row in rows], [name])
            megabytes = rows[0]["phases"]["download"]["bytes_per_s"] / 1e6
            self.assertAlmostEqual(megabytes, float(rate[:-2]), delta=0.2 * float(rate[:-2]))

    def test_a_metric_that_nobody_has_is_no_comparison(self):
        self.bench("null:x?rate=1GB", "--volume", "one")
        self.bench("null:x?rate=1GB", "--volume", "two")
        sides = ("volume=one", "volume=two", "--metric")
        result = self.nasmark("compare", *sides, "write_latency_P95", expect=2)
        self.assertIn('did you mean "write_latency_p95"?', result.err)
        self.nasmark("compare", *sides, "write_latency_p95", expect=(0, 1))


class Clean(harness.TestCase):
    def test_more_directories_than_one_look_holds(self):
        target = self.scratch / "target"
        for number in range(150):
            directory = target / f"nasmark-{number:08x}-0-local"
            directory.mkdir(parents=True)
            marker = {"program": "nasmark", "directory": directory.name, "pid": 1 << 22,
                      "host": socket.gethostname(), "started": "2026-01-01T00:00:00Z"}
            (directory / "nasmark-owner.json").write_text(json.dumps(marker), encoding="ascii")
        (target / "mine").mkdir()
        foreign = target / "nasmark-ffffffff-0-local"  # named like ours, without a marker
        foreign.mkdir()
        (foreign / "photo").write_bytes(b"x")
        lines = self.nasmark("clean", target).out.splitlines()
        self.assertEqual({path.name for path in target.iterdir()}, {"mine", foreign.name})
        self.assertEqual(len(lines), 151, "each directory is told once")


class Plans(harness.TestCase):
    PLAN = """[nas]
name = test
firmware = 1.5
[volume disk]
null = null:disk?rate=100MB
[run]
workloads = copy:3x1.5MB
trials = 1
pause = 0.0s
data = compressible:12%
"""

    def write(self, text):
        path = self.scratch / "plan.ini"
        path.write_text(text)
        return path

    def test_misspelt_plan_is_refused_before_anything_runs(self):
        path = self.write(self.PLAN + "blok_size: 4k\n")
        result = self.nasmark("run", path, expect=2)
        self.assertEqual(result.out, "")
        self.assertIn(f'{path}:11: unknown key "blok_size" in [run]; did you mean "block"?',
                      result.err)
        self.assertFalse(self.db.exists())

    def test_printed_plan_is_the_same_plan(self):
        first = self.nasmark("plan", self.write(self.PLAN)).out
        self.assertEqual(self.nasmark("plan", self.write(first)).out, first)

    def test_template_asks_for_a_url_and_nothing_else(self):
        template = self.nasmark("plan").out
        result = self.nasmark("run", self.write(template), expect=2)
        self.assertIn("[volume single] has no URL", result.err)

    def test_template_with_every_key_switched_on_is_a_plan(self):
        template = re.sub("^;(?! )", "", self.nasmark("plan").out, flags=re.MULTILINE)
        self.assertIn("[profile mine]", self.nasmark("plan", self.write(template)).out)

    def test_decimal_comma_of_the_locale_changes_nothing(self):
        (self.scratch / "source").write_text('LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\n'
                                             'grouping 3;3\nEND LC_NUMERIC\n')
        run(harness.tool("localedef", "libc-bin"), "-c", "-i", "source", "-f", "ANSI_X3.4-1968",
            "./comma", cwd=self.scratch, expect=None)
        if not (self.scratch / "comma" / "LC_NUMERIC").exists():
            harness.unavailable("localedef lacks its tables (Debian package locales)")
        comma = {"LC_ALL": "comma", "LOCPATH": str(self.scratch)}
        path = self.write(self.PLAN)
        for command in (("plan", path), ("list", "backends", "--json"), ("help", "--man")):
            with self.subTest(command):
                self.assertEqual(self.nasmark(*command, env=comma).out,
                                 self.nasmark(*command, env={"LC_ALL": "C"}).out)
        self.nasmark("run", path, env=comma)
        cell, = self.nasmark("list", "cells", "--json", env=comma).json()[:1]
        self.assertEqual(cell["firmware"], "1.5")


if __name__ == "__main__":
    harness.main()
