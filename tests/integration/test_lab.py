"""The lab itself: ordinary clients reach every server and volume, and it cleans up after itself.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import base64
import http.client
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import Lab, run, tool


def loop_devices(directory):
    text = run("losetup", "-nl", "-O", "BACK-FILE").out
    return [line for line in text.splitlines() if line.startswith(f"{directory}/")]


def processes(directory):
    """Pids of servers and FUSE daemons of a lab."""
    wanted = ("smbd", "cleanupd", "rpcd_", "ganesha.nfsd", "rpcbind", "tgtd", "lighttpd",
              "ntfs-3g")
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if f"{directory}/" in command and name.startswith(wanted):
            found.append(int(entry.name))
    return found


class Reach(harness.LabTestCase):
    def smbclient(self, share, *commands, user=None, expect=0):
        login = ["-U", user or f"{self.lab['SMB_USER']}%{self.lab['SMB_PASS']}"]
        return run(tool("smbclient", "smbclient"), f"//{self.lab['LAB_ADDR']}/{share}", "-p",
                   self.lab["SMB_PORT"], *login, "-c", ";".join(commands), expect=expect)

    def test_smb_puts_and_gets_on_every_volume(self):
        (self.scratch / "a").write_bytes(os.urandom(100_000))
        for volume in self.lab.volumes:
            with self.subTest(volume):
                self.smbclient(volume, f"put {self.scratch}/a lab-test", f"get lab-test "
                               f"{self.scratch}/b", "del lab-test")
                self.assertEqual((self.scratch / "a").read_bytes(),
                                 (self.scratch / "b").read_bytes())

    def test_smb_special_shares(self):
        (self.scratch / "a").write_text("x")
        put = f"put {self.scratch}/a lab-test"
        for share in ("sealed", "my share é", "hid$", "a@b"):
            with self.subTest(share):
                self.smbclient(share, put, "del lab-test")
        self.smbclient("guest", put, "del lab-test", user="%")
        refused = self.smbclient("readonly", put, expect=1)
        self.assertIn("ACCESS_DENIED", refused.out + refused.err)

    def test_smb_users(self):
        lab = self.lab
        volume = lab.volumes[0]
        self.smbclient(volume, "ls", user=f"{lab['SMB_ODD_USER']}%{lab['SMB_ODD_PASS']}")
        wrong = self.smbclient(volume, "ls", user=f"{lab['SMB_USER']}%wrong", expect=1)
        self.assertIn("LOGON_FAILURE", wrong.out + wrong.err)

    def test_nfs_copies_on_every_volume(self):
        copy = tool("nfs-cp", "libnfs-utils")
        (self.scratch / "a").write_bytes(os.urandom(100_000))
        for volume in self.lab.volumes:
            with self.subTest(volume):
                url = self.lab[f"NFS_URL_{volume}"].replace("?", "/lab-test?")
                run(copy, self.scratch / "a", url)
                run(copy, url, self.scratch / volume)
                self.assertEqual((self.scratch / "a").read_bytes(),
                                 (self.scratch / volume).read_bytes())
                os.unlink(f"{self.lab[f'LOCAL_DIR_{volume}']}/lab-test")

    def test_nfs_refuses_where_it_should(self):
        copy = tool("nfs-cp", "libnfs-utils")
        (self.scratch / "a").write_text("x")
        for export, allowed in (("readonly", False), ("squash", False), ("squash_open", True)):
            with self.subTest(export):
                url = self.lab[f"NFS_URL_{export}"].replace("?", "/lab-test?")
                done = run(copy, self.scratch / "a", url, expect=None)
                self.assertEqual(done.status == 0, allowed, done)
                if allowed:
                    os.unlink(f"{self.lab['LOCAL_DIR_squash_open']}/lab-test")

    def test_iscsi_lists_every_target(self):
        portal = f"iscsi://{self.lab['LAB_ADDR']}:{self.lab['ISCSI_PORT']}"
        listed = run(tool("iscsi-ls", "libiscsi-bin"), portal).out
        for name in [*self.lab.volumes, "aio", "scratch", "b4096", "tiny", "lun5", "readonly",
                     "chap", "mutual"]:
            self.assertIn(f"{self.lab['ISCSI_IQN']}:{name} ", listed.replace("\n", " "))

    def test_iscsi_luns_are_what_they_say(self):
        capacity = tool("iscsi-readcapacity16", "libiscsi-bin")
        for name, block_bytes in (("tiny", 512), ("b4096", 4096), ("chap", 512)):
            with self.subTest(name):
                said = run(capacity, self.lab[f"ISCSI_URL_{name}"]).out
                self.assertRegex(said, rf"LENGTH IN BYTES:{block_bytes}\b")
        refused = run(capacity, self.lab["ISCSI_URL_nochap"], expect=None)
        self.assertNotEqual(refused.status, 0, refused)

    def http(self, method, path, body=None, password="SMB_PASS", **headers):
        """Status and body of one request."""
        login = base64.b64encode(f"{self.lab['SMB_USER']}:{self.lab[password]}".encode()).decode()
        connection = http.client.HTTPConnection(self.lab["LAB_ADDR"], int(self.lab["HTTP_PORT"]),
                                                timeout=20)
        self.addCleanup(connection.close)
        connection.request(method, path, body, {"Authorization": f"Basic {login}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def test_http_puts_and_gets_on_every_volume(self):
        data = os.urandom(300_000)
        for volume in self.lab.volumes:
            with self.subTest(volume):
                # 204, "replaced", is what lighttpd says on NTFS even for a new file
                self.assertIn(self.http("PUT", f"/{volume}/lab-test", data)[0], (201, 204))
                self.assertEqual(self.http("GET", f"/{volume}/lab-test"), (200, data))
                status, listing = self.http("PROPFIND", f"/{volume}/", Depth="1")
                self.assertEqual(status, 207)
                self.assertIn(b"lab-test", listing)
                self.assertEqual(self.http("DELETE", f"/{volume}/lab-test")[0], 204)
        self.assertEqual(self.http("PUT", "/readonly/lab-test", data)[0], 403)
        self.assertEqual(self.http("GET", "/plain/", password="SMB_ODD_PASS")[0], 401)

    def test_plan_has_every_volume_and_no_lun_for_usb(self):
        text = pathlib.Path(self.lab.plan).read_text()
        sections = dict(re.findall(r"^\[volume (\w+)\]\n((?:[^\[].*\n)*)", text, re.M))
        self.assertEqual(set(sections), set(self.lab.volumes) - {"plain", "small"})
        for name, body in sections.items():
            self.assertEqual("iscsi =" in body, name != "usb", name)
        allowed = re.search(r"^allow_destroy = (.*)$", text, re.M)[1].split()
        self.assertEqual({word.rsplit(":", 1)[1] for word in allowed},
                         {f"{name}/1" for name in sections if name != "usb"})

    def test_credentials_are_private(self):
        for path in (self.lab.credentials, self.lab["LAB_CREDENTIALS_ODD"]):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)


@unittest.skipUnless(os.geteuid() == 0, "a lab needs root")
class LifeCycle(harness.TestCase):
    """Labs of their own, beside the lab of this run."""

    def up(self, name="lab", **settings):
        directory = self.scratch / name
        self.addCleanup(self.assert_gone, directory)
        self.addCleanup(run, harness.LAB_SCRIPT, "down", directory, expect=None)
        return Lab.up(directory, **{"volumes": "plain small", "lun": "16M", **settings})

    def assert_gone(self, directory):
        self.assertEqual(loop_devices(directory), [])
        self.assertEqual(processes(directory), [])
        self.assertNotIn(f"{directory}/", pathlib.Path("/proc/self/mounts").read_text())
        self.assertFalse(directory.exists())

    def smb_answers(self, lab, deadline_s=2):
        return run("timeout", "-s", "KILL", str(deadline_s), tool("smbclient", "smbclient"),
                   f"//{lab['LAB_ADDR']}/plain", "-p", lab["SMB_PORT"], "-U",
                   f"{lab['SMB_USER']}%{lab['SMB_PASS']}", "-c", "ls", expect=None).status == 0

    def test_servers_stop_start_pause_and_resume(self):
        lab = self.up()
        self.assertTrue(self.smb_answers(lab))
        for how, back in (("stop", "start"), ("kill", "start"), ("pause", "resume")):
            for server in ("smb", "nfs", "iscsi", "http"):
                with self.subTest(f"{how} {server}"):
                    lab.do(how, server)
                    if server == "smb":
                        self.assertFalse(self.smb_answers(lab))
                    lab.do(back, server)
            self.assertTrue(self.smb_answers(lab))

    def test_down_ends_a_paused_lab(self):
        lab = self.up()
        for server in ("smb", "nfs", "iscsi"):
            lab.do("pause", server)
        lab.down()
        self.assert_gone(lab.directory)

    def test_two_labs_side_by_side(self):
        one, two = self.up("one"), self.up("two", servers="smb")
        self.assertNotEqual(one["SMB_PORT"], two["SMB_PORT"])
        two.down()
        self.assert_gone(two.directory)
        self.assertTrue(self.smb_answers(one))

    def test_down_after_half_an_up(self):
        directory = self.scratch / "half"
        self.addCleanup(self.assert_gone, directory)
        up = subprocess.Popen([harness.LAB_SCRIPT, "up", directory], start_new_session=True,
                              env={**os.environ, "LAB_VOLUMES": "single raid5 small"})
        limit = time.monotonic() + 30
        while not processes(directory) and time.monotonic() < limit:
            time.sleep(0.01)
        os.killpg(up.pid, signal.SIGKILL)
        up.wait()
        self.assertTrue(loop_devices(directory))
        run(harness.LAB_SCRIPT, "up", directory, expect=1)
        run(harness.LAB_SCRIPT, "down", directory)

    def test_a_network_of_its_own(self):
        lab = self.up(net="1gbe", servers="smb")
        self.assertNotEqual(lab["LAB_ADDR"], "127.0.0.1")
        self.assertTrue(self.smb_answers(lab))


if __name__ == "__main__":
    harness.main()
