"""The load generator's own floor, with real workers on a real host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.load.client_hosts import deploy_client
from bench.load.floor import FASTEST_PER_S, LEAST_PER_S, MEASURE_S, WARMUP_S, measure_floor, nearest_rank
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost


@pytest.mark.integration
def test_the_floor_is_measured_on_each_client_host(hosts: dict[str, SshHost], tmp_path: Path) -> None:
    """Every message of a capped rate is acknowledged and received; nothing of the records stays on the host."""
    client = hosts["client-1"]
    workload = Workload(name="fast", rate_per_s=80_000, message_bytes=200, measure_s=3600, producers=4, consumers=4)
    (floor,) = measure_floor([client], deploy_client([client], user_cache(), print), workload, tmp_path)
    assert (floor.host, floor.rate_per_s, floor.message_bytes) == ("client-1", FASTEST_PER_S, 200)
    told = floor.to_json()
    assert told["messages"] == FASTEST_PER_S * (WARMUP_S + MEASURE_S)
    assert 0 < told["publish_p50_ns"] <= told["publish_p99_ns"]
    assert 0 < told["send_delay_p50_ns"] <= told["send_delay_p99_ns"]
    assert told["publish_p50_ns"] < told["end_to_end_p50_ns"]
    assert list(tmp_path.iterdir()) == []
    assert client.run(f"find {client.record.root}/load -mindepth 1", check=False).stdout == ""


def test_ten_messages_lie_beyond_its_p99() -> None:
    """Also at the lowest rate at which it is measured: it is printed in every report."""
    assert LEAST_PER_S * MEASURE_S * 0.01 >= 10


@pytest.mark.parametrize(("percent", "expected"), [(50, 5), (99, 10), (100, 10), (1, 1)])
def test_percentiles_are_values_that_occurred(percent: int, expected: int) -> None:
    """Nearest rank: never interpolated."""
    assert nearest_rank(np.array([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]), percent) == expected
