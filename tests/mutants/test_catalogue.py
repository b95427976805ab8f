"""The mutants are of the code that there is: what has changed since is told here, long before `make test-mutants` is run."""

from __future__ import annotations

import pytest

from bench.checkout import CHECKOUT
from tests.mutants.catalogue import Mutant, load_mutants
from tests.mutants.trial import Run, judged

MUTANTS = load_mutants()
ROOMS = (
    "analysis/",
    "bench/cli/",
    "bench/load/",
    "bench/worker/",
    "disk-checks/",
    "infra/",
    "provisioning/",
    "systems/",
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_can_be_tried(mutant: Mutant) -> None:
    """Its snippet stands exactly once in its file, and the tests that it names are there."""
    assert mutant.problem(CHECKOUT) is None


def test_every_room_has_some() -> None:
    """60 or more in all."""
    assert len(MUTANTS) >= 60
    assert [room for room in ROOMS if not any(mutant.entry.file.startswith(room) for mutant in MUTANTS)] == []


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (Run(0, (), (), ""), "survived"),
        (Run(1, ("tests/x.py::test_y",), (), ""), "killed"),
        (Run(1, (), ("tests/x.py::test_y",), ""), "broken"),
        (Run(1, ("tests/x.py::test_y",), ("tests/x.py::test_z",), ""), "broken"),
        (Run(2, (), ("tests/x.py",), "ImportError"), "broken"),
        (Run(5, (), (), "no tests ran"), "broken"),
        (Run(-9, (), (), ""), "broken"),
    ],
)
def test_only_a_test_that_fails_kills(run: Run, verdict: str) -> None:
    """What can't be imported, or has no tests, shows nothing."""
    assert judged(run)[0] == verdict
