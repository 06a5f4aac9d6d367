"""Local directories and devices with real mounts: LOC-01, LOC-02, LOC-03 and LOC-05. Needs root and
loop devices, no server.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import shutil

import harness
from harness import run, unavailable

THROTTLE = pathlib.Path("/sys/fs/cgroup/blkio")  # cgroup v1
MB = 1_000_000


class LoopCase(harness.TestCase):
    """Loop devices and mounts that are gone after the test."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
            unavailable("mounts and loop devices need root")

    def loop(self, size, sector=512, name="image"):
        image = self.scratch / name
        run("truncate", "-s", size, image)
        device = run("losetup", "-f", "--show", "-b", sector, image).out.strip()
        self.addCleanup(run, "losetup", "-d", device)
        return device

    def mount(self, *arguments, point="mnt"):
        directory = self.scratch / point
        directory.mkdir(exist_ok=True)
        run("mount", *arguments, directory)
        self.addCleanup(self.unmount, directory)
        return directory

    @staticmethod
    def unmount(directory):
        run("umount", directory, expect=(0, 32))  # 32: not mounted (any more)

    def volume(self, size="200M", sector=512):
        """A directory in an ext4 of its own."""
        device = self.loop(size, sector)
        run("mkfs.ext4", "-q", "-F", device)
        directory = self.mount(device) / "bench"
        directory.mkdir()
        return device, directory

    def probe(self, url, *arguments, expect=0):
        return self.nasmark("probe", url, "--json", *arguments, expect=expect)

    def conditions(self, url, *arguments):
        return self.probe(url, *arguments).json()["conditions"]

    def bench(self, url, *arguments, expect=0, deadline_s=120):
        """Phases of the only row of a bench with one workload, in a database of its own."""
        self.n_runs = getattr(self, "n_runs", 0) + 1
        result = self.nasmark("bench", url, "--trials", "1", "--json", *arguments, expect=expect,
                              deadline_s=deadline_s,
                              env={"NASMARK_DB": str(self.scratch / f"{self.n_runs}.db")})
        return result.json()["tables"][0]["rows"][0]["phases"]


    def finished(self, phase):
        self.assertIn(phase["status"], ("ok", "too_short"), phase["trials"])


class Mounts(LoopCase):
    """LOC-01"""

    def test_empty_mount_point_is_refused_until_something_is_mounted(self):
        point = pathlib.Path(f"/mnt/nasmark-test-{os.getpid()}")
        point.mkdir()
        self.addCleanup(point.rmdir)
        result = self.probe(f"local:{point}", expect=None)
        self.assertNotEqual(result.status, 0)
        self.assertIn("mount", result.err)
        self.assertEqual(list(point.iterdir()), [])
        device = self.loop("64M")
        run("mkfs.ext4", "-q", "-F", device)
        run("mount", device, point)
        self.addCleanup(self.unmount, point)
        self.probe(f"local:{point}")

    def test_source_type_and_system_disk_are_named(self):
        device, directory = self.volume()
        found = self.conditions(f"local:{directory}")
        self.assertEqual(found["local.mount_source"], device)
        self.assertEqual(found["local.fs"], "ext4")
        self.assertEqual(found["local.system_disk"], "no")
        if os.stat(self.scratch).st_dev != os.stat("/").st_dev:
            self.skipTest("temporary files are not on the system disk")
        self.assertEqual(self.conditions(f"local:{self.scratch}")["local.system_disk"], "yes")
        phases = self.bench(f"local:{self.scratch}", "--workload", "copy:1x1MB")
        self.assertIn("system-disk", phases["upload"]["trials"][0]["flags"])

    def test_a_mount_that_vanishes_is_noticed(self):
        _, directory = self.volume()
        url = f"local:{directory}"
        mounted = self.probe(url).json()["identity"]
        self.unmount(directory.parent)
        self.assertNotEqual(self.probe(url, expect=None).status, 0)
        directory.mkdir()  # now on the disk below
        self.addCleanup(directory.rmdir)
        self.assertNotEqual(self.probe(url).json()["identity"], mounted)


