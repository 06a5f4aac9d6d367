"""SMB against a real smbd: names, logins, dialects, security, faults.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.parse

import harness
from harness import Lab
from smb_proxy import LOGOFF, TREE_DISCONNECT, Proxy


class SmbTestCase(harness.LabTestCase):
    def setUp(self):
        super().setUp()
        self.where = f"{self.lab['LAB_ADDR']}:{self.lab['SMB_PORT']}"
        self.volume = self.lab.volumes[0]
        self.share = pathlib.Path(self.lab[f"LOCAL_DIR_{self.volume}"])
        self.extra = self.share.parent / "extra"
        self.before = self.leftovers()

    def url(self, rest, user="bench"):
        return f"smb://{user}@{self.where}/{rest}" if user else f"smb://{self.where}/{rest}"

    def probe(self, url, *arguments, expect=0, credentials=True, env=None, deadline_s=60):
        if credentials:
            arguments += ("--credentials", self.lab.credentials)
        return self.nasmark("probe", url, "--json", *arguments, expect=expect, env=env,
                            deadline_s=deadline_s)

    def conditions(self, url, *arguments, **more):
        return self.probe(url, *arguments, **more).json()["conditions"]

    def leftovers(self):
        return {p for p in self.share.iterdir() if p.name.startswith("nasmark-")}

    def assert_clean(self):
        """Nothing of ours was added to the share or to the temporary directory."""
        self.assertEqual(self.leftovers() - self.before, set())
        self.assertEqual(list(self.scratch.glob("nasmark-smb-*")), [])

    def environment(self, **extra):
        return super().environment(TMPDIR=str(self.scratch), **extra)


class Names(SmbTestCase):
    def test_spellings_of_a_share_are_one_target(self):
        (self.extra / "named" / "d").mkdir(exist_ok=True)
        encoded = urllib.parse.quote("my share é")
        targets = {self.probe(self.url(f"{name}/d{slash}")).json()["target"]
                   for name in (encoded, "my share é") for slash in ("", "/", "//")}
        self.assertEqual(len(targets), 1, targets)

    def test_slashes_hidden_shares_and_delimiters(self):
        (self.share / "d").mkdir(exist_ok=True)
        (self.extra / "hidden" / "d").mkdir(exist_ok=True)
        (self.extra / "at" / "c;d").mkdir(exist_ok=True)
        targets = {self.probe(self.url(f"{self.volume}{tail}")).json()["target"]
                   for tail in ("/d", "//d", "/d/")}
        self.assertEqual(len(targets), 1, targets)
        self.probe(self.url(f"{self.volume}/"))
        self.probe(self.url("hid$/d"))
        self.probe(self.url("a@b/c;d"))
        # No user part: what stands before the @ of the path is no user.
        refused = self.probe(self.url("a@b/c;d", user=None), expect=1, credentials=False)
        self.assertIn('share "a@b" does not take guests', refused.err)

    def test_ipv6_address(self):
        try:
            proxy = Proxy((self.lab["LAB_ADDR"], int(self.lab["SMB_PORT"])), host="::1")
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        with proxy:
            url = f"smb://bench:{self.lab['SMB_PASS']}@[::1]:{proxy.port}/{self.volume}"
            self.assertEqual(self.conditions(url, credentials=False)["smb.session"], "user")

    def test_what_is_missing_is_named(self):
        missing = self.probe(self.url("nosuchshare"), expect=1)
        self.assertIn("not_found", missing.err)
        self.assertIn('no share "nosuchshare"', missing.err)
        self.assertIn(f"the server offers: {self.volume}", missing.err)
        missing = self.probe(self.url(f"{self.volume}/no/dir"), expect=1)
        self.assertIn("not_found", missing.err)
        self.assertIn('no directory "no/dir" in the share', missing.err)

    def test_names_smb_cannot_carry_are_refused_with_the_reason(self):
        for path, words in ((f"{'n' * 256}", "name too long"), (f"{'é' * 128}", "name too long"),
                            ("a%3Ab", "cannot carry the character ':'")):
            with self.subTest(path[:8]):
                refused = self.probe(self.url(f"{self.volume}/{path}"), expect=1)
                self.assertIn(words, refused.err)
        (self.share / ("n" * 255)).mkdir(exist_ok=True)
        self.probe(self.url(f"{self.volume}/{'n' * 255}"))


class Logins(SmbTestCase):
    def test_password_with_reserved_characters(self):
        url = self.url(self.volume, user=self.lab["SMB_ODD_USER"])
        password = self.lab["SMB_ODD_PASS"]
        self.probe(url, "--credentials", self.lab["LAB_CREDENTIALS_ODD"], credentials=False)
        self.probe(url, credentials=False, env={"NASMARK_PASSWORD": password})
        user = f"{self.lab['SMB_ODD_USER']}:{urllib.parse.quote(password, safe='')}"
        self.probe(self.url(self.volume, user=user), credentials=False)

    def test_wrong_password_and_read_only_share_differ(self):
        wrong = self.probe(self.url(self.volume), expect=1, credentials=False,
                           env={"NASMARK_PASSWORD": "wrong"})
        self.assertIn("auth: ", wrong.err)
        self.assertIn("authentication failed", wrong.err)
        self.assertNotIn("wrong\"", wrong.err)
        read_only = self.probe(self.url("readonly"), expect=1)
        self.assertIn("read_only: ", read_only.err)
        self.assertIn("logged in, but", read_only.err)

    def test_guest(self):
        guest = self.conditions(self.url("guest", user=None), credentials=False)
        self.assertIn(guest["smb.session"], ("anonymous", "guest"))
        mistyped = self.probe(self.url("guest", user="mistyped"), credentials=False,
                              env={"NASMARK_PASSWORD": "x"})
        self.assertEqual(mistyped.json()["conditions"]["smb.session"], "guest-fallback")
        self.assertIn("the session is a guest's", mistyped.err)
        refused = self.probe(self.url(self.volume, user="mistyped"), expect=1, credentials=False,
                             env={"NASMARK_PASSWORD": "x"})
        self.assertIn("auth: ", refused.err)
        self.assertIn('does not know "mistyped"', refused.err)
        known = self.conditions(self.url(self.volume))
        self.assertEqual(known["smb.session"], "user")
        self.assertNotIn("server.warning", known)


class Security(SmbTestCase):
    def test_signing_and_encryption_are_what_was_asked_for(self):
        url = self.url(self.volume)
        plain = self.conditions(url)
        self.assertEqual((plain["smb.signing"], plain["smb.encryption"]), ("off", "off"))
        signed = self.conditions(url, "--set", "smb.signing=required")
        self.assertEqual(signed["smb.signing"], "AES-128-GMAC")
        sealed = self.conditions(url, "--set", "smb.encryption=required")
        self.assertEqual((sealed["smb.encryption"], sealed["smb.cipher"]), ("on", "AES-128-GCM"))
        self.assertEqual(self.conditions(self.url("sealed"))["smb.encryption"], "on")

    def test_what_cannot_be_had_is_refused(self):
        off = self.probe(self.url("sealed"), "--set", "smb.encryption=off", expect=1)
        self.assertIn("unsupported: ", off.err)
        self.assertIn("demands encryption", off.err)
        old = self.probe(self.url(self.volume), "--set", "smb.encryption=required", "--set",
                         "smb.protocol_max=SMB2_10", expect=1)
        self.assertIn("cannot encrypt with SMB2_10", old.err)

    def test_the_hosts_configuration_does_not_count(self):
        url = self.url(self.volume)
        clean = self.conditions(url)
        for key in ("smb.clock_skew_ms",):
            clean.pop(key)
        hostile = self.scratch / "hostile"
        (hostile / ".smb").mkdir(parents=True)
        (hostile / ".smb" / "smb.conf").write_text(
            "[global]\nclient max protocol = NT1\nclient min protocol = NT1\n"
            "socket options = SO_SNDBUF=1024 SO_RCVBUF=1024\nclient signing = required\n")
        for home in (str(hostile), "", "/nonexistent"):
            with self.subTest(home):
                found = self.conditions(url, env={"HOME": home})
                found.pop("smb.clock_skew_ms")
                self.assertEqual(found, clean)
        self.assert_clean()


class Dialects(harness.TestCase):
    """Servers that are not like ours: labs of their own."""

    def lab_with(self, *lines):
        lab = Lab.up(self.scratch / "lab", volumes="plain", servers="smb",
                     smb_global="\n    ".join(("log level = 3",) + lines))
        self.addCleanup(lab.down)
        return lab

    def probe(self, lab, *arguments, expect=0):
        return self.nasmark("probe", lab["SMB_TARGET_plain"], "--json", "--credentials",
                            lab.credentials, *arguments, expect=expect)

    def log(self, lab):
        return "".join(p.read_text(errors="replace")
                       for p in (lab.directory / "smb" / "log").glob("*") if p.is_file())

    def test_only_smb1(self):
        lab = self.lab_with("server min protocol = NT1", "server max protocol = NT1")
        refused = self.probe(lab, expect=1)
        self.assertIn("unsupported: ", refused.err)
        self.assertIn("the server offers only SMB1, allow it with smb.protocol_min = NT1",
                      refused.err)
        self.assertFalse("Requested protocol" in self.log(lab), "SMB1 was tried")
        allowed = self.probe(lab, "--set", "smb.protocol_min=NT1").json()
        self.assertEqual(allowed["conditions"]["smb.dialect"], "NT1")

    def test_highest_common_dialect_and_no_word_of_smb1(self):
        lab = self.lab_with("server min protocol = SMB2_02", "server max protocol = SMB2_10")
        self.assertEqual(self.probe(lab).json()["conditions"]["smb.dialect"], "SMB2_10")
        pinned = self.probe(lab, "--set", "smb.protocol_max=SMB2_02").json()
        self.assertEqual(pinned["conditions"]["smb.dialect"], "SMB2_02")
        allowed = self.probe(lab, "--set", "smb.protocol_min=NT1").json()
        self.assertEqual(allowed["conditions"]["smb.dialect"], "SMB2_10")
        refused = self.probe(lab, "--set", "smb.protocol_min=SMB3_00", expect=1)
        self.assertIn("refuses the protocol versions SMB3_00 to SMB3_11", refused.err)
        self.assertIn("it chooses SMB2_10", refused.err)
        text = self.log(lab)
        self.assertTrue("Selected protocol SMB2_10" in text)
        self.assertFalse("Requested protocol" in text, "SMB1 was tried")

    def test_higher_minimum(self):
        lab = self.lab_with("server min protocol = SMB3_00", "server max protocol = SMB3_11",
                            "server signing = mandatory")
        conditions = self.probe(lab).json()["conditions"]
        self.assertEqual(conditions["smb.dialect"], "SMB3_11")
        self.assertEqual(conditions["smb.signing"], "AES-128-GMAC")
        old = self.probe(lab, "--set", "smb.protocol_max=SMB3_02").json()["conditions"]
        self.assertEqual((old["smb.dialect"], old["smb.signing"]), ("SMB3_02", "AES-128-CMAC"))
        self.assertIn("signs or encrypts slowly", old["server.warning"])
        refused = self.probe(lab, "--set", "smb.signing=off", expect=1)
        self.assertIn("insists on signing", refused.err)


class Faults(SmbTestCase):
    def bench(self, url, *arguments, expect=0, deadline_s=120, **more):
        return self.nasmark("bench", url, "--credentials", self.lab.credentials, "--trials", "1",
                            "--json", "--set", "run.pause=0s", *arguments, expect=expect,
                            deadline_s=deadline_s, **more)

    def start_bench(self, *arguments, workload="copy:1x2GB"):
        process = subprocess.Popen(
            [harness.program(), "bench", self.url(self.volume), "--credentials",
             self.lab.credentials, "--trials", "1", "--workload", workload, "--json", "--set",
             "run.pause=0s", "--set", "run.timeout=3s", *arguments],
            env={**os.environ, **self.environment()}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.addCleanup(self.remove_leftovers)
        return process

    def remove_leftovers(self):
        """What an upload to a server that died leaves behind."""
        for path in self.leftovers() - self.before:
            shutil.rmtree(path)

    def wait_for_bytes(self, count, group="**"):
        """Until an upload of ours is that far."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            sizes = [p.stat().st_size for p in self.share.glob(f"nasmark-*/{group}/*")
                     if p.is_file()]
            if sizes and max(sizes) > count:
                return
            time.sleep(0.01)
        self.fail("the upload does not start")

    def test_what_never_ran_stays_in_its_row(self):
        """A download that its upload kept from running never learned how the server flushes."""
        process = self.start_bench("--trials", "2", workload="copy:1x400MB")
        self.wait_for_bytes(1_000_000, group="g1")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("aborted", err)
        tables = json.loads(out)["tables"]
        rows = [list(row["phases"]) for table in tables for row in table["rows"]]
        self.assertEqual(rows, [["upload", "download"]], out)

    def test_server_hangs_in_an_upload(self):
        process = self.start_bench()
        self.wait_for_bytes(50_000_000)
        self.lab.do("pause", "smb")
        began = time.monotonic()
        try:
            out, err = process.communicate(timeout=60)
        finally:
            self.lab.do("resume", "smb")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("timeout", out + err)

    def test_server_dies_in_an_upload(self):
        process = self.start_bench()
        self.wait_for_bytes(50_000_000)
        self.lab.do("kill", "smb")
        began = time.monotonic()
        try:
            out, err = process.communicate(timeout=60)
        finally:
            self.lab.do("start", "smb")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("connection_lost", out + err)

    def test_lane_dies_in_an_upload(self):
        """One of the processes that carry the data: the operation fails, nothing hangs."""
        process = self.start_bench("--trials", "20", "--set", "run.on_error=stop", "--set",
                                   "smb.lanes=3")
        os.kill(self.stop_lane_in_an_upload(process), signal.SIGKILL)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("connection_lost", out + err)
        self.assert_clean()

    def stop_lane_in_an_upload(self, process):
        """Its pid. Stopped before one looks: on a busy machine the upload may be over by then."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.wait_for_bytes(50_000_000)
            for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
                if self.text(path) != "nasmark-smb2" or not self.is_below(path.parent, process.pid):
                    continue
                lane = int(path.parent.name)
                os.kill(lane, signal.SIGSTOP)
                sizes = [p.stat().st_size for p in self.share.glob("nasmark-*/*/*")]
                if sizes and 50_000_000 < max(sizes) < 2_000_000_000:
                    return lane
                os.kill(lane, signal.SIGCONT)
        self.fail("no lane carries an upload")

    @staticmethod
    def text(path):
        try:
            return path.read_text().strip()
        except OSError:
            return ""

    def is_below(self, entry, ancestor):
        """Whether /proc/PID is a descendant of a process."""
        while (pid := int(entry.name)) > 1:
            if pid == ancestor:
                return True
            fields = self.text(entry / "stat").rpartition(")")[2].split()
            entry = entry.parent / (fields[1] if fields else "1")
        return False

    def test_listener_that_never_answers(self):
        with Proxy(silent=True) as proxy:
            began = time.monotonic()
            refused = self.probe(f"smb://bench@127.0.0.1:{proxy.port}/plain", "--set",
                                 "run.timeout=2s", expect=1)
            self.assertLess(time.monotonic() - began, 6)
            self.assertIn("timeout: ", refused.err)

    def test_server_that_does_not_answer_the_farewell(self):
        server = (self.lab["LAB_ADDR"], int(self.lab["SMB_PORT"]))
        # The library disconnects one tree while it connects (from IPC$, after asking for DFS).
        with Proxy(server, swallow={TREE_DISCONNECT: 1, LOGOFF: 0}) as proxy:
            began = time.monotonic()
            self.probe(f"smb://bench@127.0.0.1:{proxy.port}/{self.volume}", "--set",
                       "run.timeout=2s")
            self.assertLess(time.monotonic() - began, 30)
            self.assertTrue(proxy.requests.get(TREE_DISCONNECT))

    def test_no_host_no_service(self):
        with Proxy(silent=True) as proxy:
            closed = proxy.port
        refused = self.probe(f"smb://bench@127.0.0.1:{closed}/plain", expect=1)
        self.assertIn("connection_lost: ", refused.err)
        self.assertIn("no SMB service listens there", refused.err)
        unknown = self.probe("smb://bench@nosuchhost.invalid/plain", expect=1)
        self.assertIn("not_found: ", unknown.err)
        self.assertIn("cannot be resolved", unknown.err)

    def test_streams_are_really_concurrent(self):
        server = (self.lab["LAB_ADDR"], int(self.lab["SMB_PORT"]))
        with Proxy(server, delay_s=0.002) as proxy:
            rates = {}
            for streams in ("1", "4"):
                result = self.bench(f"smb://bench@127.0.0.1:{proxy.port}/{self.volume}",
                                    "--workload", "copy:120x2KB", "--streams", streams).json()
                phases = result["tables"][0]["rows"][0]["phases"]
                rates[streams] = phases["download"]["files_per_s"]
        self.assertGreater(rates["4"], 2 * rates["1"])

    def test_large_requests_are_large_on_the_wire(self):
        server = (self.lab["LAB_ADDR"], int(self.lab["SMB_PORT"]))
        with Proxy(server) as proxy:
            self.bench(f"smb://bench@127.0.0.1:{proxy.port}/{self.volume}", "--workload",
                       "copy:1x64MB", "--set", "run.block=1MiB")
            writes = proxy.requests[9]
        self.assertLessEqual(writes, 64_000_000 // 65536 + 20)
        self.assert_clean()

    def test_full_volume(self):
        if "small" not in self.lab.volumes:
            self.skipTest("the lab has no volume `small`")
        share = pathlib.Path(self.lab["LOCAL_DIR_small"])
        free = os.statvfs(share).f_bavail
        result = self.bench(self.url("small"), "--workload", "copy:1x200MB", expect=(1, 2))
        self.assertIn("space", result.out + result.err)
        self.assertEqual([p.name for p in share.iterdir() if p.name.startswith("nasmark-")], [])
        self.assertLessEqual(abs(free - os.statvfs(share).f_bavail), 64)


if __name__ == "__main__":
    harness.main()
