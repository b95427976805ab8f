"""The thresholds file: complete, refused with the key named when wrong, every value overridable."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.errors import InvalidInput
from provisioning.vetting import load_thresholds
from provisioning.vetting.thresholds import DEFAULT_THRESHOLDS


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """A copy of the shipped file with one text replaced."""
    text = DEFAULT_THRESHOLDS.read_text()
    assert old in text
    copy = tmp_path / "thresholds.toml"
    copy.write_text(text.replace(old, new))
    return copy


def test_shipped_file_has_the_published_values() -> None:
    """The shipped thresholds are those that the documentation states."""
    thresholds = load_thresholds()
    assert thresholds.preset_of("i3en.2xlarge") == 327_000_000
    assert thresholds.preset_of("i3en.6xlarge") is None  # published for deep queues only, and dd has a queue of one
    assert thresholds.preset_of("local") is None
    assert thresholds.profile_of("i3en.6xlarge").throughput_bytes == 64 * 1024**3
    assert thresholds.profile_of("local").throughput_bytes == 64 * 1024**2
    assert thresholds.profile_of("never-heard-of") == thresholds.profiles["medium"]
    assert (thresholds.fsync_rule.reject_p99_ms, thresholds.repeats_rule.reject_variation) == (10.0, 0.15)


def test_an_operators_value_counts(tmp_path: Path) -> None:
    """A changed copy changes what is judged by."""
    copy = changed(tmp_path, "reject_p99_ms = 10.0", "reject_p99_ms = 20.0")
    assert load_thresholds(copy).fsync_rule.reject_p99_ms == 20.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reject_p99_ms = 10.0", "reject_p99_us = 10.0", "reject_p99_us"),
        ("reject_p99_ms = 10.0", 'reject_p99_ms = "ten"', "fsync_rule.reject_p99_ms"),
        ("repeats = 3\nspread_s = 1.0", "repeats = 2\nspread_s = 1.0", "at least 3"),
        ("fsync_count = 1_000\n", "fsync_count = 999\n", "at least 1000"),
        ('profile = "small"', 'profile = "tiny"', "medium, report-2020, short, small"),
        ("[instances.default]", "[instances.other]", "instances.default"),
        ("schema = 2", "schema = 1", "schema is 1"),
        ('source = "StreamNative', 'sauce = "StreamNative', "Did you mean 'source'"),
        ('\nsource = "StreamNative', "\n#", "i3en.2xlarge.*needs a source"),
        ("false_rejections = 0.01", "false_rejections = 0", "fleet_rule.false_rejections"),
        ("within = 0.03", "within = 0", "within above zero"),
        ('"fsync_p50_ns", "records', '"fsync_median", "records', "fsync_median"),
    ],
)
def test_a_wrong_file_is_refused_with_its_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Unknown keys, wrong types, too few repeats and unknown profiles are refused before anything is probed."""
    with pytest.raises(InvalidInput, match=message):
        load_thresholds(changed(tmp_path, old, new))
