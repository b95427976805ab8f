"""One changed key of a contestant is all that its manifest lists, whichever system it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.contestant_differences import contestant_differences
from bench.campaign.order import order_of
from bench.campaign.prepared import plan_of
from bench.campaign.testbed_profile import load_profile
from systems.registry import SYSTEMS
from tests.bench.test_campaign import GOOD, write
from tests.systems.test_vendor_values import Pinned, hosts

# component, key and another value than the one that is rendered
CHANGED = {
    "kafka": ("broker", "num.io.threads", "16"),
    "nats": ("server", "write_deadline", "7s"),
    "pulsar": ("bookie", "numReadWorkerThreads", "16"),
    "rabbitmq": ("server", "heartbeat", "30"),
    "redpanda": ("cluster", "group_topic_partitions", "6"),
    "valkey": ("server", "tcp-backlog", "1024"),
}


def test_every_system_has_its_case() -> None:
    """A new one needs a key here."""
    assert CHANGED.keys() == SYSTEMS.keys()


@pytest.mark.parametrize("system", SYSTEMS)
def test_one_changed_key_is_the_only_difference(system: str, tmp_path: Path) -> None:
    """Of all that three brokers are told: files, start parameters, topics."""
    component, key, value = CHANGED[system]
    pair = f'[[contestants]]\nname = "{system}"\nsystem = "{system}"\n'
    pair += f'[[contestants]]\nname = "changed"\nsystem = "{system}"\nsettings.{component}."{key}" = "{value}"\n'
    campaign = load_campaign(write(tmp_path, GOOD.replace('systems = ["pulsar", "kafka"]\n', "") + pair))
    deployment = SYSTEMS[system].deployment(hosts("127.0.0"), Pinned())
    profile = load_profile("local")
    intended = {
        spec.contestant.name: deployment.intended_settings(plan_of(spec, campaign, profile))
        for spec in order_of(campaign)
    }
    [found] = contestant_differences(campaign, intended)
    [difference] = found["keys"]
    assert (difference["component"], difference["key"], difference["second"]) == (component, key, value)
    assert difference["first"] not in (None, value)
