#!/usr/bin/env python3
# test_commands.py NASMARK GOLDEN-PROGRAM SCHEMAS: the commands that read and annotate the database,
# run as a user runs them.
# SPDX-License-Identifier: GPL-3.0-or-later
import csv
import hashlib
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

NASMARK, GOLDEN, SCHEMAS = sys.argv[1:4]
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected")
CSV_HEAD = "nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns"


class Commands(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.db = self.directory.name + "/a.db"
        subprocess.run([GOLDEN, "make", self.db], check=True)

    def tearDown(self):
        self.directory.cleanup()

    def nasmark(self, *args, code=0, out=False, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))}
        env.update(NASMARK_DB=self.db, **environment)
        done = subprocess.run([NASMARK, *args], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(code == 0 or out, not done.stderr, done.stderr)
        self.errors = done.stderr
        return done.stdout

    def sql(self, text):
        with sqlite3.connect(self.db) as db:
            return db.execute(text).fetchall()

    def digest(self):
        with open(self.db, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    def test_table_prints_what_is_expected(self):
        for name, args in {"table-pl.md": ("--format", "md", "--lang", "pl"),
                           "table-en.text": (),
                           "table.csv": ("--format", "csv"),
                           "by-protocol.text": ("--by", "protocol", "nas=readynas*"),
                           "table-ru.text": ("--lang", "ru", "--unit", "MiB/s", "--digits", "3",
                                             "nas=readynas*")}.items():
            with open(os.path.join(EXPECTED, name), encoding="utf-8") as f:
                self.assertEqual(self.nasmark("table", *args), f.read(), name)

    def test_table_speaks_the_users_language_but_not_to_machines(self):
        self.assertIn("Kopiowanie", self.nasmark("table", LANG="pl_PL.UTF-8"))
        self.assertIn("Copying", self.nasmark("table", LANG="pl_PL.UTF-8", LC_ALL="C"))
        for args in (("--format", "csv"), ("--json",)):
            self.assertEqual(self.nasmark("table", *args, LC_ALL="pl_PL.UTF-8"),
                             self.nasmark("table", *args, LC_ALL="C"))

    def test_table_stars_or_colours_the_best(self):
        plain = self.nasmark("table", "nas=readynas*")
        colour = self.nasmark("table", "nas=readynas*", "--color", "always")
        self.assertIn("*52.9", plain)
        self.assertNotIn("\x1b", plain)
        self.assertIn("\x1b[1m52.9\x1b[0m", colour)
        self.assertNotIn("*", colour)

    def test_table_by_firmware_shows_every_version(self):
        path = self.directory.name + "/versions.csv"
        with open(path, "w", encoding="ascii") as f:
            f.write(CSV_HEAD + "\n")
            for k, version in enumerate(("1.0", "1.1")):
                f.write(f"pivot,{version},single,single,smb,1x2GB,upload,1,1,{k + 1}000000000,"
                        "10000000000\n")
        self.nasmark("import", "csv", path, "-q")
        text = self.nasmark("table", "nas=pivot", "--by", "firmware")
        self.assertIn("1.0 ", text)
        self.assertIn("100.0", text)
        self.assertIn("200.0", text)
        self.assertNotIn("100.0", self.nasmark("table", "nas=pivot"))
        self.assertNotIn("100.0", self.nasmark("table", "nas=pivot", "firmware=1.1", "--by",
                                               "firmware"))

    def test_full_disk_is_named_once(self):
        for args in (("table",), ("table", "--json"), ("table", "--format", "csv")):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([NASMARK, *args, "--db", self.db], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr,
                             "nasmark: writing the table: No space left on device\n", args)

    def test_failure_is_explained_even_quietly(self):
        why = "make the directory, or mount the volume that it is on"
        args = ("bench", f"local:{self.directory.name}/none", "-w", "copy:1x1kB", "--trials", "1",
                "--quiet")
        text = self.nasmark(*args, code=1)
        self.assertEqual(self.errors.count(why), 2)  # upload, download
        self.assertRegex(text, r"failed \(not found\) \(a\)(.*\n)+\(a\) .*" + why)
        self.nasmark(*args, "--json", "--again", code=1)
        self.assertIn(why, self.errors)

    def test_keep_is_about_the_target(self):
        places = [f"{self.directory.name}/{name}" for name in ("target", "from", "to")]
        for place in places:
            os.mkdir(place)
        self.nasmark("bench", f"local:{places[0]}", "-w", "copy:2x1kB", "--trials", "1", "--quiet",
                     "--set", "run.keep=yes", "--set", f"run.source={places[1]}",
                     "--set", f"run.destination={places[2]}")
        self.assertEqual([len(os.listdir(place)) for place in places], [1, 0, 0])

    def test_dry_run_counts_what_is_left(self):
        os.mkdir(self.directory.name + "/t")
        plan = self.directory.name + "/p.ini"
        with open(plan, "w", encoding="ascii") as f:
            f.write("[nas]\nname = left\nfirmware = 1\n[volume a]\nkind = single\n"
                    f"local = {self.directory.name}/t\n"
                    "[run]\nworkloads = copy:1x1MB\nprotocols = local\ntrials = 2\n")
        left = lambda *args: json.loads(self.nasmark("run", plan, "--dry-run", "--json", *args))
        self.assertEqual(left()["bytes"], 4000000)
        self.nasmark("run", plan, "--trials", "1", "--quiet")
        self.assertEqual([c["left"] for c in left()["dry_run"]], [1, 1])
        self.assertEqual(left()["bytes"], 2000000)
        self.nasmark("run", plan, "--quiet")
        self.assertEqual(left()["bytes"], 0)
        self.assertEqual(left("--again")["bytes"], 4000000)
        self.assertIn("complete, 2 trials are stored", self.nasmark("run", plan, "--dry-run"))

    def test_wrong_words_are_usage_errors(self):
        for args, says in {("table", "volum=x"): "did you mean 'volume'",
                           ("table", "raid5"): "key=value",
                           ("table", "nas=nobody"): "nothing in the database",
                           ("table", "--by", "colour"): "volume, protocol or firmware",
                           ("table", "--format", "pdf"): "text md csv json html tex",
                           ("table", "--lang", "de"): "en pl ru ja",
                           ("table", "--unit", "Mbit/s"): "MB/s or MiB/s",
                           ("table", "--digits", "x"): "0 to 9",
                           ("compare", "a", "nas=x", "b"): "stands in quotes",
                           ("list", "runs", "volume=x"): "does not narrow",
                           ("show", "99999"): "no trial 99999",
                           ("show", "nonsense"): "no run nonsense",
                           ("void", "1"): "--why",
                           ("void", "x", "--why", "y"): "not the number of a trial",
                           ("note", "00000000", "x"): "no run 00000000",
                           ("export",): "--format is missing",
                           ("export", "--format", "pdf"): "formats are csv json"}.items():
            self.assertEqual(self.nasmark(*args, code=2), "")
            self.assertIn(says, self.errors)

    def test_database_that_cannot_be_used(self):
        self.sql("PRAGMA user_version=99")
        before = self.digest()
        for args in (("table",), ("note", "00000000", "x"), ("list", "runs")):
            self.nasmark(*args, code=2)
            self.assertIn("schema 99", self.errors)
        self.assertEqual(self.digest(), before)
        for name in os.listdir(self.directory.name):
            os.unlink(os.path.join(self.directory.name, name))
        with open(self.db, "w", encoding="ascii") as f:
            f.write("not a database\n" * 100)
        before = self.digest()
        self.nasmark("void", "1", "--why", "x", code=2)
        self.assertIn("not a nasmark database", self.errors)
        self.assertEqual(self.digest(), before)
        os.unlink(self.db)
        self.nasmark("table", code=2)
        self.assertIn("no database there", self.errors)
        self.assertFalse(os.path.exists(self.db))

    def test_locked_database_is_waited_for(self):
        run = json.loads(self.nasmark("list", "runs", "--json"))[0]["run"]
        holder = sqlite3.connect(self.db, isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN EXCLUSIVE")

        def release():
            time.sleep(3)
            holder.execute("ROLLBACK")

        thread = threading.Thread(target=release)
        thread.start()
        self.nasmark("note", run, "waited")
        thread.join()
        holder.execute("BEGIN EXCLUSIVE")
        self.nasmark("note", run, "in vain", code=2)
        self.assertIn(f"database busy (pid {os.getpid()})", self.errors)
        holder.close()
        self.assertEqual(self.sql("SELECT text FROM note"), [("waited",)])

    def test_list_and_show(self):
        runs = json.loads(self.nasmark("list", "runs", "--json"))
        self.assertEqual([r["nas"] for r in runs], ["readynas-104", 'A|B, "C" <b>', "steps",
                                                  "imported"])
        self.assertEqual(len(json.loads(self.nasmark("list", "runs", "--json", "nas=im*"))), 1)
        nas = json.loads(self.nasmark("list", "nas", "--json"))
        self.assertEqual({n["firmware"] for n in nas}, {"6.1.2", "=1+1", "1.0"})
        cells = json.loads(self.nasmark("list", "cells", "--json", "nas=A*"))
        self.assertIn("too_short", {c["status"] for c in cells})
        self.assertEqual(len(self.nasmark("list", "cells", "nas=A*").splitlines()), len(cells) + 1)

        run, = json.loads(self.nasmark("show", runs[1]["run"], "--json"))
        self.assertEqual(len(run["trials"]), runs[1]["trials"])
        failed = [t for t in run["trials"] if t["status"] == "failed"]
        self.assertEqual(len(failed), runs[1]["failed"])
        self.assertEqual({t["bytes_per_s"] for t in failed}, {None})
        trial, = json.loads(self.nasmark("show", str(failed[0]["trial"]), "--json"))
        self.assertEqual(trial["reason"], "timeout")
        self.assertEqual(trial["conditions"]["smb.dialect"], "3.1.1")
        self.assertIn("reason: timeout\n", self.nasmark("show", str(trial["trial"])))

    def test_json_follows_the_schemas(self):
        try:
            import jsonschema
        except ImportError:
            if os.environ.get("NASMARK_REQUIRE_SERVERS") == "1":
                raise
            self.skipTest("python3-jsonschema is not installed")
        runs = json.loads(self.nasmark("list", "runs", "--json"))
        self.nasmark("note", runs[1]["run"], "remark")
        run, = json.loads(self.nasmark("show", runs[1]["run"], "--json"))
        for name, args in [("list-runs", ("list", "runs", "--json")),
                           ("list-nas", ("list", "nas", "--json")),
                           ("list-cells", ("list", "cells", "--json")),
                           ("list-workloads", ("list", "workloads", "--json")),
                           ("list-profiles", ("list", "profiles", "--json")),
                           ("list-backends", ("list", "backends", "--json")),
                           ("export", ("export", "--format", "json")),
                           ("show", ("show", runs[1]["run"], "--json"))] + \
                          [("show", ("show", str(t["trial"]), "--json")) for t in run["trials"]]:
            with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as f:
                jsonschema.validate(json.loads(self.nasmark(*args)), json.load(f))

    def test_results_that_are_no_rate_of_bytes(self):
        def trial(workload, phase, index, *metrics, writes=False):
            return {"schema": 1, "nas": {"name": "nas", "firmware": "1"}, "campaign": "",
                    "session": {"run": "0badcafe", "seed": "1", "order": "passes", "plan": "",
                                "start_utc_ns": 1768032000000000000},
                    "volume": {"name": "raid5", "kind": "raid5", "position": 0},
                    "trial": {"protocol": "smb", "workload": workload, "phase": phase,
                              "phase_index": index, "phase_writes": writes, "pass": 1,
                              "status": "ok", "start_utc_ns": 1768032000000000000 + index,
                              "duration_ns": 30000000000, "bytes": 0, "source": "measured",
                              "conditions": {}, "metrics": [
                                  {"name": name, "unit": unit, "better": better,
                                   "summary": "median", "value": value}
                                  for name, unit, better, value in metrics]}}
        trials = [
            trial("hd", "search", 1, ("players", "streams", "higher", 117),
                  ("carried_rate", "B/s", "higher", 117e6)),
            trial("video:12x40Mbit", "play", 1, ("underruns", "underruns", "lower", 3)),
            trial("drive:write", "read", 1, ("average_rate", "B/s", "higher", 104.5e6)),
            trial("drive:write", "access", 2, ("average_access", "ns", "lower", 16.3e6)),
            trial("drive:write", "write", 3, ("average_rate", "B/s", "higher", 98.2e6),
                  writes=True),
            trial("office", "load", 1, ("write_rate", "B/s", "higher", 71.3e6),
                  ("underruns", "1", "lower", 3), ("reader1_rate", "B/s", "higher", 1e6),
                  ("reader2_rate", "B/s", "higher", 0.97e6),
                  ("writer1_rate", "B/s", "higher", 71.3e6), writes=True)]
        path = self.directory.name + "/in.json"
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schema": 1, "trials": trials}, f)
        self.nasmark("import", "json", path, "-q")
        for name, args in {"playing.text": (), "playing-pl.text": ("--lang", "pl")}.items():
            with open(os.path.join(EXPECTED, name), encoding="utf-8") as f:
                self.assertEqual(self.nasmark("table", "nas=nas", *args), f.read())

    def test_align_prints_what_is_expected(self):
        def entry(kind, first, count):
            return struct.pack("<B3xB3xII", 0, kind, first, count)

        def sector(*entries):
            return bytes(446) + b"".join(entries).ljust(64, b"\0") + b"\x55\xaa"
        image = self.directory.name + "/disk.img"
        with open(image, "wb") as f:
            f.truncate(1 << 30)
            f.write(sector(entry(0x83, 63, 2000), entry(0x83, 2064, 4096), entry(7, 8192, 1 << 24),
                           entry(5, 20478, 40000)))
            f.seek(20478 * 512)
            f.write(sector(entry(0x82, 2, 4096), entry(5, 8000, 1000)))
        text = self.nasmark("align", image, code=1, out=True).replace(image, "disk.img")
        with open(os.path.join(EXPECTED, "align.text"), encoding="utf-8") as f:
            self.assertEqual(text, f.read())
        try:
            import jsonschema
        except ImportError:
            return
        with open(os.path.join(SCHEMAS, "align.json"), encoding="utf-8") as f:
            jsonschema.validate(json.loads(self.nasmark("align", image, "--json", code=1,
                                                        out=True)), json.load(f))

    def test_void_and_note(self):
        select = ("table", "--json", "nas=readynas*", "volume=raid5", "workload=1x2GB",
                  "protocol=smb")

        def cell():
            table, = json.loads(self.nasmark(*select))["tables"]
            return table["rows"][0]["phases"]["upload"]

        before = cell()
        self.assertEqual(before["n"], 3)
        trial = before["trials"][0]
        self.nasmark("void", str(trial["id"]), "--why", "a cable fell out")
        after = cell()
        self.assertEqual((after["n"], after["status"]), (2, "ok"))
        self.assertEqual(after["trials"][0]["status"], "void")
        self.assertEqual(after["trials"][0]["message"], "a cable fell out")
        rates = [t["bytes"] * 1e9 / t["duration_ns"] for t in after["trials"][1:]]
        self.assertAlmostEqual(after["bytes_per_s"] / (rates[0] * rates[1]) ** 0.5, 1, places=9)
        self.nasmark("void", str(trial["id"]), "--why", "again", code=2)
        self.nasmark("note", trial["run"], "fan replaced\nwhile running")
        run, = json.loads(self.nasmark("show", trial["run"], "--json"))
        self.assertEqual(run["notes"][0]["text"], "fan replaced\nwhile running")

    def test_export_csv(self):
        text = self.nasmark("export", "--format", "csv", "nas=A*")
        self.assertTrue(text.startswith(CSV_HEAD + ","))
        rows = list(csv.DictReader(text.splitlines(keepends=True)))
        self.assertEqual(len(rows), 31)
        self.assertEqual({r["nas"] for r in rows}, {'A|B, "C" <b>'})
        self.assertEqual({r["firmware"] for r in rows}, {"'=1+1"})
        self.assertIn("two lines \x1b[31m<i>", {r["label"] for r in rows})
        self.assertEqual(len(text.splitlines()), 32)
        for r in rows:
            trial, = json.loads(self.nasmark("show", r["trial"], "--json"))
            self.assertEqual(r["bytes"], "" if trial["bytes"] is None else str(trial["bytes"]))
            self.assertEqual(r["status"], trial["status"])
            self.assertEqual(r["smb.dialect"], trial["conditions"]["smb.dialect"])

    def test_export_comes_back_by_import(self):
        table = self.nasmark("table", "nas=@(readynas*|steps)", "--format", "csv")
        for name in "json", "csv":
            path = f"{self.directory.name}/out.{name}"
            self.nasmark("export", "--format", name, "-o", path)
            other = f"{self.directory.name}/{name}.db"
            self.nasmark("import", name, path, "-q", "--db", other)
            again = self.nasmark("table", "nas=@(readynas*|steps)", "--format", "csv",
                                 "--db", other)
            again, wanted = again.splitlines(), table.splitlines()
            if name == "csv":  # knows no plan, whose every volume has a row in every table
                again = [line.replace(",imported,", ",measured,") for line in again]
                wanted = [line for line in wanted if ",missing,0,0," not in line]
            self.assertEqual(sorted(again), sorted(wanted))
            hostile = self.nasmark("table", "nas=A*", "--format", "csv", "--db", other)
            self.assertIn('"A|B, ""C"" <b>",\'=1+1,', hostile)

    def test_export_writes_whole_files_or_none(self):
        path = self.directory.name + "/out.json"
        self.assertEqual(self.nasmark("export", "--format", "json", "-o", path), "")
        with open(path, encoding="utf-8") as f:
            trials = json.load(f)["trials"]
        self.assertEqual(len(trials), self.sql("SELECT count(*) FROM trial")[0][0])
        self.assertEqual(trials[0]["trial"]["conditions"]["data"], "random")
        self.nasmark("export", "--format", "csv", "-o", self.directory.name + "/no/such/x", code=2)
        self.nasmark("export", "--format", "csv", "-o", path, "nas=nobody", code=2)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["trials"], trials)
        self.assertEqual(sorted(os.listdir(self.directory.name))[-1], "out.json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
