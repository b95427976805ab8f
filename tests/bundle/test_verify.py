"""What verifying a bundle tells: nothing of an honest one, and each forgery by its name. Figures here are sums, made without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.bundle.reading import open_bundle
from bench.bundle.signature import sign
from bench.bundle.write import make_bundle
from bench.results.folder import Results
from bench.verify.difference import Kind
from bench.verify.seals import ANYTHING, Expected
from bench.verify.verify import MakesReports, Verification, verify
from provisioning.errors import InvalidInput
from provisioning.testbeds.local.sshd import make_key
from tests.bundle.honest import count_again, rewrite
from tests.bundle.reports import FailingJob, SumsOfLatencies
from tests.bundle.sealing import files_of, pack, sealed

FIRST, SECOND = "b01-1-pulsar-l1-steady", "b01-2-kafka-l1-steady"


def _verified(bundle: Path, expected: Expected = ANYTHING, make_report: MakesReports | None = None) -> Verification:
    with open_bundle(bundle) as opened:
        return verify(opened, bundle.parent, make_report or SumsOfLatencies(), expected)


def _copy(bundled: Path, folder: Path) -> Path:
    return Path(shutil.copy(bundled, folder / "demo.samebox"))


def _rebundled(results: Path) -> Verification:
    """Of results that were changed: with all sums made anew, which the forger can."""
    target = results.parent / "demo.samebox"
    make_bundle(Results(results), target)
    return _verified(target)


def _kinds(done: Verification) -> set[tuple[Kind, str]]:
    return {(each.kind, each.where) for each in done.differences}


def _said(done: Verification) -> str:
    return "\n".join(each.what for each in done.differences)


def _edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document, indent=1) + "\n")


def test_an_honest_bundle_is_identical(bundled: Path, tmp_path: Path) -> None:
    """Everything was looked at, nothing differs, and nothing is left of the unpacked files."""
    copy = _copy(bundled, tmp_path)
    done = _verified(copy)
    assert (done.found, done.is_identical, done.trials) == ((), True, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["demo.samebox"]


def test_another_root_than_the_published_one_differs(bundled: Path, tmp_path: Path) -> None:
    """Everything else may agree: it is another bundle."""
    copy = _copy(bundled, tmp_path)
    assert _kinds(_verified(copy, Expected(root="ab" * 32))) == {("root", "SHA256SUMS")}
    with open_bundle(copy) as bundle:
        root = bundle.root
    assert _verified(copy, Expected(root=root)).is_identical


def test_a_file_that_was_exchanged_is_named(bundled: Path, tmp_path: Path) -> None:
    """And nothing else of the bundle is believed then."""
    files = files_of(bundled)
    files["campaign.toml"] = files["campaign.toml"].replace(b"blocks = 2", b"blocks = 3")
    pack(files, tmp_path / "demo.samebox")
    done = _verified(tmp_path / "demo.samebox")
    assert _kinds(done) == {("bytes", "campaign.toml")}
    assert not done.recomputed
    assert [each.what for each in done.unchecked] == [
        "every figure, check, comparison and verdict: what is in the file isn't what was bundled"
    ]


def test_a_page_with_another_root_is_named(bundled: Path, tmp_path: Path) -> None:
    """What people look at must not tell them another root than the file has."""
    files = files_of(bundled)
    files["index.html"] = files["index.html"].replace(b"Root: <code>", b"Root: <code>0")
    pack(files, tmp_path / "demo.samebox")
    assert _kinds(_verified(tmp_path / "demo.samebox")) == {("bytes", "index.html")}


def test_files_without_a_sum_and_sums_without_a_file_are_named(bundled: Path, tmp_path: Path) -> None:
    """The root is over neither."""
    files = files_of(bundled)
    del files["report/summary.csv"]
    files["report/extra.csv"] = b"x"
    pack(files, tmp_path / "demo.samebox")
    done = _verified(tmp_path / "demo.samebox")
    assert _kinds(done) == {("bytes", "report/summary.csv"), ("bytes", "report/extra.csv")}


def test_bytes_that_hide_between_files_are_found(bundled: Path, tmp_path: Path) -> None:
    """A field of the archive that no reader looks at."""
    content = bytearray(bundled.read_bytes())
    content[10] ^= 1  # the time of the first file, where only its own header has it
    (tmp_path / "demo.samebox").write_bytes(content)
    assert _kinds(_verified(tmp_path / "demo.samebox")) == {("form", "demo.samebox")}


def test_a_signature_is_asked_for(bundled: Path, tmp_path: Path) -> None:
    """One who can say that a bundle must be signed takes none that isn't, nor one by another key."""
    make_key(tmp_path / "key", "ada@example.org")
    make_key(tmp_path / "other", "eve@example.org")
    (tmp_path / "allowed").write_text(f"ada@example.org {(tmp_path / 'key.pub').read_text()}")
    expected, target = Expected(allowed_signers=tmp_path / "allowed"), tmp_path / "demo.samebox"
    for key, kinds in {"": {"signature"}, "other": {"signature"}, "key": set()}.items():
        pack(sealed(files_of(bundled), partial(sign, key=tmp_path / key) if key else None), target)
        assert {each.kind for each in _verified(target, expected).differences} == kinds


