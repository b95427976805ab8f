"""The pinned versions that `make test` leaves out really start, and what is recorded of settings is what all servers say."""

from __future__ import annotations

import pytest

from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost
from systems.registry import SYSTEMS, releases_of
from systems.release import Release
from tests.systems.test_releases_cluster import HERE, starts_as_asked

pytestmark = [pytest.mark.integration, pytest.mark.truth]
HERE_ALREADY = [release.title for release in HERE]
OTHERS = [
    release
    for system in SYSTEMS
    for release in releases_of(system)
    if not release.is_default and release.title not in HERE_ALREADY
]
# those of the jars are asked in tests/systems/test_vendor_code.py
SERVERS = [release for system in ("nats", "valkey") for release in releases_of(system)]


@pytest.mark.parametrize("release", OTHERS, ids=lambda release: release.title)
def test_a_version_starts_with_the_settings_it_is_given(release: Release, hosts: dict[str, SshHost]) -> None:
    """On three brokers, at level 1: what runs is this version, all of its settings are as intended, and it stops."""
    starts_as_asked(release, hosts)


@pytest.mark.parametrize("release", SERVERS, ids=lambda release: release.title)
def test_what_is_recorded_is_what_the_servers_say(release: Release) -> None:
    """Of every pinned version; a server runs for a second to tell its defaults."""
    releases = SYSTEMS[release.system].releases
    assert releases is not None and releases.list_settings is not None
    software = release.software[0]
    assert releases.list_settings(software, software.fetch(user_cache(), notice=print)) == release.known
