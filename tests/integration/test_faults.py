"""Every backend against every fault: the run ends in time, says what it was, and goes on.

One table (FAULTS) is run, and is compared with the one in docs/TROUBLESHOOTING.md. Each row is a
plan of two volumes: `broken` with the fault, and after it `second`, which works. What a backend
does in detail is in test_smb, test_nfs and test_iscsi. A lab of its own, because servers are
stopped and killed here.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import shutil
import socket
import sqlite3
import tempfile
import threading
import time
from collections import namedtuple

import harness
from harness import Lab

MIB = 1 << 20
TIMEOUT_S = 3
ALLOWANCE_S = 10  # from the fault to the end, beyond the timeout
SEED = 1  # puts `broken` before `second`
SMALL = "copy:2000x4KB"  # enough for a millisecond on `second`
LONG = "copy:1x100MB,20000x4KB"  # first large, so that it is seen; then many, so that it lasts

# name in the documentation; what the lab does during the upload (None: it is there from the
# start); workload; reason class per protocol (None: there is no such thing)
Fault = namedtuple("Fault", "name act workload smb nfs iscsi")
FAULTS = (
    Fault("server stops answering in an upload", ("pause", "resume"), LONG,
          "timeout", "timeout", "timeout"),
    Fault("server dies in an upload", ("kill", "start"), LONG,
          "connection_lost", "connection_lost", "connection_lost"),
    Fault("port closed", None, SMALL, "connection_lost", "connection_lost", "connection_lost"),
    Fault("no such share, export, target", None, SMALL, "not_found", "not_found", "not_found"),
    Fault("wrong password, CHAP secret", None, SMALL, "auth", None, "auth"),
    Fault("this client is not let in", None, SMALL, "auth", "auth", None),
    Fault("read-only", None, SMALL, "read_only", "read_only", "read_only"),
    Fault("volume full", None, "copy:1x100MB,2000x4KB", "no_space", "no_space", "no_space"),
)


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Faults(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="nasmark-faults-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="smb nfs iscsi", volumes="plain small",
                         lun="512M", net="host")
        cls.addClassCleanup(cls.lab.down)
        cls.closed = closed_port()

    def url(self, protocol, fault):
        """Where the fault is."""
        lab, name = self.lab, fault.name
        small = {"read-only": "readonly", "volume full": "small"}.get(name, "plain")
        place = "missing" if name.startswith("no such") else small
        if "closed" in name:
            address = f"127.0.0.1:{self.closed}"
        else:
            address = f"{lab['LAB_ADDR']}:{lab[protocol.upper() + '_PORT']}"
        if protocol == "smb":
            user = "" if "not let in" in name else "bench@"
            return f"smb://{user}{address}/{place}"
        if protocol == "nfs":
            place = "squash" if "not let in" in name else place
            return f"nfs://{address}/{place}?version=3&mountport={lab['MNT_PORT']}"
        place = {"plain": "scratch"}.get(place, place)
        place = "chap" if "CHAP" in name else place
        return f"iscsi://{address}/{lab['ISCSI_IQN']}:{place}/1"

    def logins(self, fault):
        """A credentials file; wrong ones where that is the fault."""
        path = self.scratch / "credentials"
        text = pathlib.Path(self.lab.credentials).read_text()
        if "wrong" in fault.name:
            text = text.replace(self.lab["SMB_PASS"], "wrong password")
            text = text.replace(self.lab["CHAP_PASS"], "x" * 12)
        if "not let in" in fault.name:
            text = ""
        path.touch(0o600)
        path.write_text(text)
        return path

    def plan(self, protocol, fault):
        path = self.scratch / "plan.ini"
        path.write_text(f"""[nas]
