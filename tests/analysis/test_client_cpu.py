"""What the load generator itself took for each contestant, on evidence made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.campaign import Trial
from analysis.client_cpu import ClientCpu, client_cpu_warnings, client_cpus
from analysis.evidence import Evidence, MachineUse
from analysis.metrics import measurements
from tests.analysis.test_disturbance import ONE_MACHINE, OWN_MACHINES, QUIET, evidence, worker


def trial(system: str, cores: float, boots: tuple[str, ...] = ONE_MACHINE, cpus: float = 2) -> Evidence:
    """A trial of which a producer and a consumer used so many cores together, at 20 us of CPU per message."""
    measured = {"seconds": 20.0, "cpu_user_s": 8 * cores, "cpu_system_s": 2 * cores}
    workers = [{**worker(name, measured), "rows": 150_000} for name in ("producer-0", "consumer-0")]
    made = evidence(workers, boots)
    machines = tuple(
        MachineUse(name, {"idle": 0.5}, None, None, cpus=cpus)
        for name in (("broker-1",) if boots == ONE_MACHINE else ("broker-1", "client-1"))
    )
    return replace(made, trial=Trial(made.trial.name, {**made.trial.document, "system": system}), machines=machines)


def found_in(*trials: Evidence) -> list[ClientCpu]:
    """What is found in these trials, of which none is excluded."""
    return client_cpus(trials, [], [one for each in trials for one in measurements(each)])


def test_cpu_of_all_workers_per_message_and_in_cores() -> None:
    """Medians over the trials of a contestant, with the CPUs that it shares with brokers."""
    found = found_in(trial("pulsar", 0.2), trial("pulsar", 0.4), trial("pulsar", 0.9), trial("kafka", 0.3))
    assert [(each.contestant, each.trials, each.shared_cpus) for each in found] == [("kafka", 1, 2), ("pulsar", 3, 2)]
    assert [each.cores for each in found] == pytest.approx([0.3, 0.4])
    assert [each.us_per_message for each in found] == pytest.approx([20, 20])


def test_a_worker_that_told_nothing_leaves_its_trial_out() -> None:
    """A sum without it would flatter."""
    made = trial("pulsar", 0.2)
    silent = [{**worker(name, measured), "rows": 5} for name, measured in (("producer-0", QUIET), ("consumer-0", None))]
    document = {**made.trial.document, "observations": {**made.trial.document["observations"], "workers": silent}}
    assert found_in(replace(made, trial=Trial(made.trial.name, document))) == []


def test_a_difference_that_matters_is_warned_of() -> None:
    """0.2 of 2 CPUs are a tenth of what the brokers have; 0.05 aren't told."""
    (told,) = client_cpu_warnings(found_in(trial("pulsar", 0.5), trial("kafka", 0.3)))
    assert "share 2 CPUs, of which the clients took 0.50 for pulsar (20.0 us a message) and 0.30 for kafka" in told
    assert told.endswith("10% that pulsar's brokers had to do without.")
    assert not list(client_cpu_warnings(found_in(trial("pulsar", 0.35), trial("kafka", 0.3))))


def test_clients_on_machines_of_their_own_take_nothing_from_brokers() -> None:
    """However much they use."""
    found = found_in(trial("pulsar", 0.9, OWN_MACHINES), trial("kafka", 0.1, OWN_MACHINES))
    assert [each.shared_cpus for each in found] == [None, None]
    assert not list(client_cpu_warnings(found))
