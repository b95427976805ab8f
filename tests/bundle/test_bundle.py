"""A bundle holds what a stranger needs, is the same for the same results, and can be opened without samebox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from bench.bundle.contents import contents_of
from bench.bundle.reading import open_bundle
from bench.bundle.write import make_bundle
from bench.checkout import CHECKOUT
from bench.results.folder import Results
from provisioning.errors import InvalidInput
from tests.bundle.honest import honest_results
from tests.bundle.reports import SumsOfLatencies
from tests.bundle.sealing import files_of, pack


def test_the_same_results_give_the_same_bytes(bundled: Path, tmp_path: Path) -> None:
    """Made anew elsewhere, with other times, modes and order of files."""
    again = honest_results(tmp_path / "elsewhere" / "other-name")
    SumsOfLatencies()(Results(again), again / "report")
    for at, file in enumerate(sorted(again.rglob("*"), reverse=True)):
        os.utime(file, (10**9 + at, 10**9 + at))
        file.chmod(0o700)
    make_bundle(Results(again), tmp_path / "again.samebox")
    assert (tmp_path / "again.samebox").read_bytes() == bundled.read_bytes()


def test_what_a_stranger_needs_is_in_it(bundled: Path) -> None:
    """Manifest, campaign, vetting, trials with records, report, and the locks of kit and systems."""
    with open_bundle(bundled) as bundle:
        names = set(bundle.names)
    trial = "trials/b01-1-pulsar-l1-steady"
    assert {
        "manifest.json",
        "campaign.toml",
        "vetting/broker-1.json",
        f"{trial}/trial.json",
        "report/index.html",
    } <= names
    assert {
        f"{trial}/produced/producer-0000-00000000000000.parquet",
        f"{trial}/consumed/consumer-0000-00000000.parquet",
    } <= names
    assert {
        "versions/requirements.lock",
        "versions/kafka-4.3.1/pom.xml",
        "versions/pulsar-4.2.4/artifacts.sha256",
    } <= names


def test_it_is_checked_without_samebox(bundled: Path, tmp_path: Path) -> None:
    """By unzip and sha256sum, as its page says."""
    with zipfile.ZipFile(bundled) as archive:
        archive.extractall(tmp_path)
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=tmp_path, check=True)
    said = subprocess.run(["sha256sum", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    with open_bundle(bundled) as bundle:
        assert said.split()[0] == bundle.root
        assert f"--root {bundle.root}" in (tmp_path / "index.html").read_text()


def test_a_file_is_read_without_the_others(bundled: Path, tmp_path: Path) -> None:
    """One whose neighbour is spoilt can be read, and the neighbour is refused."""
    files, spoilt = files_of(bundled), tmp_path / "spoilt.samebox"
    files["report/summary.csv"] += b"x"
    pack(files, spoilt)
    with open_bundle(spoilt) as bundle:
        assert bundle.document("manifest.json")["campaign"] == "demo"
        with pytest.raises(InvalidInput, match=r"report/summary\.csv"):
            bundle.read("report/summary.csv")


def test_a_file_longer_than_wanted_is_not_read(bundled: Path) -> None:
    """The bound is looked at before anything is read."""
    with open_bundle(bundled) as bundle, pytest.raises(InvalidInput, match=r"at most 10 are read"):
        bundle.read("manifest.json", most_bytes=10)


def test_what_the_layout_does_not_know_stays_out(results: Path, tmp_path: Path) -> None:
    """Scratch files, exports and notes are no part of the results."""
    before = make_bundle(Results(results), tmp_path / "before.samebox")
    for name in (
        ".DS_Store",
        "notes.txt",
        "omb/export.json",
        "trials/.partial-b09/trial.json",
        "vetting/.broker-1.json.77",
    ):
        (results / name).parent.mkdir(exist_ok=True)
        (results / name).write_text("x")
    assert make_bundle(Results(results), tmp_path / "after.samebox").root == before.root


def test_without_records_it_says_so(results: Path, tmp_path: Path) -> None:
    """On its page, in bundle.json and on leaving; telemetry stays."""
    made = make_bundle(Results(results), tmp_path / "demo.samebox", with_records=False)
    assert any("--without-records" in sentence for sentence in made.left_out)
    with open_bundle(made.path) as bundle:
        assert not bundle.has_records
        assert b"nobody can recompute" in bundle.cover
        assert not [name for name in bundle.names if "/produced/" in name or "/consumed/" in name]
        assert [name for name in bundle.names if "/hosts/" in name]


def test_records_in_a_bucket_are_asked_for(results: Path, tmp_path: Path) -> None:
    """With both ways on: bring them here, or go without; and the second one works."""
    _in_a_bucket(results)
    with pytest.raises(InvalidInput, match=r"are in the bucket far-away") as refused:
        make_bundle(Results(results), tmp_path / "demo.samebox")
    assert "--from s3://far-away" in refused.value.next_step
    assert "--without-records" in refused.value.next_step
    assert not (tmp_path / "demo.samebox").exists()
    assert make_bundle(Results(results), tmp_path / "demo.samebox", with_records=False).files > 0


def test_records_that_were_brought_here_are_bundled(results: Path, tmp_path: Path) -> None:
    """That they were in a bucket once is no reason to leave them out."""
    manifest = json.loads((results / "manifest.json").read_text())
    manifest["testbed"]["records_bucket"] = {"name": "far-away", "region": "eu-west-1"}
    (results / "manifest.json").write_text(json.dumps(manifest))
    make_bundle(Results(results), tmp_path / "demo.samebox")
    with open_bundle(tmp_path / "demo.samebox") as bundle:
        assert [name for name in bundle.names if "/produced/" in name]


def test_results_without_a_report_are_refused(results: Path, tmp_path: Path) -> None:
    """With what makes one."""
    shutil.rmtree(results / "report")
    with pytest.raises(InvalidInput, match=r"has no report yet") as refused:
        make_bundle(Results(results), tmp_path / "demo.samebox")
    assert "samebox report" in refused.value.next_step


def test_a_link_in_the_results_is_refused(results: Path, tmp_path: Path) -> None:
    """What it points to may be anybody's."""
    logs = results / "trials" / "b01-1-pulsar-l1-steady" / "logs"
    logs.mkdir()
    (logs / "server.log").symlink_to("/etc/hostname")
    with pytest.raises(InvalidInput, match=r"server\.log: not a plain file"):
        make_bundle(Results(results), tmp_path / "demo.samebox")


