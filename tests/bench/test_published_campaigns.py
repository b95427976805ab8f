"""The campaign files of the published reports hold every published experiment, as `samebox plan --json` shows them.

The tables below are the reports' own, written down a second time: experiment by experiment what was run.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from systems.registry import lacking
from systems.software.added import ADDED_SCHEMA, Added

FILES = ("sn2020", "sn2022", "brokers-bench", "tallberg2020")
BACKLOG = 512 * 2**30
GIB = 2**30


@dataclass(frozen=True)
class Load:
    """One published load. `rate`: offered, as a bound for closed loops; None = a maximum that was searched for. `consumers`: all,
    tailing and catching up."""

    rate: int | None
    partitions: int
    producers: int
    consumers: int
    subscriptions: int = 1
    topics: int = 1
    message_bytes: int = 1024
    closed: bool = False
    backlog_bytes: int = 0
    compression: str = "none"


@dataclass(frozen=True)
class Published:
    """One published experiment: its loads, the levels of each system that samebox has, and the systems that it hasn't."""

    file: str
    loads: tuple[Load, ...]
    series: dict[str, str]  # system -> levels, separated by blanks
    absent: tuple[str, ...] = ()


def both(levels: str) -> dict[str, str]:
    """Pulsar and Kafka at the same levels."""
    return {"pulsar": levels, "kafka": levels}


SYNC_AND_NOT = both("1 2 3 4")
THREE_MODES = {"pulsar": "1 2 2-bypass 3 4 4-bypass", "kafka": "1 2 3 4"}
JOURNAL_OR_NOT = {"pulsar": "1 2-bypass", "kafka": "2"}


def single(rate: int, producers: int, consumers: int, topics: int = 1, **more: Any) -> Load:
    """A load of brokers-bench: closed loops, as a rule with snappy."""
    return Load(
        rate, more.pop("partitions", 1), producers, consumers, topics=topics, closed=True,
        **{"compression": "snappy", **more},
    )  # fmt: skip


def cpro(level: str, *loads: Load, redpanda: str = "") -> Published:
    """An experiment of brokers-bench that ran on Kafka and Redpanda, at the same level unless said."""
    return Published("brokers-bench", loads, {"kafka": level, "redpanda": redpanda or level})


