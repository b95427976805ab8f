"""`samebox watch`: what it makes of a line, what it takes from results, and what it says to a wrong one."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from analysis.watch.__main__ import main as analysis_main
from analysis.watch.exports import EXPORTS
from bench.campaign.prepared import Prepared
from bench.campaign.two_contestants import STEADY
from bench.cli import one_line
from bench.cli import watch as command
from bench.cli.campaign import Manner
from bench.cli.outcome import Outcome
from bench.cli.target import Target
from bench.report.ask import ask
from bench.watch.history_file import HistoryFile, default_file, new_history
from provisioning.errors import InvalidInput, SameboxError
from systems.release import folders_of

TWO = "kafka --anchor 3.9.1 --versions 4.1.1,4.3.1"
NOISE = (1.02, 0.99, 1.0, 1.01, 0.98, 1.0)


@dataclass
class Runs:
    """Takes the place of running a campaign: writes the results that a version's ratio to the anchor would give, and remembers it.

    A campaign with a version that isn't in `ratios` is an error.
    """

    results: Path
    ratios: dict[str, float]
    outcome: Outcome = Outcome.DONE
    without_report: bool = False
    ran: list[Prepared] = field(default_factory=list)

    def __call__(self, target: Target, prepared: Prepared, tarballs: Mapping[str, Path], how: Manner) -> Outcome:
        assert target == Target()
        assert not tarballs
        assert how.repeat.startswith("samebox")
        self.ran.append(prepared)
        folder = self.results / prepared.campaign.name
        (folder / "report").mkdir(parents=True)
        shutil.copyfile(prepared.campaign_file, folder / "campaign.toml")
        (folder / "manifest.json").write_text(json.dumps(self._manifest(prepared)))
        if not self.without_report:
            (folder / "report" / "report.json").write_text(json.dumps(self._report(prepared)))
        return self.outcome

    def _manifest(self, prepared: Prepared) -> dict[str, Any]:
        contestants = [{"name": each.name, "version": each.version} for each in prepared.campaign.contestants]
        return {
            "schema": 1,
            "campaign": prepared.campaign.name,
            "created_ns": len(self.ran) * 10**18,
            "testbed": {"testbed": {"kind": "local"}},
            "definition": {"contestants": contestants},
        }

    def _report(self, prepared: Prepared) -> dict[str, Any]:
        trials, summary = [], []
        for at, spec in enumerate(prepared.trials):
            value = 10.0 * self.ratios[spec.contestant.version or ""] * NOISE[at % len(NOISE)]
            trials.append({"trial": spec.trial, "validity": "valid", "workload": {"pacing": spec.workload.pacing}})
            known = {"value": value, "low": value, "high": value}
            named = {"trial": spec.trial, "contestant": spec.contestant.name, "block": spec.block}
            summary.append({**named, "metric": "response_latency_p99", **known})
        return {"schema": 1, "trials": trials, "summary": summary, "outcomes": []}


def asked_here(module: str, arguments: Sequence[str]) -> str:
    """What analysis prints, without a process of its own, which would import for seconds."""
    assert module == "analysis.watch"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert analysis_main(arguments) == 0
    return printed.getvalue()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    """In a project of its own."""
    fake = Runs(tmp_path / "results", {"3.9.1": 1.0, "4.1.1": 1.0, "4.3.1": 1.0, "4.4.0": 1.0})
    monkeypatch.setattr(command, "run_there", fake)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(one_line, "STATE", tmp_path / "state")
    monkeypatch.setattr(command, "require_spark", lambda: None)
    monkeypatch.setattr(command, "ask", asked_here)
    monkeypatch.chdir(tmp_path)
    return fake


def typed(line: str) -> Result:
    """How a line ends; what it prints on standard output is `stdout`."""
    words = [*line.split(), "--history", "series.json"] if "--history" not in line else line.split()
    return CliRunner().invoke(command.watch_command, words, catch_exceptions=False, standalone_mode=False)


def refused(line: str) -> str:
    """What is said to a wrong one."""
    with pytest.raises(SameboxError) as raised:
        typed(line)
    return f"{raised.value} {raised.value.next_step}"


def test_a_steady_series_ends_well_with_its_table(runs: Runs) -> None:
    """A row for each version with its ratio to the anchor, and the sentence; its campaign file can be run again."""
    found = typed(f"{TWO} --blocks 6 --durability 2")
    assert found.return_value is Outcome.DONE
    assert "kafka over 3.9.1, steady, level 2" in found.stdout
    assert "4.3.1  " in found.stdout
    assert "No level changes from one version to the next" in found.stdout
    [prepared] = runs.ran
    assert [each.name for each in prepared.campaign.contestants] == ["kafka-3.9.1", "kafka-4.1.1", "kafka-4.3.1"]
    assert {each.durability for each in prepared.trials} == {"2"}


def test_a_regression_that_is_shown_has_an_exit_code_of_its_own(runs: Runs, tmp_path: Path) -> None:
    """After a second campaign with twice the blocks; and every export is there."""
    runs.ratios["4.3.1"] = 1.3
    line = f"{TWO} --blocks 6 --export otava s.csv --export openmetrics s.txt"
    found = typed(f"{line} --export bencher s.json")
    assert found.return_value is Outcome.REGRESSION
    assert int(Outcome.REGRESSION) == 3
    assert [each.campaign.blocks for each in runs.ran] == [6, 12]
    assert "A regression is shown in 4.3.1" in found.stdout
    assert (tmp_path / "s.csv").read_text().startswith("time,version,")
    assert (tmp_path / "s.txt").read_text().endswith("# EOF\n")
    assert "kafka 4.3.1 over 3.9.1, steady, level 1" in json.loads((tmp_path / "s.json").read_text())


def test_the_same_line_again_runs_nothing_and_ends_as_before(runs: Runs) -> None:
    """As JSON, too."""
    runs.ratios["4.3.1"] = 1.3
    line = f"{TWO} --blocks 6"
    typed(line)
    runs.ran.clear()
    again = typed(f"{line} --json")
    assert (again.return_value, runs.ran) == (Outcome.REGRESSION, [])
    document = json.loads(again.stdout)
    assert [each["version"] for each in document["shown"]] == ["4.3.1"]
    assert [each["metric"] for each in document["series"]] == ["response_latency_p99"]


def test_standard_output_has_the_series_alone(runs: Runs) -> None:
    """So that JSON can be piped; the plans of what is run are on standard error."""
    found = typed(f"{TWO} --blocks 6 --json")
    assert json.loads(found.stdout)["anchor"] == "3.9.1"
    assert "18 trials in 6 blocks" in found.stderr
    assert len(runs.ran) == 1


def test_an_invalid_trial_is_told_by_the_exit_code(runs: Runs) -> None:
    """Where no regression is."""
    runs.outcome = Outcome.UNSOUND
    assert typed(f"{TWO} --blocks 6").return_value is Outcome.UNSOUND


def test_results_that_the_history_does_not_know_are_taken(runs: Runs, tmp_path: Path) -> None:
    """A watch that was killed between its campaign's end and its own runs nothing twice."""
    line = f"{TWO} --blocks 6"
    typed(line)
    (tmp_path / "series.json").unlink()
    typed(line)
    assert len(runs.ran) == 1


