"""bonnie, meta and dd: over every protocol of the lab, and bonnie on the four file systems of a
published comparison of USB disks (NTFS, ext4, FAT32, btrfs) on loop devices.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import re
import subprocess

import harness
from harness import run, tool

DATA = ["write_char", "write_block", "rewrite", "read_char", "read_block", "seeks"]
NAMES = [f"{verb}_{order}" for order in ("sequential", "random")
         for verb in ("create", "stat", "delete")]
SMALL = ("--set", "bonnie.per_char=12KiB", "--set", "bonnie.seeks=100", "--set",
         "bonnie.file_size=4MiB", "--set", "run.verify=full", "--set", "run.pause=0s")


def phases_of(document, workload, protocol):
    """{phase: cell} of the only row of a table."""
    rows = [row for table in document["tables"] for row in table["rows"]
            if table["workload"] == workload and table["protocol"] == protocol]
    return {phase: cell for row in rows for phase, cell in row["phases"].items()}


def metrics_of(cell):
    return {metric["name"]: metric for metric in cell["trials"][0]["metrics"]}


class FileSystems(harness.TestCase):
    """Every phase works, with data verified, on what people format USB disks with."""

    def mount(self, name, make, mount=None):
        """A file system in an image; gone after the test."""
        if os.geteuid() != 0:
            harness.unavailable("mounting needs root")
        image, point = self.scratch / f"{name}.img", self.scratch / name
        point.mkdir()
        with open(image, "wb") as file:
            file.truncate(200 << 20)
        run(*make, image)
        run(*(mount or ("mount", "-o", "loop")), image, point)
        self.addCleanup(run, "umount", point)
        return point

    def bonnie(self, point, *more):
        # A phase under half a second has no number, so some of these have none.
        result = self.nasmark("bench", f"local:{point}", "-w", "bonnie:9MiB", "--trials", "1",
                              "--json", *SMALL, *more)
        cells = phases_of(result.json(), "bonnie:9MiB", "local")
        for phase, cell in cells.items():
            self.assertIn(cell["status"], ("ok", "too_short"), (phase, cell))
            self.assertEqual(cell["trials"][0]["status"], cell["status"])
            self.assertIn("buffered", cell["flags"])
            if cell["status"] == "too_short":
                self.assertIsNone(cell["bytes_per_s"])
        self.assertEqual([path for path in point.iterdir() if path.name.startswith("nasmark")], [])
        return list(cells)

    def test_ext4(self):
        point = self.mount("ext4", (tool("mke2fs", "e2fsprogs"), "-q", "-F", "-t", "ext4"))
        self.assertEqual(self.bonnie(point, "--set", "bonnie.files=1"), DATA + NAMES)

    def test_btrfs(self):
        point = self.mount("btrfs", (tool("mkfs.btrfs", "btrfs-progs"), "-q"))
        self.assertEqual(self.bonnie(point, "--set", "bonnie.files=1"), DATA + NAMES)

    def test_ntfs(self):
        point = self.mount("ntfs", (tool("mkntfs", "ntfs-3g"), "-F", "-Q", "-q"),
                           (tool("ntfs-3g", "ntfs-3g"),))
        self.assertEqual(self.bonnie(point, "--set", "bonnie.files=1"), DATA + NAMES)

    def test_fat32(self):
        make = (tool("mkfs.vfat", "dosfstools"), "-F", "32")
        try:
            point, files = self.mount("fat32", make), "1"
        except harness.CommandFailed:  # a kernel without vfat; fusefat makes no names to speak of
            (self.scratch / "fat32").rmdir()
            point = self.mount("fat32", make, (tool("fusefat", "fusefat"), "-o", "rw+"))
            files = "0"
        phases = self.bonnie(point, "--set", f"bonnie.files={files}")
        self.assertEqual(phases, DATA + (NAMES if files == "1" else []))


class Protocols(harness.LabTestCase):
    """The same workloads over smb, iscsi, nfs and local."""

    PROTOCOLS = ("smb", "iscsi", "nfs", "local")

    def run_plan(self, workload, *more):
        # The plan of a lab with volumes of other kinds has no `plain`.
        volume = "single" if "single" in self.lab.volumes else "plain"
        return self.nasmark("run", self.lab.plan, "--credentials", self.lab.credentials,
                            "--volume", volume, "--set", f"run.workloads={workload}", "--set",
                            f"run.protocols={' '.join(self.PROTOCOLS)}", "--trials", "1", "--json",
                            *SMALL, *more).json()

    def test_bonnie(self):
        document = self.run_plan("bonnie:9MiB", "--set", "bonnie.files=1")
        for protocol in self.PROTOCOLS:
            cells = phases_of(document, "bonnie:9MiB", protocol)
            self.assertEqual(list(cells), DATA + NAMES, protocol)
            for phase, cell in cells.items():
                self.assertIn(cell["status"], ("ok", "too_short"), (protocol, phase, cell))
                metrics = metrics_of(cell)
                self.assertGreater(metrics["latency_max"]["value"], 0, (protocol, phase))
                self.assertGreater(metrics["cpu_percent"]["value"], 0, (protocol, phase))
            self.assertEqual(metrics_of(cells["seeks"])["seeks"]["value"], 100)
        # One byte at a time only where that is no round trip.
        blocks = self.conditions("write_char", "block_bytes")
        self.assertEqual(blocks, {"smb": "8192", "iscsi": "8192", "nfs": "8192", "local": "1"})
        table = self.nasmark("table").out
        self.assertEqual(table.count("\nbonnie-like:9MiB\n"), 3, table)
        self.assertEqual(table.count("\nbonnie:9MiB\n"), 1, table)
        self.assertIn("+++++", table)
        self.check_export()

    def test_a_profile_of_bonnie_is_a_bonnie(self):
        """Its name is the user's; it is printed and exported as what it is made of."""
        names = ("quick", "bon", "bonnie-small")
        plan = self.scratch / "p.ini"
        plan.write_text("[nas]\nname = n\nfirmware = 1\n" +
                        "".join(f"[profile {name}]\nworkload = bonnie\nsize = 8MiB\nfiles = 0\n"
                                "per_char = 0\n" for name in names) +
                        f"[volume v]\nlocal = local:{self.scratch / 'quick'}\n[run]\n"
                        f"workloads = {' '.join(names)}\ntrials = 1\npause = 0\n")
        (self.scratch / "quick").mkdir()
        self.assertIn("+++++", self.nasmark("run", plan, "--quiet").out)
        lines = self.nasmark("export", "--format", "bonnie").out.splitlines()
        self.assertEqual([line.count(",") for line in lines], [49] * len(names))

    def conditions(self, phase, name):
        """{protocol: value} of every stored trial of a phase."""
        values = {}
        for trial in self.nasmark("export", "--format", "json").json()["trials"]:
            if trial["trial"]["phase"] == phase:
                values[trial["trial"]["protocol"]] = trial["trial"]["conditions"][name]
        return values

    def check_export(self):
        """The lines go through Bonnie++'s own programs, and back through the import."""
        lines = self.nasmark("export", "--format", "bonnie").out
        self.assertEqual([line.count(",") for line in lines.splitlines()], [49] * 4)
        for program in ("bon_csv2txt", "bon_csv2html"):
            done = subprocess.run([tool(program, "bonnie++")], input=lines, text=True,
                                  capture_output=True, timeout=30, check=True)
            self.assertEqual(done.stderr, "", program)
            self.assertEqual(len(re.findall("9M", done.stdout)), 4, done.stdout)
        (self.scratch / "b.csv").write_text(lines)
        imported = self.nasmark("import", "bonnie", "b.csv", "--nas", "again", "--json",
                                env={"NASMARK_DB": str(self.scratch / "other.db")}).json()
        self.assertEqual(imported["trials"], 4 * 12)

    def test_meta(self):
        document = self.run_plan("meta:40")
        for protocol in self.PROTOCOLS:
            cells = phases_of(document, "meta:40", protocol)
            self.assertEqual(len(cells), 18, protocol)
            for phase, cell in cells.items():
                self.assertIn(cell["status"], ("ok", "too_short"), (protocol, phase, cell))
                self.assertGreater(metrics_of(cell)["files_per_s"]["value"], 0, (protocol, phase))
                self.assertIn("file_latency_p99", metrics_of(cell))

    def test_dd(self):
        document = self.run_plan("dd:4MiB,128KiB", "--set", "dd.runs=2")
        for protocol in self.PROTOCOLS:
            cell = phases_of(document, "dd:4MiB,128KiB", protocol)["write"]
            self.assertEqual((cell["status"], cell["n"]), ("ok", 2), protocol)
            self.assertIn("compressible", cell["flags"])
            self.assertNotIn("unflushed", cell["flags"])
            self.assertAlmostEqual(metrics_of(cell)["real_s"]["value"],
                                   cell["trials"][0]["duration_ns"] / 1e9)
        self.assertEqual(set(self.conditions("write", "data").values()), {"zero"})
        text = self.nasmark("export", "--format", "dd", "protocol=local").out
        self.assertEqual(len(re.findall(
            r"^4194304 bytes \(4\.2 MB, 4\.0 MiB\) copied, [\d.e-]+ s, [\d.]+ [kMG]?B/s$", text,
            re.M)), 2, text)
        self.assertEqual(len(re.findall(r"^real\t0m0\.\d{3}s\nuser\t0m0\.\d{3}s\nsys\t", text,
                                        re.M)), 2, text)
        (self.scratch / "dd.txt").write_text(text)
        self.assertEqual(self.nasmark("import", "dd", "dd.txt", "--nas", "again",
                                      "--json").json()["trials"], 2)

    def test_dd_without_fdatasync_is_flagged(self):
        document = self.run_plan("dd:4MiB,128KiB", "--set", "dd.runs=1", "--set",
                                 "dd.fdatasync=no", "--set", "dd.input=random")
        cell = phases_of(document, "dd:4MiB,128KiB", "local")["write"]
        self.assertIn("unflushed", cell["flags"])
        self.assertNotIn("compressible", cell["flags"])
        self.assertEqual(self.conditions("write", "flush")["local"], "none")

    def test_making_the_file_system_on_a_lun_is_told(self):
        # Raw writes end what file system there was.
        self.run_plan("dd:4MiB,128KiB", "--set", "run.protocols=iscsi", "--set", "dd.runs=1")
        document = self.run_plan("copy:2x1MB", "--set", "run.protocols=iscsi")
        cell = phases_of(document, "copy:2x1MB", "iscsi")["upload"]
        self.assertGreater(metrics_of(cell)["mkfs"]["value"], 0)
        self.assertEqual(metrics_of(cell)["mkfs"]["better"], "none")


