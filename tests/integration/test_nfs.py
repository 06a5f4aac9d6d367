"""The nfs backend against nfs-ganesha: versions, exports, identities, full volumes, dead servers.

Each class has a lab of its own, because servers are configured, stopped and killed here.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time

import harness
from harness import Lab, program, run, tool

QUEUE_BENCH = pathlib.Path(program()).parent / "tests" / "bench" / "queue-bench"


class NfsTestCase(harness.TestCase):
    settings = {}

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="nasmark-nfs-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.lab = Lab.up(f"{directory}/lab", servers="nfs", **{"volumes": "plain small",
                                                               **cls.settings})
        cls.addClassCleanup(cls.lab.down)

    def url(self, path, version=3, host=None, extra=""):
        """3 and 4 force the version; None leaves the choice to the program."""
        arguments = {3: f"version=3&mountport={self.lab['MNT_PORT']}", 4: "version=4", None: ""}
        query = "&".join(word for word in (arguments[version], extra) if word)
        port = self.lab["NFS_PORT"]
        query = f"?{query}" if query else ""
        return f"nfs://{host or self.lab['LAB_ADDR']}:{port}/{path}{query}"

    def probe(self, url):
        return self.nasmark("probe", "--json", url, deadline_s=30).json()

    def refused(self, url, *words, expect=1):
        """The probe fails, and says these words."""
        result = self.nasmark("probe", url, deadline_s=30, expect=expect)
        for word in words:
            self.assertIn(word, result.err)
        return result

    def bench(self, url, workload, *arguments, expect=0, deadline_s=60):
        result = self.nasmark("bench", url, "--workload", workload, "--trials", "1", "--json",
                              *arguments, expect=expect, deadline_s=deadline_s)
        return result.json()["tables"][0]["rows"][0]["phases"]

    def local(self, name="plain"):
        return pathlib.Path(self.lab[f"LOCAL_DIR_{name}"])

    def assert_clean(self, name="plain"):
        self.assertEqual([], sorted(path.name for path in self.local(name).iterdir()))


class Both(NfsTestCase):
    def test_nfs02_uploads_arrive_whole_over_both_versions(self):
        for version in (3, 4):
            with self.subTest(version):
                phases = self.bench(self.url("plain", version), "copy:1x20MB,20x3000B",
                                    "--set", "run.verify=full")
                self.assertEqual("ok", phases["upload"]["status"])
                self.assertEqual("ok", phases["download"]["status"])
                self.assertEqual(20_060_000, phases["upload"]["trials"][0]["bytes"])
                self.assert_clean()

    def test_nfs03_the_port_of_the_url_is_the_nfs_port(self):
        for version in (3, 4):
            conditions = self.probe(self.url("plain", version))["conditions"]
            self.assertEqual(str(version), conditions["nfs.version"])
        self.assertEqual(*(self.probe(self.url("plain", version))["identity"]
                           for version in (3, 4)))
        self.refused(f"nfs://{self.lab['LAB_ADDR']}:1/plain", "port 1", "nothing listens")

    def test_nfs04_innermost_of_nested_exports(self):
        devices = [os.stat(self.local(name)).st_dev for name in ("plain", "small")]
        self.assertNotEqual(*devices)
        total = os.statvfs(self.local("small"))
        for version in (3, 4):
            with self.subTest(version):
                outer, inner = (self.probe(self.url(path, version))
                                for path in ("outer", "outer/inner"))
                self.assertNotEqual(outer["identity"], inner["identity"])
                self.assertEqual(total.f_blocks * total.f_frsize, inner["total_bytes"])
        (self.local("small") / "t").mkdir()
        self.addCleanup((self.local("small") / "t").rmdir)
        for version in (3, 4):
            self.assertEqual("ok", self.probe(self.url("outer/inner/t", version))["write"])

    def test_nfs05_what_is_exported_is_said(self):
        self.refused(self.url("volume1/plain"), "exports nothing that holds /volume1/plain",
                     "/plain, /small")
        self.refused(self.url("volume1/plain", 4), "/volume1/plain does not exist", "plain, small")
        self.refused(self.url("plain/missing"), "/plain/missing does not exist")

    def test_nfs05_without_mountd_the_choice_is_nfs4_and_said(self):
        conditions = self.probe(self.url("plain", None))["conditions"]
        self.assertEqual("4", conditions["nfs.version"])
        self.assertIn("no MOUNT service", conditions["nfs.version_reason"])

    def test_nfs06_hint_at_ports_below_1024(self):
        self.assertEqual("ok", self.probe(self.url("lowport"))["write"])
        self.scratch.chmod(0o777)
        copy = self.scratch / "nasmark"
        shutil.copy(program(), copy)
        copy.chmod(0o755)
        result = run(tool("setpriv", "util-linux"), "--reuid=65534", "--regid=65534",
                     "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", copy, "probe",
                     self.url("lowport"), expect=1, env=self.environment())
        self.assertIn("insecure", result.err)
        self.assertIn("setcap", result.err)

    def test_nfs07_squashed_root(self):
        for version in (3, 4):
            with self.subTest(version):
                self.refused(self.url("squash", version), "uid 0 is usually squashed", "?uid=")
                self.assertEqual("ok", self.probe(self.url("squash-open", version))["write"])
                self.assertEqual("ok", self.bench(self.url("squash-open", version), "copy:3x2KB")
                                 ["upload"]["status"])
                self.assert_clean("squash_open")

    def test_nfs07_uid_and_gid_of_the_url(self):
        os.chown(self.local("squash"), 4711, 4712)
        self.addCleanup(os.chown, self.local("squash"), 0, 0)
        for version in (3, 4):
            url = self.url("squash", version, extra="uid=4711&gid=4712")
            conditions = self.probe(url)["conditions"]
            self.assertEqual(("4711", "4712"), (conditions["nfs.uid"], conditions["nfs.gid"]))

    def test_nfs09_full_volume(self):
        for version in (3, 4):
            with self.subTest(version):
                result = run(QUEUE_BENCH, self.url("small", version), "write", "1MiB", "8", "1GiB",
                             "20", expect=1, deadline_s=30, env=self.environment())
                (self.local("small") / "queue-bench").unlink()
                self.assertIn("no space left on the volume (NFS%dERR_NOSPC)" % version, result.err)

    def test_nfs18_nonsense_in_urls(self):
        self.refused("nfs://h/e", "host h")
        self.refused(f"nfs://{self.lab['LAB_ADDR']}", "path", expect=2)
        self.refused(self.url("plain", None, extra="verison=4"), "unknown argument", "version",
                     expect=2)
        self.refused(self.url("plain", None, extra="version=9"), "version=9", expect=2)

    def test_read_only_export(self):
        for version in (3, 4):
            self.assertIn("read_only", self.refused(self.url("readonly", version)).err)


class IPv6(NfsTestCase):
    """NFS-13, through a relay, because the lab listens on IPv4 alone."""

    def relay(self, port):
        """Listens on the same port of ::1."""
        listener = socket.create_server(("::1", port), family=socket.AF_INET6)
        self.addCleanup(listener.close)

        def copy(source, target):
            try:
                while data := source.recv(1 << 16):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                end.close()

        def serve():
            while True:
                try:
                    peer = listener.accept()[0]
                except OSError:
                    return
                server = socket.create_connection((self.lab["LAB_ADDR"], port))
                for pair in ((peer, server), (server, peer)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()

    def test_nfs13_literals(self):
        try:
            self.relay(int(self.lab["NFS_PORT"]))
            self.relay(int(self.lab["MNT_PORT"]))
        except OSError as error:
            harness.unavailable(f"no IPv6 on loopback: {error}")
        for version in (3, 4):
            self.assertEqual("ok", self.probe(self.url("plain", version, host="[::1]"))["write"])
        self.refused("nfs://::1/plain", "brackets", expect=2)


class Version4Only(NfsTestCase):
    settings = {"nfs_protocols": "4", "volumes": "plain"}

    def test_nfs01_is_chosen_and_said(self):
        conditions = self.probe(self.url("plain", None))["conditions"]
        self.assertEqual("4", conditions["nfs.version"])
        self.assertIn("does not serve NFSv3", conditions["nfs.version_reason"])
        self.assertNotIn("nfs.version_reason", self.probe(self.url("plain", 4))["conditions"])
        url = f"nfs://{self.lab['LAB_ADDR']}:{self.lab['NFS_PORT']}/plain?version=3"
        self.refused(url, "does not serve NFSv3", "version=4")


class SmallRequests(NfsTestCase):
    settings = {"nfs_max": "8192", "volumes": "plain"}

    def test_nfs16_rsize_and_wsize(self):
        for version in (3, 4):
            with self.subTest(version):
                conditions = self.probe(self.url("plain", version))["conditions"]
                self.assertEqual(["8192"] * 3, [conditions[f"nfs.{name}"]
                                                for name in ("rsize", "wsize", "block")])
                phases = self.bench(self.url("plain", version), "copy:1x5MB", "--set",
                                    "run.block=1MiB", "--set", "run.verify=full")
                self.assertEqual("ok", phases["download"]["status"])


class Faults(NfsTestCase):
    """NFS-10. The limit is generous; a hang would be one of minutes."""

    settings = {"volumes": "plain"}

    def during_upload(self, version, what):
        """Does something to the server while an upload runs; returns the trial and the seconds
        from then to the end of the program."""
        started = threading.Event()
        moment = []

        def act():
            while not any(self.local().glob("nasmark-*/*/f*")):
                if started.wait(0.01):
                    return
            time.sleep(0.2)
            moment.append(time.monotonic())
            what()

        thread = threading.Thread(target=act)
        thread.start()
        try:
            phases = self.bench(self.url("plain", version), "copy:1x20GB", "--set",
                                "run.timeout=2s", expect=1, deadline_s=90)
        finally:
            ended = time.monotonic()
            started.set()
            thread.join()
        self.assertTrue(moment, "the upload never began")
        return phases["upload"]["trials"][0], ended - moment[0]

    def tidy(self):
        for path in self.local().iterdir():
            shutil.rmtree(path)

    def test_nfs10_server_hangs(self):
        for version in (3, 4):
            with self.subTest(version):
                trial, seconds = self.during_upload(version, lambda: self.lab.do("pause", "nfs"))
                self.lab.do("resume", "nfs")
                self.assertEqual(("failed", "timeout"), (trial["status"], trial["reason"]))
                self.assertLess(seconds, 20)
                self.tidy()

    def test_nfs10_server_dies(self):
        for version in (3, 4):
            with self.subTest(version):
                trial, seconds = self.during_upload(version, lambda: self.lab.do("kill", "nfs"))
                self.lab.do("start", "nfs")
                self.assertEqual(("failed", "connection_lost"), (trial["status"], trial["reason"]))
                self.assertLess(seconds, 10)
                self.tidy()


if __name__ == "__main__":
    harness.main()