name = lab
firmware = {protocol} {fault.name}
[volume broken]
kind = other
{protocol} = {self.url(protocol, fault)}
[volume second]
kind = other
null = null:second
[run]
workloads = {fault.workload}
protocols = {protocol} null
trials = 1
pause = 0s
timeout = {TIMEOUT_S}s
seed = {SEED}
flush = file
preflight = no
""")
        return path

    def directory(self, volume="plain"):
        return pathlib.Path(self.lab[f"LOCAL_DIR_{volume}"])

    def lun(self, volume, name):
        return self.directory(volume).parent / "lun" / name

    def blank_luns(self):
        """Not blank, they would be refused; what is allocated shows how far an upload is; and the
        volume `small` has its space back."""
        for path in (self.lun("plain", "scratch"), self.lun("small", "lun")):
            size = path.stat().st_size
            os.truncate(path, 0)
            os.truncate(path, size)

    def uploading(self, protocol):
        if protocol == "iscsi":
            return self.lun("plain", "scratch").stat().st_blocks * 512 > 64 * MIB
        return any(self.directory().glob("nasmark-*/g*/f*"))

    def strike(self, protocol, fault):
        """In the upload, from a thread of its own. Returns the function that waits for it and
        gives the moment."""
        moment, ended = [], threading.Event()

        def act():
            while not ended.wait(0.01):
                if self.uploading(protocol):
                    moment.append(time.monotonic())
                    self.lab.do(fault.act[0], protocol)
                    return
        thread = threading.Thread(target=act)
        thread.start()

        def wait():
            ended.set()
            thread.join()
            self.assertTrue(moment, "the upload never began")
            return moment[0]
        return wait

    def repair(self, protocol, fault):
        self.lab.do(fault.act[1], protocol)
        for path in self.directory().glob("nasmark-*"):
            shutil.rmtree(path)

    def run_plan(self, protocol, fault, *arguments):
        """Named volumes: one that is not there is a failure, not something left out."""
        return self.nasmark("run", self.plan(protocol, fault), "--volume", "broken", "--volume",
                            "second", "--credentials", self.logins(fault), "--json", *arguments,
                            expect=1, deadline_s=90)

    def trials(self, protocol, fault):
        """Rows of the database, in the order they were stored: volume, phase, status, reason,
        message. Not applicable is not of interest."""
        with sqlite3.connect(self.db) as db:
            return db.execute(
                "SELECT volume.name, phase.name, status, reason, message FROM trial"
                " JOIN cell ON cell.id = cell_id JOIN volume ON volume.id = cell.volume_id"
                " JOIN phase ON phase.id = cell.phase_id"
                " JOIN firmware ON firmware.id = volume.firmware_id"
                " WHERE status <> 'na' AND firmware.version = ? ORDER BY trial.id",
                (f"{protocol} {fault.name}",)).fetchall()

    def check(self, protocol, fault, reason):
        self.blank_luns()
        begin, wait = time.monotonic(), None
        if fault.act:
            wait = self.strike(protocol, fault)
        try:
            result = self.run_plan(protocol, fault)
            end = time.monotonic()
            if wait:
                begin = wait()
        finally:
            if fault.act:
                wait()
                self.repair(protocol, fault)
        self.assertLess(end - begin, TIMEOUT_S + ALLOWANCE_S, result.err)
        trials = self.trials(protocol, fault)
        self.assertEqual([("broken", "upload", "failed", reason),
                          ("broken", "download", "failed", reason),
                          ("second", "upload", "ok", None),
                          ("second", "download", "ok", None)],
                         [trial[:4] for trial in trials], result.err)
        for *_, message in trials[:2]:
            self.assertGreater(len(message), 20)
        if fault.workload != SMALL:  # the fault came in the upload, not before
            self.assertIn("f0000", trials[0][4])
        self.assertIn(trials[0][4], result.err)
        self.assert_document(result.json(), protocol, reason)
        for volume in self.lab.volumes:
            self.assertEqual([], list(self.directory(volume).glob("nasmark-*")))

    def assert_document(self, document, protocol, reason):
        """--json says the same."""
        rows = {row["volume"]: row["phases"] for table in document["tables"]
                for row in table["rows"] if table["protocol"] == protocol}
        upload = rows["broken"]["upload"]
        self.assertEqual(("failed", reason), (upload["status"], upload["trials"][0]["reason"]))
        self.assertIsNone(upload["bytes_per_s"])

    def check_protocol(self, protocol):
        for fault in FAULTS:
            reason = getattr(fault, protocol)
            if reason:
                with self.subTest(f"{protocol}: {fault.name}"):
                    self.check(protocol, fault, reason)

    def test_smb(self):
        self.check_protocol("smb")

    def test_nfs(self):
        self.check_protocol("nfs")

    def test_iscsi(self):
        self.check_protocol("iscsi")

    def test_on_error_stop(self):
        """What comes after the first failure is not begun."""
        missing, = (fault for fault in FAULTS if fault.name.startswith("no such"))
        read_only, = (fault for fault in FAULTS if fault.name == "read-only")
        for protocol, fault in (("smb", missing), ("nfs", read_only), ("iscsi", read_only)):
            with self.subTest(protocol):
                self.run_plan(protocol, fault, "--set", "run.on_error=stop")
                self.assertEqual({"broken"}, {row[0] for row in self.trials(protocol, fault)})

    def test_one_of_several_that_is_not_there_is_missing(self):
        """Not named on the command line: the plan knows more volumes than there are today."""
        closed, = (fault for fault in FAULTS if fault.name == "port closed")
        self.nasmark("run", self.plan("smb", closed), "--credentials", self.logins(closed))
        self.assertEqual([("broken", "missing", "connection_lost"), ("second", "ok", None)],
                         [(row[0], row[2], row[3]) for row in self.trials("smb", closed)][::2])


class Documentation(harness.TestCase):
    def test_the_table_of_faults_is_in_the_documentation(self):
        text = (harness.ROOT / "docs" / "TROUBLESHOOTING.md").read_text()
        for fault in FAULTS:
            words = [fault.name, *(word or "-" for word in fault[3:])]
            self.assertIn(f"| {' | '.join(words)} |\n", text)


if __name__ == "__main__":
    harness.main()
