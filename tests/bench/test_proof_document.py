"""Which durability proofs speak for a campaign, and what `samebox prove-durability` refuses before anything starts."""

from __future__ import annotations

import dataclasses
import json
import shutil
from datetime import UTC, datetime, timedelta, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.contestant import plain
from bench.campaign.system_settings import durability_table
from bench.checkout import CHECKOUT
from bench.proof.document import DOES_NOT_APPLY, PROOF_FILE, basis_of, new_folder, proof_for
from bench.proof.prove import levels_to_prove, proof_campaign
from bench.results.folder import Results
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS
from systems.settings import Settings

SYSTEM = next(iter(SYSTEMS))
LEVEL = next(iter(SYSTEMS[SYSTEM].levels))
SOFTWARE = {SYSTEM: {"version": "1.2.3", "sha256": "ab"}}
BASIS = {"client libraries": "client 2.1", "client code": "cd"}


def cell(**changes: Any) -> dict[str, Any]:
    """A cell of a proof."""
    settings = SYSTEMS[SYSTEM].durability(3)[LEVEL]
    usual = {
        "system": SYSTEM,
        "durability": {"name": LEVEL},
        "settings": settings,
        "overrides": {},
        "verdict": "proven",
    }
    return {**usual, **changes}


def write_proof(proofs: Path, stamp: str, cells: list[dict[str, Any]], **changes: Any) -> None:
    """A proof on disk."""
    document = {"schema": 1, "created_ns": 7, "testbed": {"kind": "local"}, "software": SOFTWARE, "cells": cells}
    document["bases"] = {SYSTEM: BASIS}
    (proofs / stamp).mkdir(parents=True)
    (proofs / stamp / PROOF_FILE).write_text(json.dumps({**document, **changes}))


def found(proofs: Path, settings: Settings | None = None) -> list[dict[str, Any]]:
    """The cells that speak for a campaign of one system and level, with settings of its own over it."""
    levels = durability_table([(plain(SYSTEM), LEVEL)], {SYSTEM: settings or {}}, 3)
    document = proof_for(proofs, levels, SOFTWARE, {SYSTEM: BASIS}, systems={SYSTEM: SYSTEM}, system_profile="sn2020")
    return [] if document is None else list(document["cells"])


def test_the_newest_of_the_same_software_speaks(tmp_path: Path) -> None:
    """With when and where it was made; another's level or system says nothing."""
    write_proof(tmp_path, "20260101T000000Z", [cell(verdict="disproved")])
    write_proof(tmp_path, "20260102T000000Z", [cell(), cell(durability={"name": "4-bypass"})])
    (only,) = found(tmp_path)
    assert (only["verdict"], only["created_ns"], only["testbed"]) == ("proven", 7, {"kind": "local"})