def test_a_name_that_others_could_not_unpack_is_refused(results: Path, tmp_path: Path) -> None:
    """Such as one with a colon."""
    logs = results / "trials" / "b01-1-pulsar-l1-steady" / "logs"
    logs.mkdir()
    (logs / "a:b.log").write_text("x")
    with pytest.raises(InvalidInput, match=r"a:b\.log: a bundle takes no file of this name"):
        make_bundle(Results(results), tmp_path / "demo.samebox")


def test_trials_that_were_never_run_are_told(results: Path, tmp_path: Path) -> None:
    """Verifying would tell it anyway, to others."""
    shutil.rmtree(results / "trials" / "b02-1-kafka-l1-steady")
    made = make_bundle(Results(results), tmp_path / "demo.samebox")
    assert any("1 of 4 planned trials" in sentence for sentence in made.left_out)


def test_another_lock_than_the_campaign_s_is_left_out(results: Path) -> None:
    """A later version of the kit has other libraries; its lock file would be a lie."""
    manifest = json.loads((results / "manifest.json").read_text())
    manifest["lock_sha256"], manifest["git"] = "ab" * 32, {"commit": None}
    manifest["software"]["kafka"]["sha256"] = "cd" * 32
    (results / "manifest.json").write_text(json.dumps(manifest))
    found = contents_of(Results(results), CHECKOUT, with_records=True)
    names = {entry.name for entry in found.entries}
    assert "versions/requirements.lock" not in names
    assert not [name for name in names if name.startswith("versions/kafka")]
    assert [name for name in names if name.startswith("versions/pulsar")]
    assert len(found.left_out) == 2


def test_nothing_is_left_of_one_that_could_not_be_written(results: Path, tmp_path: Path) -> None:
    """Not even a file aside."""
    record = next(results.glob("trials/*/consumed/*.parquet"))
    record.write_bytes(b"half")
    with pytest.raises(InvalidInput, match="not a whole Parquet file"):
        make_bundle(Results(results), tmp_path / "demo.samebox")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def _in_a_bucket(results: Path) -> None:
    manifest = json.loads((results / "manifest.json").read_text())
    manifest["testbed"]["records_bucket"] = {"name": "far-away", "region": "eu-west-1"}
    (results / "manifest.json").write_text(json.dumps(manifest))
    for kind in ("produced", "consumed"):
        for folder in results.glob(f"trials/*/{kind}"):
            shutil.rmtree(folder)
