"""Disks that were probed again: what a trial's check says of the probes beside it, and what the report says of all of them."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import answer
from analysis.campaign import Campaign, Trial, read_campaign
from analysis.checks import judge
from analysis.drawing import Drawings
from analysis.evidence import Counts, Evidence
from analysis.page import render_page
from analysis.report import Results, report_document
from analysis.storage import Entry
from tests.analysis.synthetic_results import Plan, Shape, manifest_document, trial_document, write_results

ONE, TWO = (Plan(f"b0{n}-1-pulsar-l1-steady", n, 1, "pulsar", nothing_recorded=True) for n in (1, 2))
COUNTS = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})
SLOWER = "dd write 600 MB/s is 40.0% worse than at the first probe, 1000 MB/s (bound 15%)."


def verdict(host: str, grade: str, sentence: str = SLOWER) -> dict[str, Any]:
    """One of a probe's verdicts, as far as the report reads it."""
    return {"host": host, "device": "nvme1n1", "verdict": grade, "sentence": sentence}


def probe(name: str, after: list[str], before: list[str], *verdicts: dict[str, Any]) -> dict[str, Any]:
    """A document of vetting/again/."""
    return {
        "schema": 1,
        "name": name,
        "after": after,
        "before": before,
        "compared_with": None if name == "00" else "00",
        "taken_ns": 1_700_000_000_000_000_000,
        "verdicts": list(verdicts),
        "series": [{}, {}],
    }


FIRST = probe("00", [], [ONE.name])
FINE = probe("01", [ONE.name], [TWO.name], verdict("broker-1", "accept"))
CHANGED = probe("02", [TWO.name], [], verdict("broker-1", "warn"), verdict("broker-2", "warn"))


def checked(*probes: dict[str, Any]) -> tuple[str, str]:
    """Verdict and sentence of the check on a trial beside these probes."""
    trial = Trial(ONE.name, trial_document(ONE, Shape(), 0, {}, 0))
    evidence = Evidence(trial, (trial,), COUNTS, (), (), (), (), (), probes=probes)
    declared = {"check": "steady-disks", "axis": "validity", "on_failure": "warn"}
    (found,) = judge([evidence], [declared])
    return found.verdict, found.sentence


@pytest.mark.parametrize("probes", [(), (FIRST,)])
def test_without_a_second_probe_nothing_is_known_and_nothing_excluded(probes: tuple[dict[str, Any], ...]) -> None:
    """Most campaigns are too short for one; that is no fault of a trial."""
    assert checked(*probes) == ("valid", "The disks were not probed again beside this trial.")


def test_steady_disks_are_said() -> None:
    """With how many probes say so."""
    sentence = "No disk or client was worse than at the first probe, by 1 of the probes beside the trial."
    assert checked(FIRST, FINE) == ("valid", sentence)


@pytest.mark.parametrize("probes", [(FINE, CHANGED), (CHANGED, FINE), (CHANGED,)])
def test_a_disk_that_was_worse_before_or_after_a_trial_warns(probes: tuple[dict[str, Any], ...]) -> None:
    """Nobody can know on which side of the probe it happened; the trial stays in the comparison."""
    found, sentence = checked(*probes)
    assert found == "warn"
    assert sentence == f"Probed again beside the trial, broker-1, broker-2 nvme1n1: {SLOWER}"


class Folder:
    """Storage on this machine's disk, as far as a campaign's documents need it."""

    def exists(self, uri: str) -> bool:
        return Path(uri).exists()

    def entries(self, uri: str) -> list[Entry]:
        folder = Path(uri)
        found = sorted(folder.iterdir()) if folder.exists() else []
        return [Entry(path.name, path.is_dir()) for path in found if path.name[0] not in "._"]

    def read_json(self, uri: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(Path(uri).read_text())
        return document


def test_a_trial_has_the_probes_beside_it(tmp_path: Path) -> None:
    """The one before it and the one after it, and no other; the vetting before the campaign stays apart."""
    results = write_results(tmp_path / "results", [ONE, TWO])
    for document in (FIRST, FINE, CHANGED):
        file = results / "vetting" / "again" / f"{document['name']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
    storage: Any = Folder()
    campaign = read_campaign(storage, str(results))
    assert [each["name"] for each in campaign.probes] == ["00", "01", "02"]
    assert "again" not in campaign.vetting
    assert [[each["name"] for each in campaign.beside(plan.name)] for plan in (ONE, TWO)] == [
        ["00", "01"],
        ["01", "02"],
    ]


def test_the_report_says_what_has_changed() -> None:
    """A line per probe: the first, one without a change, one with the change in its words."""
    manifest = manifest_document([ONE, TWO], Shape())
    campaign = Campaign("results", manifest, (), {}, (), probes=(FIRST, FINE, CHANGED))
    found = answer(campaign, [], [], [], (), [])
    page = render_page(report_document(Results(campaign, [], [], [], [], [], [], found, [])), Drawings())
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))
    assert "3 taken, 1 with a warning" in text
    assert "this is the first, of 2 disks and clients" in text
    assert "2 disks and clients are as at the first probe" in text
    assert f"after the last trial broker-1, broker-2 nvme1n1: {SLOWER}" in text
