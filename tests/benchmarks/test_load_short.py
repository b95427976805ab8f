"""A short run of `make bench-load`: every part of it works; its figures mean nothing."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import load


@pytest.mark.integration
@pytest.mark.benchmarks
def test_every_part_runs_and_the_last_line_is_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All figures that have goals are in the last line; the native command lines are in the output."""
    monkeypatch.delenv("OMB_HOME", raising=False)
    parts = ["--systems", "kafka", "--runs", "1", "--messages", "20000", "--rate", "1000"]
    assert load.main([*parts, "--warmup", "2", "--seconds", "3", "--memory-minutes", "0.5"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed.splitlines()[-1])
    assert found["benchmark"] == "load"
    assert sorted(found["ratios"]) == [
        "kafka_bytes_per_produced_row",
        "kafka_end_to_end_less_publish_p50_ms",
        "kafka_maximum_rate_ratio",
        "kafka_publish_p50_ratio",
        "kafka_send_delay_p99_ms",
        "memory_growth",
        "recording_us_per_message",
    ]
    assert all(value > 0 for name, value in found["ratios"].items() if "less" not in name)
    assert 0 < found["ratios"]["kafka_bytes_per_produced_row"] <= 20
    assert printed.count("org.apache.kafka.tools.ProducerPerformance") == 2
