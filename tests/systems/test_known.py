"""Which settings a release knows: how a setting is judged, and how two releases are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.errors import InvalidInput
from systems.jvm.known import settings_in
from systems.known import FILE, ChangedDefault, Known, changed, read_known, write_known

KNOWN = Known(
    1,
    {"server": {"threads": "8", "name": None, "listener.*": None}, "topic": {"flush": "1"}},
    {"voter": "server"},
)


@pytest.mark.parametrize(
    ("kind", "key", "known"),
    [
        ("server", "threads", True),
        ("server", "name", True),
        ("server", "thraeds", False),
        ("server", "listener.inner.port", True),
        ("server", "listenerport", False),
        ("topic", "threads", False),
        ("voter", "threads", True),
        ("voter", "flush", False),
        ("engine/server", "threads", True),
        ("client", "anything", True),
    ],
)
def test_a_key_is_known_by_itself_by_how_it_begins_or_by_a_kind_that_is_alike(kind: str, key: str, known: bool) -> None:
    """Kinds of which nothing is recorded aren't judged."""
    assert KNOWN.knows(kind, key) is known


def test_only_defaults_that_both_tell_are_compared() -> None:
    """What only one of them knows is told as such; a kind that isn't recorded of both is left out."""
    before = Known(1, {"server": {"a": "1", "b": "1", "c": None, "gone": "x", "e": "same"}, "old": {"k": "1"}})
    after = Known(1, {"server": {"a": "2", "b": None, "c": "3", "come": None, "e": "same"}, "new": {"k": "2"}})
    assert changed(before, after) == [
        ChangedDefault("server", "a", "1", "2"),
        ChangedDefault("server", "come", None, ""),
        ChangedDefault("server", "gone", "x", None),
    ]


def test_what_is_recorded_is_what_is_read(tmp_path: Path) -> None:
    """A folder without a record has none, and one of another schema is refused."""
    assert read_known(tmp_path) is None
    write_known(KNOWN, tmp_path)
    assert read_known(tmp_path) == KNOWN
    file = tmp_path / FILE
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(InvalidInput, match=r"defaults\.json: schema is 2, this samebox reads schema = 1"):
        read_known(tmp_path)


def test_what_the_jars_print_are_settings_by_kind() -> None:
    """A default is told after the first `=`, may be empty, and isn't kept where it follows from the host."""
    printed = "broker a.b=1\nbroker url=x=y\nbroker empty=\nbroker named\nbookie threads=2\n"
    assert settings_in(printed, of_the_host=["threads"]) == {
        "broker": {"a.b": "1", "url": "x=y", "empty": "", "named": None},
        "bookie": {"threads": None},
    }


def test_a_line_of_the_jars_that_is_no_setting_is_an_error() -> None:
    """Instead of a record that lacks it."""
    with pytest.raises(ValueError, match="no setting: 'WARNING something'"):
        settings_in("broker a=1\nWARNING something\n")
