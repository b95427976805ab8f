"""That what is recorded of the vendors' code is what the software that runs says: the released jars are asked again."""

from __future__ import annotations

import pytest

from provisioning.cache import user_cache
from systems.registry import SYSTEMS, releases_of
from systems.release import Release

pytestmark = pytest.mark.integration
# servers are asked in tests/truth/test_pinned_versions.py: NATS takes a minute
ASKED = [release for system in ("kafka", "pulsar") for release in releases_of(system)]


@pytest.mark.parametrize("release", ASKED, ids=lambda release: release.title)
def test_the_codes_defaults_are_as_recorded(release: Release) -> None:
    """Of every pinned version, key by key."""
    releases = SYSTEMS[release.system].releases
    assert releases is not None and releases.list_settings is not None
    software = release.software[0]
    assert releases.list_settings(software, software.fetch(user_cache(), notice=print)) == release.known
