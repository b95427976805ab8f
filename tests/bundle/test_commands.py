"""`samebox bundle` and `samebox verify` as typed: what they print, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.cli.main import samebox
from bench.results.folder import Results
from provisioning.testbeds.local.sshd import make_key
from tests.bundle.reports import SumsOfLatencies


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Reports are sums, and scratch is the test's own."""

    def make(results: Results, out: Path, **_options: Any) -> None:
        SumsOfLatencies()(results, out)

    monkeypatch.setattr("bench.cli.verify.remake_report", make)
    monkeypatch.setattr("bench.cli.verify.SCRATCH", tmp_path / "scratch")


def _typed(*words: object) -> Result:
    return CliRunner().invoke(samebox, [str(word) for word in words], standalone_mode=False)


def test_what_bundle_prints_is_what_verify_takes(results: Path, tmp_path: Path) -> None:
    """The last line is the one to publish."""
    made = _typed("bundle", results, "-o", tmp_path / "demo.samebox", "--plain")
    line = made.stdout.splitlines()[-1]
    assert line.startswith("Check it: samebox verify --root ")
    done = _typed(*line.removeprefix("Check it: samebox ").split(), "--plain")
    assert done.return_value == 0, done.output
    assert "IDENTICAL" in done.stdout
    assert "What no verifier can know: whether the machines were what their facts say" in done.output


def test_a_difference_is_named_and_ends_in_two(results: Path, tmp_path: Path) -> None:
    """Where, what, and of which kind; then the verdict."""
    table = results / "report" / "summary.csv"
    table.write_text(table.read_text().replace("received,", "received,1"))
    _typed("bundle", results, "-o", tmp_path / "demo.samebox")
    done = _typed("verify", tmp_path / "demo.samebox")
    assert done.return_value == 2
    assert "differs    report/summary.csv: line 4 (b01-1-pulsar-l1-steady), value is" in done.stdout
    assert "DIFFERS in 4 things." in done.stdout


def test_without_records_it_is_not_called_identical(results: Path, tmp_path: Path) -> None:
    """Said by both commands, and not by the exit code of something that was proven."""
    made = _typed("bundle", results, "-o", tmp_path / "demo.samebox", "--without-records")
    assert "Nobody can recompute a figure of this bundle" in made.output
    done = _typed("verify", tmp_path / "demo.samebox")
    assert done.return_value == 2
    assert "It holds no records of messages, so nobody can recompute its figures." in done.stdout
    assert "NOT PROVEN" in done.stdout


def test_a_signature_is_told(results: Path, tmp_path: Path) -> None:
    """By name, where names are given."""
    make_key(tmp_path / "key", "ada@example.org")
    (tmp_path / "signers").write_text(f"ada@example.org {(tmp_path / 'key.pub').read_text()}")
    _typed("bundle", results, "-o", tmp_path / "demo.samebox", "--sign", tmp_path / "key")
    assert "whoever that is" in _typed("verify", tmp_path / "demo.samebox").stdout
    done = _typed("verify", tmp_path / "demo.samebox", "--allowed-signers", tmp_path / "signers")
    assert done.return_value == 0
    assert "signature: by ada@example.org (" in done.stdout


@pytest.mark.parametrize(
    ("change", "identical"), [(lambda text: text, True), (lambda text: text.replace("<p>", "<p> "), False)]
)
def test_as_json_it_is_all_there(change: Callable[[str], str], identical: bool, results: Path, tmp_path: Path) -> None:
    """For other programs."""
    page = results / "report" / "index.html"
    page.write_text(change(page.read_text()))
    _typed("bundle", results, "-o", tmp_path / "demo.samebox")
    said = json.loads(_typed("verify", tmp_path / "demo.samebox", "--json").stdout)
    assert (said["identical"], said["recomputed"], said["trials"], said["records"]) == (identical, True, 4, True)
    assert [each["kind"] for each in said["differences"]] == ([] if identical else ["report"])


def test_another_version_is_told_where_figures_differ(results: Path, tmp_path: Path) -> None:
    """A later version may compute otherwise, and be right."""
    page = results / "report" / "index.html"
    page.write_text("")
    _typed("bundle", results, "-o", tmp_path / "demo.samebox")
    said = _typed("verify", tmp_path / "demo.samebox").output
    assert "Its campaign was begun with samebox 0.1.0, commit 0123456789ab" in said


def test_what_a_bundle_says_can_not_move_the_cursor(results: Path, tmp_path: Path) -> None:
    """Its words may be anybody's."""
    trial = results / "trials" / "b01-1-pulsar-l1-steady" / "trial.json"
    trial.write_text(trial.read_text().replace('"version": "', '"version": "\\u001b[2J'))
    _typed("bundle", results, "-o", tmp_path / "demo.samebox")
    said = _typed("verify", tmp_path / "demo.samebox").output
    assert "\x1b" not in said
    assert "x1b[2J" in said
