"""Where among a campaign's trials its disks are probed again, what is left of that after a resume, and what it adds to the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import TrialSpec, order_of
from bench.campaign.prepared import prepare
from bench.cli.plan import plan
from bench.run.revetting import HOUR_S, PROBE_S, PlannedProbe, agenda, planned_probes
from bench.run.runner import steps_to_run
from bench.run.trial import steps_of
from provisioning.errors import InvalidInput

DEMO = Path(__file__).resolve().parents[2] / "campaigns" / "demo.toml"
TRIALS = order_of(load_campaign(DEMO))  # two blocks of two systems
NAMES = [spec.trial for spec in TRIALS]
ALL_H = sum(step.estimate_s for spec in TRIALS for step in steps_of(spec)) / HOUR_S


def shown(left: list[PlannedProbe | TrialSpec]) -> list[str]:
    """Trials by name, probes by number."""
    return [item.name if isinstance(item, PlannedProbe) else item.trial for item in left]


def test_a_short_campaign_is_not_probed_again() -> None:
    """The demo takes minutes; probes come with campaigns of four hours, unless the file says otherwise."""
    assert load_campaign(DEMO).revet_every_h == 4.0
    assert planned_probes(TRIALS, 4.0) == ()
    assert planned_probes(TRIALS, 1.01 * ALL_H) == ()
    assert planned_probes((), 0.0) == ()


def test_probes_enclose_the_campaign_and_part_no_comparison() -> None:
    """Before the first trial, after the last, and in between only before the first trial of a comparison."""
    first, second, last = planned_probes(TRIALS, 0.0)
    assert (first.after, first.before) == ((), tuple(NAMES[:2]))
    assert (second.after, second.before) == (tuple(NAMES[:2]), tuple(NAMES[2:]))
    assert (last.after, last.before) == (tuple(NAMES[2:]), ())
    assert [probe.name for probe in (first, second, last)] == ["00", "01", "02"]


def test_so_many_hours_pass_between_two_probes() -> None:
    """With three quarters of the campaign as the least, only its ends are probed; with a third, its middle too."""
    assert len(planned_probes(TRIALS, 0.75 * ALL_H)) == 2
    assert len(planned_probes(TRIALS, 0.33 * ALL_H)) == 3


def test_a_native_trial_is_no_place_for_a_probe() -> None:
    """It has the position of the trial that it checks, and follows it at once."""
    native = replace(TRIALS[0], trial=f"{NAMES[0]}-native", generator="native")
    trials = [TRIALS[0], native, *TRIALS[1:]]
    assert planned_probes(trials, 0.0)[0].before == (NAMES[0], native.trial, NAMES[1])


@pytest.mark.parametrize(
    ("finished", "probed", "left"),
    [
        ([], [], ["00", *NAMES[:2], "01", *NAMES[2:], "02"]),
        ([], ["00"], [*NAMES[:2], "01", *NAMES[2:], "02"]),  # ended in the first trial
        (NAMES[:2], ["00"], ["01", *NAMES[2:], "02"]),  # ended in the probe
        (NAMES[:2], ["00", "01"], [*NAMES[2:], "02"]),
        (NAMES[:3], ["00"], [NAMES[3], "02"]),  # a probe whose time has passed isn't taken late
        (NAMES, ["00", "01"], ["02"]),
        (NAMES, ["00", "01", "02"], []),
    ],
)
def test_a_resumed_campaign_takes_the_probes_that_are_left(
    finished: list[str], probed: list[str], left: list[str]
) -> None:
    """None twice, none too late, wherever it was ended."""
    assert shown(agenda(TRIALS, 0.0, finished, probed)) == left


def test_the_plan_counts_their_time(tmp_path: Path) -> None:
    """Each is a step of the plan, with its minute, where it will be taken."""
    file = tmp_path / "probed.toml"
    file.write_text(DEMO.read_text().replace("seed =", "revet_every_h = 0\nseed =", 1))
    plain, probed = (steps_to_run(prepare(load_campaign(path), path, "local"), ()) for path in (DEMO, file))
    added = [step for step in probed if step not in plain]
    assert [step.title for step in added] == [
        f"disks probed again, before {NAMES[0]}",
        f"disks probed again, before {NAMES[2]}",
        "disks probed again, after the last trial",
    ]
    difference_s = sum(step.estimate_s for step in probed) - sum(step.estimate_s for step in plain)
    assert difference_s == pytest.approx(3 * PROBE_S)
    assert probed[-1].title.endswith("after the last trial")


def test_plan_says_how_often(tmp_path: Path) -> None:
    """A line of `samebox plan`, where there is any."""
    file = tmp_path / "probed.toml"
    file.write_text(DEMO.read_text().replace("seed =", "revet_every_h = 0\nseed =", 1))
    for path, said in ((DEMO, False), (file, True)):
        found = CliRunner().invoke(plan, [str(path)])
        assert found.exit_code == 0, found.output
        assert ("Disks are probed again 3 times (revet_every_h = 0)." in found.output) is said


@pytest.mark.parametrize("value", ["-1", "inf", '"often"'])
def test_a_wrong_interval_is_refused(tmp_path: Path, value: str) -> None:
    """By its key, before anything is started."""
    file = tmp_path / "wrong.toml"
    file.write_text(DEMO.read_text().replace("seed =", f"revet_every_h = {value}\nseed =", 1))
    with pytest.raises(InvalidInput, match="revet_every_h"):
        load_campaign(file)
