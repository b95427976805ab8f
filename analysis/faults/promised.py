"""Whether a promise had to survive a fault: by the promise itself, and by what the system's makers say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.campaign import Trial
from analysis.faults.occurrence import Occurrence
from contract.durability import DEFAULT_REPLICATION_FACTOR
from contract.survival import FEWER, Harm, survival


@dataclass(frozen=True)
class Promise:
    """`by_level`: the promise itself had to survive, and `why` (or why not). `words`: what the makers say of such faults, as the
    manifest has it.
    """

    by_level: bool
    why: str
    words: tuple[Mapping[str, Any], ...] = ()

    @property
    def must(self) -> bool:
        """Makers may promise more than the level does, and excuse nothing that it does."""
        return self.by_level or any(word["survives"] for word in self.words)

    @property
    def sentence(self) -> str:
        """Why, as a clause."""
        if self.must and not self.by_level:
            word = next(word for word in self.words if word["survives"])
            return f"the level needn't survive it ({self.why}), but its makers say: {word['what']} ({word['source']})"
        return self.why


def promise_of(trial: Trial, fault: Occurrence, manifest: Mapping[str, Any]) -> Promise:
    """What the durability of a trial promises under a fault that was done to its hosts."""
    copies = int((manifest.get("definition") or {}).get("replication_factor", DEFAULT_REPLICATION_FACTOR))
    harm = Harm(fault.do, len(fault.hosts), copies, fault.peers, fault.is_undone)
    found = survival(trial.durability, harm)
    return Promise(found.must, found.why, tuple(_of(manifest.get("survival") or (), trial, harm)))


def _of(words: Iterable[Mapping[str, Any]], trial: Trial, harm: Harm) -> Iterable[Mapping[str, Any]]:
    """What is said of the system, the durability and such a fault. Of one that stays, nobody says that what it takes survives."""
    for word in words:
        asked = trial.durability["name"] in word["durability"] and harm.do in word["do"]
        of_such = asked and word["system"] == trial.system and word["extent"] == harm.extent
        if of_such and (harm.undone or harm.extent == FEWER):
            yield word
