"""What checks say of trials with faults: what a fault did isn't held against anyone, what went beyond it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.checks import Check, judge
from analysis.delivery import Delivery
from analysis.evidence import Counts, DaemonUse, Evidence, MachineUse
from analysis.faults.impact import Impact, Losses
from analysis.faults.occurrence import occurrences
from analysis.faults.promised import promise_of
from tests.analysis.faults.kills import TOOK_EFFECT
from tests.analysis.synthetic_results import CHECKS, MS, Plan, S, Shape, trial_document

NAME, START_NS = "b01-1-kafka-l1-steady", 10**18
SHAPE = Shape(measure_s=40)
BEGAN_NS = START_NS + 22 * S
COUNTS = Counts(3200, 3200, 3200, 0, 0, 2400, 2400, 2400, {"sub-0": 2400}, {}, {}, 2400)
ABORT = {"rule": "nothing-acknowledged", "axis": "outcome", "reason": "nothing was acknowledged for 30 s", "host": None}


def fault(do: str = "kill", host: str = "broker-2", **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """As a workload asks for it, and as it was observed: undone after five seconds."""
    asked = {"at_s": 20.0, "do": do, "target": "leader:0/0", "for_s": 5.0, "direction": "both", "peers": "brokers"}
    ended_ns = changes.get("ended_ns", BEGAN_NS + 5 * S)
    hits = [{"host": host, "daemon": "broker", "pid": 101, "began_ns": BEGAN_NS, "ended_ns": ended_ns}]
    seen = {"number": 0, "planned_ns": BEGAN_NS - 3 * MS, "resolved_ns": BEGAN_NS, "hits": hits, "began_ns": BEGAN_NS}
    return asked, {**seen, "ended_ns": ended_ns, "back_ns": None, "problem": None, **changes}


def evidence(
    *faults: tuple[dict[str, Any], dict[str, Any]], durability: str = "1", abort: Any = None, **observed: Any
) -> Evidence:
    """A sound trial with these faults."""
    plan = Plan(NAME, 1, 1, "kafka", durability=durability, abort=abort)
    document = trial_document(plan, SHAPE, START_NS, {"produced": 0, "consumed": 0, "hosts": 0}, 0)
    document["workload"] |= {"faults": [asked for asked, _ in faults]}
    document["observations"] |= {"faults": [seen for _, seen in faults], **observed}
    trial = Trial(NAME, document)
    return Evidence(trial, (trial,), COUNTS, (), (), (), (), ())


def verdict(found: Evidence, check: str) -> Check:
    """What one check says."""
    declared = [each for each in (*CHECKS, TOOK_EFFECT) if each["check"] == check]
    (judged,) = judge([found], declared)
    return judged


def daemons(**pids: int | None) -> list[dict[str, Any]]:
    """One broker per host with the process it had at the end; 100 to 102 at the start."""
    hosts = ("broker-1", "broker-2", "broker-3")
    at_end = {host: pids.get(host.replace("-", "_"), 100 + n) for n, host in enumerate(hosts)}
    return [
        {"host": host, "daemon": "broker", "pid_at_start": 100 + n, "pid_at_end": at_end[host], "out_of_memory": False}
        for n, host in enumerate(hosts)
    ]


def test_a_fault_that_never_took_effect_makes_the_trial_invalid_with_its_reason() -> None:
    """The sentence has what the observation calls the problem."""
    found = verdict(evidence(fault(began_ns=None, hits=[], problem="no partition 0/0")), "faults-took-effect")
    assert found.verdict == "invalid"
    assert found.sentence == "Fault 1 (kill leader:0/0) never took effect: no partition 0/0."


def test_a_fault_that_took_effect_after_the_measurement_makes_the_trial_invalid() -> None:
    """It is in no figure of the trial."""
    found = verdict(evidence(fault(began_ns=START_NS + 42 * S)), "faults-took-effect")
    assert (found.verdict, "only after the measurement" in found.sentence) == ("invalid", True)


def test_faults_that_took_effect_are_sound_and_tell_how_far_beside_their_time() -> None:
    """Three milliseconds late, in seconds."""
    found = verdict(evidence(fault()), "faults-took-effect")
    assert (found.verdict, found.evidence["beside_s"]) == ("valid", [0.003])


def test_faults_that_nothing_was_recorded_of_are_unknown() -> None:
    """Nobody can tell what such a trial measured."""
    assert verdict(evidence(fault(), faults=[]), "faults-took-effect").verdict == "unknown"


def test_a_system_that_ended_its_trial_before_its_faults_is_no_defect() -> None:
    """That it did is an outcome."""
    found = verdict(evidence(fault(), abort=ABORT, faults=[]), "faults-took-effect")
    assert (found.verdict, "nothing-acknowledged" in found.sentence) == ("valid", True)


@pytest.mark.parametrize(
    ("faults", "pids", "met"),
    [
        ([fault()], {"broker_2": 4711}, "met"),  # started again
        ([fault(ended_ns=None)], {"broker_2": None}, "met"),  # never started again
        ([fault("restart")], {"broker_2": 4711}, "met"),
        ([fault()], {"broker_2": None}, "not met"),  # started again, and gone at the end
        ([fault()], {"broker_2": 4711, "broker_3": None}, "not met"),  # another died with it
        ([fault("freeze")], {"broker_2": 4711}, "not met"),  # a frozen process stays the same one
        ([fault(began_ns=None)], {"broker_2": 4711}, "not met"),  # it never took effect
        ([], {"broker_2": 4711}, "not met"),
    ],
)
def test_what_a_fault_ended_is_no_crash_and_what_died_beyond_it_is(faults: Any, pids: Any, met: str) -> None:
    """By host and daemon of the hits."""
    assert verdict(evidence(*faults, daemons=daemons(**pids)), "brokers-kept").verdict == met


@pytest.mark.parametrize(("ended_ns", "met"), [(None, "met"), (BEGAN_NS + 5 * S, "not met")])
def test_under_replication_is_held_against_a_system_only_once_its_fault_was_undone(ended_ns: Any, met: str) -> None:
    """A broker that nobody started again can't have its copies."""
    found = evidence(fault(ended_ns=ended_ns), under_replicated=["samebox-0"])
    assert verdict(found, "replicas").verdict == met


