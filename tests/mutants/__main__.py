"""`make test-mutants`: every mutant is tried on a copy of the tree, and must be killed by the tests that it names.

python -m tests.mutants [WORD...]     only the mutants whose name, file or meaning has one of these words
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from bench.checkout import CHECKOUT
from tests.mutants.catalogue import Mutant, load_mutants
from tests.mutants.trial import Outcome, copy_tree, require_own_code, run_tests, try_mutant

SCRATCH = CHECKOUT / ".samebox"


def main(words: Sequence[str]) -> int:
    """The exit code: 1 if a mutant survives, or can't be tried."""
    began_s = time.monotonic()
    mutants = [each for each in load_mutants() if not words or any(word in _text(each) for word in words)]
    lost = [(each, problem) for each in mutants if (problem := each.problem(CHECKOUT))]
    for mutant, problem in lost:
        print(f"{mutant.name}: {problem}: change the entry or take it out.")
    if lost or not mutants:
        return 1
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=SCRATCH) as folder:
        trees = [Path(folder) / str(number) for number in range(min(len(mutants), os.cpu_count() or 1))]
        for tree in trees:
            copy_tree(CHECKOUT, tree)
            require_own_code(tree)
        if not _is_green(mutants, trees):
            return 1
        outcomes = _try_all(mutants, trees)
    return _conclude(mutants, outcomes, time.monotonic() - began_s)


def _is_green(mutants: Sequence[Mutant], trees: Sequence[Path]) -> bool:
    """Whether the tests pass without any mutant; else what fails by one may fail anyway."""
    tests = sorted({test for each in mutants for test in each.entry.killed_by})
    run = run_tests(trees[0], tests, "-n", str(len(trees)), "--dist", "loadfile")
    if run.status:
        print(f"These tests fail without any mutant:\n{run.tail}")
    return run.status == 0


def _try_all(mutants: Sequence[Mutant], trees: Sequence[Path]) -> list[Outcome]:
    free: SimpleQueue[Path] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def tried(mutant: Mutant) -> Outcome:
        tree = free.get()
        try:
            outcome = try_mutant(mutant, tree)
        finally:
            free.put(tree)
        print(f"{outcome.verdict:9} {outcome.seconds:5.1f} s  {mutant.name:20} {mutant.entry.means}", flush=True)
        return outcome

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(tried, mutants))


def _conclude(mutants: Sequence[Mutant], outcomes: Sequence[Outcome], seconds: float) -> int:
    bad = [(mutant, outcome) for mutant, outcome in zip(mutants, outcomes, strict=True) if outcome.verdict != "killed"]
    for mutant, outcome in bad:
        print(f"\n{mutant.name} {outcome.verdict}: {mutant.entry.file}: {mutant.entry.means}\n{outcome.by}")
    print(f"\n{len(outcomes) - len(bad)} of {len(outcomes)} mutants killed, in {seconds / 60:.1f} minutes.")
    return 1 if bad else 0


def _text(mutant: Mutant) -> str:
    return f"{mutant.name} {mutant.entry.file} {mutant.entry.means}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