def test_a_signer_nobody_asked_about_is_told(bundled: Path, tmp_path: Path) -> None:
    """By the key alone; it is no difference."""
    make_key(tmp_path / "key", "ada@example.org")
    pack(sealed(files_of(bundled), lambda root: sign(root, tmp_path / "key")), tmp_path / "demo.samebox")
    done = _verified(tmp_path / "demo.samebox")
    assert done.is_identical
    assert done.signed is not None
    assert "SHA256:" in done.signed.fingerprint


def test_an_edited_figure_is_named_by_its_key(results: Path) -> None:
    """And the page, which wasn't edited with it, isn't."""
    _edit(results / "report" / "report.json", lambda report: report["summary"][0].update(value=1.5))
    done = _rebundled(results)
    assert _kinds(done) == {("report", "report/report.json")}
    assert f"summary[{FIRST} response_latency].value is 1.5, and its records give" in _said(done)


def test_an_edited_page_is_found(results: Path) -> None:
    """It is what people read."""
    page = results / "report" / "index.html"
    page.write_text(page.read_text().replace("received", "sent", 1))
    assert _kinds(_rebundled(results)) == {("report", "report/index.html")}


def test_an_edited_table_is_named_by_its_row(results: Path) -> None:
    """Of CSV by line and column, of Parquet by what the row is of."""
    table = results / "report" / "summary.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], lines[1].rpartition(",")[0] + ",7.0", *lines[2:]]) + "\n")
    rows = pq.read_table(results / "report" / "summary.parquet").to_pylist()
    rows[2]["value"] = 7.0
    pq.write_table(pa.Table.from_pylist(rows), results / "report" / "summary.parquet")
    said = _said(_rebundled(results))
    assert f"line 2 ({FIRST}), value is " in said
    assert f"row 2 ({FIRST}, received).value is 7.0" in said


def test_the_same_content_in_other_bytes_differs(results: Path) -> None:
    """A key given twice, or a number written otherwise, is read in two ways by two readers."""
    table = results / "report" / "report.json"
    table.write_text(table.read_text().replace('"schema": 1', '"schema": 7, "schema": 1'))
    assert "it has the same content in other bytes" in _said(_rebundled(results))


def test_a_report_of_more_or_fewer_files_differs(results: Path) -> None:
    """Either way."""
    (results / "report" / "extra.csv").write_text("x")
    (results / "report" / "summary.csv").unlink()
    assert _kinds(_rebundled(results)) == {("report", "report/extra.csv"), ("report", "report/summary.csv")}


