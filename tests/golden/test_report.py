#!/usr/bin/env python3
"""test_report.py NASMARK GOLDEN-PROGRAM: pages and pictures of the made-up database, as a browser
and an XML parser see them.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import hashlib
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

NASMARK, GOLDEN = sys.argv[1:3]
VOID = {"meta", "br", "link", "img", "hr", "input"}
SHAPES = {"rect", "polyline", "polygon", "circle"}


class Page(html.parser.HTMLParser):
    """Fails on tags that are not closed in order; remembers what tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.ids, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.stack, f"not closed: {self.stack}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if "id" in dict(attributes):
            self.ids.append(dict(attributes)["id"])
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> closes {self.stack[-3:]}"
        self.stack.pop()

    def handle_data(self, data):
        if not self.stack or self.stack[-1] != "style":
            self.texts.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)

    @property
    def text(self):
        return " ".join(self.texts)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.db = cls.directory.name + "/a.db"
        cls.many = cls.directory.name + "/many.db"
        subprocess.run([GOLDEN, "make", cls.db], check=True)
        subprocess.run([GOLDEN, "many", cls.many, "5", "1"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def nasmark(self, *args, db=None, code=0):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))}
        env["NASMARK_DB"] = db or self.db
        done = subprocess.run([NASMARK, *args], env=env, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def report(self, *args, db=None):
        return self.nasmark("report", "-o", "-", *args, db=db)

    def check_page(self, text):
        page = Page(text)
        for tag, attributes in page.tags:
            self.assertNotIn(tag, ("script", "link", "img", "iframe", "object", "embed", "base"))
            self.assertFalse([a for a in attributes if a.startswith("on")], attributes)
            for name in ("src", "href", "xlink:href", "data", "action", "srcset"):
                self.assertRegex(attributes.get(name, "#"), r"\A#", "only links within the page")
            if tag == "th":
                self.assertIn(attributes.get("scope"), ("row", "col"))
            if tag == "svg":
                self.assertEqual(attributes["role"], "img")
                self.assertTrue(attributes["aria-label"])
        self.assertNotRegex(text, r"(?i)https?://|url\(|@import")
        self.assertEqual(len(page.ids), len(set(page.ids)))
        links = {a["href"][1:] for t, a in page.tags if t == "a"}
        self.assertLessEqual(links, set(page.ids))
        # every picture has its table
        figures = re.findall(r"<figure>.*?</figure>", text, re.S)
        self.assertEqual(len(figures), page.count("svg"))
        for figure in figures:
            self.assertEqual((figure.count("<svg"), figure.count("<table>")), (1, 1))
            self.assertGreaterEqual(figure.count("<tr>"), 2)
        return page

    def test_pages_are_whole_and_fetch_nothing(self):
        for language in ("en", "pl", "ru", "ja"):
            text = self.report("--lang", language)
            page = self.check_page(text)
            self.assertIn(f'<html lang="{language}">', text)
            self.assertGreater(page.count("figure"), 5)
        self.assertIn("Copying a large file (2 GB)", Page(self.report("--lang", "en")).text)
        self.assertIn("Kopiowanie dużego pliku (2 GB)", Page(self.report("--lang", "pl")).text)

    def test_names_survive(self):
        page = self.check_page(self.report("nas=A*"))
        for name in ('A|B, "C" <b>', "=1+1", "50% & _x_ {y} \\z ^~#$ *b* `c`", "\u65e5\u672c\u8a9e",
                     'something <b>went</b> | wrong, "really"'):
            self.assertIn(name, page.text)

    def test_the_limits_are_said(self):
        text = Page(self.report("nas=readynas*")).text
        self.assertIn("3 trials for each number, one in each pass.", text)
        self.assertIn("All of it was measured in one run", text)
        self.assertIn("n/a 2", text)
        self.assertIn("Upload, Download (2)", text)  # one gap, not two
        text = Page(self.report("nas=imported")).text
        self.assertIn("All 2 numbers were imported", text)
        self.assertNotIn("trials for each number", text)
        text = Page(self.report("nas=A*")).text
        self.assertRegex(text, r"Without a full number: failed 1, failed in part 1, aborted 1, too "
                               r"short 1, not run \d, unsupported 1, n/a 1")
        self.assertIn("failed (timeout), pass 1", text)

    def test_numbers_are_those_of_the_tables(self):
        page = Page(self.report("nas=readynas*"))
        for number in ("47.3", "83.4", "0.090", "n/a"):
            self.assertIn(number, page.texts)

    def test_several_versions_are_compared(self):
        text = Page(self.report(db=self.many)).text
        self.assertIn("many: firmware 1.4 against 1.3", text)
        self.assertIn("Firmware history", text)
        self.assertIn("SAME", text)
        self.assertIn("Course of the trials", text)
        text = Page(self.report("firmware=1.2", db=self.many)).text
        self.assertNotIn("against", text)

    @unittest.skipUnless(shutil.which("chromium") and shutil.which("pdftotext"), "no browser")
    def test_paper_has_every_column(self):
        db, page, paper = (f"{self.directory.name}/{name}" for name in
                           ("tools.db", "tools.html", "tools.pdf"))
        subprocess.run([GOLDEN, "tools", db], check=True)
        self.nasmark("report", "workload=bonnie*", "-o", page, db=db)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                        "--user-data-dir=" + self.directory.name + "/profile",
                        "--print-to-pdf=" + paper, "file://" + page],
                       check=True, capture_output=True, timeout=60)
        text = subprocess.run(["pdftotext", paper, "-"], check=True, capture_output=True).stdout
        for number in ("12345.0/s", "17000.0/s"):  # first and last of the files
            self.assertIn(number, text.decode())

    def test_the_database_is_not_touched(self):
        with open(self.db, "rb") as file:
            before = hashlib.sha256(file.read()).hexdigest()
        self.report()
        with open(self.db, "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), before)

    def test_an_output_file_is_asked_for(self):
        self.assertIn("-o FILE.html", self.nasmark("report", code=2))
        self.assertIn(".svg, .png or .pdf", self.nasmark("chart", code=2))
        self.assertIn(".svg, .png or .pdf", self.nasmark("chart", "-o", "x.gif", code=2))
        self.assertIn("bars atto curve series history",
                      self.nasmark("chart", "--kind", "pie", "-o", "x.svg", code=2))

    def test_charts_in_every_format(self):
        heads = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}
        for kind, db, words in (("bars", self.db, []), ("atto", self.db, []),
                                ("series", self.many, ["protocol=smb"]),
                                ("history", self.many, ["protocol=nfs"])):
            for suffix, head in heads.items():
                path = f"{self.directory.name}/{kind}.{suffix}"
                self.nasmark("chart", "--kind", kind, "-o", path, *words, db=db)
                with open(path, "rb") as file:
                    data = file.read()
                self.assertEqual(data[:len(head)], head)
                self.assertGreater(len(data), 2000)
            root = xml.etree.ElementTree.parse(f"{self.directory.name}/{kind}.svg").getroot()
            names = [element.tag.split("}")[1] for element in root.iter()]
            self.assertTrue(SHAPES & set(names))
            self.assertNotIn("script", names)

    def test_a_chart_of_nothing_says_what_it_wants(self):
        error = self.nasmark("chart", "--kind", "history", "-o", self.directory.name + "/x.svg",
                             "nas=readynas*", code=2)
        self.assertIn("two firmware versions", error)
        self.assertFalse(os.path.exists(self.directory.name + "/x.svg"))

    def test_bars_are_as_long_as_their_numbers(self):
        path = self.directory.name + "/one.svg"
        self.nasmark("chart", "-o", path, "nas=readynas*", "protocol=smb", "workload=1x2GB",
                     "volume=@(single|raid0)", "phase=upload")
        root = xml.etree.ElementTree.parse(path).getroot()
        widths = [float(r.get("width")) for r in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
        self.assertEqual(len(widths), 2)
        self.assertAlmostEqual(widths[1] / widths[0], 52.9 / 47.3, places=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
