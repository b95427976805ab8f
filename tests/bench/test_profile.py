"""Profiles: the checks a campaign is judged by, declared before it runs."""

from __future__ import annotations

import pytest

from bench.profile import checks_for, load_profile
from provisioning.errors import InvalidInput


def test_a_campaign_overrides_a_bound() -> None:
    """The campaign's bound replaces the profile's, the other checks stay."""
    profile = load_profile("local")
    checks = {check.check: check for check in checks_for(profile, {"send-delay": {"p99_ms": 5}}, where="c.toml")}
    assert checks["send-delay"].bounds == {"p99_ms": 5}
    assert len(checks) == len(profile.checks)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"send-dealy": {"p99_ms": 5}}, "unknown check. Valid choices: brokers-kept"),
        ({"send-delay": {"p99_s": 5}}, "unknown bound. Valid choices: p99_ms"),
        ({"settings": {"p99_ms": 5}}, "none, this check has no bound"),
    ],
)
def test_unknown_checks_and_bounds_are_refused(overrides: dict[str, dict[str, float]], words: str) -> None:
    """A misspelt check would never be evaluated; it is refused with the valid ones."""
    with pytest.raises(InvalidInput) as caught:
        checks_for(load_profile("local"), overrides, where="c.toml")
    assert words in str(caught.value)


def test_unknown_testbed_kind_names_the_kinds() -> None:
    """A testbed without a profile is refused before anything starts."""
    with pytest.raises(InvalidInput, match="Valid kinds: local"):
        load_profile("moon")