def test_an_altered_latency_is_told_by_the_figures(results: Path) -> None:
    """Counters and sums are redone, and nothing else knows when a message was acknowledged."""
    file = results / "trials" / FIRST / "produced" / "producer-0000-00000000000000.parquet"
    _set(file, "acked_ns", 120, lambda value: value - 1_000_000)
    count_again(results / "trials" / FIRST)
    done = _rebundled(results)
    assert {kind for kind, _ in _kinds(done)} == {"report"}
    assert f"summary[{FIRST} response_latency].value" in _said(done)


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("intended_ns", lambda value: value + 1, "aren't those of the schedule that follows from workload and seed"),
        ("sequence", lambda value: value + 1, "don't go on from"),
        ("producer", lambda _value: 1, "rows of another producer than 0"),
        ("sent_ns", lambda value: value + 40_000_000, "weren't sent one after another"),
        ("partition", lambda _value: None, "lack a partition"),
        ("partition", lambda value: (value + 1) % 3, "from other partitions than they were sent to"),
        ("phase", lambda _value: "warmup", "another phase than that of their intended times"),
        ("acked_ns", lambda value: value + 10**11, "after its trial had stopped to listen"),
    ],
)
def test_a_sent_message_can_not_be_made_up(column: str, change: Callable[[Any], Any], said: str, results: Path) -> None:
    """A row agrees with the schedule, with its neighbours and with the receipts."""
    _set(results / "trials" / FIRST / "produced" / "producer-0000-00000000000000.parquet", column, 120, change)
    count_again(results / "trials" / FIRST)
    done = _rebundled(results)
    assert said in _said(done)
    assert {kind for kind, _ in _kinds(done)} == {"records"}
    assert all(where.startswith(FIRST) for _, where in _kinds(done))


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("intended_ns", lambda value: value + 1, "other intended times than they were sent with"),
        ("sequence", lambda _value: 10**6, "messages of producer 0 that were never sent"),
        ("producer", lambda _value: 7, "messages of producer 7 that were never sent"),
        ("partition", lambda value: value + 1, "from other partitions than they were sent to"),
        ("received_ns", lambda value: value - 10**9, "aren't in the order received"),
        ("phase", lambda _value: "warmup", "another phase than that of their intended times"),
    ],
)
def test_a_receipt_can_not_be_made_up(column: str, change: Callable[[Any], Any], said: str, results: Path) -> None:
    """It is one of a message that was sent, when and where it was."""
    file = results / "trials" / FIRST / "consumed" / "consumer-0000-00000000.parquet"
    producers = pq.read_table(file)["producer"].to_pylist()
    at = next(at for at, producer in enumerate(producers) if at > 120 and producer == 0)
    _set(file, column, at, change)
    count_again(results / "trials" / FIRST)
    done = _rebundled(results)
    assert said in _said(done)
    assert {kind for kind, _ in _kinds(done)} == {"records"}


def test_rows_that_no_counter_knows_are_found(results: Path) -> None:
    """By the trial's counter, by the list of files, and by the worker's own."""
    file = results / "trials" / FIRST / "consumed" / "consumer-0001-00000000.parquet"
    rows = pq.read_table(file)
    rewrite(file, rows.slice(1))
    said = _said(_rebundled(results))
    assert "consumed files hold" in said
    assert "consumed/consumer-0001-00000000.parquet has" in said
    assert "consumer-1 wrote" in said


def test_a_message_that_was_due_is_missed_at_the_end(results: Path) -> None:
    """Its schedule has more than its records."""
    last = sorted((results / "trials" / FIRST / "produced").glob("producer-0001-*"))[-1]
    rewrite(last, pq.read_table(last).slice(0, 10))
    count_again(results / "trials" / FIRST)
    assert "its schedule has 250 messages, and its records 210" in _said(_rebundled(results))


def test_telemetry_of_other_hosts_or_times_is_found(results: Path) -> None:
    """Samples of this trial are of its hosts, while it ran."""
    file = next((results / "trials" / FIRST / "hosts").glob("*.parquet"))
    _set(file, "host", 3, lambda _value: "broker-9")
    _set(next((results / "trials" / SECOND / "hosts").glob("*.parquet")), "time_ns", 3, lambda value: value + 10**12)
    said = _said(_rebundled(results))
    assert "samples are of broker-9" in said
    assert "samples were taken outside of the trial" in said


