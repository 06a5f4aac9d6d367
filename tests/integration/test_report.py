"""A page and pictures of a campaign that ran over real servers: its numbers are those of the
tables, nobody's host, share or password is in it.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import pathlib
import re
import socket

import harness


class ReportCase(harness.LabTestCase):
    def plan(self):
        """The lab's first volume; one file that takes long enough to have a course."""
        text = pathlib.Path(self.lab.plan).read_text(encoding="utf-8")
        volumes = re.findall(r"\[volume [^\]]*\]\n[^\[]*", text)[:1]
        path = self.scratch / "plan.ini"
        path.write_text("[nas]\nname = lab\nfirmware = 1.0\nfirmware_date = 2026-01-31\n"
                        + "".join(re.sub(r"(?m)^(http|iscsi|local) = .*\n", "", volume)
                                  for volume in volumes)
                        + "[run]\nworkloads = copy:1x500MB copy:20x100KB\nprotocols = smb nfs\n"
                        "trials = 1\npause = 0\n", encoding="utf-8")
        return path

    def test_report_of_a_campaign(self):
        plan = self.plan()
        for firmware, date in (("1.0", "2026-01-31"), ("1.1", "2026-02-28")):
            self.nasmark("run", plan, "--credentials", self.lab.credentials, "--quiet",
                         "--set", f"nas.firmware={firmware}", "--set", f"nas.firmware_date={date}")
        self.nasmark("report", "-o", "report.html")

        page = (self.scratch / "report.html").read_text(encoding="utf-8")
        document = self.nasmark("table", "--json").json()
        n = 0
        for table in document["tables"]:
            for row in table["rows"]:
                for phase in row["phases"].values():
                    if phase["status"] == "ok" and phase["bytes_per_s"] >= 5e6:
                        n += 1
                        self.assertIn(f'{phase["bytes_per_s"] / 1e6:.1f}', page)
        self.assertGreaterEqual(n, 4)
        for heading in ("Course of the trials", "Firmware history", "Key conditions",
                        "lab: firmware 1.1 against 1.0", "INSUFFICIENT"):
            self.assertIn(heading, page)
        self.assertNotRegex(page, r"(?i)<script|https?://|smb://|nfs://")
        for secret in (self.lab["SMB_PASS"], str(self.lab.directory), str(self.scratch),
                       socket.gethostname()):
            self.assertNotIn(secret, page.split("</style>")[1])

        for kind, words in (("bars", []), ("series", ["workload=1x500MB"]), ("history", [])):
            for suffix in ("svg", "png", "pdf"):
                self.nasmark("chart", *words, "--kind", kind, "-o", f"{kind}.{suffix}")
                self.assertGreater((self.scratch / f"{kind}.{suffix}").stat().st_size, 2000)


if __name__ == "__main__":
    harness.main()
