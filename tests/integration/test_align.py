"""nasmark align on images, loop devices of both sector sizes and a LUN; tables made byte by byte.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import pathlib
import time

import disk_images
import harness
from harness import Lab, run

MIB = 1 << 20
SIZE = 64 * MIB


class AlignTestCase(harness.TestCase):
    def image(self, make=None, size=SIZE, name="disk.img"):
        path = self.scratch / name
        with open(path, "wb") as file:
            file.truncate(size)
        if make:
            make(path, size)
        return path

    def align(self, target, *arguments, expect=0):
        began = time.monotonic()
        disk, = self.nasmark("align", target, "--json", *arguments, expect=expect).json()
        self.assertLess(time.monotonic() - began, 5)
        return disk


class Images(AlignTestCase):
    def test_tables_are_told_apart(self):
        for name, (table, count, word) in {
                "mbr": ("mbr", 1, ""), "gpt": ("gpt", 1, ""),
                "gpt-backup": ("gpt", 1, "protective"), "ext4": ("none", 0, ""),
                "ntfs": ("none", 0, ""), "swap": ("none", 0, ""), "xfs": ("none", 0, ""),
                "lvm": ("none", 0, ""), "luks": ("none", 0, ""), "md": ("none", 0, "")}.items():
            with self.subTest(name):
                make, contents = disk_images.ALL[name]
                image = self.image(make)
                before = image.read_bytes()
                disk = self.align(image, expect=1 if name == "gpt-backup" else 0)
                self.assertEqual(disk["table"], table)
                self.assertEqual(len(disk["partitions"]), count)
                self.assertIn(word, " ".join(disk["warnings"]))
                self.assertIn(contents if not count else "None", str(disk["contents"]))
                self.assertEqual(disk["physical_block_assumed"], True)
                self.assertEqual(image.read_bytes(), before)

    def test_sector_63_and_exit_status(self):
        def make(path, size):
            disk_images.put(path, (446, disk_images.mbr_entry(0x83, 63, 8192)),
                            (510, b"\x55\xaa"))
        image = self.image(make)
        first, = self.align(image, expect=1)["partitions"]
        self.assertEqual((first["start_bytes"], first["start_sectors"]), (32256, 63))
        self.assertEqual((first["verdict"], first["off_bytes"]), ("misaligned", 512))
        self.assertEqual(first["better_start_bytes"], MIB)
        first, = self.align(image, "--physical", "512")["partitions"]
        self.assertEqual(first["verdict"], "misaligned-on-4k")
        result = self.nasmark("align", image, expect=1)
        self.assertIn("begin at sector 2048 (byte 1048576)", result.out)

    def test_disks_larger_than_memory_and_than_an_mbr(self):
        image = self.image(disk_images.mbr, size=8001594851328)
        disk = self.align(image)
        self.assertEqual(disk["size_bytes"], 8001594851328)
        self.assertIn("cannot be reached", disk["warnings"][0])

    def test_what_cannot_be_read(self):
        for target, word in ((self.scratch, "neither"), (self.scratch / "none", "No such file"),
                             ("iscsi://127.0.0.1:1/iqn.x:y/0", "refused")):
            result = self.nasmark("align", target, expect=2)
            self.assertIn(word, result.err)
        self.nasmark("align", self.image(), "--physical", "1000", expect=2)


class Devices(AlignTestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
            harness.unavailable("loop devices need root")

    def loop(self, image, sector):
        device = run("losetup", "-f", "--show", "-b", sector, image).out.strip()
        self.addCleanup(run, "losetup", "-d", device)
        return device

    def test_devices_tell_their_blocks(self):
        image = self.image(disk_images.gpt)
        disk = self.align(self.loop(image, 512))
        self.assertEqual((disk["sector_bytes"], disk["physical_block_bytes"]), (512, 512))
        self.assertEqual(disk["partitions"][0]["verdict"], "aligned")
        self.assertFalse(disk["physical_block_assumed"])

    def test_a_table_for_other_sectors_is_seen(self):
        def make(path, size):
            header, entries = disk_images.gpt_header(size, False)
            disk_images.put(path, header, entries)
        device = self.loop(self.image(make), 4096)
        disk = self.align(device)
        self.assertEqual(disk["physical_block_bytes"], 4096)
        self.assertEqual(disk["table"], "none")  # nothing that 512-byte reads would invent


class Luns(AlignTestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab.up(pathlib.Path("/dev/shm") / f"nasmark-align-{os.getpid()}",
                         volumes="plain", servers="iscsi", size="256M", lun="64M")
        cls.addClassCleanup(cls.lab.down)

    def test_a_lun_is_read_over_iscsi(self):
        lun = pathlib.Path(self.lab["LOCAL_DIR_plain"]).parent / "lun" / "scratch"
        disk_images.gpt(lun, lun.stat().st_size)
        before = lun.read_bytes()
        disk = self.align(self.lab["ISCSI_TARGET_scratch"])
        self.assertEqual((disk["table"], disk["sector_bytes"]), ("gpt", 512))
        self.assertFalse(disk["physical_block_assumed"])
        part, = disk["partitions"]
        self.assertEqual((part["start_bytes"], part["size_bytes"]), (MIB, MIB))
        self.assertEqual((part["name"], part["verdict"]), ("data", "aligned"))
        self.assertEqual(disk["warnings"], [])
        self.assertEqual(lun.read_bytes(), before)
        self.nasmark("align", self.lab["ISCSI_TARGET_scratch"] + "?fs=ext4", expect=2)


if __name__ == "__main__":
    harness.main()
