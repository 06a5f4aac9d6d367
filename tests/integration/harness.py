"""What the integration tests share: the program, the lab with its servers, commands that end.

Environment: NASMARK (the binary; ctest sets it), NASMARK_LAB (directory of a lab that is up;
without it the tests skip), NASMARK_REQUIRE_SERVERS=1 (a test that would skip fails instead).

Standard library only. Every command has a deadline, after which its whole process group is killed.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

# `lab exec` exports what contract tests need, passwords included; no program started here may
# inherit them. The tests ask the lab itself (lab["SMB_PASS"]).
for _name in [name for name in os.environ if re.search(r"_PASS(WORD)?$|_URL_", name)]:
    del os.environ[_name]

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB_SCRIPT = ROOT / "tests" / "lab" / "lab"
SKIPPED = 77  # exit status that ctest counts as skipped


class Result:
    """Outcome of a command: status (negative: killed by that signal), out, err."""

    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        words = " ".join(shlex.quote(str(word)) for word in self.command)
        return f"{words}\nexit status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class CommandFailed(AssertionError):
    pass


def run(*command, deadline_s=60, expect=0, env=None, stdin="", cwd=None):
    """Runs a command. expect: the exit status it must have, a tuple of them, or None for any."""
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, cwd=cwd,
        env=None if env is None else {**os.environ, **env})
    try:
        out, err = process.communicate(stdin, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        result = Result(command, process.returncode, out, err)
        raise CommandFailed(f"not done after {deadline_s} s: {result}") from None
    result = Result(command, process.returncode, out, err)
    wanted = expect if isinstance(expect, tuple) else (expect,)
    if expect is not None and result.status not in wanted:
        raise CommandFailed(f"expected exit status {expect}: {result}")
    return result


def unavailable(why):
    """Skips, or fails where servers are required."""
    if os.environ.get("NASMARK_REQUIRE_SERVERS") == "1":
        raise AssertionError(why)
    raise unittest.SkipTest(why)


class Lab:
    """A lab that is up. lab["SMB_URL_single"] is a variable of `lab env`."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        text = run(LAB_SCRIPT, "env", directory).out
        self.variables = dict(line.split("=", 1) for line in
                              (shlex.split(line)[0] for line in text.splitlines()))

    def __getitem__(self, name):
        return self.variables[name]

    def get(self, name):
        return self.variables.get(name)

    @property
    def volumes(self):
        return self["LAB_VOLUMES"].split()

    @property
    def plan(self):
        return self["LAB_PLAN"]

    @property
    def credentials(self):
        return self["LAB_CREDENTIALS"]

    def do(self, command, *arguments):
        """lab.do("pause", "smb")"""
        return run(LAB_SCRIPT, command, self.directory, *arguments)

    @staticmethod
    def up(directory, **settings):
        """A lab of one's own: settings as LAB_... variables, values as text. Take it down()."""
        if os.geteuid() != 0:
            unavailable("a lab needs root")
        run(LAB_SCRIPT, "up", directory, env={f"LAB_{k.upper()}": v for k, v in settings.items()})
        return Lab(directory)

    def down(self):
        self.do("down")


def shared_lab():
    """The lab of this run."""
    directory = os.environ.get("NASMARK_LAB")
    if not directory:
        unavailable("no lab: set NASMARK_LAB to a directory made by tests/lab/lab up")
    return Lab(directory)


def program():
    path = os.environ.get("NASMARK", str(ROOT / "build" / "dev" / "nasmark"))
    if not os.access(path, os.X_OK):
        raise AssertionError(f"{path} is not there: build it, or set NASMARK")
    return path


def tool(name, package):
    """Path of a program that the tests compare with."""
    path = shutil.which(name)
    if path is None:
        unavailable(f"{name} is not installed (Debian package {package})")
    return path


class TestCase(unittest.TestCase):
    """A test with a scratch directory of its own: database, HOME and files go there."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="nasmark-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.db = self.scratch / "test.db"

    def environment(self, **extra):
        return {"HOME": str(self.scratch), "XDG_DATA_HOME": str(self.scratch),
                "NASMARK_DB": str(self.db), "NO_COLOR": "1", **extra}

    def nasmark(self, *arguments, deadline_s=120, expect=0, env=None, stdin=""):
        """Runs the program with the scratch database; never reads a user's configuration."""
        return run(program(), *arguments, deadline_s=deadline_s, expect=expect,
                   env=self.environment(**(env or {})), stdin=stdin, cwd=self.scratch)


class LabTestCase(TestCase):
    """A test that uses the lab of this run as self.lab."""

    @classmethod
    def setUpClass(cls):
        cls.lab = shared_lab()


def main():
    """unittest.main() with ctest's exit status for "everything was skipped"."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    # A class that skips in setUpClass counts as one skip and no run.
    sys.exit(SKIPPED if result.skipped and result.testsRun <= len(result.skipped) else 0)
