#!/usr/bin/env python3
# test_exports.py NASMARK GOLDEN-PROGRAM: xlsx, tex, fio-json and crystaldiskmark of the made-up
# database: the numbers of the tables, names from a bad dream, and back in through the importers.
# SPDX-License-Identifier: GPL-3.0-or-later
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
import zipfile

NASMARK, GOLDEN = (os.path.abspath(p) for p in sys.argv[1:3])
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected")
ACCEPT = "--accept" in sys.argv
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.db = cls.directory.name + "/golden.db"
        cls.tools = cls.directory.name + "/tools.db"
        subprocess.run([GOLDEN, "tools", cls.tools], check=True)
        subprocess.run([GOLDEN, "make", cls.db], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def expect(self, name, text):
        """The text is what stands in expected/."""
        path = os.path.join(EXPECTED, name)
        if ACCEPT:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(text, f.read())

    def test_bonnie_prints_what_is_expected_and_comes_back(self):
        lines = self.nasmark("export", "--format", "bonnie", db=self.tools)
        self.expect("tools.bonnie", lines)
        self.assertEqual({line.count(",") for line in lines.splitlines()}, {49})
        self.comes_back("bonnie", lines, 24)
        self.nasmark("export", "--format", "bonnie", code=2)  # no bonnie in there

    def test_dd_prints_what_is_expected_and_comes_back(self):
        text = self.nasmark("export", "--format", "dd", db=self.tools)
        self.expect("tools.dd", text)
        self.comes_back("dd", text, 3)
        self.nasmark("export", "--format", "dd", code=2)

    def comes_back(self, importer, text, trials):
        saved, other = (self.directory.name + f"/{importer}.{end}" for end in ("txt", "db"))
        with open(saved, "w", encoding="utf-8") as f:
            f.write(text)
        done = json.loads(self.nasmark("import", importer, saved, "--json", db=other))
        self.assertEqual(done["trials"], trials)

    def nasmark(self, *args, code=0, db=None, text=True):
        done = subprocess.run([NASMARK, *args, "--db", db or self.db], capture_output=True,
                              check=False, text=text, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.errors = done.stderr
        return done.stdout

    def workbook(self, *select):
        """Sheets as name -> {cell: text or number}, and the archive."""
        archive = zipfile.ZipFile(io.BytesIO(self.nasmark("export", "--format", "xlsx", *select,
                                                          text=False)))
        for name in archive.namelist():  # every part is well-formed XML
            xml.fromstring(archive.read(name))
        strings = ["".join(t.text or "" for t in item.iter(SHEET + "t"))
                   for item in xml.fromstring(archive.read("xl/sharedStrings.xml"))]
        book = xml.fromstring(archive.read("xl/workbook.xml"))
        sheets = {}
        for number, sheet in enumerate(book.iter(SHEET + "sheet"), 1):
            root = xml.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))
            self.assertEqual(list(root.iter(SHEET + "f")), [])  # no formula anywhere
            cells = {}
            for cell in root.iter(SHEET + "c"):
                if cell.find(SHEET + "v") is None:
                    continue  # blank
                value = cell.find(SHEET + "v").text
                cells[cell.get("r")] = strings[int(value)] if cell.get("t") == "s" \
                    else float(value)
            sheets[sheet.get("name")] = cells
        return sheets, archive

    def test_xlsx_has_the_numbers_of_the_tables_and_a_chart_each(self):
        sheets, archive = self.workbook("nas=readynas*")
        sheet = sheets["1 smb copy-1x2GB"]
        self.assertEqual(sheet["A2"], "Copying a large file (2 GB)")
        self.assertEqual([sheet[c] for c in ("A6", "B6", "C6")], ["Volume", "Upload", "Download"])
        self.assertEqual([sheet[f"A{r}"] for r in range(7, 14)],
                         ["Single volume", "RAID0", "RAID1", "RAID5",
                          "RAID 0 (compressed folder)", "Single (encrypted volume)",
                          "USB 3.0 disk"])
        table, = [t for t in json.loads(self.nasmark("table", "nas=readynas*", "--json"))["tables"]
                  if t["workload"] == "copy:1x2GB" and t["protocol"] == "smb"]
        for i, row in enumerate(table["rows"], 7):
            for column, phase in ("B", "upload"), ("C", "download"):
                self.assertAlmostEqual(sheet[f"{column}{i}"],
                                       row["phases"][phase]["bytes_per_s"] / 1e6, places=9)
        self.assertEqual(sheets["2 iscsi copy-1x2GB"]["B13"], "n/a")
        charts = [n for n in archive.namelist() if n.startswith("xl/charts/chart")]
        self.assertEqual(len(charts), len(sheets) - 1)
        self.assertIn("'1 smb copy-1x2GB'!$B$7:$B$13", archive.read(charts[0]).decode())
        self.assertEqual(len([c for c in sheets["Trials"] if re.fullmatch("A[0-9]+", c)]),
                         1 + len(json.loads(self.nasmark("export", "--format", "json",
                                                         "nas=readynas*"))["trials"]))

    def test_xlsx_keeps_hostile_names_as_text(self):
        sheets, archive = self.workbook("nas=A*")
        sheet = next(iter(sheets.values()))
        texts = set(sheet.values())
        self.assertEqual(sheet["A1"], 'A|B, "C" <b>, firmware =1+1')
        for name in ('@SUM(A1)|x,"y" tab', "two lines  [31m<i>",
                     "50% & _x_ {y} \\z ^~#$ *b* `c`", "日本語 e\u0301 😀"):
            self.assertIn(name, texts)
        self.assertIn("=1+1", sheets["Trials"].values())
        styles = archive.read("xl/styles.xml").decode()
        self.assertIn('numFmtId="49"', styles)  # "text": editing makes no formula either
        for name in archive.namelist():
            if name.startswith("xl/charts/chart"):
                self.assertNotIn("<c:f>1+1", archive.read(name).decode())

    def test_tex_is_the_table(self):
        self.assertEqual(self.nasmark("export", "--format", "tex"),
                         self.nasmark("table", "--format", "tex", "--lang", "en"))

    def test_fio_comes_back(self):
        path, other = self.directory.name + "/out.json", self.directory.name + "/fio.db"
        self.nasmark("export", "--format", "fio-json", "nas=readynas*", "-o", path)
        self.nasmark("import", "fio", path, "-q", db=other)
        names = lambda row: "/".join((row["volume"], row["protocol"], row["workload"],
                                      row["phase"]))
        before = [r for r in csv.DictReader(io.StringIO(
            self.nasmark("export", "--format", "csv", "nas=readynas*"))) if r["status"] == "ok"]
        after = list(csv.DictReader(io.StringIO(self.nasmark("export", "--format", "csv",
                                                             db=other))))
        self.assertEqual(len(before), len(after))
        self.assertEqual(sorted((names(r), r["pass"], r["bytes"], r["duration_ns"])
                                for r in before),
                         sorted((r["workload"].removeprefix("fio:"), r["pass"], r["bytes"],
                                 r["duration_ns"]) for r in after))

    def test_fio_keeps_failures_and_says_when_there_is_nothing(self):
        jobs = json.loads(self.nasmark("export", "--format", "fio-json", "nas=A*"))["jobs"]
        failed = {j["jobname"].split("/")[0]: j["error"] for j in jobs if j["error"]}
        self.assertEqual(failed, {"cols": 110, "lines": 28})  # ETIMEDOUT, ENOSPC
        self.assertEqual(len({j["groupid"] for j in jobs}), len(jobs))
        self.nasmark("export", "--format", "fio-json", "nas=A*", "volume=tex", code=2)
        self.assertIn("no trial of the selection", self.errors)

    def test_crystaldiskmark_is_one_card_and_comes_back(self):
        card = self.nasmark("export", "--format", "crystaldiskmark", "nas=steps", "volume=card")
        path = os.path.join(EXPECTED, "card.crystaldiskmark")
        if ACCEPT:
            with open(path, "w", encoding="utf-8") as f:
                f.write(card)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(card, f.read())
        saved, other = self.directory.name + "/card.txt", self.directory.name + "/card.db"
        with open(saved, "w", encoding="utf-8") as f:
            f.write(card)
        self.nasmark("import", "crystaldiskmark", saved, "-q", db=other)
        again = self.nasmark("export", "--format", "crystaldiskmark", db=other)
        figures = lambda text: [line for line in text.splitlines() if "MB/s [" in line or
                                line.startswith("[")]
        self.assertEqual(len(figures(card)), 11)
        self.assertEqual(figures(again), figures(card))
        for line in "   Test: (x3)", "Comment: steps 1.0, =card() over iscsi":
            self.assertIn(line, card)
            self.assertIn(line, again)

    def test_crystaldiskmark_wants_one_card(self):
        for select, says in {("nas=steps",): "name one of volume=single, volume=raid1",
                             ("nas=readynas*",): "name the workload, as in workload=cdm8"}.items():
            self.assertEqual(self.nasmark("export", "--format", "crystaldiskmark", *select,
                                          code=2), "")
            self.assertIn(says, self.errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
