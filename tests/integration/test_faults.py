"""Every kind of target against every fault: the run ends in time, says what it was, and goes on.

One table (FAULTS) is run, and is compared with the one in docs/TROUBLESHOOTING.md. Each row is a
plan of two volumes: `broken` with the fault, and after it `second`, which works. What a backend
does in detail is in test_smb, test_nfs, test_iscsi and test_local. A lab of its own, because
servers are stopped and killed here.

NASMARK_TEST_ROUNDS=long runs the whole table, otherwise NFSv4 and what takes long (NOT_IN_SHORT)
are left out.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections import namedtuple

import harness
from flush_proxy import FlushProxy
from harness import Lab

FULL = os.environ.get("NASMARK_TEST_ROUNDS") == "long"
MIB = 1 << 20
TIMEOUT_S = 3
ALLOWANCE_S = 10  # from the fault to the end, beyond the timeout
# A system call that never returns: the worker is killed 6 s after the timeout, is given up 2 s
# later, and cleaning up ends the same way.
ALLOWANCE_OF_A_DEAD_MOUNT_S = 25
SEED = 1  # puts `broken` before `second`
SMALL = "copy:2000x4KB"  # enough for a millisecond on `second`
LONG = "copy:1x100MB,20000x4KB"  # first large, so that it is seen; then many, so that it lasts
FULL_DISK = "copy:1x100MB,2000x4KB"
ONE_FILE = "copy:1x8MB"
FLIPPED_BYTE = 1234567  # of the file or device

COLUMNS = ("smb", "nfs", "nfs4", "iscsi", "local", "device")
# name in the documentation; what happens: in the upload (how it begins and ends), or before the
# download, or None: it is there from the start; workload; reason class per column (None: there is
# no such thing)
Fault = namedtuple("Fault", ("name", "act", "workload") + COLUMNS)
FAULTS = (
    Fault("server stops answering in an upload", ("pause", "resume"), LONG,
          "timeout", "timeout", "timeout", "timeout", "timeout", None),
    Fault("server dies in an upload", ("kill", "start"), LONG, "connection_lost",
          "connection_lost", "connection_lost", "connection_lost", "connection_lost", None),
    Fault("port closed", None, SMALL, "connection_lost", "connection_lost", "connection_lost",
          "connection_lost", None, None),
    Fault("no such share, export, target, directory", None, SMALL, "not_found", "not_found",
          "not_found", "not_found", "not_found", "not_found"),
    Fault("wrong password, CHAP secret", None, SMALL, "auth", None, None, "auth", None, None),
    Fault("this client is not let in", None, SMALL, "auth", "auth", "auth", None, None, None),
    Fault("read-only", None, SMALL, "read_only", "read_only", "read_only", "read_only",
          "read_only", "read_only"),
    Fault("volume full", None, FULL_DISK, "no_space", "no_space", "no_space", "no_space",
          "no_space", "no_space"),
    Fault("quota reached", None, FULL_DISK, "no_space", "no_space", "no_space", "no_space",
          "no_space", None),
    Fault("a flush is never answered", ("swallow", None), "copy:1x100MB", None, "timeout",
          "timeout", "timeout", None, None),
    Fault("one byte changed on the volume, verify = full", "flip", ONE_FILE, "corrupt", "corrupt",
          "corrupt", "corrupt", "corrupt", "corrupt"),
)
# The mounted file system of the column `local` whose server can be stopped (ntfs-3g).
ON_FUSE = ("server stops answering in an upload", "server dies in an upload")
NOT_IN_SHORT = {("local", name) for name in ON_FUSE} | {
    ("nfs", "quota reached"), ("iscsi", "quota reached"), ("iscsi", "a flush is never answered")}


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def protocol_of(column):
    return {"nfs4": "nfs", "device": "local"}.get(column, column)


def phases_of(column):
    return ("write", "read") if column == "device" else ("upload", "download")


class FaultsTestCase(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="nasmark-faults-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="smb nfs iscsi",
                         volumes="plain small single usb", size="1G", lun="512M", net="host")
        cls.addClassCleanup(cls.lab.down)
        cls.closed = closed_port()
        cls.plain = pathlib.Path(cls.lab["LOCAL_DIR_plain"])
        cls.make_read_only_places()
        harness.run("btrfs", "quota", "enable", cls.directory("single"))

    @classmethod
    def make_read_only_places(cls):
        """A directory mounted read-only, and devices: one read-only, one on a full volume."""
        cls.read_only = cls.plain.parent / "read-only"
        cls.read_only.mkdir()
        harness.run("mount", "--bind", cls.plain, cls.read_only)
        cls.addClassCleanup(harness.run, "umount", cls.read_only)
        harness.run("mount", "-o", "remount,bind,ro", cls.read_only)
        cls.devices = {}
        for name, volume, options in (("read-only", "plain", ("-r",)), ("full", "small", ())):
            image = cls.directory(volume).parent / "lun" / f"{name}.img"
            image.touch()
            os.truncate(image, 256 * MIB)
            device = harness.run("losetup", "-f", "--show", *options, image).out.strip()
            cls.addClassCleanup(harness.run, "losetup", "-d", device)
            cls.devices[name] = device

    def limit_quota(self, limit):
        root = self.directory("single").parent.parent
        harness.run("btrfs", "qgroup", "limit", limit, root)

    @classmethod
    def directory(cls, volume="plain"):
        return pathlib.Path(cls.lab[f"LOCAL_DIR_{volume}"])

    @classmethod
    def lun(cls, volume, name="lun"):
        return cls.directory(volume).parent / "lun" / name

    def volume_of(self, column, fault):
        """Where the fault is."""
        if column == "local" and fault.name in ON_FUSE:
            return "usb"
        return {"read-only": "readonly", "volume full": "small",
                "quota reached": "single"}.get(fault.name, "plain")

    def url(self, column, fault):
        lab, name = self.lab, fault.name
        volume = self.volume_of(column, fault)
        if column in ("local", "device"):
            if name.startswith("no such"):
                return f"local:{self.plain}/missing"
            if column == "local":
                return f"local:{self.read_only if volume == 'readonly' else self.directory(volume)}"
            return "local:" + {"readonly": self.devices["read-only"],
                               "small": self.devices["full"]}.get(volume, str(self.image))
        protocol = protocol_of(column)
        if "closed" in name:
            address = f"127.0.0.1:{self.closed}"
        else:
            address = f"{lab['LAB_ADDR']}:{lab[protocol.upper() + '_PORT']}"
        if "flush" in name:
            address = f"127.0.0.1:{self.proxy.port}"
        place = "missing" if name.startswith("no such") else volume
        if column == "smb":
            user = "" if "not let in" in name else "bench@"
            return f"smb://{user}{address}/{place}"
        if protocol == "nfs":
            place = "squash" if "not let in" in name else place
            version = f"version=3&mountport={lab['MNT_PORT']}" if column == "nfs" else "version=4"
            return f"nfs://{address}/{place}?{version}"
        place = {"plain": "scratch"}.get(place, place)
        place = "chap" if "CHAP" in name else place
        return f"iscsi://{address}/{lab['ISCSI_IQN']}:{place}/1"

    @property
    def image(self):
        return self.lun("plain", "image")

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

    def workload(self, column, fault):
        if column == "device":
            return {SMALL: "sequential:8MB", ONE_FILE: "sequential:8MB"}.get(fault.workload,
                                                                             "sequential:200MB")
        return fault.workload

    def plan(self, column, fault):
        path = self.scratch / "plan.ini"
        protocol = protocol_of(column)
        flip = ""
        if fault.act == "flip":
            script = pathlib.Path(__file__).with_name("flip_byte.py")
            place = self.image if column == "device" else \
                self.lun("plain", "scratch") if column == "iscsi" else self.plain
            flip = (f"verify = full\nprepare = [ $NASMARK_VOLUME = second ] || {sys.executable} -B"
                    f" {script} {place} {FLIPPED_BYTE}\n")
        path.write_text(f"""[nas]
