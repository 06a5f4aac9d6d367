"""The iscsi and lunfs backends against tgtd: LUNs with data, odd LUNs and names, CHAP, dead
targets, files that a kernel reads back.

Each class has a lab of its own, because targets are made, stopped and killed here.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import hashlib
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time

import disk_images
import harness
from harness import CommandFailed, Lab, run, tool

MIB = 1 << 20
IQN = "iqn.2026-01.lab.nasmark"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(
            hashlib, "file_digest") else hashlib.sha256(file.read()).hexdigest()


class RedirectingPortal:
    """Answers every login with "target moved temporarily" to an address ("" = its own)."""

    def __init__(self, to=""):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.to = to or self.address
        self.logins = []  # the key=value texts that came
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                header = stream.read(48)
                if len(header) < 48:
                    continue
                length = int.from_bytes(header[5:8], "big")
                self.logins.append(stream.read((length + 3) // 4 * 4)[:length].split(b"\0"))
                text = f"TargetAddress={self.to},1\0".encode()
                answer = bytearray(48)
                answer[0] = 0x23
                answer[5:8] = len(text).to_bytes(3, "big")
                answer[8:14], answer[16:20] = header[8:14], header[16:20]
                answer[36:38] = 1, 1
                connection.sendall(answer + text + bytes(-len(text) % 4))
                stream.read(1)  # until the initiator has left

    def close(self):
        self.listener.close()


class IscsiTestCase(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="nasmark-iscsi-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="iscsi", volumes="plain small", lun="256M")
        cls.addClassCleanup(cls.lab.down)
        cls.next_target = 100

    def tgtadm(self, *arguments):
        return self.lab.do("tgtadm", *arguments)

    def target(self, iqn, *luns):
        """A target of this test's own. luns: (number, size, further options of tgtadm). Returns
        the paths of their files."""
        cls = type(self)
        cls.next_target += 1
        tid = str(cls.next_target)
        self.tgtadm("-m", "target", "-o", "new", "-t", tid, "-T", iqn)
        self.addCleanup(self.tgtadm, "-m", "target", "-o", "delete", "-t", tid, "--force")
        self.tgtadm("-m", "target", "-o", "bind", "-t", tid, "-I", "ALL")
        return [self.lun(tid, *lun) for lun in luns]

    def lun(self, tid, number, size, *options):
        path = self.scratch / f"lun{tid}.{number}"
        with open(path, "wb") as file:
            file.truncate(size)
        self.tgtadm("-m", "logicalunit", "-o", "new", "-t", tid, "-l", str(number), "-b", str(path),
                    "-E", "rdwr", *options)
        return path

    def url(self, iqn, lun=1, query="", host=None, user=""):
        iqn = iqn if "." in iqn or ":" in iqn else f"{IQN}:{iqn}"
        return (f"iscsi://{user}{host or self.lab['LAB_ADDR']}:{self.lab['ISCSI_PORT']}/{iqn}/{lun}"
                + (f"?{query}" if query else ""))

    def file_of(self, name):
        """The LUN that the lab has on its first volume under this name."""
        return pathlib.Path(self.lab["LOCAL_DIR_plain"]).parent / "lun" / name

    def credentials(self, **values):
        path = self.scratch / "credentials"
        path.write_text(f"[{self.lab['LAB_ADDR']}]\n" +
                        "".join(f"{key} = {value}\n" for key, value in values.items()))
        path.chmod(0o600)
        return path

    def probe(self, url, *arguments, deadline_s=30):
        return self.nasmark("probe", "--json", url, *arguments, deadline_s=deadline_s).json()

    def refused(self, url, *words, arguments=(), deadline_s=20):
        """The probe fails, and says these words."""
        result = self.nasmark("probe", url, *arguments, deadline_s=deadline_s, expect=1)
        for word in words:
            self.assertIn(word, result.err)
        return result

    def bench(self, url, workload, *arguments, expect=0, deadline_s=90):
        return self.nasmark("bench", url, "--workload", workload, "--trials", "1", "--json",
                            *arguments, expect=expect, deadline_s=deadline_s)

    def phases(self, result):
        return result.json()["tables"][0]["rows"][0]["phases"]

    def failed(self, url, workload, reason, *arguments):
        """The first phase fails for this reason; returns what was said."""
        result = self.bench(url, workload, *arguments, expect=1)
        phase = next(iter(self.phases(result).values()))
        self.assertEqual("failed", phase["status"], result)
        self.assertEqual(reason, phase["trials"][0]["reason"], result)
        return result.err


class ForeignData(IscsiTestCase):
    def test_isc01_data_are_named_and_stay(self):
        size = 64 * MIB
        image, = self.target(f"{IQN}:foreign", (1, size))
        for name, (make, words) in disk_images.ALL.items():
            with self.subTest(name):
                os.truncate(image, 0)
                os.truncate(image, size)
                make(image, size)
                before = digest(image)
                for workload, query in (("sequential:16MiB", "fs=raw"), ("copy:1x1MB", "")):
                    said = self.failed(self.url("foreign", query=query), workload, "protected",
                                       "--again", "--set", f"nas.name={name}{query}")
                    self.assertIn(words, said)
                    self.assertIn(f"allow_destroy = {IQN}:foreign/1", said)
                    self.assertEqual(before, digest(image))
                self.bench(self.url("foreign", query="fs=raw"), "sequential:16MiB,read",
                           "--set", f"nas.name={name}read", "--set", "run.preflight=no")
                self.assertEqual(before, digest(image))

    def test_isc01_consent_names_exactly_this_lun(self):
        one, two = self.target(f"{IQN}:consent", (1, 32 * MIB), (11, 32 * MIB))
        for path in (one, two):
            disk_images.mbr(path, 32 * MIB)
        before = digest(one)
        for consent in (f"{IQN}:consent/11", f"{IQN}:consent", f"{IQN}:CONSENT/1", "yes", "all"):
            self.failed(self.url("consent"), "copy:1x1MB", "protected", "--again",
                        "--set", f"iscsi.allow_destroy={consent}")
            self.assertEqual(before, digest(one))
        result = self.bench(self.url("consent"), "copy:1x1MB", "--again", "--set",
                            f"iscsi.allow_destroy={IQN}:consent/11 {IQN}:consent/1")
        self.assertEqual("ok", self.phases(result)["upload"]["status"])
        self.assertNotEqual(before, digest(one))
        self.assertEqual(before, digest(two))

    def test_isc19_raw_runs_leave_no_partition_table(self):
        image, = self.target(f"{IQN}:ends", (1, 64 * MIB))
        result = self.bench(self.url("ends", query="fs=raw"), "sequential:32MiB",
                            "--set", "run.verify=full")
        self.assertEqual({"ok"}, {phase["status"] for phase in self.phases(result).values()})
        data = image.read_bytes()
        self.assertFalse(any(data[:MIB]), "first MiB")
        self.assertFalse(any(data[31 * MIB:32 * MIB]), "last MiB of what was written")
        self.assertTrue(any(data[MIB:31 * MIB]), "nothing was written at all")
        self.assertFalse(any(data[32 * MIB:]), "written behind the end")

    def test_unmapped_blocks_count_as_blank_without_being_read(self):
        self.target(f"{IQN}:thin", (1, 3 << 40))
        self.tgtadm("-m", "logicalunit", "-o", "update", "-t", str(self.next_target), "-l", "1",
                    "-P", "thin_provisioning=1")
        self.assertEqual("thin", self.probe(self.url("thin"))["conditions"]["iscsi.provisioning"])
        result = self.bench(self.url("thin"), "copy:1x1MB,10x2KB", deadline_s=60)
        self.assertEqual("ok", self.phases(result)["download"]["status"])

    def test_isc15_what_is_only_read_is_written_before(self):
        """A LUN that may be overwritten; else it is read as it was found, and the number tells."""
        image, = self.target(f"{IQN}:fill", (1, 64 * MIB))
        self.tgtadm("-m", "logicalunit", "-o", "update", "-t", str(self.next_target), "-l", "1",
                    "-P", "thin_provisioning=1")
        url = self.url("fill", query="fs=raw")
        reads = (("sequential:32MiB,read",),
                 ("access:32MiB", "--set", "access.steps=rnd4KiB-q4t1-read", "--set",
                  "access.time=1s", "--set", "run.pause=0s"))
        for workload, *more in reads:
            with self.subTest(workload):
                found = self.bench(url, workload, "--set", "iscsi.prefill=no", *more)
                self.assertFalse(any(image.read_bytes()))
                filled = self.bench(url, workload, "--set", "run.verify=full", *more)
                self.assertTrue(any(image.read_bytes()))
                for result, flagged in ((found, True), (filled, False)):
                    for phase in self.phases(result).values():
                        self.assertEqual("ok", phase["status"], result)
                        self.assertEqual(flagged, "not-prefilled" in phase["flags"], result)
                os.truncate(image, 0)
                os.truncate(image, 64 * MIB)


class OddLuns(IscsiTestCase):
    def test_isc04_larger_than_the_lun(self):
        said = self.failed(self.url("tiny"), "copy:1x64MB", "no_space")
        self.assertIn("64", said)
        self.failed(self.url("tiny", query="fs=raw"), "sequential:64MiB", "no_space")

    def test_isc04_more_than_2_tib(self):
        self.target(f"{IQN}:large", (1, 3 << 40))
        self.assertEqual(3 << 40, self.probe(self.url("large"))["total_bytes"])

    def test_isc05_blocks_of_4096_bytes(self):
        url = self.url("b4096", query="fs=raw")
        self.assertEqual("4096", self.probe(url)["conditions"]["iscsi.block_bytes"])
        result = self.bench(url, "random:4MiB", "--set", "run.block=4KiB", "--set",
                            "run.verify=full")
        self.assertEqual({"ok"}, {phase["status"] for phase in self.phases(result).values()})
        result = self.bench(self.url("b4096"), "copy:1x5MB,100x3000B", "--again", "--set",
                            "run.verify=full", "--set", f"iscsi.allow_destroy={IQN}:b4096/1")
        self.assertEqual("ok", self.phases(result)["download"]["status"])

    def test_isc09_wrong_names_are_answered_with_the_right_ones(self):
        self.refused(self.url("plian"), "no such target", f"did you mean {IQN}:plain?",
                     "it offers", "initiator")
        self.refused(self.url("plain", lun=9), "no LUN 9", "0, 1")

    def test_isc09_a_target_with_only_lun_5(self):
        self.assertEqual(64 * MIB, self.probe(self.url("lun5", lun=5))["total_bytes"])

    def test_isc09_what_is_written_is_the_lun_that_was_named(self):
        images = self.target(f"{IQN}:many", (1, 32 * MIB), (2, 32 * MIB), (300, 32 * MIB))
        before = digest(images[0])
        for lun, image in ((2, images[1]), (300, images[2])):
            self.bench(self.url("many", lun=lun), "copy:1x1MB", "--again", "--set",
                       f"nas.name=lun{lun}")
            self.assertNotEqual(before, digest(image), f"LUN {lun} was not written")
            with open(image, "r+b") as file:
                file.truncate(0)
                file.truncate(32 * MIB)
            self.assertEqual([before] * 3, [digest(path) for path in images])

    def test_isc10_odd_target_names(self):
        long_name = "iqn.2026-01.lab.nasmark:" + "n" * (223 - 24)
        for iqn in ("eui.02004567a425678d", "naa.52004567ba64678d", long_name):
            with self.subTest(iqn):
                self.target(iqn, (1, 32 * MIB))
                self.assertEqual(32 * MIB, self.probe(self.url(iqn))["total_bytes"])
        url = self.url("plain")
        self.assertEqual(url, self.probe("ISCSI" + url[5:])["target"])
        self.nasmark("probe", self.url("plain", lun=-1), expect=2)
        self.nasmark("probe", self.url("plain", lun=16384), expect=2)

    def test_isc18_ipv6_portal(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        self.tgtadm("-m", "portal", "-o", "new", "--param",
                    f"portal=[::1]:{self.lab['ISCSI_PORT']}")
        url = self.url("plain", host="[::1]")
        answer = self.probe(url)
        self.assertEqual(url, answer["target"])
        self.assertEqual(f"[::1]:{self.lab['ISCSI_PORT']}", answer["conditions"]["iscsi.portal"])

    def test_write_protected(self):
        said = self.failed(self.url("readonly"), "copy:1x1MB", "read_only")
        self.assertIn("write-protected", said)

    def test_full_volume_behind_the_lun(self):
        """The LUN is larger than the file system below it: no_space, never a good trial."""
        self.failed(self.url("small"), "copy:1x100MB", "no_space", "--set", "run.preflight=no")
        self.failed(self.url("small", query="fs=raw"), "sequential:100MiB", "no_space", "--again",
                    "--set", f"iscsi.allow_destroy={IQN}:small/1", "--set", "run.preflight=no")

    def test_several_sessions_share_the_work(self):
        result = self.bench(self.url("aio", query="fs=raw"), "sequential:64MiB", "--set",
                            "iscsi.sessions=3", "--set", "run.verify=full")
        self.assertEqual({"ok"}, {phase["status"] for phase in self.phases(result).values()})
        answer = self.probe(self.url("aio"))
        self.assertEqual("8192", answer["conditions"]["iscsi.segment_bytes"])


class Chap(IscsiTestCase):
    def quick(self, *arguments, words):
        start = time.monotonic()
        self.refused(*arguments[:1], "authentication failed", *words, arguments=arguments[1:])
        self.assertLess(time.monotonic() - start, 5, "it was tried again and again")

    def test_isc07_missing_wrong_and_short_secrets(self):
        user, secret = self.lab["CHAP_USER"], self.lab["CHAP_PASS"]
        url = self.url("chap")
        self.quick(url, words=["wants CHAP", "initiator"])
        for wrong, words in (("x" * 12, [user]), ("short", ["at least 12 characters"])):
            path = self.credentials(chap_user=user, chap_secret=wrong)
            self.quick(url, "--credentials", path, words=words)
        path = self.credentials(chap_user=user, chap_secret=secret)
        answer = self.probe(url, "--credentials", path)
        self.assertEqual("one-way", answer["conditions"]["iscsi.chap"])

    def test_isc07_mutual(self):
        known = {"chap_user": self.lab["CHAP_USER"], "chap_secret": self.lab["CHAP_PASS"],
                 "chap_target_user": self.lab["CHAP_TARGET_USER"],
                 "chap_target_secret": self.lab["CHAP_TARGET_PASS"]}
        url = self.url("mutual")
        answer = self.probe(url, "--credentials", self.credentials(**known))
        self.assertEqual("mutual", answer["conditions"]["iscsi.chap"])
        for change in ({"chap_target_secret": "y" * 12}, {"chap_target_user": "somebody"}):
            path = self.credentials(**{**known, **change})
            self.quick(url, "--credentials", path, words=["the target did not prove"])

    def test_isc07_a_target_that_hides_from_others(self):
        self.target(f"{IQN}:hidden", (1, 32 * MIB))
        tid = str(self.next_target)
        self.tgtadm("-m", "target", "-o", "unbind", "-t", tid, "-I", "ALL")
        self.tgtadm("-m", "target", "-o", "bind", "-t", tid, "-Q", "iqn.2026-01.lab:somebody")
        self.refused(self.url("hidden"), "iqn.2026-01.org.nasmark:")
        answer = self.probe(self.url("hidden"), "--set", "iscsi.initiator=iqn.2026-01.lab:somebody")
        self.assertEqual(32 * MIB, answer["total_bytes"])


class Faults(IscsiTestCase):
    # Long enough to be under way when the target dies; flushes keep a fast machine busy.
    work = (("fs=raw", "random:64MiB"), ("", "copy:20000x2KB"))

    def during(self, action, url, workload, *arguments, expect):
        """Runs a workload and, a second after its start, the action; returns result and seconds."""
        timer = threading.Timer(1.5, action)
        timer.start()
        start = time.monotonic()
        try:
            result = self.bench(url, workload, *arguments, "--set", "run.timeout=3s", expect=expect,
                                deadline_s=60)
        finally:
            timer.join()
        return result, time.monotonic() - start

    def dies(self, action, query, workload, reasons):
        result, seconds = self.during(action, self.url("scratch", query=query), workload, "--again",
                                      "--set", "run.flush=file", "--set",
                                      f"iscsi.allow_destroy={IQN}:scratch/1", expect=1)
        trials = [trial for phase in self.phases(result).values() for trial in phase["trials"]]
        self.assertEqual("failed", trials[0]["status"])
        self.assertIn(trials[0]["reason"], reasons)
        self.assertLess(seconds, 30)

    def test_isc11_stopped_target(self):
        for query, workload in self.work:
            with self.subTest(workload):
                try:
                    self.dies(lambda: self.lab.do("pause", "iscsi"), query, workload,
                              {"timeout", "connection_lost"})
                finally:
                    self.lab.do("resume", "iscsi")

    def test_isc11_killed_target(self):
        for query, workload in self.work:
            with self.subTest(workload):
                try:
                    self.dies(lambda: self.lab.do("kill", "iscsi"), query, workload,
                              {"timeout", "connection_lost"})
                finally:
                    self.lab.do("start", "iscsi")

    def test_isc13_events_of_other_luns(self):
        """A LUN that comes and goes raises unit attentions; the run goes on, and counts them."""
        self.target(f"{IQN}:busy", (1, 64 * MIB))
        tid = str(self.next_target)

        def disturb():
            for number in (2, 3, 4):
                self.lun(tid, number, 32 * MIB)
                self.tgtadm("-m", "logicalunit", "-o", "delete", "-t", tid, "-l", str(number))
        result, _ = self.during(disturb, self.url("busy", query="fs=raw"), "random:64MiB", expect=0)
        phases = self.phases(result).values()
        self.assertEqual({"ok"}, {phase["status"] for phase in phases})
        self.assertGreater(sum(metric["value"] for phase in phases for metric in phase["metrics"]
                               if metric["name"] == "repeats"), 0)

    def test_isc17_redirection_is_followed_and_said(self):
        real = f"{self.lab['LAB_ADDR']}:{self.lab['ISCSI_PORT']}"
        portal = RedirectingPortal(real)
        self.addCleanup(portal.close)
        answer = self.probe(f"iscsi://{portal.address}/{IQN}:plain/1")
        self.assertEqual(real, answer["conditions"]["iscsi.portal"])

    def test_isc17_redirection_in_a_circle_ends(self):
        portal = RedirectingPortal()
        self.addCleanup(portal.close)
        self.refused(f"iscsi://{portal.address}/{IQN}:plain/1", "redirects in a circle")
        self.assertLess(len(portal.logins), 10)

    def test_isc10_a_mail_address_in_the_target_name(self):
        """tgt takes no such name, so what is asked for is looked at."""
        iqn = "iqn.2026-01.lab.nasmark:admin@example.com"
        portal = RedirectingPortal()
        self.addCleanup(portal.close)
        self.refused(f"iscsi://{portal.address}/{iqn}/1", iqn)
        self.assertIn(f"TargetName={iqn}".encode(), portal.logins[0])

    def test_silent_portal(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            start = time.monotonic()
            self.refused(f"iscsi://127.0.0.1:{port}/{IQN}:x/1", "no answer in time",
                         arguments=("--set", "run.timeout=2s"))
            self.assertLess(time.monotonic() - start, 8)

    def test_closed_port(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.refused(f"iscsi://127.0.0.1:{port}/{IQN}:x/1", "Connection refused")


class FileSystem(IscsiTestCase):
    def check(self, image):
        """No complaint of e2fsck, without writing."""
        run(tool("e2fsck", "e2fsprogs"), "-fn", image)

    def mounted(self, image):
        point = self.scratch / "mnt"
        point.mkdir()
        self.addCleanup(point.rmdir)
        run("mount", "-t", "ext4", "-o", "ro,loop,noload", image, point)
        self.addCleanup(run, "umount", point)
        return point

    def test_files_are_there_for_a_kernel(self):
        """The local source is what was written; the kernel finds the same names and bytes."""
        source, saved = self.scratch / "source", self.scratch / "saved"
        source.mkdir()
        sizes = ["150MB", "5MB", "65537B", "65536B", "4097B", "4096B", "512B", "511B", "1B"]
        workload = "copy:" + ",".join(f"1x{size}" for size in sizes) + ",400x1500B"
        self.bench(self.url("scratch"), workload, "--set", f"run.source={source}", "--set",
                   f"run.prepare=cp -r {source} {saved}", "--set", "run.keep=yes", "--set",
                   f"iscsi.allow_destroy={IQN}:scratch/1")
        image = self.file_of("scratch")
        self.check(image)
        originals, copies = (
            {path.name: digest(path) for path in root.rglob("f*") if path.is_file()}
            for root in (saved, self.mounted(image)))
        self.assertEqual(len(sizes) + 400, len(originals))
        self.assertEqual(originals, copies)

    def test_file_system_is_valid_after_use(self):
        image, = self.target(f"{IQN}:valid", (1, 300 * MIB))
        for workload in ("copy:1x20MB,500x2KB", "copy:200x100KB"):
            self.bench(self.url("valid"), workload, "--again", "--set", "run.streams=3", "--set",
                       "run.verify=full", "--set", f"iscsi.allow_destroy={IQN}:valid/1")
            self.check(image)
        mounted = self.mounted(image)
        self.assertEqual(["lost+found"], [path.name for path in mounted.iterdir()])

    def test_old_contents_do_not_shine_through(self):
        image, = self.target(f"{IQN}:dirty", (1, 64 * MIB))
        with open(image, "r+b") as file:
            file.write(os.urandom(64 * MIB))
        disk_images.gpt(image, 64 * MIB)
        self.bench(self.url("dirty"), "copy:1x10MB,2000x2KB", "--set", "run.verify=full", "--set",
                   f"iscsi.allow_destroy={IQN}:dirty/1")
        self.check(image)
        found = run(tool("blkid", "util-linux"), "-p", image).out
        self.assertIn('TYPE="ext4"', found)
        self.assertNotIn("gpt", found)

    def test_raw_and_files_take_turns(self):
        image, = self.target(f"{IQN}:turns", (1, 128 * MIB))
        plan = self.scratch / "plan.ini"
        plan.write_text(f"""[nas]
name = lab
firmware = 1
[volume turns]
kind = single
iscsi = {self.url('turns')}
[run]
workloads = copy:1x5MB sequential:64MiB copy:100x2KB
protocols = iscsi
trials = 2
preflight = no
[iscsi]
allow_destroy = {IQN}:turns/1
""")
        try:
            result = self.nasmark("run", plan, "--json", deadline_s=120)
        except CommandFailed as failure:
            raise AssertionError(f"{failure}") from None
        for table in result.json()["tables"]:
            for row in table["rows"]:
                for phase in row["phases"].values():
                    self.assertEqual("ok", phase["status"], table["workload"])
        self.assertTrue(image.exists())


if __name__ == "__main__":
    harness.main()
