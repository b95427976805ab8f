"""Tests run on a copy of the tree with one mutant in it: did one of them fail? A copy is used by one mutant at a time."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from tests.mutants.catalogue import Mutant

Verdict = Literal["killed", "survived", "broken"]
LONGEST_TEST_S = 120
MOST_BYTES = 8 * 2**30
LATER_S = 60  # a mutated file's time of change, so that no compiled original is taken for it
_ROOMS = ("analysis", "bench", "contract", "infra", "provisioning", "systems")


@dataclass(frozen=True)
class Outcome:
    """`killed`: a test failed (`by`); `survived`: none did; `broken`: they couldn't even run (`by` says why)."""

    mutant: str
    verdict: Verdict
    by: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """What pytest said: its exit status, failed tests, tests that couldn't run, and its last words."""

    status: int
    failed: tuple[str, ...]
    errors: tuple[str, ...]
    tail: str


def copy_tree(checkout: Path, target: Path) -> None:
    """Everything that git would commit."""
    command = ["git", "-C", str(checkout), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (checkout / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, target / name)


def require_own_code(tree: Path) -> None:
    """Raises RuntimeError if Python, started in the copy, imports somebody else's code: mutants would then change nothing."""
    code = f"import {', '.join(_ROOMS)}; print(*(room.__path__[0] for room in ({', '.join(_ROOMS)})), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=_environment(tree), capture_output=True, text=True
    )
    found = [Path(line).parent for line in done.stdout.splitlines()]
    if done.returncode or any(each.resolve() != tree.resolve() for each in found):
        raise RuntimeError(f"{tree} is a copy of the code, and Python there imports {found}\n{done.stderr}")


def run_tests(tree: Path, tests: Sequence[str], *options: str) -> Run:
    """Runs the tests in the copy."""
    report = tree / ".samebox" / "junit.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={LONGEST_TEST_S}"]
    command += [f"--junitxml={report}", *options, *tests]
    with subprocess.Popen(
        command,
        cwd=tree,
        env=_environment(tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        # a mutant may never come to an end of what it makes
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        said, _ = process.communicate()
    cases = list(ElementTree.parse(report).iter("testcase")) if report.is_file() else []
    failed = tuple(_named(case) for case in cases if case.find("failure") is not None)
    errors = tuple(_named(case) for case in cases if case.find("error") is not None)
    return Run(process.returncode, failed, errors, said[-1500:])


def try_mutant(mutant: Mutant, tree: Path) -> Outcome:
    """Puts the mutant into the copy, runs its tests, and takes it out again."""
    began_s = time.monotonic()
    file = tree / mutant.entry.file
    code, stat = file.read_text(encoding="utf-8"), file.stat()
    try:
        file.write_text(mutant.applied(code), encoding="utf-8")
        os.utime(file, (stat.st_atime, stat.st_mtime + LATER_S))
        run = run_tests(tree, mutant.entry.killed_by, "-x")
    finally:
        file.write_text(code, encoding="utf-8")
        os.utime(file, (stat.st_atime, stat.st_mtime))
    verdict, by = judged(run)
    return Outcome(mutant.name, verdict, by, time.monotonic() - began_s)


def judged(run: Run) -> tuple[Verdict, str]:
    """A mutant is killed by a test that fails. An import that fails, or a fixture, says nothing about any test."""
    if run.status == 0:
        return "survived", ""
    if run.status == 1 and run.failed and not run.errors:
        return "killed", run.failed[0]
    return "broken", f"exit {run.status}; {', '.join(run.errors) or 'no test failed'}\n{run.tail}"


def _named(case: ElementTree.Element) -> str:
    """tests.bench.test_schedule and test_x, as tests/bench/test_schedule.py::test_x"""
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"


def _environment(tree: Path) -> dict[str, str]:
    scratch = tree / ".samebox" / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "TMPDIR": str(scratch),
        "SPARK_LOCAL_DIRS": str(scratch),
        "PYTHONPATH": str(tree),
        "SPARK_SUBMIT_OPTS": f"-XX:-UsePerfData -XX:TieredStopAtLevel=1 -Djava.io.tmpdir={scratch}",
    }