name = lab
firmware = {column} {fault.name}
[volume broken]
kind = other
{protocol} = {self.url(column, fault)}
[volume second]
kind = other
null = null:second?store=yes
[run]
workloads = {self.workload(column, fault)}
protocols = {protocol} null
trials = 1
pause = 0s
timeout = {TIMEOUT_S}s
seed = {SEED}
flush = file
preflight = no
{flip}[local]
allow_destroy = {self.image} {self.devices['full']}
""")
        return path

    def blank_luns(self):
        """Not blank, they would be refused; what is allocated shows how far an upload is; and the
        volumes have their space back, for which btrfs wants space at first."""
        self.limit_quota("none")
        for path in (self.lun("plain", "scratch"), self.lun("small"), self.lun("single"),
                     self.lun("small", "full.img"), self.image):
            size = path.stat().st_size if path.exists() else 64 * MIB
            path.touch()
            os.truncate(path, 0)
            os.truncate(path, size)
        harness.run("btrfs", "filesystem", "sync", self.directory("single"))

    def uploading(self, column):
        if column == "iscsi":
            return self.lun("plain", "scratch").stat().st_blocks * 512 > 64 * MIB
        volume = "usb" if column == "local" else "plain"
        return any(self.directory(volume).glob("nasmark-*/g*/f*"))

    # The server of a mounted file system: ntfs-3g

    def mounted(self):
        point = self.directory("usb").parent.parent
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if "ntfs-3g" in words[0] and str(point) in words:
                return int(entry.parent.name), words[:-1], point
        raise AssertionError("no ntfs-3g")

    def mount_again(self):
        """From another loop device: other servers' name spaces may hold on to the dead mount, and
        one device has one file system, dead or not."""
        _, command, point = self.fuse
        device, = (word for word in command if word.startswith("/dev/loop"))
        image = harness.run("losetup", "-n", "-O", "BACK-FILE", device).out.strip()
        again = harness.run("losetup", "-f", "--show", image).out.strip()
        harness.run("umount", "-l", point)
        harness.run(*(again if word == device else word for word in command))

    def act(self, what, column):
        if what == "swallow":
            self.proxy.delay_s = None
        elif what is None:
            pass
        elif column != "local":
            self.lab.do(what, protocol_of(column))
        elif what == "start":
            self.mount_again()
        else:
            self.fuse = self.mounted()
            harness.run("kill", {"pause": "-STOP", "resume": "-CONT", "kill": "-KILL"}[what],
                        self.fuse[0])

    def start_proxy(self, column, delay_s):
        protocol = protocol_of(column)
        server = (self.lab["LAB_ADDR"], int(self.lab[f"{protocol.upper()}_PORT"]))
        self.proxy = FlushProxy(protocol, server, delay_s)
        self.addCleanup(self.proxy.close)

    def strike(self, column, fault):
        """In the upload, from a thread of its own. Returns the function that waits for it and
        gives the moment."""
        moment, ended = [], threading.Event()

        def act():
            while not ended.wait(0.01):
                if self.uploading(column):
                    moment.append(time.monotonic())
                    self.act(fault.act[0], column)
                    return
        thread = threading.Thread(target=act)
        thread.start()

        def wait():
            ended.set()
            thread.join()
            self.assertTrue(moment, "the upload never began")
            return moment[0]
        return wait

    def repair(self, column, fault):
        self.act(fault.act[1], column)
        for volume in ("plain", "usb"):
            for path in self.directory(volume).glob("nasmark-*"):
                shutil.rmtree(path)

    def run_plan(self, column, fault, *arguments, expect=1):
        """Named volumes: one that is not there is a failure, not something left out."""
        return self.nasmark("run", self.plan(column, fault), "--volume", "broken", "--volume",
                            "second", "--credentials", self.logins(fault), "--json", *arguments,
                            expect=expect, deadline_s=90)

    def trials(self, column, fault):
        """Rows of the database, in the order they were stored: volume, phase, status, reason,
        message, duration. Not applicable is not of interest."""
        with sqlite3.connect(self.db) as db:
            return db.execute(
                "SELECT volume.name, phase.name, status, reason, message, duration_ns FROM trial"
                " JOIN cell ON cell.id = cell_id JOIN volume ON volume.id = cell.volume_id"
                " JOIN phase ON phase.id = cell.phase_id"
                " JOIN firmware ON firmware.id = volume.firmware_id"
                " WHERE status <> 'na' AND firmware.version = ? ORDER BY trial.id",
                (f"{column} {fault.name}",)).fetchall()


class Faults(FaultsTestCase):
    def check(self, column, fault, reason):
        self.blank_luns()
        if fault.name == "quota reached":
            self.limit_quota("40M")
        begin, wait = time.monotonic(), None
        servers = isinstance(fault.act, tuple)
        if "flush" in fault.name:
            self.start_proxy(column, 0)
        if servers:
            wait = self.strike(column, fault)
        try:
            result = self.run_plan(column, fault)
            end = time.monotonic()
            if wait:
                begin = wait()
        finally:
            if servers:
                wait()
                self.repair(column, fault)
        allowance_s = ALLOWANCE_OF_A_DEAD_MOUNT_S if column == "local" and fault.name in ON_FUSE \
            else ALLOWANCE_S
        self.assertLess(end - begin, TIMEOUT_S + allowance_s, result.err)
        trials = self.trials(column, fault)
        first, second = phases_of(column)
        failed = [("failed", reason)] * 2
        if fault.act == "flip":
            failed[0] = ("ok", None)
        self.assertEqual([("broken", first, *failed[0]), ("broken", second, *failed[1]),
                          ("second", first, "ok", None), ("second", second, "ok", None)],
                         [trial[:4] for trial in trials], result.err)
        messages = [trial[4] for trial in trials[:2] if trial[2] == "failed"]
        for message in messages:
            self.assertGreater(len(message), 20)
        if fault.act:  # the fault came in the file, not before
            unnamed = column == "device" or "flush" in fault.name and column == "iscsi" or \
                "stops" in fault.name and column == "local"
            self.assertIn("" if unnamed else "f0000", messages[0])
        if fault.act == "flip":
            self.assertIn(f"byte {FLIPPED_BYTE}", messages[0])
        self.assertIn(messages[0], result.err)
        self.assert_document(result.json(), column, reason, fault.act == "flip")
        for volume in self.lab.volumes:
            self.assertEqual([], list(self.directory(volume).glob("nasmark-*")), result.err)

    def assert_document(self, document, column, reason, only_the_second):
        """--json says the same."""
        rows = {row["volume"]: row["phases"] for table in document["tables"]
                for row in table["rows"] if table["protocol"] == protocol_of(column)}
        phase = rows["broken"][phases_of(column)[only_the_second]]
        self.assertEqual(("failed", reason), (phase["status"], phase["trials"][0]["reason"]))
        self.assertIsNone(phase["bytes_per_s"])

    def check_column(self, column):
        for fault in FAULTS:
            reason = getattr(fault, column)
            if reason and (FULL or (column, fault.name) not in NOT_IN_SHORT):
                with self.subTest(f"{column}: {fault.name}"):
                    self.check(column, fault, reason)

    def test_smb(self):
        self.check_column("smb")

    def test_nfs(self):
        self.check_column("nfs")

    @harness.unittest.skipUnless(FULL, "long")
    def test_nfs4(self):
        self.check_column("nfs4")

    def test_iscsi(self):
        self.check_column("iscsi")

    def test_local(self):
        self.check_column("local")

    def test_device(self):
        self.check_column("device")

    def test_a_slow_flush_counts(self):
        """A COMMIT or SYNCHRONIZE CACHE that takes its time is in the clock."""
        slow = Fault("a flush takes 1 s", None, ONE_FILE, *[None] * len(COLUMNS))
        for column in ("nfs", "nfs4", "iscsi") if FULL else ("iscsi",):
            with self.subTest(column):
                self.blank_luns()
                self.start_proxy(column, 1)
                self.run_plan(column, slow, expect=0)
                upload, download = self.trials(column, slow)[:2]
                self.assertEqual(("ok", "ok"), (upload[2], download[2]))
                self.assertGreater(self.proxy.flushes, 0)
                self.assertGreater(upload[5], 1e9)
                self.assertLess(upload[5], 2.9e9)
                self.assertLess(download[5], 1e9)

    def test_on_error_stop(self):
        """What comes after the first failure is not begun."""
        missing, = (fault for fault in FAULTS if fault.name.startswith("no such"))
        read_only, = (fault for fault in FAULTS if fault.name == "read-only")
        for column, fault in (("smb", missing), ("nfs", read_only), ("iscsi", read_only)):
            with self.subTest(column):
                self.run_plan(column, fault, "--set", "run.on_error=stop")
                self.assertEqual({"broken"}, {row[0] for row in self.trials(column, fault)})

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