def test_results_of_another_campaign_are_not_taken(runs: Runs, tmp_path: Path) -> None:
    """Whatever has the same name and another campaign file is left to the run, which refuses it or sets it aside."""
    other = tmp_path / "results" / "watch-series-1"
    other.mkdir(parents=True)
    (other / "campaign.toml").write_text("# another campaign\n")
    typed(f"{TWO} --blocks 6")
    assert len(runs.ran) == 1


def test_results_without_a_report_are_what_it_waits_for(runs: Runs) -> None:
    """With both ways on; nothing is run over them."""
    runs.without_report = True
    line = f"{TWO} --blocks 6"
    for _ in range(2):
        said = refused(line)
        assert "has no report yet" in said
        assert "samebox resume results/watch-series-1" in said
    assert len(runs.ran) == 1


def test_few_blocks_are_run_all_the_same(runs: Runs) -> None:
    """And told beforehand, with how many a suspicion gets."""
    said = typed(f"{TWO} --blocks 2").output
    assert "2 blocks are few" in said
    assert "A suspicion gets 6 blocks." in said
    assert len(runs.ran) == 1


WRONG = {
    "an unknown system": ("kafak --anchor 1 --versions 2", "SYSTEM: unknown 'kafak'. Did you mean 'kafka'?"),
    "an unknown version": ("kafka --anchor 3.9.1 --versions 4.9", "--versions 4.9: kafka 4.9 isn't pinned. Valid"),
    "an unknown anchor": ("kafka --anchor 3 --versions 4.1.1", "--anchor 3: kafka 3 isn't pinned. Valid versions: 4.3.1"),
    "the anchor in the list": ("kafka --anchor 4.1.1 --versions 4.1.1,4.3.1", "--versions names the anchor, 4.1.1"),
    "one version only": ("kafka --anchor 3.9.1 --versions 4.4.0", "no series: 4.4.0 has none before it. Name two or more."),
    "a version twice": ("kafka --anchor 3.9.1 --versions 4.4.0,4.4.0", "4.4.0 is named twice"),
    "an empty version": ("kafka --anchor 3.9.1 --versions 4.4.0,,4.3.1", "a version is empty. Write them as A,B,C."),
    "an unknown level": (f"{TWO} --durability 7", "--durability: unknown '7'"),
    "a level that none can do": ("nats --anchor 2.12.8 --versions 2.14.6 --durability 3", "it can't be run at level 3: "),
    "a system of one version": ("rabbitmq --anchor 4.0.5 --versions 4.1.0", "--versions 4.1.0: rabbitmq 4.1.0 isn't pinned"),
    "a system that has none": ("redpanda --anchor 1 --versions 2,3", "redpanda has no pinned versions"),
    "a workload that isn't there": (f"{TWO} --workload no.toml", "no.toml: no such file"),
    "a folder that isn't there": (f"{TWO} --export otava no/x.csv", "no/x.csv: it can't be written, there is no folder no"),
    "a folder in a file's place": (f"{TWO} --export otava .", "it can't be written, it is a folder"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_every_mistake_gets_its_sentence(what: str, runs: Runs) -> None:
    """And nothing is started."""
    line, sentence = WRONG[what]
    assert sentence in refused(line)
    assert runs.ran == []


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ('pacing = "ladder"\nlowest_rate_per_s = 100\nrungs = 3\n', "a ladder has a figure for each of its rates"),
        (
            "[backlog]\nsize_bytes = 100000000\nsubscriptions = 1\nconsumers = 1\ncatch_up_s = 60\n",
            "a backlog has no rate",
        ),
    ],
)
def test_a_load_without_one_figure_is_refused(keys: str, sentence: str, runs: Runs, tmp_path: Path) -> None:
    """A watch follows one."""
    (tmp_path / "load.toml").write_text(f"rate_per_s = 500\nmessage_bytes = 64\nmeasure_s = 2\n{keys}")
    assert sentence in refused(f"{TWO} --workload load.toml")
    assert runs.ran == []


