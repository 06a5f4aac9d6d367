"""No secret leaves its place: not in command line or environment of any process of a run, not in
the database, the spool, exports, tables, messages, on the targets or in temporary files; plain,
percent-encoded or in base64.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import base64
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import harness
from harness import Lab

FULL = os.environ.get("NASMARK_TEST_FULL") == "1"
# From its start on the program has this long to scrub what it was started with.
SCRUBBED_AFTER_S = 1


def forms(secret):
    """Every spelling of a secret that is looked for."""
    raw = secret.encode()
    found = {raw, urllib.parse.quote(secret, safe="").encode(),
             urllib.parse.quote(secret, safe="").lower().encode(),
             "".join(f"%{byte:02X}" for byte in raw).encode(), raw.hex().encode(),
             secret.encode("utf-16-le")}
    for shift in range(3):  # base64 of it inside of something longer: what does not change
        text = base64.b64encode(bytes(shift) + raw).decode().rstrip("=")
        found.add(text[(0, 2, 3)[shift]:len(text) - 2].encode())
    return {form for form in found if len(form) > 5}


class Secrets(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="nasmark-secrets-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="smb nfs iscsi", volumes="plain", lun="256M",
                         net="host")
        cls.addClassCleanup(cls.lab.down)

    def setUp(self):
        super().setUp()
        lab = self.lab
        self.secrets = {name: lab[name] for name in ("SMB_PASS", "SMB_ODD_PASS", "CHAP_PASS",
                                                     "CHAP_TARGET_PASS")}
        # "benchpw" is the beginning of "benchpw123456": one form finds both.
        self.forms = {form: name for name, secret in self.secrets.items()
                      for form in forms(secret)}

    def environment(self, **extra):
        return super().environment(TMPDIR=str(self.scratch), **extra)

    def find(self, data, where):
        for form, name in self.forms.items():
            self.assertNotIn(form, data, f"{name} as {form!r} in {where}")

    def plan(self):
        lab, iqn = self.lab, self.lab["ISCSI_IQN"]
        path = self.scratch / "plan.ini"
        volumes = {"one": f"smb = {lab['SMB_TARGET_plain']}\nnfs = {lab['NFS_TARGET_plain']}\n"
                          f"iscsi = {lab['ISCSI_TARGET_chap']}",
                   "two": f"smb = {lab['SMB_TARGET_hidden']}\niscsi = {lab['ISCSI_TARGET_mutual']}"}
        path.write_text("[nas]\nname = lab\nfirmware = 1\n" + "".join(
            f"[volume {name}]\nkind = other\n{urls}\n" for name, urls in volumes.items()) +
            f"[run]\nworkloads = copy:1x8MB,100x2KB\nprotocols = smb nfs iscsi\ntrials = 1\n"
            f"pause = 300ms\nstreams = 2\n[smb]\nlanes = 3\n"
            f"[iscsi]\nallow_destroy = {iqn}:chap/1 {iqn}:mutual/1\n")
        return path

    @staticmethod
    def family(leader):
        """/proc directories of the processes of a session."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader:
                yield entry

    def watch(self, process, began, seen):
        """Reads command lines and environments until the run ends."""
        while process.poll() is None:
            late = time.monotonic() - began > SCRUBBED_AFTER_S
            for entry in self.family(process.pid):
                for name in ("cmdline", "environ", "comm") if late else ():
                    try:
                        data = (entry / name).read_bytes()
                    except OSError:
                        continue  # not dumpable, or it has ended: nobody else may read it either
                    seen.setdefault((entry.name, name), set()).add(data)
            time.sleep(0.1)

    def run_watched(self, *arguments, **extra):
        began = time.monotonic()
        process = subprocess.Popen(
            [harness.program(), *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            cwd=self.scratch, env={**os.environ, **self.environment(**extra)})
        self.addCleanup(process.kill)
        seen = {}
        watcher = threading.Thread(target=self.watch, args=(process, began, seen))
        watcher.start()
        out, err = process.communicate(timeout=120)
        watcher.join()
        for where, contents in seen.items():
            for data in contents:
                self.find(data, where)
        for data in (out, err):
            self.find(data, "what was printed")
        return process.returncode, seen, (out + err).decode(errors="replace")

    def scan_files(self):
        for place in (self.scratch, pathlib.Path(self.lab["LOCAL_DIR_plain"])):
            for path in place.rglob("*"):
                if path.is_file():
                    self.find(path.read_bytes(), path)

    def test_scan_finds_every_form(self):
        """The test itself: a scan that finds nothing must be able to find."""
        for name, secret in self.secrets.items():
            for data in (secret.encode(), urllib.parse.quote(secret, safe="").encode(),
                         base64.b64encode(f"user:{secret}".encode()),
                         base64.b64encode(f"me:{secret}\n".encode()),
                         base64.b64encode(secret.encode())):
                with self.subTest(name=name, data=data), self.assertRaises(AssertionError):
                    self.find(b"xx" + data + b"yy", "here")

    def test_run_over_every_protocol(self):
        status, seen, said = self.run_watched("run", self.plan(), "--credentials",
                                              self.lab.credentials, "--set", "run.keep=yes")
        self.assertEqual(0, status, said)
        self.assertGreater(len({pid for pid, _ in seen}), 3, "nobody was watched")
        self.assertTrue([name for _, name in seen if name == "environ"])
        for number, words in enumerate((
                ("table", "--format", "html"), ("table", "--json"), ("table", "--format", "csv"),
                ("report",), ("export", "--format", "json"), ("export", "--format", "csv"),
                ("list", "runs", "--json"), ("list", "cells", "--json"))):
            out = self.scratch / f"out{number}"
            more = ("-o", out) if words[0] in ("export", "report") else ()
            result = self.nasmark(*words, *more)
            if not more:
                out.write_text(result.out)
        run = self.nasmark("list", "runs", "--json").json()[0]["run"]
        (self.scratch / "show").write_text(self.nasmark("show", run, "--json").out)
        self.scan_files()
        for path in pathlib.Path(self.lab["LOCAL_DIR_plain"]).glob("nasmark-*"):
            shutil.rmtree(path)

    def test_password_in_the_url_and_in_the_environment(self):
        odd = self.lab["SMB_TARGET_odd"]
        quoted = urllib.parse.quote(self.secrets["SMB_ODD_PASS"], safe="")
        for target, extra in ((odd.replace("@", f":{quoted}@", 1), {}),
                              (odd, {"NASMARK_PASSWORD": self.secrets["SMB_ODD_PASS"]})):
            with self.subTest(target=target):
                status, seen, said = self.run_watched(
                    "bench", target, "--workload", "copy:1x8MB", "--trials", "2", "--set",
                    "run.pause=1s", "--again", **extra)
                self.assertEqual(0, status, said)
                self.assertTrue(seen, "nobody was watched")
                self.scan_files()

    def test_failures_do_not_tell(self):
        """Messages of libraries, a crash of the server, a login that fails."""
        for target, extra in (
                (self.lab["SMB_TARGET_plain"], {"NASMARK_PASSWORD": "wrong-secret"}),
                (self.lab["SMB_TARGET_readonly"].replace("@", ":wrong-secret@", 1), {}),
                (self.lab["ISCSI_URL_chap"].replace("benchpw123456", "wrong-secret")
                 .replace("%", ":", 1), {})):
            with self.subTest(target=target):
                self.forms = {form: "wrong" for form in forms("wrong-secret")}
                status, _, said = self.run_watched("bench", target, "--workload", "copy:1x1MB",
                                                   "--trials", "1", **extra)
                self.assertEqual(1, status, said)
                self.scan_files()

    @unittest.skipUnless(FULL, "takes half a minute")
    def test_spool(self):
        """Trials that are set aside because the database is busy."""
        target, secret = self.lab["SMB_TARGET_plain"], self.secrets["SMB_PASS"]
        arguments = ("bench", target, "--workload", "copy:1x1MB", "--set", "run.pause=4s")
        self.nasmark(*arguments, "--trials", "1", env={"NASMARK_PASSWORD": secret})
        lock = sqlite3.connect(self.db, isolation_level=None, check_same_thread=False)
        self.addCleanup(lock.close)

        def hold():
            limit = time.monotonic() + 60
            while time.monotonic() < limit:
                if lock.execute("SELECT count(*) FROM trial").fetchone()[0] >= 4:
                    lock.execute("BEGIN IMMEDIATE")
                    return
                time.sleep(0.01)
        holder = threading.Thread(target=hold)
        holder.start()
        self.run_watched(*arguments, "--trials", "3", NASMARK_PASSWORD=secret)
        holder.join()
        lock.execute("ROLLBACK")
        self.assertGreater(pathlib.Path(f"{self.db}.spool").stat().st_size, 0)
        self.scan_files()


if __name__ == "__main__":
    harness.main()
