"""video and drive over each protocol, on files and raw devices; the proof of video's search: on a
target of a set rate the number found is rate / bit rate; drive:write leaves every byte as it was.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import signal
import subprocess
import time

import harness

SMALL = {"video.size": "16MiB", "video.most": "2", "video.time": "400ms", "video.buffer": "100ms",
         "video.block": "256KiB", "run.pause": "0s"}


def sets(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def phases_of(result):
    return {name: phase for table in result.json()["tables"] for row in table["rows"]
            for name, phase in row["phases"].items()}


def metrics_of(phase):
    return {metric["name"]: metric["value"] for metric in phase["metrics"]}


class Search(harness.TestCase):
    """The null backend carries 6.5 MB/s: 6 players of 1 MB/s."""

    def test_the_number_found_is_rate_over_bitrate(self):
        result = self.nasmark(
            "bench", "null:films?rate=6500000", "-w", "video:8Mbit", "--trials", "1", "--json",
            *sets({"video.time": "1s", "video.buffer": "200ms", "video.block": "16KiB",
                   "video.size": "4MiB", "video.most": "10", "run.pause": "0s"}))
        metrics = metrics_of(phases_of(result)["search"])
        self.assertIn(metrics["players"], (5, 6, 7))
        self.assertEqual(metrics["limit_reached"], 0)
        self.assertAlmostEqual(metrics["carried_rate"], metrics["players"] * 1e6)

    def test_too_many_players_underrun(self):
        result = self.nasmark(
            "bench", "null:films?rate=6500000", "-w", "video:13x8Mbit", "--trials", "1", "--json",
            *sets({"video.time": "1s", "video.buffer": "200ms", "video.block": "16KiB",
                   "video.size": "4MiB", "run.pause": "0s"}))
        metrics = metrics_of(phases_of(result)["play"])
        self.assertGreater(metrics["underruns"], 13)
        self.assertEqual(metrics["players_failed"], 13)
        self.assertGreater(metrics["worst_lateness"], 0)
        self.assertEqual(metrics["sustained"], 0)
        self.assertLess(metrics["delivered_rate"], 6.7e6)


class Everywhere(harness.LabTestCase):
    def targets(self):
        image = self.scratch / "disk.img"
        image.touch()
        with open(image, "r+b") as file:
            file.truncate(64 << 20)
        lab = self.lab
        return {"smb": lab["SMB_TARGET_plain"], "nfs": lab["NFS_TARGET_plain"],
                "nfs4": lab["NFS4_TARGET_plain"], "iscsi": lab["ISCSI_TARGET_plain"],
                "lunfs": lab["ISCSI_TARGET_plain"] + "?fs=ext4",
                "local": lab["LOCAL_DIR_plain"], "image": str(image)}

    def test_video_plays_on_every_protocol(self):
        for name, url in self.targets().items():
            with self.subTest(name):
                result = self.nasmark("bench", url, "-w", "video:100Mbit", "--trials", "1",
                                      "--json", "--credentials", self.lab.credentials,
                                      *sets(SMALL))
                phase = phases_of(result)["search"]
                self.assertEqual(phase["status"], "ok")
                self.assertIsNone(phase["bytes_per_s"])
                self.assertGreaterEqual(metrics_of(phase)["players"], 1)

    def test_drive_measures_on_every_protocol(self):
        for name, url in self.targets().items():
            with self.subTest(name):
                result = self.nasmark("bench", url, "-w", "drive", "--trials", "1", "--json",
                                      "--credentials", self.lab.credentials,
                                      *sets({"drive.size": "8MiB", "drive.accesses": "500",
                                             "drive.sample": "64KiB", "run.pause": "0s"}))
                phases = phases_of(result)
                self.assertEqual([phase["status"] for phase in phases.values()], ["ok", "ok"])
                self.assertGreater(metrics_of(phases["read"])["min_rate"], 0)
                self.assertGreater(metrics_of(phases["access"])["average_access"], 0)
                trial = phases["read"]["trials"][0]["id"]
                points = self.nasmark("show", trial, "--json").json()[0]["points"]
                self.assertEqual(len(points), 100)
                self.assertEqual(points, sorted(points))
                self.assertEqual({length for _, length, _ in points}, {65536})


class Write(harness.TestCase):
    """drive:write on an image full of data."""

    def setUp(self):
        super().setUp()
        self.image = self.scratch / "disk.img"
        self.data = os.urandom(24 << 20)
        self.image.write_bytes(self.data)
        self.command = ("bench", str(self.image), "-w", "drive:write", "--trials", "1",
                        *sets({"run.pause": "0s"}))
        self.consent = ("--set", f"local.allow_destroy={self.image}")

    def test_without_consent_nothing_is_written(self):
        before = self.image.stat().st_mtime_ns
        result = self.nasmark(*self.command, expect=1)
        self.assertIn("not blank", result.err)
        self.assertEqual(self.image.stat().st_mtime_ns, before)
        self.assertEqual(self.image.read_bytes(), self.data)

    def test_every_byte_is_put_back(self):
        before = self.image.stat().st_mtime_ns
        result = self.nasmark(*self.command, *self.consent, "--json")
        self.assertGreater(metrics_of(phases_of(result)["write"])["average_rate"], 0)
        self.assertGreater(self.image.stat().st_mtime_ns, before)  # it was written
        self.assertEqual(self.image.read_bytes(), self.data)

    def test_stopped_while_it_writes_every_byte_is_there(self):
        for how in (signal.SIGINT, signal.SIGKILL):
            before = self.image.stat().st_mtime_ns
            process = subprocess.Popen(
                [harness.program(), *self.command, *self.consent, "--again", "--set",
                 "drive.samples=4000"], env={**os.environ, **self.environment()},
                cwd=self.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.image.stat().st_mtime_ns == before and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(how)
            self.assertIn(process.wait(timeout=30), (130, -9))
            self.assertEqual(self.image.read_bytes(), self.data)


if __name__ == "__main__":
    harness.main()
