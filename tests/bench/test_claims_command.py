"""`samebox claims`: what it refuses before it starts anything, and the whole way through the job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli.claims import known_claims
from bench.cli.main import samebox
from provisioning.errors import InvalidInput, SameboxError


def test_claims_are_known_by_document() -> None:
    """The command reads the same files as the job."""
    known = known_claims()

    assert set(known) == {"brokers-bench", "sn2020", "sn2022", "tallberg2020"}
    assert sum(map(len, known.values())) == 109


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["SN20-C99"], "no claim 'SN20-C99'. Did you mean SN20-C"),
        (["x"], "no claim 'x'. Valid choices: CPRO-C01, "),
        (["--document", "sn2021"], "no document of claims 'sn2021'. Did you mean sn2022, sn2020"),
        (["--document", "sn2022", "SN20-C36"], "no claim of sn2022 'SN20-C36'. Did you mean SN22-C"),
        (["--document", "?"], "Valid choices: brokers-bench, sn2020, sn2022, tallberg2020"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(arguments: list[str], says: str) -> None:
    """Before anything is started: near names, or all of them."""
    with pytest.raises(InvalidInput) as refused:
        CliRunner().invoke(samebox, ["claims", *arguments], standalone_mode=False, catch_exceptions=False)
    assert says in str(refused.value)


def test_evidence_is_a_campaign_with_a_report(tmp_path: Path) -> None:
    """A folder that isn't a campaign's, or has no report yet, is refused with what to type."""
    with pytest.raises(InvalidInput, match=r"no manifest\.json"):
        CliRunner().invoke(
            samebox, ["claims", "--evidence", str(tmp_path)], standalone_mode=False, catch_exceptions=False
        )
    (tmp_path / "manifest.json").write_text('{"schema": 1}')
    with pytest.raises(SameboxError) as refused:
        CliRunner().invoke(
            samebox, ["claims", "--evidence", str(tmp_path)], standalone_mode=False, catch_exceptions=False
        )
    assert "samebox report" in refused.value.next_step


def test_the_command_prints_verdicts_and_exits_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a process of its own, without Spark: JSON with the counts of what was asked for, whatever the verdicts are."""
    monkeypatch.setattr("bench.report.here.require_spark", lambda: pytest.fail("Spark was started"))
    arguments = ["claims", "--json", "SN20-C36", "SN22-C01", "CPRO-C03"]

    done = CliRunner().invoke(samebox, arguments, standalone_mode=False, catch_exceptions=False)

    assert done.return_value is None
    document = json.loads(done.stdout)
    assert document["counts"] == {"confirmed": 1, "contradicted": 1, "inconclusive": 1}
    assert [claim["id"] for claim in document["claims"]] == ["CPRO-C03", "SN20-C36", "SN22-C01"]