class Refusals(harness.TestCase):
    """What cannot run is stored with its reason; what cannot be meant is refused."""

    def test_a_device_has_no_files(self):
        with open(self.scratch / "disk.img", "wb") as file:
            file.truncate(32 << 20)
        for workload in ("bonnie:16MiB", "meta:10"):
            document = self.nasmark("bench", f"local:{self.scratch}/disk.img", "-w", workload,
                                    "--trials", "1", "--json", *SMALL).json()
            cells = phases_of(document, workload, "local")
            self.assertTrue(cells)
            self.assertEqual({cell["status"] for cell in cells.values()}, {"unsupported"})
            self.assertTrue(all(cell["trials"][0]["reason"] for cell in cells.values()))

    def test_dd_on_a_device(self):
        with open(self.scratch / "disk.img", "wb") as file:
            file.truncate(32 << 20)
        document = self.nasmark("bench", f"local:{self.scratch}/disk.img", "-w", "dd:8MiB,64KiB",
                                "--set", "dd.runs=1", "--json", *SMALL).json()
        self.assertEqual(phases_of(document, "dd:8MiB,64KiB", "local")["write"]["status"], "ok")

    def test_sizes_that_make_no_sense(self):
        for word, says in (("dd:100,64", "multiple of the block"), ("meta:0", "1 to 1000000"),
                           ("bonnie:1KiB", "at least one chunk")):
            result = self.nasmark("bench", f"local:{self.scratch}", "-w", word, expect=2)
            self.assertIn(says, result.err)


if __name__ == "__main__":
    harness.main()
