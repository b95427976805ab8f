"""What a watch runs, what it doesn't run again, and what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.documents import read_document
from analysis.watch.document import judged_document
from analysis.watch.judge import REGRESSION, judge
from bench.campaign.two_contestants import STEADY
from bench.watch.history_file import HistoryFile, new_history
from bench.watch.watching import SHOWN, ScriptedCampaigns, Seen, UnscriptedCampaign, Watch, confirming_blocks, watch
from contract.watch_history import History, history_of
from provisioning.errors import InvalidInput, SameboxError

P99 = "response_latency_p99"
NOISE = (1.02, 0.99, 1.0, 1.01, 0.98, 1.0)
ASKED = new_history("kafka", "3.9.1", "1", STEADY)


def values(blocks: int, **ratios: float) -> dict[str, dict[str, Sequence[float]]]:
    """The anchor's p99 is 10 ms in every block; of the others (v411 for 4.1.1) it is so many times that."""
    named: dict[str, Sequence[float]] = {"3.9.1": [10.0] * blocks}
    for at, (name, ratio) in enumerate(ratios.items()):
        version = ".".join(name.removeprefix("v"))
        named[version] = [10.0 * ratio * NOISE[(block + at) % len(NOISE)] for block in range(blocks)]
    return {P99: named}


def judged(file: Path) -> Mapping[str, Any]:
    """As analysis does it, in this process."""
    return judged_document(judge(history_of(read_document(file, next_step=""))))


def watched(file: Path, campaigns: ScriptedCampaigns, *versions: str, blocks: int = 6) -> Seen:
    """One `samebox watch`."""
    history_file = HistoryFile(file)
    return watch(Watch(history_file, history_file.read(ASKED), versions, blocks, seed=1), campaigns, judged)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kafka.json"


def test_all_new_versions_run_in_one_campaign_beside_the_anchor(file: Path) -> None:
    """With the workload, level and blocks asked for, in random order, and called by the history's file."""
    campaigns = ScriptedCampaigns({"3.9.1 4.1.1 4.3.1": values(6, v411=1.0, v431=1.0)})
    seen = watched(file, campaigns, "4.1.1", "4.3.1")
    [document] = campaigns.asked
    assert [each["version"] for each in document["contestants"]] == ["3.9.1", "4.1.1", "4.3.1"]
    assert (document["name"], document["blocks"], document["order"]) == ("watch-kafka-1", 6, "random")
    assert (document["durability"], document["workloads"][0]["name"]) == (["1"], "steady")
    assert seen.shown == ()
    assert HistoryFile(file).read(ASKED).versions == ("4.1.1", "4.3.1")


def test_what_was_run_is_not_run_again(file: Path) -> None:
    """A later watch runs what is new alone; one without anything new runs nothing, and says the same."""
    watched(file, ScriptedCampaigns({"3.9.1 4.1.1 4.3.1": values(6, v411=1.0, v431=1.0)}), "4.1.1", "4.3.1")
    later = ScriptedCampaigns({"3.9.1 4.4.0": values(6, v440=1.0)})
    seen = watched(file, later, "4.3.1", "4.4.0")
    assert [each["name"] for each in later.asked] == ["watch-kafka-2"]
    assert watched(file, ScriptedCampaigns({}), "4.4.0") == seen


def test_a_version_without_a_sound_trial_is_run_again(file: Path) -> None:
    """It keeps its place in the series."""
    watched(file, ScriptedCampaigns({"3.9.1 4.1.1 4.3.1": values(6, v411=1.0, v431=1.0)}), "4.1.1", "4.3.1")
    known = HistoryFile(file).read(ASKED)
    blocks = tuple(
        replace(each, values={version: own for version, own in each.values.items() if version != "4.1.1"})
        for each in known.rounds[0].metrics[P99]
    )
    HistoryFile(file).write(replace(known, rounds=(replace(known.rounds[0], metrics={P99: blocks}),)))
    again = ScriptedCampaigns({"3.9.1 4.1.1": values(6, v411=1.0)})
    seen = watched(file, again, "4.1.1", "4.3.1")
    assert [each["version"] for each in seen.judgement["series"][0]["versions"]] == ["4.1.1", "4.3.1"]


def test_what_looks_worse_is_run_again_with_the_one_before_it(file: Path) -> None:
    """Twice as often; and what those blocks show is a regression."""
    campaigns = ScriptedCampaigns(
        {
            "3.9.1 4.1.1 4.3.1 4.4.0": values(6, v411=1.0, v431=1.0, v440=1.2),
            "3.9.1 4.3.1 4.4.0": values(12, v431=1.0, v440=1.2),
        }
    )
    seen = watched(file, campaigns, "4.1.1", "4.3.1", "4.4.0")
    assert [each["blocks"] for each in campaigns.asked] == [6, 12]
    assert campaigns.asked[1]["question"] == "Is kafka 4.4.0 worse than 4.3.1?"
    assert campaigns.asked[1]["seed"] != campaigns.asked[0]["seed"]
    assert [(each["before"], each["version"]) for each in seen.shown] == [("4.3.1", "4.4.0")]