def test_a_trial_with_faults_is_not_judged_steady_or_not() -> None:
    """Its last third is after the fault, which is what was asked for."""
    found = verdict(evidence(fault()), "steady-state")
    assert (found.verdict, found.sentence[:10]) == ("valid", "Not judged")


def with_losses(found: Evidence, lost: int) -> Evidence:
    """The same, which lost so many messages under its fault."""
    (seen,) = occurrences(found.trial)
    promise = promise_of(found.trial, seen, {})
    impact = Impact(seen, promise, 100.0, None, (), None, None, {}, None, (), Losses(lost=lost), 0, 0, 0, ())
    delivery = Delivery(NAME, "sub-0", 3200, 3200 - 5, 5, 0, 0, ("0/7",))
    return replace(found, impacts=(impact,), deliveries=(delivery,))


@pytest.mark.parametrize(
    ("durability", "lost", "met"),
    [
        ("1", 5, "not met"),  # one of three was killed: a quorum has it
        ("4", 5, "met"),  # the one that had it
        ("4", 3, "not met"),  # two more were lost beside the fault
    ],
)
def test_a_loss_is_excused_where_the_promise_needn_t_survive_its_fault(durability: str, lost: int, met: str) -> None:
    """All of it must be: five messages were lost."""
    levels = {"name": "4", "level": 4, "replication": "async", "local": "async", "variant": None}
    found = evidence(fault())
    if durability == "4":
        found = replace(found, trial=Trial(NAME, {**found.trial.document, "durability": levels}))
    check = verdict(with_losses(found, lost), "no-loss")
    assert check.verdict == met
    assert ("The promise allows" in check.sentence) == (durability == "4")


def test_cpu_time_that_a_kill_hid_makes_nobody_a_foreign_load() -> None:
    """What the killed broker used isn't known: it may be what is over the bound, so that nothing is judged."""
    machine = MachineUse("broker-1", {}, None, None, user_cores=1.5)
    uses = (DaemonUse("broker-1", "broker", None, None, 0.2), DaemonUse("broker-2", "broker", None, None, None))
    workers = [{"worker": "producer-0", "host": "client-1", "measured": {"seconds": 6.0, "cpu_user_s": 0.6}}]
    of_kill, of_freeze = (
        replace(evidence(fault(do), workers=workers, daemons=daemons()), machines=(machine,), daemons=uses)
        for do in ("kill", "freeze")
    )
    found = verdict(of_kill, "foreign-load")
    assert (found.verdict, found.sentence[:10]) == ("valid", "Not judged")
    assert verdict(of_freeze, "foreign-load").verdict == "unknown"
