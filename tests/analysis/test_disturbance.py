"""What was the client's or another's, and not the system's: on rows, and on evidence made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.checks import Check, judge
from analysis.evidence import Counts, DaemonUse, Evidence, MachineUse
from analysis.records.counting import Times
from analysis.records.latencies import CLIENT_DELAY, SEND_DELAY, produced_samples
from analysis.weaknesses import warned_sentences
from tests.analysis.percentiles import exact_percentiles
from tests.analysis.records.tables import produced
from tests.analysis.synthetic_results import CHECKS, Plan, Shape, trial_document

MS = 1_000_000
NAME = "b01-1-pulsar-l1-steady"
QUIET = {"seconds": 20.0, "cpu_user_s": 2.0, "cpu_system_s": 1.0}
BUSY = {"seconds": 20.0, "cpu_user_s": 12.0, "cpu_system_s": 6.0}
ONE_MACHINE = ("b7e1", "b7e1", "b7e1", "b7e1")
OWN_MACHINES = ("one", "two", "three", "four")


def evidence(workers: list[dict[str, Any]] | None = None, boots: tuple[str, ...] = ONE_MACHINE) -> Evidence:
    """A trial with three brokers and a client host, each of them on the machine that its boot id says."""
    names = ("broker-1", "broker-2", "broker-3", "client-1")
    hosts = [
        {"name": name, "role": name.split("-")[0], "generation": 1, "instance_id": name, "instance_type": "t", "boot_id": boot}
        for name, boot in zip(names, boots, strict=True)
    ]  # fmt: skip
    plan = Plan(NAME, 1, 1, "pulsar", changes={"hosts": hosts}, observations={"workers": workers or [worker()]})
    trial = Trial(NAME, trial_document(plan, Shape(), 10**18, {"produced": 0, "consumed": 0, "hosts": 0}, 0))
    return Evidence(trial, (trial,), Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}), (), (), (), (), ())


def worker(name: str = "producer-0", measured: Mapping[str, float] | None = QUIET) -> dict[str, Any]:
    """As trial.json has it."""
    return {"worker": name, "host": "client-1", "cpu_s": 3.0, "wall_s": 30.0, "measured": measured}


def verdict(of: Evidence, check: str, **bounds: float) -> Check:
    """Of one check, with its bounds changed."""
    (declared,) = (each for each in CHECKS if each["check"] == check)
    (found,) = judge([of], [{**declared, "bounds": {**declared.get("bounds", {}), **bounds}}])
    return found


def delayed(rows: Sequence[tuple[int, int, int | None]]) -> Evidence:
    """A trial of such messages: milliseconds of intended send, send, and until when the system held them; measured from 1,000 ms."""
    written = produced(
        {"intended_ns": intended * MS, "sent_ns": sent * MS, "held_until_ns": None if held is None else held * MS}
        for intended, sent, held in rows
    )
    samples = produced_samples(written, Times(0, (1000 * MS, 100_000 * MS), {}))
    values = {(NAME, metric, name): found for metric, name, found in samples if metric in (SEND_DELAY, CLIENT_DELAY)}
    return replace(evidence(), percentiles=tuple(exact_percentiles(values, (990_000,))))


def test_only_what_was_held_is_the_systems() -> None:
    """A producer that the system held for 3 s and that was 1 ms late after it is sound; one that was 2.9 s late of itself is not,
    though another, or its own warm-up, was held longer."""
    held = [(n, n + 3000, n + 2999) for n in range(1000, 3000)]
    late = [(n, n + 2900, None) for n in range(3000, 5000)]
    in_warmup = [(n, n + 3000, n + 3000) for n in range(1000)]
    assert verdict(delayed(held), "send-delay", p99_ms=5).verdict == "valid"
    assert "the p99 was 3,000 ms" in verdict(delayed(held), "send-delay", p99_ms=5).sentence
    for rows in (held + late, in_warmup + late):
        found = verdict(delayed(rows), "send-delay", p99_ms=5)
        assert (found.verdict, found.evidence["client_p99_ms"]) == ("invalid", 2900)


def test_a_hold_of_a_tenth_explains_a_tenth() -> None:
    """100 ms late of which the system explains 10: the other 90 are above a bound of 50."""
    rows = [(n, n + 100, n + 10) for n in range(1000, 3000)]
    found = verdict(delayed(rows), "send-delay", p99_ms=50)
    assert (found.verdict, found.evidence["client_p99_ms"]) == ("invalid", 90)
    assert verdict(delayed(rows), "send-delay", p99_ms=90).verdict == "valid"


def test_the_busiest_worker_decides() -> None:
    """One worker at 0.9 of its core in the measure phase, among nine that are idle, whatever the whole load's average was."""
    idle = [worker(f"consumer-{n}") for n in range(9)]
    machine = MachineUse("broker-1", {"idle": 0.5}, None, None)
    sound, busy = (replace(evidence([*idle, one]), machines=(machine,)) for one in (worker(), worker(measured=BUSY)))
    assert verdict(sound, "client-cpu").verdict == "valid"
    found = verdict(busy, "client-cpu")
    assert (found.verdict, found.evidence["shares_of_core"]["producer-0"]) == ("warn", pytest.approx(0.9))
    assert "(producer-0) used 90% of a core of the measure phase" in found.sentence


