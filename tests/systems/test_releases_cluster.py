"""Pinned versions that aren't their systems' defaults, on the local testbed: with samebox's own files they start and are as asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import pytest

from provisioning.hosts import daemons
from provisioning.hosts.host import Host
from provisioning.hosts.ssh import SshHost
from provisioning.software.software import key_of
from provisioning.software.store import Store
from systems.deployment import Deployment, Plan, SoftwareStore, Topic
from systems.processes import states
from systems.registry import DURABILITY, SYSTEMS, release_of
from systems.release import Release
from systems.settings import drift
from tests.systems.real_cluster import configured

pytestmark = pytest.mark.integration
# The others are much like one of these; `make test-truth` has them.
HERE = [release_of(system, version) for system, version in (("kafka", "3.9.1"), ("kafka", "4.4.0"), ("nats", "2.12.8"))]
# As each writes its version into its log when it starts.
SAID = {
    "kafka": r"Kafka version: {}\b",
    "nats": r"Version: +{}\n",
    "pulsar": r"Starting Pulsar Broker service; version: '{}'",
}


def deployed(release: Release, hosts: Sequence[Host], store: SoftwareStore) -> Deployment:
    """A version of a system on these hosts."""
    assert isinstance(store, Store)
    return SYSTEMS[release.system].deployment(hosts, store.at(release.software))


@pytest.mark.parametrize("release", HERE, ids=lambda release: release.title)
def test_a_version_starts_with_the_settings_it_is_given(release: Release, hosts: dict[str, SshHost]) -> None:
    """On three brokers, at level 1: what runs is this version, all of its settings are as intended, and it stops."""
    starts_as_asked(release, hosts)


def starts_as_asked(release: Release, hosts: dict[str, SshHost]) -> None:
    """Starts a version, looks at it and stops it."""
    asked = Plan(DURABILITY["1"], (Topic("release", 6),), {}, {})
    with configured(partial(deployed, release), hosts, asked) as cluster:
        deployment = cluster.deployment
        assert deployment.version == release.version
        deployment.start()
        deployment.create_topics()
        storing = [each for each in deployment.processes if each.daemon in ("broker", "server")]
        assert len(storing) == len(cluster.brokers) == 3
        for process in storing:
            log = process.host.get(process.log_path).decode()
            assert re.search(SAID[release.system].format(re.escape(release.version)), log), (
                f"{process.component}: {log[-500:]}"
            )
        assert drift(cluster.intended, deployment.effective_settings()) == ()
        assert deployment.messages_stored() == 0
        assert deployment.under_replicated() == []
        daemons.stop_everything(cluster.brokers)
        assert all(state.pid is None for state in states(deployment.processes))


def test_two_versions_are_on_the_same_hosts(hosts: dict[str, SshHost]) -> None:
    """Neither is in the other's way."""
    old, default = release_of("nats", "2.12.8"), release_of("nats", None)
    asked = Plan(DURABILITY["1"], (Topic("release", 1),), {}, {})
    for release in (old, default):
        with configured(partial(deployed, release), hosts, asked):
            pass
    for release in (old, default):
        for name in ("broker-1", "broker-2", "broker-3"):
            root, program = hosts[name].record.root, f"software/{key_of(release.software[0])}/bin/nats-server"
            assert hosts[name].run(f"{root}/{program} --version").stdout.strip() == f"nats-server: v{release.version}"