PUBLISHED = {
    # 1.5
    "SN20-E1": Published(
        "sn2020",
        (Load(None, 100, 2, 2), Load(700_000, 100, 2, 2, closed=True)),
        {"pulsar": "1 2 2-bypass 3 4", "kafka": "1 2 3 4"},
    ),
    "SN20-E2": Published("sn2020", (Load(None, 2000, 2, 2),), {"pulsar": "1 2 2-bypass", "kafka": "1 2"}),
    "SN20-E2b": Published("sn2020", (Load(None, 2000, 4, 2),), {"kafka": "1 2"}),
    "SN20-E3": Published("sn2020", (Load(None, 1, 2, 2),), SYNC_AND_NOT),
    "SN20-E4": Published("sn2020", (Load(None, 1, 1, 1),), SYNC_AND_NOT),
    "SN20-E5": Published("sn2020", (Load(200_000, 100, 2, 2),), SYNC_AND_NOT),
    "SN20-E6": Published("sn2020", (Load(200_000, 100, 2, 20, subscriptions=10),), SYNC_AND_NOT),
    "SN20-E7": Published("sn2020", tuple(Load(200_000, each, 2, 2) for each in (5000, 8000, 10_000)), SYNC_AND_NOT),
    "SN20-E8": Published("sn2020", (Load(200_000, 100, 2, 2, backlog_bytes=BACKLOG),), THREE_MODES),
    "SN20-E9": Published("sn2020", (Load(200_000, 100, 2, 2, backlog_bytes=BACKLOG),), THREE_MODES),
    # 2.2
    "SN22-E1": Published("sn2022", (Load(None, 1, 4, 1), Load(10_000_000, 1, 4, 1, closed=True)), JOURNAL_OR_NOT),
    "SN22-E2": Published("sn2022", (Load(None, 100, 4, 4), Load(2_000_000, 100, 4, 4, closed=True)), JOURNAL_OR_NOT),
    "SN22-E3": Published("sn2022", (Load(500_000, 100, 4, 4),), JOURNAL_OR_NOT),
    "SN22-E4": Published("sn2022", (Load(200_000, 100, 4, 4, backlog_bytes=BACKLOG),), JOURNAL_OR_NOT),
    # 3.2
    "CPRO-E1": Published(
        "brokers-bench",
        (single(100_000, 1, 1, message_bytes=128, compression="none"),),
        both("2") | {"nats": "2", "redpanda": "2 1"},
    ),
    "CPRO-E2a": cpro("2", single(100_000, 10, 10, 10, compression="none"), redpanda="2 1"),
    "CPRO-E2b": cpro("none", single(100_000, 10, 10, 10, compression="none")),
    "CPRO-E2c": cpro("4", single(100_000, 10, 10, 10, compression="none")),
    "CPRO-E3": cpro(
        "4",
        *(
            single(10_000, 10, 10, 10, message_bytes=size, compression=compression)
            for size in (1024, 10_240)
            for compression in ("none", "gzip", "snappy")
        ),
    ),
    "CPRO-E4a": cpro("4", single(10_000, 10, 1)),
    "CPRO-E4b": cpro("4", single(40_000, 40, 4, 4)),
    "CPRO-E4c": cpro("4", single(40_000, 40, 4, 4, compression="none")),
    "CPRO-E4d": cpro("4", single(100_000, 100, 10, 10)),
    "CPRO-E4e": cpro("4", single(100_000, 100, 10, 10, partitions=10)),
    "CPRO-E5": cpro("4", single(100_000, 100, 10, 10)),
    "CPRO-E6a": cpro("4", single(1_000, 1, 1)),
    "CPRO-E6b": cpro("4", single(10_000, 10, 10, 10)),
    "CPRO-E6c": cpro("4", single(10_000, 10, 1)),
    "CPRO-E6d": cpro("4", single(40_000, 40, 4, 4)),
    "CPRO-E6e": cpro("4", single(40_000, 40, 4, 4, compression="none")),
    "CPRO-E6f": cpro("4", single(100_000, 100, 10, 10)),
    "CPRO-E7": cpro(
        "4",
        single(250_000, 5, 5, 5, compression="none"),
        *(single(each * 25 * 50_000, each * 25, 25, 25, compression="none") for each in (1, 2, 4, 10)),
    ),
    # 4.2, 4.3
    "TALL-E1": Published(
        "tallberg2020",
        (
            *(Load(None, 2, 1, 0, message_bytes=size) for size in (1000, 65_000, 600_000)),
            Load(1_000_000, 2, 1, 0, message_bytes=1000, closed=True),
            Load(20_000, 2, 1, 0, message_bytes=65_000, closed=True),
            Load(5_000, 2, 1, 0, message_bytes=600_000, closed=True),
        ),
        both("3 4") | {"valkey": "3 4"},
    ),
    "TALL-E1b": Published(
        "tallberg2020",
        (
            Load(3000, 2, 1, 0, message_bytes=65_000, closed=True),
            Load(300, 2, 1, 0, message_bytes=600_000, closed=True),
        ),
        {"pulsar": "3 4"},
    ),
    "TALL-E2": Published(
        "tallberg2020",
        tuple(
            Load(rate, 2, 1, 2, message_bytes=size)
            for size, rates in ((1000, (1000, 5000)), (65_000, (100, 500)), (600_000, (50, 200)))
            for rate in rates
        ),
        both("3 4") | {"valkey": "3 4"},
    ),
}