def test_records_that_can_not_be_read_are_named(results: Path) -> None:
    """By their file; nothing is recomputed of them."""
    bundle = results.parent / "demo.samebox"
    make_bundle(Results(results), bundle)
    files, name = files_of(bundle), f"trials/{FIRST}/produced/producer-0000-00000000000000.parquet"
    files[name] = files[name][:200] + bytes(len(files[name]) - 200)
    pack(sealed(files), bundle)
    done = _verified(bundle)
    assert ("records", name.removeprefix("trials/")) in _kinds(done)
    assert not done.recomputed


def test_a_file_that_says_it_holds_more_than_it_can_is_not_decoded(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of equal rows take a few kilobytes, and a machine's memory."""
    monkeypatch.setattr("bench.verify.rows.MOST_ROWS", 1_000)
    file = results / "trials" / FIRST / "produced" / "producer-0000-00000000000000.parquet"
    row = pq.read_table(file).slice(0, 1)
    many = {name: pa.repeat(row[name][0], 2_000_000) for name in row.column_names}
    rewrite(file, pa.Table.from_pydict(many, schema=row.schema))
    said = _said(_rebundled(results))
    assert "bytes say that they hold 2,000" in said
    assert "no records are like that" in said


def test_a_schedule_without_end_is_not_gone_through(results: Path) -> None:
    """Its phases say that it lasts a century."""

    def change(trial: dict[str, Any]) -> None:
        trial["phases"][1]["end_ns"] = 2**62

    _edit(results / "trials" / FIRST / "trial.json", change)
    assert "its schedule has" in _said(_rebundled(results))


def test_a_campaign_of_too_many_trials_is_not_planned(results: Path) -> None:
    """It would fill a memory before anything is compared."""
    file = results / "campaign.toml"
    text = file.read_text()
    workload = text[text.index("[[workloads]]") :]
    more = "".join(workload.replace('"steady"', f'"steady-{number}"') for number in range(400))
    file.write_text(text.replace("blocks = 2", "blocks = 1000") + more)
    done = _rebundled(results)
    assert any("there would be up to 1,604,000" in each.what for each in done.unchecked)


@pytest.mark.parametrize("lost", ["nothing", "the end of a producer", "the files of a host"])
def test_a_trial_that_was_ended_early_is_no_forgery(lost: str, results: Path) -> None:
    """Its phases end where it was ended, a killed worker's last rows are gone, or a lost host's files."""
    trial = results / "trials" / FIRST
    files = sorted(trial.glob("produced/producer-0001-*"))
    if lost == "the end of a producer":
        rewrite(files[-1], pq.read_table(files[-1]).slice(0, 10))
        count_again(trial)
    if lost == "the files of a host":
        files[0].unlink()

    def end(document: dict[str, Any]) -> None:
        document["phases"][1]["end_ns"] -= 10**9
        document["ended"], document["abort"] = (
            "aborted",
            {"rule": "worker-died", "axis": "validity", "reason": "x", "host": None},
        )

    _edit(trial / "trial.json", end)
    shutil.rmtree(results / "report")
    SumsOfLatencies()(Results(results), results / "report")
    assert _rebundled(results).found == ()


def test_a_hidden_trial_is_missed(results: Path) -> None:
    """It stands in the order."""
    shutil.rmtree(results / "trials" / SECOND)
    done = _rebundled(results)
    assert ("trial", SECOND) in _kinds(done)
    assert "planned, and not there" in _said(done)


def test_a_trial_struck_from_the_order_is_missed(results: Path) -> None:
    """It follows from campaign and seed."""
    shutil.rmtree(results / "trials" / SECOND)
    _edit(results / "manifest.json", lambda manifest: manifest["order"].pop(1))
    assert f"{SECOND} follows from campaign and seed, and its order doesn't have it" in _said(_rebundled(results))


def test_a_trial_too_many_is_found(results: Path) -> None:
    """There, planned twice, or planned beyond the campaign."""
    shutil.copytree(results / "trials" / SECOND, results / "trials" / "b09-1-kafka-l1-steady")
    _edit(results / "manifest.json", lambda manifest: manifest["order"].append(manifest["order"][0]))
    said = _said(_rebundled(results))
    assert "there, and not planned" in said
    assert f"{FIRST} is planned 2 times" in said


def test_another_order_of_trials_is_found(results: Path) -> None:
    """The first one that isn't where it belongs is named."""
    _edit(results / "manifest.json", lambda manifest: manifest["order"].reverse())
    assert f"trial 1 of its order is b02-2-pulsar-l1-steady; by campaign and seed it is {FIRST}" in _said(
        _rebundled(results)
    )


def test_another_order_of_hosts_is_found(results: Path) -> None:
    """It is drawn from the seed as well."""
    _edit(results / "manifest.json", lambda manifest: manifest["host_orders"]["1"].reverse())
    said = _said(_rebundled(results))
    assert "its order of the hosts in block 1 doesn't follow from the seed" in said
    assert "its hosts stood in another order than that of its block" in said


def test_another_seed_is_found(results: Path) -> None:
    """Manifest and campaign file say one each."""
    _edit(results / "manifest.json", lambda manifest: manifest.update(seed=21))
    assert "its seed is 21, that of campaign.toml 20" in _said(_rebundled(results))


def test_another_campaign_file_is_found(results: Path) -> None:
    """By its digest, and by what follows from it."""
    file = results / "campaign.toml"
    file.write_text(file.read_text().replace("blocks = 2", "blocks = 1"))
    done = _rebundled(results)
    assert ("order", "campaign.toml") in _kinds(done)
    assert "its definition isn't the one of campaign.toml" in _said(done)


def test_a_bound_that_was_moved_is_found(results: Path) -> None:
    """Rules are declared by testbed and campaign, not afterwards."""

    def loosen(manifest: dict[str, Any]) -> None:
        manifest["checks"][0]["bounds"]["p99_ms"] = 10**6

    _edit(results / "manifest.json", loosen)
    done = _rebundled(results)
    assert ("rules", "manifest.json") in _kinds(done)
    assert "the check send-delay has bounds {'p99_ms': 1000000" in _said(done)


def test_a_trial_that_ran_otherwise_than_planned_is_named(results: Path) -> None:
    """Another rate, version, host or name than the manifest's."""

    def change(trial: dict[str, Any]) -> None:
        trial["workload"]["message_bytes"], trial["version"], trial["trial"] = 100, "4.9.9", "b07"
        trial["hosts"][0]["instance_id"] = "i-other"

    _edit(results / "trials" / SECOND / "trial.json", change)
    said = _said(_rebundled(results))
    assert "its workload's message_bytes is 100, and 1024 was planned" in said
    assert "its version is '4.9.9'" in said
    assert f"its trial is 'b07', and '{SECOND}' was planned" in said
    assert "it ran on other hosts than the testbed's: broker-1" in said


def test_trials_that_overlap_are_found(results: Path) -> None:
    """Each is whole before the next begins."""

    def move(trial: dict[str, Any]) -> None:
        trial["steps"][0]["started_ns"] -= 600 * 10**9

    _edit(results / "trials" / SECOND / "trial.json", move)
    done = _rebundled(results)
    assert _kinds(done) == {("times", SECOND)}
    assert f"before {FIRST} was done, which comes first" in _said(done)


def test_steps_and_phases_that_can_not_be_are_found(results: Path) -> None:
    """Steps overlap, a phase is shorter than asked for, phases leave a gap or leave the load."""

    def change(trial: dict[str, Any]) -> None:
        trial["steps"][1]["started_ns"] -= 1
        trial["phases"][1]["start_ns"] += 5
        for step in trial["steps"][2:]:
            step["started_ns"] += 100 * 10**9
            step["ended_ns"] += 100 * 10**9

    _edit(results / "trials" / SECOND / "trial.json", change)
    said = _said(_rebundled(results))
    assert "its steps reset and start overlap" in said
    assert "its phase measure doesn't begin where warmup ends" in said
    assert "its phases aren't within its load" in said
    assert "its phase measure lasted" in said


def test_lock_files_of_other_software_are_found(bundled: Path, tmp_path: Path) -> None:
    """Their digests are the manifest's."""
    files = files_of(bundled)
    files["versions/kafka-4.3.1/artifacts.sha256"] = b"00" * 32 + b"  kafka.jar\n"
    files["versions/requirements.lock"] += b"\n"
    files["versions/nats-2.15.1/programs.sha256"] = b""
    pack(sealed(files), tmp_path / "demo.samebox")
    assert {(kind, where) for kind, where in _kinds(_verified(tmp_path / "demo.samebox")) if kind == "versions"} == {
        ("versions", "versions/kafka-4.3.1"),
        ("versions", "versions/requirements.lock"),
        ("versions", "versions/nats-2.15.1"),
    }


def test_a_lock_file_that_is_not_there_is_told_and_no_more(bundled: Path, tmp_path: Path) -> None:
    """Some software has none; every figure is recomputed all the same."""
    files = {name: content for name, content in files_of(bundled).items() if not name.startswith("versions/kafka")}
    pack(sealed(files), tmp_path / "demo.samebox")
    done = _verified(tmp_path / "demo.samebox")
    assert done.is_identical
    assert [each.what for each in done.unchecked] == ["what pinned kafka-4.3.1: the bundle holds no lock file of it"]


def test_without_records_nothing_is_proven(results: Path) -> None:
    """Nothing differs, and it isn't called identical."""
    make_bundle(Results(results), results.parent / "demo.samebox", with_records=False)
    done = _verified(results.parent / "demo.samebox")
    assert (done.differences, done.is_identical, done.recomputed) == ((), False, False)
    assert "without the records of messages" in done.unchecked[0].what


def test_records_can_not_be_denied(bundled: Path, tmp_path: Path) -> None:
    """To say that there are none would keep figures from being recomputed."""
    files = files_of(bundled)
    files["bundle.json"] = files["bundle.json"].replace(b"true", b"false")
    pack(sealed(files), tmp_path / "demo.samebox")
    assert ("form", "bundle.json") in _kinds(_verified(tmp_path / "demo.samebox"))


def test_a_report_that_can_not_be_made_is_a_difference(bundled: Path, tmp_path: Path) -> None:
    """With the job's own words, and the file as the bundle calls it."""
    copy = _copy(bundled, tmp_path)
    done = _verified(copy, make_report=FailingJob())
    assert _kinds(done) == {("report", "report")}
    assert "manifest.json: schema is 7" in _said(done)
    assert str(tmp_path) not in _said(done)


def test_a_document_that_can_not_be_read_is_named_as_in_the_bundle(bundled: Path, tmp_path: Path) -> None:
    """Not by a scratch folder that is gone."""
    files = files_of(bundled)
    files[f"trials/{FIRST}/trial.json"] = files[f"trials/{FIRST}/trial.json"].replace(b'"steps"', b'"stops"')
    pack(sealed(files), tmp_path / "demo.samebox")
    with pytest.raises(InvalidInput, match=rf"demo\.samebox: trials/{FIRST}/trial\.json: key 'steps' is missing"):
        _verified(tmp_path / "demo.samebox")


def _set(file: Path, column: str, at: int, change: Callable[[Any], Any]) -> None:
    rows = pq.read_table(file)
    values, index = rows[column].to_pylist(), rows.schema.get_field_index(column)
    values[at] = change(values[at])
    rewrite(file, rows.set_column(index, rows.schema.field(index), pa.array(values, rows.schema.field(index).type)))