def test_a_host_without_a_free_cpu_is_no_place_for_workers() -> None:
    """Workers at half a core each on a machine that is 95 % busy; a machine of brokers alone may be that busy."""
    half = worker(measured={"seconds": 20.0, "cpu_user_s": 6.0, "cpu_system_s": 4.0})
    full, easy = (
        MachineUse(name, {"user": 1 - idle, "idle": idle}, None, None)
        for name, idle in (("client-1", 0.05), ("client-1", 0.5))
    )
    broker = MachineUse("broker-1", {"user": 1.0}, None, None)
    apart = evidence([half], OWN_MACHINES)
    assert verdict(replace(apart, machines=(broker, easy)), "client-cpu").verdict == "valid"
    found = verdict(replace(apart, machines=(broker, full)), "client-cpu")
    assert (found.verdict, found.evidence["shares_of_host"]) == ("warn", {"client-1": pytest.approx(0.95)})
    together = replace(evidence([half]), machines=(broker,))
    assert verdict(together, "client-cpu").verdict == "warn"


def test_records_without_the_measure_phases_cpu_are_judged_by_the_whole_load() -> None:
    """As earlier versions wrote them; the sentence says so."""
    old = {"worker": "producer-0", "host": "client-1", "cpu_s": 27.0, "wall_s": 30.0}
    found = verdict(
        replace(evidence([old]), machines=(MachineUse("broker-1", {"idle": 0.5}, None, None),)), "client-cpu"
    )
    assert (found.verdict, "of the whole load" in found.sentence) == ("warn", True)


def loaded(user_cores: float, boots: tuple[str, ...] = ONE_MACHINE) -> Evidence:
    """A machine with so many cores in user mode, a tenth of one the worker's and 0.6 the brokers'."""
    machine = MachineUse("broker-1", {"idle": 0.5}, None, None, cpus=2, user_cores=user_cores)
    daemons = tuple(DaemonUse(f"broker-{n}", "broker", None, None, 0.2) for n in (1, 2, 3))
    return replace(evidence(boots=boots), machines=(machine,), daemons=daemons)


def test_what_is_nobodys_own_is_foreign() -> None:
    """The machine's user time less that of daemons and workers on it: 0.2 cores pass, 1.2 don't. What runs elsewhere is not
    taken off."""
    assert verdict(loaded(0.9), "foreign-load").verdict == "valid"
    found = verdict(loaded(1.9), "foreign-load")
    assert (found.verdict, found.evidence["foreign_cores"]["broker-1"]) == ("warn", pytest.approx(1.2))
    assert found.sentence.startswith("Other processes used 1.20 cores of 2, beside 0.70 of the trial's own processes")
    assert verdict(loaded(0.9, OWN_MACHINES), "foreign-load").evidence["foreign_cores"]["broker-1"] == pytest.approx(
        0.7
    )


def test_own_processes_that_did_not_tell_leave_foreign_load_unknown() -> None:
    """What a daemon used can't be taken for another's."""
    silent = replace(loaded(0.9), daemons=(DaemonUse("broker-1", "broker", None, None, None),))
    found = verdict(silent, "foreign-load")
    assert (found.verdict, "broker on broker-1" in found.sentence) == ("unknown", True)


def test_a_broker_that_died_before_the_measure_phase_used_nothing_in_it() -> None:
    """Its death is the system's result, and leaves no doubt about what others used."""
    alive = loaded(0.9)
    observations = alive.trial.document["observations"]
    daemons = [{**each, "pid_at_end": None} if each["host"] == "broker-1" else each for each in observations["daemons"]]
    document = {**alive.trial.document, "observations": {**observations, "daemons": daemons}}
    dead = DaemonUse("broker-1", "broker", None, None, None)

    found = verdict(replace(alive, trial=Trial(NAME, document), daemons=(dead, *alive.daemons[1:])), "foreign-load")

    assert (found.verdict, found.evidence["foreign_cores"]["broker-1"]) == ("warn", pytest.approx(0.4))


def test_waiting_for_a_cpu_is_told_where_workers_run() -> None:
    """The kernel's pressure on the clients' machine; that of a machine of brokers is their system's."""
    broker, client = (
        MachineUse(name, {"idle": 0.02, "user": 0.98}, None, None, cpus=2, cpu_waiting_share=share, run_queue=6)
        for name, share in (("broker-1", 0.99), ("client-1", 0.8))
    )
    apart = evidence(boots=OWN_MACHINES)
    found = verdict(replace(apart, machines=(broker, client)), "cpu-pressure")
    assert (found.verdict, found.evidence["waiting_shares"]) == ("warn", {"client-1": 0.8})
    assert found.sentence.startswith(
        "Tasks waited for a CPU in 80% of the measure phase (client-1, 98% busy, 3.0 tasks for each"
    )
    easy = replace(client, cpu_waiting_share=0.1)
    assert verdict(replace(apart, machines=(broker, easy)), "cpu-pressure").verdict == "valid"


def test_a_kernel_without_pressure_is_judged_by_its_run_queue() -> None:
    """Three tasks for each CPU are above a bound of two."""
    machine = MachineUse("broker-1", {}, None, None, cpus=2, run_queue=6)
    assert verdict(replace(evidence(), machines=(machine,)), "cpu-pressure").verdict == "warn"
    assert verdict(replace(evidence(), machines=(replace(machine, run_queue=2),)), "cpu-pressure").verdict == "valid"


def test_what_only_warned_is_told_on_the_first_screen() -> None:
    """A sentence for each check that warned of a trial that counts, with what it said; none for trials that don't count."""
    checks = [
        Check("one", "foreign-load", "validity", "warn", "Other processes used 1.20 cores."),
        Check("two", "foreign-load", "validity", "warn", "Other processes used 0.80 cores."),
        Check("two", "steal", "validity", "valid", "None."),
        Check("gone", "steal", "validity", "warn", "Much."),
    ]
    (told,) = warned_sentences(checks, {"one", "two", "three"})
    assert told == (
        "foreign-load warns of 2 of 3 trials, which count all the same; of one: Other processes used 1.20 cores."
    )
