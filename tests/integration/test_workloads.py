"""Every workload of block access over every protocol: each step has a number, and the tables look
like those of the tools that the profiles come from (expected/workloads.txt; numbers are masked).

`test_workloads.py --accept` writes the expected file anew; read the difference before committing.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import re
import sys
import unittest

import harness

EXPECTED = harness.ROOT / "tests" / "integration" / "expected" / "workloads.txt"
ACCEPT = "--accept" in sys.argv
PARTS = {}  # what was printed, by name; compared at the end

SMALL = {"random.time": "30ms", "mixed.time": "30ms",
         "access.length": "4MiB", "run.pause": "0s"}
PLAIN = ("sequential:4MiB", "random:4MiB", "mixed:4MiB", "access:4MiB")
CARD = {"size": "4MiB", "time": "20ms", "runs": "2", "warmup": "0", "pause": "0"}
CURVE = {"size": "8MiB", "length": "8MiB", "time": "20ms"}
SIZES = {"atto2": CURVE, "atto4": {**CURVE, "size": "64MiB"}, "cdm3": CARD, "cdm8": CARD,
         "cdm8-nvme": CARD, "cdm9": CARD}
STEPS = {"sequential:4MiB": 2, "random:4MiB": 2, "mixed:4MiB": 1, "access:4MiB": 2, "atto2": 30,
         "atto4": 36, "cdm3": 8, "cdm8": 8, "cdm8-nvme": 8, "cdm9": 8}


def masked(text):
    """The tables without numbers, notes and widths: titles, heads, rows and words."""
    lines = []
    for line in text.splitlines()[1:]:  # the first one names the device
        line = re.sub(r" \([a-z]+\)", "", line)
        if re.match(r"\([a-z]\)|One trial|best:|.*flush = ", line):
            continue
        fields = re.split(r"  +", line.strip())
        lines.append(" | ".join(re.sub(r"^[0-9.]+(/s)?$", "#", field) for field in fields))
    return "\n".join(lines).strip() + "\n"


class Workloads(harness.LabTestCase):
    maxDiff = None

    def measure(self, name, url, workloads, *more):
        """Runs them once, checks that every phase has a number, keeps the tables."""
        settings = dict(SMALL)
        for workload in workloads:
            settings.update({f"{workload}.{key}": value
                             for key, value in SIZES.get(workload, {}).items()})
        words = [word for workload in workloads for word in ("-w", workload)]
        for key, value in settings.items():
            words += ["--set", f"{key}={value}"]
        document = self.nasmark("bench", url, "--trials", "1", "--credentials",
                                self.lab.credentials, "--json", "-q", *words, *more,
                                deadline_s=300).json()
        tables = {t["workload"]: t["rows"][0]["phases"] for t in document["tables"]}
        self.assertEqual({w: len(phases) for w, phases in tables.items()},
                         {w: STEPS[w] for w in workloads})
        PARTS[name] = masked(self.nasmark("table", "--lang", "en").out)
        return tables

    def all_have_numbers(self, tables):
        for workload, phases in tables.items():
            for phase, cell in phases.items():
                self.assertEqual(cell["status"], "ok", (workload, phase, cell))
                self.assertGreater(cell["bytes_per_s"], 0)
                metrics = {metric["name"]: metric["value"] for metric in cell["metrics"]}
                if not workload.startswith("sequential"):
                    self.assertGreater(metrics["iops"], 0, (workload, phase))
                if workload.startswith("cdm"):
                    self.assertGreaterEqual(metrics["best_rate"], metrics["median_rate"])
                    self.assertGreater(metrics["mean_latency"], 0)
            if workload == "cdm8":
                card = self.nasmark("export", "--format", "crystaldiskmark", f"workload={workload}")
                self.assertIn("\n   Test: 4 MiB (x2)\n", card.out)

    def test_smb(self):
        self.all_have_numbers(self.measure("smb", self.lab["SMB_TARGET_plain"],
                                           (*PLAIN, "atto2", "cdm3", "cdm8")))

    def test_nfs(self):
        self.all_have_numbers(self.measure("nfs", self.lab["NFS_TARGET_plain"],
                                           (*PLAIN, "atto2", "cdm3", "cdm8")))

    def test_iscsi(self):
        target = self.lab["ISCSI_TARGET_scratch"]
        self.all_have_numbers(self.measure(
            "iscsi", target, (*PLAIN, "atto2", "cdm3", "cdm8"), "--set",
            f"iscsi.allow_destroy={target.split('/', 3)[3]}"))

    def test_local(self):
        self.all_have_numbers(self.measure("local", self.lab["LOCAL_DIR_plain"],
                                           (*PLAIN, *SIZES)))

    def test_blocks_below_those_of_the_lun_are_not_applicable(self):
        target = self.lab["ISCSI_TARGET_b4096"]
        tables = self.measure("b4096", target, ("atto2",), "--set",
                              f"iscsi.allow_destroy={target.split('/', 3)[3]}")
        below = {phase for phase, cell in tables["atto2"].items()
                 if cell["status"] == "unsupported"}
        self.assertEqual(below, {f"seq{size}-q4t1-{way}" for size in ("512B", "1KiB", "2KiB")
                                 for way in ("write", "read")})
        self.assertIn("512 B | n/a | n/a", PARTS["b4096"])

    @classmethod
    def tearDownClass(cls):
        text = "".join(f"== {name}\n{PARTS[name]}\n" for name in sorted(PARTS))
        if ACCEPT:
            EXPECTED.parent.mkdir(exist_ok=True)
            EXPECTED.write_text(text, encoding="utf-8")
        elif len(PARTS) == 5 and text != EXPECTED.read_text(encoding="utf-8"):
            raise AssertionError(f"what is printed differs from {EXPECTED}:\n{text}")


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--accept"]
    harness.main()
