"""A small campaign with faults, for tests of the report and to be looked at: three contestants, six blocks, two workloads."""

from __future__ import annotations

from pathlib import Path

from bench.campaign.system_settings import makers_words
from tests.analysis.faults.kills import FaultyTrial, Kill, jittered, write_faulty

OUTAGES_S = {"kafka": 1.2, "pulsar": 2.1, "nats": 0.35}
BLOCKS = 6


def faulty_campaign(folder: Path, blocks: int = BLOCKS) -> Path:
    """A leader is killed at level 1 and comes back; at level 2 all are, and one of the systems lost what the promise allows.

    kafka loses two acknowledged messages of each producer in block 2 of the first; a fault of pulsar's in block 3 never took effect.
    """
    trials: list[FaultyTrial] = []
    for block in range(1, blocks + 1):
        for position, (system, outage_s) in enumerate(OUTAGES_S.items(), start=1):
            leader = Kill(
                14.0,
                outage_s,
                partitions=(0, 1),
                failed_share=0.1 if system == "nats" else 0.0,
                lost=2 if (system, block) == ("kafka", 2) else 0,
                took_effect=(system, block) != ("pulsar", 3),
            )
            everything = Kill(
                14.0,
                4 * outage_s,
                target="all",
                hosts=("broker-1", "broker-2", "broker-3"),
                lost=3 if system == "kafka" else 0,
                repeated=2 if system == "pulsar" else 0,
            )
            freeze = Kill(27.0, 2.0, do="freeze", for_s=2.0, target="all", hosts=("broker-1", "broker-2", "broker-3"))
            for level, workload, kills in (("1", "kill-leader", (leader,)), ("2", "kill-all", (everything, freeze))):
                name = f"b{block:02}-{position}-{system}-l{level}-{workload}"
                trials.append(
                    jittered(
                        FaultyTrial(name, system, kills, block, position, seed=7 * block + position, measure_s=40,
                                    durability=level, workload=workload, goal_ms=50 if level == "1" else None)
                    )
                )  # fmt: skip
    cells = [(system, level) for system in OUTAGES_S for level in ("1", "2")]
    question = "How long do users wait, and what do they lose, when the leader of their partition is killed?"
    return write_faulty(folder, trials, survival=makers_words(cells), question=question)
