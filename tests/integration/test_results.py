#!/usr/bin/env python3
"""import, table, compare and history from outside: published figures come back digit for digit,
the reference rows get their verdicts, exit codes tell what they should. Needs no server.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import json
import math
import os
import sqlite3
import subprocess
import time

import harness

REFERENCE = harness.ROOT / "tests" / "data" / "reference"
SCHEMAS = harness.ROOT / "docs" / "schema"
HEADER = "nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns"

# trial rates of firmware A and B, verdict
ROWS = [
    ((1084, 1092, 1077), (968, 981, 974), "REGRESSED", -.101444),
    ((1121, 1118, 1124), (1119, 1125, 1117), "SAME", -.000597),
    ((212, 226, 205), (208, 199, 221), "UNCLEAR", -.023430),
    ((88.1, 95.6, 79.2), (112.4, 101.9, 121.0), "IMPROVED", .276015),
    ((654.1, 651.0, 655.8), (649.7, 655.2, 652.3), "SAME", -.001888),
    ((430, 433, 428), (421, 418, 424), "SAME", -.021694),
    ((301, 322, 296), (266, 281, 259), "REGRESSED", -.122882),
    ((540, 551, 546), (579, 588, 571), "IMPROVED", .061658),
    ((745, 752, 749), (748, 741, 755), "SAME", -.000912),
]
VERSIONS = [1012, 1005, 1021, 998, 1009, 1015, 941, 932, 948, 937]


def validate(document, name):
    try:
        import jsonschema
    except ImportError:
        harness.unavailable("python3-jsonschema is not installed")
    jsonschema.validate(document, json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


def row(firmware, volume, number, mb_per_s, extra=""):
    ns = round(1e9 * 1000 / mb_per_s)
    return f"n,{firmware},{volume},other,smb,1x1GB,upload,{number},{number},1000000000,{ns}{extra}"


class Results(harness.TestCase):
    def load(self, lines, name="rows.csv", header=HEADER):
        path = self.scratch / name
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return self.nasmark("import", "csv", path)

    def load_rows(self, rows=ROWS):
        self.load(row(firmware, f"r{i}", k + 1, rate)
                  for i, entry in enumerate(rows, 1)
                  for firmware, rates in (("1", entry[0]), ("2", entry[1]))
                  for k, rate in enumerate(rates))

    def test_published_table_digit_for_digit(self):
        self.nasmark("import", "csv", REFERENCE / "readynas-104.csv", "--nas", "readynas-104",
                     "--firmware", "6.1.2")
        lines = (REFERENCE / "readynas-104.csv").read_text(encoding="utf-8").splitlines()
        published = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        names = {"smb": "SMB", "iscsi": "iSCSI"}
        titles = {"1x2GB": "(2 GB)", "1000x2MB": "(1000x2 MB)", "10000x2KB": "(10000x2 KB)"}
        for lang, na, sign in (("en", "n/a", "."), ("pl", "nie dotyczy", ",")):
            text = self.nasmark("table", "--lang", lang).out
            blocks = text.split("\n\n")
            for entry in published:
                block, = (b for b in blocks if titles[entry["workload"]] in b.split("\n")[0]
                          and f" {names[entry['protocol']]} " in b.split("\n")[1])
                wanted = [entry[c].replace(".", sign) or na
                          for c in ("upload_mb_s", "download_mb_s")]
                found = [line.replace("*", " ") for line in block.splitlines()]
                index = [e["volume"] for e in published
                         if (e["workload"], e["protocol"]) ==
                            (entry["workload"], entry["protocol"])].index(entry["volume"])
                self.assertTrue(found[3 + index].split("  ")[-1].strip() == wanted[1]
                                and wanted[0] in found[3 + index], (entry, found[3 + index]))
        self.assertIn("RAID 0 (folder kompresowany)", text)

    def test_import_twice_changes_nothing(self):
        first = self.nasmark("import", "csv", REFERENCE / "dd-alignment.csv")
        self.assertIn("10 trials stored", first.out)
        dump = self.nasmark("table", "--format", "csv").out
        again = self.nasmark("import", "csv", REFERENCE / "dd-alignment.csv", "--json").json()
        self.assertTrue(again["again"])
        self.assertEqual(again["trials"], 0)
        self.assertEqual(self.nasmark("table", "--format", "csv").out, dump)

    def test_single_figures_give_no_verdict(self):
        for firmware in "1", "2":
            self.nasmark("import", "csv", REFERENCE / "readynas-104.csv", "--nas", "n",
                         "--firmware", firmware)
        result = self.nasmark("compare", "firmware=1", "firmware=2", "--json").json()
        self.assertEqual({r["verdict"] for r in result["rows"]}, {"INSUFFICIENT"})
        self.nasmark("compare", "firmware=1", "firmware=2", "--require-proof", expect=3)

    def test_import_failures_store_nothing(self):
        path = self.scratch / "bad.csv"
        path.write_text(HEADER + "\n" + row("1", "v", 1, 100) + "\n" + row("1", "v", 2, 100, ",x")
                        + "\n", encoding="utf-8")
        result = self.nasmark("import", "csv", path, expect=2)
        self.assertIn("line 3: 12 fields, the header has 11", result.err)
        self.nasmark("import", "nonsense", path, expect=2)
        self.nasmark("import", "csv", self.scratch / "absent", expect=2)
        self.assertEqual(self.nasmark("list", "runs", "--json").json(), [])

    def test_compare_reference_rows(self):
        self.load_rows()
        result = self.nasmark("compare", "nas=n firmware=1", "nas=n firmware=2", "--json",
                              expect=1).json()
        validate(result, "compare.json")
        for (_, _, verdict, delta), got in zip(ROWS, result["rows"]):
            self.assertEqual(got["verdict"], verdict, got)
            self.assertAlmostEqual(got["delta"], delta, places=6)
            self.assertIsNone(got["firmware"])
            self.assertEqual(got["n"], [3, 3])
        self.assertEqual(result["regressed"], 2)
        self.assertAlmostEqual(result["prior"]["d0"], .973640198, places=6)
        self.assertAlmostEqual(result["geomean"]["ratio"], 1.001830, places=6)
        self.assertAlmostEqual(result["rows"][5]["ci90"][0], -.032545, places=6)
        text = self.nasmark("compare", "firmware=1", "firmware=2", expect=1).out
        for part in ("A: firmware 1", "-10.1 %", "-11.5..-8.8 %", "real but small",
                     "needs 10 trials a side", "geometric mean of 9", "d0 0.974"):
            self.assertIn(part, text)

    def test_compare_options_and_exits(self):
        self.load_rows(ROWS[1:2] + ROWS[5:6])
        self.nasmark("compare", "firmware=1", "firmware=2", "--require-proof")
        self.nasmark("compare", "firmware=1", "firmware=2", "--margin", "1%", expect=1)
        self.nasmark("compare", "firmware=1", "firmware=2", "--margin", "150%", expect=2)
        self.nasmark("compare", "firmware=1", "firmware=2", "--adjust", "bonferroni", expect=2)
        self.nasmark("compare", "firmware=1", "firmware=2", "--allow", "moon", expect=2)
        self.nasmark("compare", "firmware=1", "firmware=9", expect=2)
        self.nasmark("compare", "firmware=1", expect=2)
        self.nasmark("compare", "firmware=1", "firmare=2", expect=2)

    def test_compare_conditions(self):
        lines = [row(fw, "v", k, 100 + k, ",off" if fw == "1" else ",required")
                 for fw in ("1", "2") for k in (1, 2, 3)]
        self.load(lines, header=HEADER + ",smb.signing")
        result = self.nasmark("compare", "firmware=1", "firmware=2", "--json", expect=4).json()
        validate(result, "compare.json")
        self.assertEqual(result["rows"][0]["verdict"], "NOT-COMPARABLE")
        self.assertIn("smb.signing off / required", result["rows"][0]["note"])
        self.assertIsNone(result["rows"][0]["delta"])
        self.nasmark("compare", "firmware=1", "firmware=2", "--allow", "smb.signing")

    def test_compare_volumes_of_one_firmware(self):
        self.nasmark("import", "csv", REFERENCE / "dd-alignment.csv", "--nas", "disk")
        result = self.nasmark("compare", "volume=misaligned", "volume=aligned", "--json").json()
        self.assertEqual(result["rows"][0]["n"], [5, 5])
        self.assertEqual(result["rows"][0]["verdict"], "IMPROVED")

    def test_history_finds_the_step(self):
        self.load((row(f"6.1.{9 - i:02}", "v", k, rate, f",{1380000000 + 86400 * i}000000000")
                   for i, rate in enumerate(VERSIONS) for k in (1, 2, 3)),
                  header=HEADER + ",start_utc_ns")
        document = self.nasmark("history", "nas=n", "--json").json()
        validate(document, "history.json")
        series, = document["series"]
        self.assertEqual(series["versions"], [f"6.1.{9 - i:02}" for i in range(10)])
        self.assertEqual([c["index"] for c in series["changes"]], [6])
        self.assertAlmostEqual(abs(series["changes"][0]["t"]), 14.63727, places=4)
        self.assertTrue(math.isclose(series["changes"][0]["p"], 1.02477e-5, rel_tol=1e-4))
        self.assertAlmostEqual(series["changes"][0]["step"], -.0698, places=4)
        self.assertEqual(series["newest"]["verdict"], "ok")
        text = self.nasmark("history", "nas=n").out
        self.assertIn("changed by -7.0 %", text)
        self.assertTrue(any(bar in text for bar in "▁▂▃▄▅▆▇█"))

    def test_history_of_nothing(self):
        self.load([row("1", "v", 1, 100)])
        self.nasmark("history", "nas=other", expect=2)

    def test_busy_database_sets_trials_aside(self):
        target = self.scratch / "target"
        target.mkdir()
        bench = ["bench", f"local:{target}", "-w", "copy:1x8MB", "--set", "nas.name=n", "-q",
                 "--trials"]
        self.nasmark(*bench, "1")
        lock = sqlite3.connect(self.db, isolation_level=None)
        self.addCleanup(lock.close)
        # The lock is taken in the pause behind the first pass of the second run.
        process = subprocess.Popen(
            [harness.program(), *bench, "2", "--set", "nas.firmware=2", "--set", "run.pause=4s"],
            env={**os.environ, **self.environment()}, cwd=self.scratch, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 20
        while lock.execute("SELECT count(*) FROM trial").fetchone()[0] < 4:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        lock.execute("BEGIN IMMEDIATE")
        _, err = process.communicate(timeout=90)
        lock.execute("ROLLBACK")
        stored = lock.execute("SELECT count(*) FROM trial").fetchone()[0]
        spool = self.scratch / "test.db.spool"
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("database busy (pid ", err)
        self.assertIn(f"nasmark import spool {spool}", err)
        trials = [json.loads(line) for line in spool.read_text(encoding="utf-8").splitlines()]
        self.assertEqual((stored, len(trials)), (4, 2))
        joined = self.nasmark("import", "spool", spool, "--json").json()
        self.assertEqual((joined["trials"], joined["known"]), (len(trials), 0))
        self.assertTrue(self.nasmark("import", "spool", spool, "--json").json()["again"])
        self.assertEqual(lock.execute("SELECT count(*) FROM trial").fetchone()[0], 6)
        result = self.nasmark("compare", "firmware=unknown", "firmware=2", "--json").json()
        self.assertEqual([r["n"] for r in result["rows"]], [[1, 2], [1, 2]])

    def test_other_tools(self):
        bonnie = harness.tool("bonnie++", "bonnie++")
        fio = harness.tool("fio", "fio")
        out = harness.run(bonnie, "-d", self.scratch, "-u", "root", "-s", "16m:4k", "-r", "8",
                          "-n", "1", "-q", "-m", "disk").out
        (self.scratch / "b.csv").write_text(out, encoding="utf-8")
        self.assertEqual(self.nasmark("import", "bonnie", "b.csv", "--json").json()["trials"], 12)
        harness.run(fio, "--name=w", "--rw=write", "--bs=64k", "--size=4m", "--numjobs=2",
                    f"--directory={self.scratch}", "--output-format=json",
                    f"--output={self.scratch}/f.json")
        self.assertEqual(self.nasmark("import", "fio", "f.json", "--json").json()["trials"], 1)
        fio_job = json.loads((self.scratch / "f.json").read_text(encoding="utf-8"))["jobs"]
        table = self.nasmark("table", "nas=f", "--json").json()["tables"][0]
        trial = table["rows"][0]["phases"]["write"]["trials"][0]
        self.assertEqual(trial["bytes"], sum(j["write"]["io_bytes"] for j in fio_job))
        dd = harness.run("dd", "if=/dev/zero", f"of={self.scratch}/x", "bs=64k", "count=16").err
        (self.scratch / "d.txt").write_text(dd, encoding="utf-8")
        self.nasmark("import", "dd", "d.txt")
        rows = csv.DictReader(io.StringIO(self.nasmark("table", "nas=d", "--format", "csv").out))
        self.assertEqual(len(list(rows)), 1)


if __name__ == "__main__":
    harness.main()
