"""video, drive and mix over each protocol, on files and raw devices; the proof of video's search:
on a target of a set rate the number found is rate / bit rate; drive:write leaves every byte as it
was.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
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

    def test_a_search_that_was_stopped_says_so(self):
        result = self.nasmark(
            "bench", "null:films", "-w", "video:8Mbit", "--trials", "1", "--json",
            *sets({"video.time": "400ms", "video.buffer": "100ms", "video.block": "16KiB",
                   "video.size": "1MiB", "video.most": "2", "run.pause": "0s"}))
        trial = phases_of(result)["search"]["trials"][0]
        self.assertIn("at-least", trial["flags"])
        self.assertIn("search, pass 1: players 2 in ", result.err)

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
        lab = self.lab
        return {"smb": lab["SMB_TARGET_plain"], "nfs": lab["NFS_TARGET_plain"],
                "iscsi": lab["ISCSI_TARGET_plain"],
                "lunfs": lab["ISCSI_TARGET_plain"] + "?fs=ext4",
                "local": lab["LOCAL_DIR_plain"]}

    def bench(self, name, url, workload, values):
        """One trial, in a database of its own: URLs of one protocol are the same cell."""
        lun = self.lab["ISCSI_TARGET_plain"].split("/", 3)[3]  # other tests leave data on it
        return self.nasmark("bench", url, "-w", workload, "--trials", "1", "--json",
                            "--credentials", self.lab.credentials, "--db",
                            self.scratch / f"{name}.db",
                            *sets({"iscsi.allow_destroy": lun, **values}))

    def test_video_plays_on_every_protocol(self):
        for name, url in self.targets().items():
            with self.subTest(name):
                phase = phases_of(self.bench(name, url, "video:100Mbit", SMALL))["search"]
                self.assertEqual(phase["status"], "ok")
                self.assertIsNone(phase["bytes_per_s"])
                self.assertGreaterEqual(metrics_of(phase)["players"], 1)

    def test_drive_measures_on_every_protocol(self):
        for name, url in self.targets().items():
            with self.subTest(name):
                result = self.bench(name, url, "drive",
                                    {"drive.size": "8MiB", "drive.accesses": "2000",
                                     "drive.sample": "64KiB", "run.pause": "0s"})
                phases = phases_of(result)
                self.assertEqual([phase["status"] for phase in phases.values()], ["ok", "ok"])
                self.assertGreater(metrics_of(phases["read"])["min_rate"], 0)
                self.assertGreater(metrics_of(phases["access"])["average_access"], 0)
                trial = phases["read"]["trials"][0]["id"]
                points = self.nasmark("show", trial, "--json", "--db",
                                      self.scratch / f"{name}.db").json()[0]["points"]
                self.assertEqual(len(points), 100)
                self.assertEqual(points, sorted(points))
                self.assertEqual({length for _, length, _ in points}, {65536})

    def test_mix_reports_every_stream_on_every_protocol(self):
        for name, url in self.targets().items():
            with self.subTest(name):
                result = self.bench(name, url, "mix:2x25Mbit,1",
                                    {"mix.size": "4MiB", "mix.file": "4MiB", "mix.upload": "8MiB",
                                     "mix.time": "600ms", "mix.buffer": "200ms",
                                     "run.pause": "0s"})
                phase = phases_of(result)["load"]
                self.assertEqual(phase["status"], "ok")
                metrics = metrics_of(phase)
                self.assertGreater(metrics["writer1_rate"], 0)
                self.assertAlmostEqual(metrics["write_rate"], metrics["writer1_rate"], delta=1)
                for reader in ("reader1", "reader2"):
                    self.assertGreater(metrics[reader + "_rate"], 1e6)
                    self.assertLess(metrics[reader + "_rate"], 6e6)
                    self.assertGreaterEqual(metrics[reader + "_underruns"], 0)
                table = self.nasmark("table", "--db", self.scratch / f"{name}.db").out
                for column in ("Upload", "Player 1", "Player 2", "Underruns"):
                    self.assertIn(column, table)

    def test_a_lun_keeps_every_byte(self):
        target = self.lab["ISCSI_TARGET_tiny"]
        lun = pathlib.Path(self.lab["LOCAL_DIR_plain"]).parent / "lun" / "tiny"
        before = lun.read_bytes()
        self.addCleanup(lun.write_bytes, before)
        data = os.urandom(len(before))
        lun.write_bytes(data)
        command = ("bench", target, "-w", "drive:write", "--trials", "1", *sets(
            {"run.pause": "0s", "drive.samples": "10", "drive.accesses": "100"}))
        self.assertIn("not blank", self.nasmark(*command, expect=1).err)
        self.assertEqual(lun.read_bytes(), data)
        self.nasmark(*command, "--again", "--set",
                     "iscsi.allow_destroy=" + target.split("/", 3)[3])
        self.assertEqual(lun.read_bytes(), data)


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
