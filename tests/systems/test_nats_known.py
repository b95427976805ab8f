"""Which settings a NATS server knows: asked of real servers by checking files, which starts none."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.cache import user_cache
from systems.nats.config_text import settings_of, without
from systems.nats.known import known_in, words_in
from systems.nats.layout import PROGRAM
from systems.registry import release_of, releases_of

SOURCE = """
	switch strings.ToLower(k) {
	case "listen":
		o.Host = "0.0.0.0"
	case "max_mem_store",
		"max_memory_store", "Max_Mem":
	case 'x', "jetstream" :
	}
"""


def test_the_words_of_the_source_are_those_that_it_compares_with() -> None:
    """All of a list that goes over several lines; other strings, and what no key is written like, are left out."""
    assert words_in(SOURCE) == ["listen", "max_mem_store", "max_memory_store"]


def test_a_setting_is_left_out_of_its_block_alone() -> None:
    """One of the same name elsewhere stays."""
    text = 'name: "a"\njetstream {\n  # why\n  name: "b"\n  limit: 1\n}\n'
    assert without(text, ["jetstream.name"]) == 'name: "a"\njetstream {\n  # why\n  limit: 1\n}\n'
    assert settings_of(without(text, ["name"])) == {"jetstream.name": "b", "jetstream.limit": "1"}


@pytest.fixture(scope="module")
def program() -> Path:
    """The server of the oldest pinned version."""
    software = releases_of("nats")[-1].software[0]
    return software.fetch(user_cache(), notice=print) / "bin" / PROGRAM


@pytest.mark.integration
def test_a_server_tells_what_it_knows_block_by_block(program: Path) -> None:
    """A block that takes names of the user's, or lies too deep, has them all, a plain setting none; a later version's isn't known."""
    words = [
        "accounts",
        "authorization",
        "cluster",
        "feature_flags",
        "jetstream",
        "max_payload",
        "sync_interval",
        "user",
    ]
    assert known_in(program, "", words) == [
        *("accounts", "accounts.*", "authorization", "authorization.user"),
        *("cluster", "cluster.accounts", "cluster.authorization", "cluster.authorization.*"),
        *("jetstream", "jetstream.sync_interval", "max_payload"),
    ]


def test_what_is_recorded_of_nats_tells_its_versions_apart() -> None:
    """2.14 came with limits of JetStream that 2.12 doesn't know; when it syncs by default is the same in all."""
    old, default = release_of("nats", "2.12.8"), release_of("nats", None)
    asked = {"server": {"jetstream.max_concurrent_io": "1", "jetstream.sync_interval": "1m"}}
    assert default.unknown(asked) == []
    [sentence] = old.unknown(asked)
    assert sentence.endswith("isn't known to nats 2.12.8; of the pinned versions 2.14.6, 2.15.1 know it.")
    assert old.known is not None and old.known.settings["server"]["jetstream.sync_interval"] == "2m"
