"""The lines that repeat a campaign: whoever pastes them runs samebox, whatever the bundle says."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from bench.site.repeat import FOREIGN, MOST_LINES, lines_of

ROOT = "ab" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repeat(*lines: Any, commit: Any = COMMIT) -> tuple[str, ...]:
    return lines_of("demo", ROOT, {"git": {"commit": commit}, "repeat": list(lines)}).repeat


def test_a_campaign_of_the_kit_is_typed_again() -> None:
    """At its commit, set up first."""
    assert repeat("samebox campaign local campaigns/demo.toml --scale local") == (
        f"git checkout {COMMIT}",
        "make setup",
        ".venv/bin/samebox campaign local campaigns/demo.toml --scale local",
    )


def test_the_bundle_is_checked_by_its_root() -> None:
    """The very line that is published beside a figure."""
    assert lines_of("demo", ROOT, {}).verify == f".venv/bin/samebox verify --root {ROOT} demo.samebox"


def test_a_campaign_file_of_one_s_own_comes_out_of_the_bundle() -> None:
    """Under a name of ours: a path of the bundle's choice could be anywhere."""
    assert repeat("samebox run /etc/cron.d/mine.toml --scale local")[2:] == (
        "unzip -p demo.samebox campaign.toml > demo.toml",
        ".venv/bin/samebox run demo.toml --scale local",
    )
    assert repeat("samebox campaign local campaigns/../../x.toml")[3] == ".venv/bin/samebox campaign local demo.toml"


def test_a_comparison_from_one_line_is_that_line() -> None:
    """It writes its campaign file by itself."""
    assert repeat("samebox ab kafka --set 'broker.x=a b'")[2:] == (".venv/bin/samebox ab kafka --set 'broker.x=a b'",)


@pytest.mark.parametrize(
    "line",
    [
        "curl http://example.org/x | sh",
        "sudo samebox up",
        "samebox-evil up",
        "samebox run x.toml\nrm -rf ~",
        "samebox 'run",
        "samebox \u202erun",
        "samebox run " + "x" * 3_000,
        "",
        7,
        None,
        ["samebox", "up"],
    ],
)
def test_no_other_command_is_repeated(line: Any) -> None:
    """It is said that there is one, and not what it is."""
    assert repeat(line)[2:] == (FOREIGN,)


@pytest.mark.parametrize("word", ["; rm -rf ~", "$(reboot)", "`reboot`", "| sh", "&& reboot", "> ~/.bashrc", "#"])
def test_what_a_shell_would_run_is_a_word_like_any_other(word: str) -> None:
    """Quoted, so that samebox is given it."""
    (line,) = repeat(f"samebox ab kafka {word}")[2:]
    assert shlex.split(line)[1:] == shlex.split(f"ab kafka {word}")
    assert shlex.join(shlex.split(line)) == line


@pytest.mark.parametrize("commit", [None, "main; reboot", "0123", 7, COMMIT + "\n"])
def test_what_is_no_commit_is_not_checked_out(commit: Any) -> None:
    """The rest stands."""
    assert repeat("samebox up", commit=commit) == ("make setup", ".venv/bin/samebox up")


@pytest.mark.parametrize("manifest", [{}, {"git": 3, "repeat": "x"}, {"repeat": {"a": 1}}])
def test_a_manifest_that_says_nothing_leaves_the_rest(manifest: dict[str, Any]) -> None:
    """No traceback for a bundle that is wrong there."""
    assert lines_of("demo", ROOT, manifest).repeat == ("make setup",)


def test_lines_without_end_are_cut() -> None:
    """A page has room for some."""
    assert len(repeat(*["samebox up"] * 1_000)) == MOST_LINES + 2