@pytest.fixture(autouse=True, scope="module")
def everything_added(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Planned as where every archive was added: a plan doesn't look into them."""
    cache = tmp_path_factory.mktemp("cache")
    for name in lacking(()):
        record = Added(ADDED_SCHEMA, name, "1.0.0", "0" * 64, "archive")
        file = record.path(cache / "samebox")
        file.parent.mkdir(parents=True)
        file.touch()
        file.parent.with_suffix(".json").write_text(json.dumps(asdict(record)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield


@functools.cache
def plan(file: str, *options: str) -> dict[str, Any]:
    """What `samebox plan campaigns/FILE.toml --json` prints."""
    command = ["plan", str(CHECKOUT / "campaigns" / f"{file}.toml"), "--json", *options]
    typed = CliRunner().invoke(samebox, command, standalone_mode=False, catch_exceptions=False)
    document: dict[str, Any] = json.loads(typed.stdout)
    return document


def load_of(workload: dict[str, Any]) -> Load:
    """A planned workload in the words of the tables."""
    backlog = workload["backlog"] or {"consumers": 0, "size_bytes": 0}
    searched = workload["pacing"] == "search"
    return Load(
        None if searched else workload["rate_per_s"],
        workload["partitions"],
        workload["producers"],
        workload["consumers"] + backlog["consumers"],
        workload["subscriptions"],
        workload["topics"],
        workload["message_bytes"],
        workload["pacing"] == "closed-loop",
        backlog["size_bytes"],
        workload["compression"],
    )


def trials_of(experiment: str, *options: str) -> list[dict[str, Any]]:
    """The planned trials of an experiment."""
    trials = plan(PUBLISHED[experiment].file, *options)["trials"]
    return [trial for trial in trials if trial["experiment"] == experiment]


def differs_of(experiment: str) -> str:
    """All that its file says of differences, for this experiment alone."""
    found = [each["differs"] for each in plan(PUBLISHED[experiment].file)["experiments"] if each["id"] == experiment]
    return " ".join(found[0])


def test_every_experiment_is_in_exactly_one_file() -> None:
    """Nothing is left out, nothing stands twice, and nothing is made up."""
    found = Counter(each["id"] for file in FILES for each in plan(file)["experiments"])
    assert found == Counter(list(PUBLISHED))


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_an_experiment_is_as_published(experiment: str) -> None:
    """Its loads at the levels of each system: every one, once, and no other."""
    published = PUBLISHED[experiment]
    planned = Counter(
        (trial["system"], trial["durability"], load_of(trial["workload"])) for trial in trials_of(experiment)
    )
    assert planned == Counter(
        (system, level, load)
        for system, levels in published.series.items()
        for level in levels.split()
        for load in published.loads
    )


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_a_system_that_is_not_there_yet_is_an_empty_cell(experiment: str) -> None:
    """It is listed with a reason, instead of being silently left out."""
    file = PUBLISHED[experiment].file
    cells = [cell for cell in plan(file)["empty_cells"] if cell["experiment"] == experiment]
    assert {cell["system"] for cell in cells if cell["durability"] is None} == set(PUBLISHED[experiment].absent)
    assert all(cell["reason"] for cell in cells)


@pytest.mark.parametrize("file", FILES)
def test_without_archives_their_systems_are_absent_and_all_others_run(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that adds one, in each experiment that has the system."""
    whole, without = plan(file), lacking(())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bare = plan.__wrapped__(file)
    concerned = {(each["experiment"], each["system"]) for each in whole["trials"] if each["system"] in without}
    absent = {(each["experiment"], each["system"]): each["reason"] for each in bare["empty_cells"]}
    assert all(without[system] in absent[experiment, system] for experiment, system in concerned)
    others = [identity(each) for each in whole["trials"] if each["system"] not in without]
    assert Counter(map(identity, bare["trials"])) == Counter(others)


def identity(trial: dict[str, Any]) -> tuple[Any, ...]:
    """What a trial is, wherever it stands in its block."""
    return (trial["system"], trial["durability"], trial["workload"]["name"], trial["block"])


def test_a_level_that_a_system_cannot_give_is_an_empty_cell() -> None:
    """Kafka has no journal to bypass; the published runs without one have it as a counterpart."""
    cells = {(cell["experiment"], cell["system"], cell["durability"]) for cell in plan("sn2020")["empty_cells"]}
    assert {("SN20-E8", "kafka", "2-bypass"), ("SN20-E9", "kafka", "4-bypass")} <= cells


@pytest.mark.parametrize("file", FILES)
def test_no_trial_runs_twice_unless_its_file_says_so(file: str) -> None:
    """The same system, level and load in two experiments is the same trial, but for published ones on other hosts."""
    first: dict[tuple[Any, ...], str] = {}
    for trial in plan(file)["trials"]:
        workload = {
            key: value for key, value in trial["workload"].items() if key not in ("name", "expected_rate_per_s")
        }
        del workload["planned_rate_per_s"]
        key = (trial["system"], trial["durability"], json.dumps(workload, sort_keys=True))
        earlier = first.setdefault(key, trial["experiment"])
        assert earlier == trial["experiment"] or f"repeats {earlier}" in differs_of(trial["experiment"])


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_a_maximum_is_declared(experiment: str) -> None:
    """A search is not what was published, and an overdriven run is called so in its name."""
    names = {trial["workload"]["name"]: trial["workload"]["pacing"] for trial in trials_of(experiment)}
    for name, pacing in names.items():
        assert ("-max" in name) == (pacing == "search")
        if pacing == "search":
            assert "'max' is a search" in differs_of(experiment)
        if "overdriven" in name:
            assert pacing == "closed-loop"
            assert "overdriven" in differs_of(experiment)


def test_the_published_clients_settings_are_there() -> None:
    """Batches and phases as the driver and workload files had them; ordered streams have one message in flight."""
    for trial in plan("sn2020")["trials"]:
        workload = trial["workload"]
        assert (workload["batch_delay_ms"], workload["batch_bytes"]) == (1, 2**20)
        assert (workload["warmup_s"], workload["measure_s"]) == (60, 180)
    for trial in plan("sn2022")["trials"]:
        workload = trial["workload"]
        large = trial["experiment"] in ("SN22-E1", "SN22-E2")
        assert (workload["batch_delay_ms"], workload["batch_bytes"]) == (1, 2**20 if large else 2**17)
        assert (workload["warmup_s"], workload["measure_s"]) == (60, 300)
    for trial in plan("brokers-bench")["trials"]:
        assert trial["workload"]["batching"] is False
        assert (trial["workload"]["in_flight"] == 1) == (trial["durability"] != "none")


@pytest.mark.parametrize("file", FILES)
def test_a_scaled_plan_stays_within_its_rules(file: str) -> None:
    """The same trials; no dimension grows, and what belongs to messages, subscriptions and clients stays."""
    whole, scaled = plan(file), plan(file, "--scale", "local")
    assert scaled["scale"]["rules"]
    assert whole["scale"] is None
    assert [trial["trial"] for trial in scaled["trials"]] == [trial["trial"] for trial in whole["trials"]]
    for before, after in zip(whole["trials"], scaled["trials"], strict=True):
        full, small = before["workload"], after["workload"]
        kept = ("message_bytes", "subscriptions", "pacing", "in_flight", "batch_bytes", "batch_delay_ms", "compression")
        assert all(small[key] == full[key] for key in kept)
        for key in ("rate_per_s", "partitions", "topics", "producers", "consumers", "warmup_s", "measure_s", "drain_s"):
            assert small[key] <= full[key]
        assert small["partitions"] >= min(100, full["partitions"])
        assert small["topics"] >= min(10, full["topics"])
        assert small["measure_s"] >= 10
        assert small["consumers"] / small["topics"] == full["consumers"] / full["topics"]
        assert after["bytes"] < 24 * GIB


def test_the_local_scale_of_the_2020_report() -> None:
    """Each dimension by its own rule: rates, partitions, backlog, durations."""
    workloads = {trial["workload"]["name"]: trial["workload"] for trial in plan("sn2020", "--scale", "local")["trials"]}
    assert {w["rate_per_s"] for w in workloads.values() if w["pacing"] == "open-loop"} == {500}
    assert workloads["e1-max"]["rate_per_s"] == 100_000
    partitions = {name: workload["partitions"] for name, workload in workloads.items()}
    assert (partitions["e4-max"], partitions["e5-latency"], partitions["e2-max"]) == (1, 100, 200)
    assert (partitions["e7-latency-5000p"], partitions["e7-latency-10000p"]) == (500, 1000)
    assert workloads["e8-catch-up"]["backlog"]["size_bytes"] == 32_985_349
    assert {(w["warmup_s"], round(w["measure_s"], 3)) for w in workloads.values()} == {(10, 10.8)}


def test_what_represents_the_2020_report_fits_into_an_hour() -> None:
    """Every experiment has a trial of every system that it has, and all of them are done within the hour."""
    document = plan("sn2020", "--scale", "local", "--representative")
    assert document["representative"] is True
    assert len(document["trials"]) <= 25
    assert document["estimate_s"] < 3600
    shown = {(trial["experiment"], trial["system"]) for trial in document["trials"]}
    assert shown == {
        (name, system)
        for name, published in PUBLISHED.items()
        if published.file == "sn2020"
        for system in published.series
    }
    assert all(
        len({trial["workload"]["name"] for trial in trials_of(name, "--representative")}) == 1 for name in PUBLISHED
    )


def test_the_whole_2020_report_is_about_a_hundred_trials() -> None:
    """Scaled, they take an unattended night at most."""
    document = plan("sn2020", "--scale", "local")
    assert 90 <= len(document["trials"]) <= 105
    assert document["estimate_s"] < 8 * 3600


def test_a_plan_for_a_stack_says_what_it_costs() -> None:
    """The same dollars as `samebox cost`; the disk here is none of its business."""
    document = plan("sn2022", "--stack", "sn2022")
    assert document["disk"] is None
    command = ["cost", str(CHECKOUT / "campaigns" / "sn2022.toml"), "--stack", "sn2022", "--json"]
    typed = CliRunner().invoke(samebox, command, standalone_mode=False, catch_exceptions=False)
    [stack] = json.loads(typed.stdout)["stacks"]
    assert document["cost"]["total"] == pytest.approx(stack["campaign"]["total"])


def test_a_plan_as_people_read_it() -> None:
    """Trials, then what was chosen, what differs, and whether it fits on the disk here; of another, what stays empty and why."""
    said = printed("tallberg2020", "--scale", "local")
    for words in (
        "e2-65kb-500",
        "search, up to 2,000",
        "Scale local:\n  offered rate x 0.1, not below 10 msg/s\n",
        "  all: All systems at levels 3 and 4;",
        "half of what is free on this machine is",
    ):
        assert words in said
    assert "Stays empty:\n  SN20-E1, SN20-E2, SN20-E8, SN20-E9: kafka at level 2-bypass: " in printed("sn2020")


def printed(file: str, *options: str) -> str:
    """What `samebox plan campaigns/FILE.toml` says to people."""
    command = ["plan", str(CHECKOUT / "campaigns" / f"{file}.toml"), *options]
    return CliRunner().invoke(samebox, command, standalone_mode=False, catch_exceptions=False).stdout