def test_a_version_that_cannot_do_the_level_is_refused(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is recorded of it: its cells would stay empty, and the series would have a hole."""
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path / "home"))
    pinned = tmp_path / "home/software/nats/2.14.99"
    shutil.copytree(folders_of("nats")["2.14.6"], pinned)
    lock = pinned / "requirements.lock"
    lock.write_text(lock.read_text().replace("2.14.6", "2.14.99"))
    (pinned / "release.toml").write_text('schema = 1\n[cannot]\n2 = "it forgets"\n')
    said = refused("nats --anchor 2.12.8 --versions 2.14.6,2.14.99 --durability 2")
    assert "--versions 2.14.99: it can't be run at level 2: it forgets." in said
    assert runs.ran == []


def test_another_workload_under_the_same_history_is_refused(runs: Runs, tmp_path: Path) -> None:
    """Before anything is run."""
    typed(f"{TWO} --blocks 6")
    (tmp_path / "load.toml").write_text("rate_per_s = 500\nmessage_bytes = 64\nmeasure_s = 2\n")
    said = refused("kafka --anchor 3.9.1 --versions 4.1.1,4.4.0 --workload load.toml")
    assert "series.json is another watch: workload.name is steady there and load here" in said
    assert len(runs.ran) == 1


def test_series_that_cannot_be_one_are_kept_apart() -> None:
    """Each system, anchor, workload and level has a file of its own, where the user names none."""
    home = Path("/home")
    files = {
        default_file(new_history(system, anchor, level, STEADY), home)
        for system, anchor, level in (
            ("kafka", "3.9.1", "1"),
            ("kafka", "4.1.1", "1"),
            ("kafka", "3.9.1", "2"),
            ("nats", "3.9.1", "1"),
        )
    }
    assert len(files) == 4
    assert Path("/home/watches/kafka-3-9-1-steady-l1.json") in files


def test_an_unknown_format_is_refused_by_its_option() -> None:
    """With those that there are."""
    words = ["kafka", "--anchor", "3.9.1", "--versions", "4.1.1,4.3.1", "--export", "xml", "x"]
    said = CliRunner().invoke(command.watch_command, words).output
    assert "'xml' is not one of 'otava', 'bencher', 'openmetrics'" in said


def test_analysis_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Which answers, or says what it refuses."""
    file = tmp_path / "series.json"
    HistoryFile(file).write(new_history("kafka", "3.9.1", "1", STEADY))
    assert json.loads(ask(command.ANALYSIS, ["judge", str(file)]))["series"] == []
    with pytest.raises(SameboxError, match=r"can't be read") as raised:
        ask(command.ANALYSIS, ["judge", str(tmp_path / "none.json")])
    assert raised.value.next_step == "It is written by `samebox watch`."


def test_the_formats_are_those_of_analysis() -> None:
    """Which can't be imported by the command."""
    assert tuple(EXPORTS) == command.FORMATS


def test_an_unwritable_history_stops_nothing_silently(runs: Runs, tmp_path: Path) -> None:
    """A folder in its place is named before anything runs."""
    (tmp_path / "series.json").mkdir()
    with pytest.raises(InvalidInput, match="a folder; a file is needed"):
        typed(TWO)
    assert runs.ran == []
