"""Disks that fill up under a running load: a broker's and the client's. Measured is nothing any more, and the trial says so."""

from __future__ import annotations

import re

import pytest

from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost
from provisioning.testbeds.local.sshd import DATA_DIRS
from tests.given import systems_here
from tests.truth.campaigns import Act, Played, play
from tests.truth.faults import fill

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(1800)]
END_WITHIN_S = 30.0
LOOK_S = 5.0  # how long the watch may take to notice


def filling_up(name: str, host: str, folder: str) -> Act:
    """An act in which the disk at a folder of a host becomes full."""
    return Act(name, lambda scene: fill(scene.root(host) / folder), small_disk=(host, folder))


BROKERS, CLIENTS = filling_up("broker-disk", "broker-2", DATA_DIRS[0]), filling_up("records-disk", "client-1", "load")


@pytest.fixture(
    scope="module",
    params=[("kafka", [CLIENTS]), *((system, [BROKERS]) for system in systems_here())],
    ids=["kafka-client", *(f"{system}-broker" for system in systems_here())],
)
def played(
    request: pytest.FixtureRequest,
    local_testbed: Inventory,
    hosts: dict[str, SshHost],
    tmp_path_factory: pytest.TempPathFactory,
) -> Played:
    """One trial with a disk that fills up, and one after it."""
    system, acts = request.param
    return play(system, acts, local_testbed, hosts, tmp_path_factory.mktemp("full"))


def test_a_full_disk_is_invalid_by_host_and_directory(played: Played) -> None:
    """Ended soon, on the validity axis, wherever the disk was; whatever the system made of it is no result."""
    (name,) = played.at_ns
    host, folder = {"broker-disk": ("broker-2", DATA_DIRS[0]), "records-disk": ("client-1", "load")}[name]
    assert played.abort(name) == ("disk-full", "validity", host)
    # the watch's look or a worker's own writing, whichever meets it first
    said = rf"/{folder} has [0-9.e-]+ MiB left|could not write its records: .*No space left on device"
    assert re.search(said, played.trials[name]["abort"]["reason"])
    assert played.excluded_by(name)["hosts-kept"] == "invalid"
    assert played.over_s(name) < LOOK_S + END_WITHIN_S
    assert played.outlived == {name: []}


def test_the_trial_after_a_full_disk_is_clean(played: Played) -> None:
    """With room again, the campaign goes on as if nothing had been."""
    assert played.abort("after") is None
    assert played.excluded_by("after") == {}
    assert played.verdicts("after", "outcome")["no-loss"] == "met"
