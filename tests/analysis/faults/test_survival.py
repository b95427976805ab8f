"""Which promise must survive which fault: by the promise alone, and by what makers say."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.faults.promised import Promise
from contract.durability import LEVELS
from contract.survival import Harm, survival

DURABILITIES: dict[str, dict[str, Any]] = {
    each.name: {"replication": each.replication, "local": each.local} for each in LEVELS
}


@pytest.mark.parametrize(
    ("name", "harm", "must"),
    [
        ("1", Harm("kill", 1, 3), True),
        ("2", Harm("kill", 1, 3), True),
        ("2", Harm("kill", 1, 3, undone=False), True),  # the other one has it
        ("1", Harm("kill", 2, 3), True),  # on the disks of both
        ("2", Harm("kill", 2, 3), False),  # a quorum's memory
        ("2", Harm("kill", 3, 3), False),
        ("1", Harm("kill", 3, 3, undone=False), False),  # nobody is left to ask
        ("2", Harm("freeze", 3, 3), True),
        ("2", Harm("cut", 2, 3), True),
        ("2", Harm("restart", 3, 3), True),  # one at a time
        ("2", Harm("restart", 3, 3, undone=False), True),  # and so at most one is gone at the end
        ("1", Harm("replace", 1, 3), True),
        ("3", Harm("kill", 1, 3), False),
        ("4", Harm("freeze", 1, 3), False),
        ("4", Harm("cut", 1, 3, peers="clients"), True),
        ("4", Harm("slow-disk", 1, 3), True),
        ("none", Harm("slow-disk", 1, 3), False),
        ("2", Harm("kill", 2, 5), True),  # three of five have it
    ],
)
def test_a_promise_survives_what_leaves_one_that_has_it(name: str, harm: Harm, must: bool) -> None:
    """A quorum outlives fewer than a quorum; what is on its disks outlives processes; what one has outlives only what spares it."""
    assert survival(DURABILITIES[name], harm).must is must


def test_makers_may_promise_more_and_excuse_nothing() -> None:
    """Of a level that needn't survive, their yes counts; of one that must, their no doesn't."""
    yes, no = ({"survives": said, "what": "so", "source": "there"} for said in (True, False))
    assert Promise(False, "why", (yes,)).must
    assert not Promise(False, "why", (no,)).must
    assert Promise(True, "why", (no,)).must
