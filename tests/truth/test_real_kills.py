"""Faults on a real cluster: the report says what an independent script says of its raw files, and a freeze is as long as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.bounded import from_json
from bench.results.folder import Results
from tests.analysis.faults.independent import independent
from tests.analysis.faults.test_hundred_kills import ns_of
from tests.campaign.command import start

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(3600)]
TRIALS, KILLS = 5, 20
FREEZES, FROZEN_S, WITHIN_S = 10, 2.0, 0.020
EVERY_S = 12  # down for a second; and then latency has five seconds to be back in its band
LIMIT_S = 3000
CAMPAIGN = """
schema = 1
name = "storms"
question = "Is what the report says of faults what happened?"
seed = 26
systems = ["nats"]
durability = [2]
blocks = {blocks}

[[workloads]]
name = "stormy"
rate_per_s = 400
message_bytes = 256
partitions = 2
producers = 2
consumers = 2
warmup_s = 3
measure_s = {measure_s}
"""
KILL = 'do = "kill"\ntarget = "leader:0/{partition}"\nfor_s = 1\n'
FREEZE = f'do = "freeze"\ntarget = "all"\nfor_s = {FROZEN_S:g}\n'


def campaign(blocks: int, faults: list[str]) -> str:
    """A campaign file: in each trial these faults, one after the other; before the first there is time for a band."""
    text = CAMPAIGN.format(blocks=blocks, measure_s=EVERY_S * (len(faults) + 1))
    for number, fault in enumerate(faults, start=1):
        text += f"\n[[workloads.faults]]\nat_s = {EVERY_S * number}\n{fault}"
    return text


def reported(home: Path, text: str) -> Iterator[tuple[Path, list[Mapping[str, Any]]]]:
    """Runs it as a user does: each trial's folder, and what report.json says of its faults, one after the other."""
    file = home / "storms.toml"
    file.write_text(text)
    with start(home, "campaign", "local", str(file), "--plain") as process:
        output, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode in (0, 2), output + errors  # 2: on a busy machine a trial ended before its last faults
    results = Results(home / "results" / "storms")
    report = json.loads((results.root / "report" / "report.json").read_text())
    for name in results.finished():
        told = [
            trial
            for fault in sorted(report["faults"], key=lambda fault: fault["number"])
            for contestant in fault["contestants"]
            for trial in contestant["trials"]
            if trial["trial"] == name
        ]
        yield results.trial_dir(name), told


def ns(told: Mapping[str, Any]) -> int | None:
    """Of a value of report.json; see `ns_of`."""
    return ns_of(from_json(told))


def test_a_hundred_kills_are_as_the_independent_script_has_them(tmp_path: Path) -> None:
    """Gaps, recoveries, debts and what was late, of every leader that was killed: the same numbers, to the nanosecond."""
    kills = [KILL.format(partition=number % 2) for number in range(KILLS)]
    compared = interrupted = 0
    for folder, told in reported(tmp_path, campaign(TRIALS, kills)):
        truths = independent(folder)
        assert len(truths) == len(told)
        for truth, fault in zip(truths, told, strict=True):
            debt = next(each for each in fault["debts"] if each["subscription"] is None)
            [end_to_end] = fault["end_to_end"].values()
            said = {
                "gap_ns": ns(fault["gap"]["length_s"]),
                "acknowledged_after_ns": round(fault["gap"]["ended_after_s"] * 1e9),
                "every_partition_after_ns": ns(fault["acknowledged_after_s"]),
                "response_back_ns": ns(fault["response"]["back_s"]),
                "end_to_end_back_ns": ns(end_to_end["back_s"]),
                "late": fault["late"],
                "late_s": fault["late_s"],
                "partitions": {gap["partition"]: ns(gap["length_s"]) for gap in fault["partitions"]},
                "owed": debt["highest"],
                "paid_ns": ns(debt["paid_s"]),
            }
            assert said == truth, (folder.name, fault["at_s"])
            compared += 1
            interrupted += (truth["every_partition_after_ns"] or 0) > 0
    # the next one waits for the system to be whole again, which takes long where others use the machine
    assert compared > TRIALS * KILLS / 2
    assert interrupted > compared / 2, "a leader that is killed is missed"


def test_a_freeze_of_all_brokers_is_a_gap_of_its_length(tmp_path: Path) -> None:
    """Two seconds are two seconds, within twenty milliseconds; what the system took to notice that it goes on is told apart."""
    seen = 0
    for _, told in reported(tmp_path, campaign(1, [FREEZE] * FREEZES)):
        for fault in told:
            gap_s, lasted_s = from_json(fault["gap"]["length_s"]).low, fault["ended_after_s"]
            noticed_s = fault["gap"]["ended_after_s"] - lasted_s
            assert abs(lasted_s - FROZEN_S) <= WITHIN_S
            assert noticed_s >= 0
            assert abs(gap_s - noticed_s - FROZEN_S) <= WITHIN_S, fault["gap"]
            seen += 1
    assert seen == FREEZES