class Direct(LoopCase):
    """LOC-02 and LOC-03"""

    def check_unsupported(self, url):
        """Buffered and said so; with direct = yes refused."""
        found = self.conditions(url)
        self.assertEqual(found["direct"], "no")
        self.assertTrue(found["local.direct_reason"])
        phases = self.bench(url, "--workload", "copy:1x20MB")
        for phase in ("upload", "download"):
            self.finished(phases[phase])
            self.assertIn("buffered", phases[phase]["trials"][0]["flags"])
        result = self.probe(url, "--set", "local.direct=yes", expect=None)
        self.assertNotEqual(result.status, 0)
        self.assertIn("local.direct", result.err)
        return found, phases

    def test_tmpfs_is_memory(self):
        directory = self.mount("-t", "tmpfs", "-o", "size=64M", "tmpfs")
        found, phases = self.check_unsupported(f"local:{directory}")
        self.assertEqual(found["cached"], "yes")
        self.assertIn("cached", phases["download"]["trials"][0]["flags"])

    def test_overlay_over_tmpfs_is_memory(self):
        base = self.mount("-t", "tmpfs", "-o", "size=64M", "tmpfs", point="base")
        for name in ("lower", "upper", "work"):
            (base / name).mkdir()
        options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
        if run("mount", "-t", "overlay", "-o", options, "overlay", self.scratch / "base",
               expect=None).status == 0:
            self.addCleanup(self.unmount, self.scratch / "base")
        else:
            self.skipTest("no overlay file system here")
        found = self.conditions(f"local:{self.scratch / 'base'}")
        self.assertEqual((found["local.fs"], found["direct"], found["cached"]),
                         ("overlay", "no", "yes"))

    def test_direct_where_the_file_system_can(self):
        _, directory = self.volume()
        found = self.conditions(f"local:{directory}")
        self.assertEqual((found["direct"], found["cached"]), ("yes", "no"))
        phases = self.bench(f"local:{directory}", "--workload", "copy:1x20MB", "--set",
                            "run.verify=full")
        for phase in ("upload", "download"):
            self.assertNotIn("buffered", phases[phase]["trials"][0]["flags"])

    def test_btrfs_takes_small_requests_into_the_page_cache(self):
        if not shutil.which("mkfs.btrfs"):
            unavailable("mkfs.btrfs is missing")
        device = self.loop("256M")
        run("mkfs.btrfs", "-q", device)
        directory = self.mount(device)
        found = self.conditions(f"local:{directory}")
        self.assertEqual((found["direct"], found["cached"]), ("yes", "no"))
        phases = self.bench(f"local:{directory}", "--workload", "access:1MiB", "--set",
                            "access.steps=seq512B-read seq4KiB-read")
        self.assertEqual(phases["seq512B-read"]["status"], "unsupported")
        self.finished(phases["seq4KiB-read"])

    def test_512_byte_rows_on_4096_byte_sectors(self):
        device, directory = self.volume(sector=4096)
        small = ("--workload", "sequential:1MiB", "--set", "run.block=512")
        phases = self.bench(f"local:{directory}", *small, expect=None)
        for phase in phases.values():
            for trial in phase["trials"]:
                self.assertNotEqual(trial["status"], "ok")
                if trial["status"] == "failed":
                    self.assertEqual(trial["reason"], "unsupported")
        phases = self.bench(f"local:{directory}", "--workload", "sequential:16MiB", "--set",
                            "run.block=4096")
        self.assertEqual(phases["write"]["status"], "ok")
        # Files of any size work all the same.
        phases = self.bench(f"local:{directory}", "--workload", "copy:20x2KB,3x1000001B", "--set",
                            "run.verify=full")
        self.finished(phases["download"])
        self.unmount(directory.parent)
        phases = self.bench(f"local:{device}", *small, "--set", f"local.allow_destroy={device}",
                            expect=None)
        for phase in phases.values():
            self.assertNotEqual(phase["status"], "ok")


class Devices(LoopCase):
    """What is in use or not blank is not overwritten."""

    WORKLOAD = ("--workload", "sequential:1MiB")

    def refused(self, target, why, *arguments):
        result = self.nasmark("bench", f"local:{target}", "--trials", "1", *self.WORKLOAD,
                              *arguments, expect=None)
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err + result.out, why)

    def test_devices_in_use_and_not_blank_are_refused(self):
        device, directory = self.volume()
        allow = ("--set", f"local.allow_destroy={device} {self.scratch}/image")
        self.refused(device, "mounted on", *allow)
        self.refused(self.scratch / "image", "attached to", *allow)
        self.assertEqual(list(directory.iterdir()), [])
        self.unmount(directory.parent)
        run("e2fsck", "-fn", device)
        before = (self.scratch / "image").read_bytes()
        self.refused(device, "not blank.*ext4")
        holder = os.open(device, os.O_RDONLY | os.O_EXCL)
        try:
            self.refused(device, "holds it", *allow)
        finally:
            os.close(holder)
        self.assertEqual((self.scratch / "image").read_bytes(), before)
        self.finished(self.bench(f"local:{device}", *self.WORKLOAD, *allow)["write"])

    def test_blank_device_needs_no_permission(self):
        device = self.loop("32M")
        self.finished(self.bench(f"local:{device}", *self.WORKLOAD)["write"])

    def test_reading_a_mounted_device_is_allowed(self):
        device, _ = self.volume()
        self.probe(f"local:{device}")


class Cache(LoopCase):
    """LOC-05: 50 MB/s are 50 MB/s, with direct I/O and without."""

    def throttle(self, device, bytes_per_s):
        if not (THROTTLE / "blkio.throttle.read_bps_device").exists():
            unavailable("no cgroup v1 blkio controller to slow a disk down")
        number = os.stat(device).st_rdev
        for direction in ("read", "write"):
            (THROTTLE / f"blkio.throttle.{direction}_bps_device").write_text(
                f"{os.major(number)}:{os.minor(number)} {bytes_per_s}\n")

    def slow_volume(self):
        device, directory = self.volume("400M")
        self.addCleanup(self.throttle, device, 0)
        self.throttle(device, 50 * MB)
        return directory

    def check_rates(self, directory, *arguments):
        phases = self.bench(f"local:{directory}", "--workload", "copy:1x150MB", *arguments)
        for phase in ("upload", "download"):
            rate = phases[phase]["bytes_per_s"]
            self.assertTrue(rate <= 60 * MB or
                            "cached" in phases[phase]["trials"][0]["flags"],
                            f"{phase} at {rate / MB:.1f} MB/s from a disk of 50 MB/s")

    def test_direct_reads_reach_the_disk(self):
        self.check_rates(self.slow_volume())

    def test_buffered_reads_reach_the_disk(self):
        directory = self.slow_volume()
        self.assertEqual(self.conditions(f"local:{directory}", "--set",
                                         "local.direct=no")["cached"], "dropped")
        self.check_rates(directory, "--set", "local.direct=no")


if __name__ == "__main__":
    harness.main()