def test_what_new_blocks_do_not_confirm_is_not_shown(file: Path) -> None:
    """And isn't run a third time."""
    campaigns = ScriptedCampaigns(
        {
            "3.9.1 4.3.1 4.4.0": values(6, v431=1.0, v440=1.2),
        }
    )
    again = ScriptedCampaigns({"3.9.1 4.3.1 4.4.0": values(12, v431=1.0, v440=1.0)})
    answers = iter((campaigns, again))

    class Both:
        """The same contestants twice, with other values."""

        def run(self, document: Mapping[str, Any], confirms: Any) -> Any:
            return next(answers).run(document, confirms)

    history_file = HistoryFile(file)
    task = Watch(history_file, history_file.read(ASKED), ("4.3.1", "4.4.0"), 6, seed=1)
    assert watch(task, Both(), judged).shown == ()
    assert watched(file, ScriptedCampaigns({}), "4.3.1", "4.4.0").shown == ()


def test_an_old_regression_is_shown_only_to_who_asks_for_it(file: Path) -> None:
    """So that a later version isn't blamed for it; asked for again, it is shown again without any run."""
    watched(
        file,
        ScriptedCampaigns(
            {
                "3.9.1 4.1.1 4.3.1 4.4.0": values(6, v411=1.0, v431=1.0, v440=1.2),
                "3.9.1 4.3.1 4.4.0": values(12, v431=1.0, v440=1.2),
            }
        ),
        *("4.1.1", "4.3.1", "4.4.0"),
    )
    later = watched(file, ScriptedCampaigns({"3.9.1 4.5.0": values(6, v450=1.2)}), "4.5.0")
    assert later.shown == ()
    assert [each["verdict"] for each in later.judgement["findings"]] == [REGRESSION]
    assert [each["version"] for each in watched(file, ScriptedCampaigns({}), "4.4.0").shown] == ["4.4.0"]


def test_a_round_is_kept_as_soon_as_it_is_there(file: Path) -> None:
    """What fails while a suspicion is confirmed doesn't lose the blocks before: the next watch goes on from them."""
    looked = {"3.9.1 4.1.1 4.3.1 4.4.0": values(6, v411=1.0, v431=1.0, v440=1.2)}
    with pytest.raises(SameboxError, match="no hosts"):
        watched(
            file,
            ScriptedCampaigns({**looked, "3.9.1 4.3.1 4.4.0": SameboxError("no hosts")}),
            *("4.1.1", "4.3.1", "4.4.0"),
        )
    after = ScriptedCampaigns({"3.9.1 4.3.1 4.4.0": values(12, v431=1.0, v440=1.2)})
    assert watched(file, after, "4.4.0").shown
    assert [each["name"] for each in after.asked] == ["watch-kafka-2"]


def test_few_blocks_are_confirmed_by_as_many_as_a_verdict_takes() -> None:
    """Otherwise by twice as many."""
    assert [confirming_blocks(blocks) for blocks in (1, 3, 4, 10)] == [6, 6, 8, 20]


def test_the_words_of_analysis_are_its_own() -> None:
    """A verdict is told by its word; analysis can't be imported here."""
    assert SHOWN == REGRESSION


def test_the_fake_refuses_what_it_was_not_told(file: Path) -> None:
    """Other contestants, or other numbers of blocks."""
    with pytest.raises(UnscriptedCampaign, match=r"no scripted answer for 3\.9\.1 4\.4\.0"):
        watched(file, ScriptedCampaigns({}), "4.4.0")
    with pytest.raises(UnscriptedCampaign, match="asked for 7 blocks"):
        watched(file, ScriptedCampaigns({"3.9.1 4.4.0": values(6, v440=1.0)}), "4.4.0", blocks=7)


def test_a_history_of_another_workload_is_refused(file: Path) -> None:
    """With every key in which they differ, and the way out."""
    HistoryFile(file).write(ASKED)
    other: History = new_history("kafka", "4.1.1", "1", replace(STEADY, rate_per_s=5_000))
    with pytest.raises(InvalidInput) as raised:
        HistoryFile(file).read(other)
    assert "anchor is 3.9.1 there and 4.1.1 here; workload.rate_per_s is 1000 there and 5000 here" in str(raised.value)
    assert "--history FILE" in raised.value.next_step


def test_a_history_comes_back_as_it_was_written(file: Path) -> None:
    """Round by round, bounds and all."""
    watched(file, ScriptedCampaigns({"3.9.1 4.1.1 4.3.1": values(6, v411=1.0, v431=1.0)}), "4.1.1", "4.3.1")
    found = HistoryFile(file).read(ASKED)
    HistoryFile(file).write(found)
    assert HistoryFile(file).read(ASKED) == found
    assert history_of(read_document(file, next_step="")) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "not valid JSON"),
        ('{"schema": 2}', "this samebox reads schema = 1"),
        ('{"schema": 1, "system": "kafka"}', "anchor"),
        ("", "the file is empty"),
    ],
)
def test_a_broken_history_gets_its_sentence(file: Path, text: str, sentence: str) -> None:
    """Which names the file."""
    file.write_text(text)
    with pytest.raises(InvalidInput, match=sentence) as raised:
        HistoryFile(file).read(ASKED)
    assert str(file) in str(raised.value)