@pytest.mark.parametrize(
    ("cell_changes", "changes", "reason"),
    [
        ({}, {"software": {SYSTEM: {"version": "1.2.4", "sha256": "cd"}}}, "another build of the system's software"),
        ({"settings": {"topic": {"flush": "9"}}}, {}, "other settings of the level"),
        ({}, {"bases": {SYSTEM: {**BASIS, "client libraries": "client 2.0"}}}, "different client libraries"),
        ({}, {"bases": {SYSTEM: {**BASIS, "client code": "ef"}}}, "different client code"),
        ({}, {"bases": {SYSTEM: {"client code": "cd"}}}, "unknown client libraries"),
        ({}, {"bases": None}, "no record of what it rests on"),
    ],
)
def test_what_was_proven_with_something_else_says_nothing(
    tmp_path: Path, cell_changes: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    """Software, settings of the level, client library and the kit's own code: the report says which, and what to type."""
    write_proof(tmp_path, "20260101T000000Z", [cell(evidence={"messages": 9}, **cell_changes)], **changes)
    (only,) = found(tmp_path)
    assert (only["verdict"], only["evidence"]) == (DOES_NOT_APPLY, None)
    assert only["sentence"].startswith(f"It was proven with {reason}, so it doesn't apply to this campaign.")
    again = f"samebox prove-durability --systems {SYSTEM} --durability {LEVEL} --system-profile sn2020"
    assert only["sentence"].endswith(again)


def test_an_older_proof_that_applies_speaks_before_a_newer_that_does_not(tmp_path: Path) -> None:
    """Whoever goes back to an earlier client has its proof again."""
    write_proof(tmp_path, "20260101T000000Z", [cell()])
    write_proof(tmp_path, "20260102T000000Z", [cell(verdict="disproved")], bases={SYSTEM: {"client code": "ef"}})
    assert [each["verdict"] for each in found(tmp_path)] == ["proven"]


def test_a_proof_of_another_version_is_not_read(tmp_path: Path) -> None:
    """What it would say isn't known."""
    write_proof(tmp_path, "20260101T000000Z", [cell()], schema=2)
    assert found(tmp_path) == []


def test_a_proof_rests_on_client_deployment_and_its_own_making(tmp_path: Path) -> None:
    """A change of any of them, and of nothing else, is another basis; libraries are named with their versions."""
    for part in ("bench", "contract", "provisioning", "systems"):
        shutil.copytree(CHECKOUT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    before = basis_of(SYSTEM, tmp_path)
    assert before == basis_of(SYSTEM)
    assert f"confluent-kafka {metadata.version('confluent-kafka')}" in before["client libraries"]
    client = SYSTEMS[SYSTEM].client_module.replace(".", "/") + ".py"
    changes: list[tuple[str, str | None]] = [
        (client, "client code"),
        ("bench/load/jobs.py", "client code"),
        (f"systems/{SYSTEM}/durability.py", "deployment code"),
        ("systems/jvm/rendering.py", "deployment code"),
        ("bench/proof/judge.py", "proof code"),
        ("bench/worker/requirements.lock", "client libraries"),
        ("bench/report/here.py", None),
        *(
            (f"systems/{other}/{name}.py", None)
            for other in SYSTEMS
            if other != SYSTEM
            for name in ("client", "layout")
            if (CHECKOUT / "systems" / other / f"{name}.py").is_file()  # one may be driven by another's client
        ),
    ]
    for file, changed in changes:
        text = (tmp_path / file).read_text()
        (tmp_path / file).write_text(text + "\nnew==1\n")
        now = basis_of(SYSTEM, tmp_path)
        assert [name for name in before if now[name] != before[name]] == ([changed] if changed else []), file
        (tmp_path / file).write_text(text)


def test_only_what_changes_the_level_counts(tmp_path: Path) -> None:
    """A campaign's own setting of a key of the level makes it another one; any other setting doesn't."""
    write_proof(tmp_path, "20260101T000000Z", [cell()])
    component, keys = next(iter(SYSTEMS[SYSTEM].durability(3)[LEVEL].items()))
    (other,) = found(tmp_path, {component: {next(iter(keys)): "something else"}})
    assert other["verdict"] == DOES_NOT_APPLY
    assert len(found(tmp_path, {component: {"a.key.of.no.level": "1"}})) == 1


def test_no_proofs_and_broken_ones(tmp_path: Path) -> None:
    """Nothing there, or half a file: no proof, and no error."""
    assert found(tmp_path / "nowhere") == []
    write_proof(tmp_path, "20260101T000000Z", [cell()])
    (tmp_path / "20260101T000000Z" / PROOF_FILE).write_text("{")
    assert found(tmp_path) == []


def test_a_campaign_carries_what_speaks_for_it(tmp_path: Path) -> None:
    """Written with the manifest; no file where there is no proof."""
    campaign_file = tmp_path / "demo.toml"
    campaign_file.write_text("schema = 1\n")
    for name, proof in (("with", {"schema": 1, "cells": [cell()]}), ("without", None)):
        results = Results(tmp_path / name)
        results.begin({"schema": 1}, {}, campaign_file, durability_proof=proof)
        assert results.durability_proof_file.exists() == (proof is not None)


def test_folders_sort_by_time(tmp_path: Path) -> None:
    """The time is UTC's, whatever the operator's zone."""
    at = datetime(2026, 1, 2, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert new_folder(tmp_path, at).name == "20260101T230000Z"
    assert new_folder(tmp_path, datetime(2026, 1, 2, tzinfo=UTC)).name == "20260102T000000Z"


def test_everything_is_proven_unless_named() -> None:
    """All systems, and all levels that promise anything."""
    campaign = proof_campaign([], [], 200)
    assert set(campaign.systems) == set(SYSTEMS)
    assert campaign.durability == levels_to_prove()
    assert "none" not in campaign.durability
    (workload,) = campaign.workloads
    assert (workload.in_flight, workload.partitions, workload.batching) == (1, 1, False)


def test_a_profile_that_there_isn_t_is_refused() -> None:
    """With the ones there are."""
    with pytest.raises(InvalidInput, match=r"--system-profile: 'sn2019' is unknown\. Valid choices: .*sn2020"):
        proof_campaign([], [], 10, system_profile="sn2019")


@pytest.mark.parametrize(
    ("systems", "levels", "said"),
    [
        (["redis"], [], "--systems: 'redis' is unknown. Valid choices: "),
        ([], ["9"], "--durability: '9' is unknown. Valid choices: 1, 2"),
        ([], ["none"], "--durability: 'none' promises nothing. Valid choices: 1, 2"),
        ([SYSTEM, SYSTEM], [], f"--systems: {SYSTEM} is listed twice."),
    ],
)
def test_what_is_refused(systems: list[str], levels: list[str], said: str) -> None:
    """By option, with the valid choices."""
    with pytest.raises(InvalidInput) as caught:
        proof_campaign(systems, levels, 10)
    assert said in str(caught.value)


def test_a_level_that_no_system_named_has_is_refused() -> None:
    """With each system's reason, before anything is looked at."""
    system, level = next((name, level) for name, each in SYSTEMS.items() for level in each.cannot if level != "none")
    with pytest.raises(InvalidInput, match=f"nothing to prove: {system}, level {level}: "):
        proof_campaign([system], [level], 10)


def test_a_system_is_proven_with_what_makes_its_traces_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """And with the settings that are asked for, over them."""
    speaking = {"broker": {"seen": "true", "told": "1"}}
    monkeypatch.setitem(SYSTEMS, "kafka", dataclasses.replace(SYSTEMS["kafka"], traced_with=speaking))
    assert proof_campaign(["kafka", "nats"], ["1"], 10).settings == {"kafka": speaking, "nats": {}}
    asked = proof_campaign(["kafka"], ["1"], 10, settings={"kafka": {"broker": {"told": "2"}, "topic": {"a": "b"}}})
    assert asked.settings == {"kafka": {"broker": {"seen": "true", "told": "2"}, "topic": {"a": "b"}}}
