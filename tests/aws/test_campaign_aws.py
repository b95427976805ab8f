"""`samebox campaign aws` before and around the hosts: what is refused, what is set, what is asked, in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.checkout import CHECKOUT
from bench.cli import aws, doctor, stack_life, teardown
from bench.cli.background import Background
from bench.cli.report import EMR_STEP
from bench.cli.target import Target
from bench.cli.teardown import DOWN_STEP, UP_STEP
from bench.progress import Step
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.capacity import CapacityWait
from provisioning.testbeds.aws.pulumi_command import Answer, ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.finding import Finding
from provisioning.testbeds.local.lock import exclusive
from tests.aws import engine
from tests.aws.test_stack import PREVIEW

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LIST = "stack ls --non-interactive --json"
CONFIG = "config --non-interactive --stack sn --json"
SET = "config set --non-interactive --stack sn --path --plaintext --"
SEED = "config set --non-interactive --stack sn --secret hostKeySeed"
UNSET, SEEDED = "{}", json.dumps({"samebox:campaign": {"value": "mine"}, "samebox:hostKeySeed": {"secret": True}})
EMPTY = '[{"name": "sn", "resourceCount": 0}]'


def stack(*script: tuple[str, str | Answer]) -> tuple[Stack, ScriptedPulumi]:
    """Stack sn over a scripted pulumi."""
    pulumi = ScriptedPulumi(list(script))
    return Stack("sn", Path(), command=pulumi), pulumi


def test_a_stack_is_made_if_nobody_has_and_refused_if_it_holds_something() -> None:
    """What others stood up would be taken away at the end."""
    made, pulumi = stack((LIST, "[]"), ("stack init --non-interactive --no-select sn", ""))
    stack_life.require_nothing_up(made)
    pulumi.require_done()
    stack_life.require_nothing_up(stack((LIST, EMPTY))[0])
    with pytest.raises(InvalidInput, match="stack sn holds 28 resources already") as raised:
        stack_life.require_nothing_up(stack((LIST, '[{"name": "sn", "resourceCount": 28}]'))[0])
    assert "pulumi destroy --stack sn" in raised.value.next_step


def test_a_run_sets_its_times_and_what_is_missing() -> None:
    """Created and expires always; campaign and host key seed only where the stack has none, the seed unseen."""
    steps = [Step("load", 7200.0)]
    fresh, pulumi = stack(
        (CONFIG, UNSET),
        (f"{SET} campaign demo", ""),
        (SEED, ""),
        (f"{SET} created 2026-11-21T12:00:00Z", ""),
        (f"{SET} expires 2026-11-21T16:30:00Z", ""),
    )
    assert stack_life.configure(fresh, "demo", steps, NOW) == "2026-11-21T16:30:00Z"
    (seed,) = pulumi.told
    assert len(bytes.fromhex(seed)) == 32
    kept, pulumi = stack(
        (CONFIG, SEEDED),
        (f"{SET} created 2026-11-21T12:00:00Z", ""),
        (f"{SET} expires 2026-11-21T14:00:00Z", ""),
    )
    stack_life.configure(kept, "demo", [Step("load", 60.0)], NOW)
    pulumi.require_done()


def test_hosts_live_twice_the_plan_and_never_too_long() -> None:
    """At least two hours; a plan that would need more than any host may live is refused before anything is set."""
    assert stack_life.life_of([Step("load", 60.0)]) == timedelta(hours=2)
    assert stack_life.life_of([Step("up", 3600.0), Step("load", 7200.0)]) == timedelta(hours=6, minutes=30)
    with pytest.raises(InvalidInput, match="7 days"):
        stack_life.life_of([Step("load", 4 * 86400.0)])


class Run:
    """The command with everything outside it replaced by entries in a diary."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self.diary: list[str] = []
        self.fails = ""
        self.stack: Stack
        monkeypatch.setattr(aws, "RESULTS", home / "results")
        monkeypatch.setattr("bench.cli.target.STACKS_STATE", home / "stacks")
        for name in (
            "vet_testbed",
            "vetted",
            "run_campaign",
            "report_on_emr",
            "require_time",
            "conclude",
        ):
            monkeypatch.setattr(aws, name, self._entry(name))
        self.needs_s = 0.0
        self.zones: tuple[str, ...] = ()
        self.capacity_wait: CapacityWait
        self.waiting_s = 0.0
        monkeypatch.setattr(aws, "require_ready", self._require_ready)
        monkeypatch.setattr(aws, "zones_of", lambda _: self.zones)
        monkeypatch.setattr(aws, "stack_of", lambda _: self.stack)
        monkeypatch.setattr(Target, "inventory", lambda _: engine.inventory())
        monkeypatch.setattr(aws, "AwsTestbed", self._testbed)
        monkeypatch.setattr(teardown.Leftovers, "find", lambda _: self._note("look", []))
        self.home = home
        # the smoke preset under another name, in a project of its own
        (home / "Pulumi.sn.yaml").write_text((CHECKOUT / "infra/presets/smoke.yaml").read_text())
        (home / "Pulumi.yaml").write_text((CHECKOUT / "Pulumi.yaml").read_text())
        monkeypatch.chdir(home)
        self.script()

    def _testbed(self, *_: Any, capacity_wait: CapacityWait, **__: Any) -> Run:
        self.capacity_wait = capacity_wait
        return self

    def configure(self, *_: Any, waiting_s: float) -> str:
        """The command's own, which only notes."""
        self.waiting_s = waiting_s
        return str(self._note("configure", "2026-11-21T14:00:00Z"))

    def script(self, *script: tuple[str, str | Answer]) -> None:
        """What pulumi is going to be asked."""
        self.pulumi = ScriptedPulumi(list(script))
        self.stack = Stack("sn", self.home, command=self.pulumi)

    def _note(self, what: str, answer: Any = None) -> Any:
        self.diary.append(what)
        if self.fails == what:
            raise SameboxError(f"{what} went wrong")
        return answer

    def _require_ready(self, stack: str, needs_s: float) -> None:
        """Asks no AWS."""
        assert stack == "sn"
        self.needs_s = needs_s
        self._note("require_ready")

    def _entry(self, name: str) -> Any:
        class Vetting:
            rejected: tuple[str, ...] = ()

        def entry(*_: Any, **__: Any) -> Any:
            return self._note(name, Vetting() if name == "vet_testbed" else 0)

        return entry

    def up(self) -> Inventory:
        """The testbed's."""
        inventory: Inventory = self._note("up", engine.inventory())
        return inventory

    def down(self) -> None:
        """The testbed's."""
        self._note("down")

    def type(self, *arguments: str, answer: str = "") -> Result:
        """Types the command."""
        campaign = str(CHECKOUT / "campaigns" / "smoke.toml")
        return CliRunner().invoke(
            aws.aws_campaign, [campaign, "--stack", "sn", "--plain", *arguments], input=answer, standalone_mode=False
        )


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The command over a stack that is empty and configured."""
    run = Run(monkeypatch, tmp_path)
    monkeypatch.setattr(aws, "configure", run.configure)
    monkeypatch.setattr(aws, "way_back", lambda _: "The records stay in s3://samebox-demo.")
    run.script((LIST, EMPTY), (PREVIEW, engine.lines(engine.began("create", "broker-1", host="broker-1"))))
    return run


WHOLE = ["vet_testbed", "require_time", "vetted", "run_campaign", "report_on_emr"]


def test_all_of_it_in_order_after_a_typed_yes(run: Run) -> None:
    """Cost first, then the question; hosts up, prepared, vetted, campaign, report, down, a look around."""
    result = run.type(answer="yes\n")
    assert result.exception is None
    assert run.diary == ["require_ready", "configure", "up", *WHOLE, "down", "look", "conclude"]
    said = result.output
    assert said.index("i3en.large") < said.index("Type yes to spend it")
    assert "$" in said
    run.pulumi.require_done()


@pytest.mark.parametrize("answer", ["no\n", "\n", "y\n"])
def test_anything_but_yes_starts_nothing(run: Run, answer: str) -> None:
    """Exit 1, nothing stood up."""
    result = run.type(answer=answer)
    assert (result.return_value, run.diary) == (1, ["require_ready", "configure"])


def test_without_anyone_to_ask_it_needs_the_option(run: Run) -> None:
    """A script whose input has ended isn't taken for consent; --yes is."""
    result = run.type()
    assert isinstance(result.exception, InvalidInput)
    assert "--yes" in result.exception.next_step
    run.script((LIST, EMPTY), (PREVIEW, engine.lines()))
    run.diary.clear()
    assert run.type("--yes").exception is None
    assert run.diary[-3:] == ["down", "look", "conclude"]


def test_detached_it_asks_here_and_goes_on_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything up to the typed yes happens here; then the same command, agreed to, is begun, and the stack is free for it."""
    begun: list[Sequence[str]] = []

    def begin(left: Background, arguments: Sequence[str]) -> int:
        with exclusive(Target(stack_name="sn").state):
            begun.append(arguments)
        assert left.folder.name == "sn"
        return 4711

    monkeypatch.setattr(Background, "begin", begin)
    result = run.type("--detach", "--keep", "--representative", answer="yes\n")
    assert (result.exception, result.return_value) == (None, 0)
    assert run.diary == ["require_ready", "configure"]
    campaign = str(CHECKOUT / "campaigns" / "smoke.toml")
    chosen = ["--representative", "--stack", "sn", "--keep"]
    assert begun == [["campaign", "aws", campaign, *chosen, "--yes", "--plain"]]
    for words in ("pid 4711", "samebox status --stack sn", "tail -f", "kill 4711"):
        assert words in result.output
    run.script((LIST, EMPTY), (PREVIEW, engine.lines()))
    assert run.type("--detach", answer="no\n").return_value == 1
    assert len(begun) == 1


@pytest.mark.parametrize("failing", ["up", *WHOLE])
def test_whatever_fails_the_hosts_are_taken_away(run: Run, failing: str) -> None:
    """The failure is what is raised, after the teardown; with --keep the hosts stay."""
    run.fails = failing
    result = run.type("--yes")
    assert isinstance(result.exception, SameboxError)
    assert f"{failing} went wrong" in str(result.exception)
    assert run.diary[-3:] == [failing, "down", "look"]
    # a campaign that is paid for is worth a report, whatever becomes of its hosts
    assert ("The records stay in s3://samebox-demo." in result.output) == (failing == "report_on_emr")
    run.script((LIST, EMPTY), (PREVIEW, engine.lines()))
    assert isinstance(run.type("--yes", "--keep").exception, SameboxError)
    assert run.diary[-1] == failing


def test_a_wrong_config_is_refused_before_anyone_is_asked(run: Run) -> None:
    """The program's own message, from a preview, and nothing stood up."""
    missing = "Pulumi.sn.yaml can't be used; nothing was changed.\n  samebox:owner is missing."
    event: Mapping[str, object] = engine.error("samebox-sn", missing)
    run.script((LIST, EMPTY), (PREVIEW, Answer(engine.lines(event), exit_status=1)))
    result = run.type(answer="yes\n")
    assert "samebox:owner is missing" in str(result.exception)
    assert "Type yes" not in result.output
    assert run.diary == ["require_ready", "configure"]


def test_what_aws_is_not_ready_for_is_refused_before_the_cost(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that isn't met in one message; nothing is set, shown or asked. What isn't known is said, and the plan looked at."""
    unknown = Finding("vCPUs", None, "not known: AWS refused GetServiceQuota", "Allow servicequotas:GetServiceQuota.")
    missing = Finding("types offered in the zone", False, "us-west-2a lacks i3en.large", "Take us-west-2b.")
    found = (Finding("identity", True, "account 1"), unknown, missing, Finding("image", False, "gone", "Pin another."))
    monkeypatch.setattr(aws, "require_ready", doctor.require_ready)
    monkeypatch.setattr(doctor, "findings_of", lambda *_: found)
    result = run.type(answer="yes\n")
    assert isinstance(result.exception, MissingRequirement)
    assert str(result.exception).splitlines() == [
        "stack sn can't be stood up as things are:",
        "  types offered in the zone: us-west-2a lacks i3en.large. Take us-west-2b.",
        "  image: gone. Pin another.",
    ]
    assert "samebox doctor --stack sn" in result.exception.next_step
    assert run.diary == []
    assert "$" not in result.output
    monkeypatch.setattr(doctor, "findings_of", lambda *_: (unknown,))
    run.script((LIST, EMPTY), (PREVIEW, engine.lines()))
    result = run.type(answer="no\n")
    assert (result.exception, run.diary) == (None, ["configure"])
    assert "vCPUs: not known: AWS refused GetServiceQuota. Allow servicequotas:GetServiceQuota." in result.output


def test_credentials_are_held_against_the_whole_plan(run: Run) -> None:
    """Standing up, vetting, trials, report and taking away: what `samebox cost` reckons hosts for, and the last look."""
    run.type("--yes")
    assert run.needs_s > UP_STEP.estimate_s + EMR_STEP.estimate_s + DOWN_STEP.estimate_s


def test_waiting_for_capacity_makes_life_and_credentials_longer(run: Run) -> None:
    """In each zone that may be tried; hosts that were launched at last live as long as those that came at once."""
    run.zones = ("us-west-2a", "us-west-2c")
    run.type("--yes", "--wait-for-capacity", "30")
    assert run.capacity_wait == CapacityWait(1800.0, ("us-west-2a", "us-west-2c"))
    assert run.waiting_s == 3600.0
    waited = run.needs_s
    run.script((LIST, EMPTY), (PREVIEW, engine.lines()))
    run.zones = ()
    run.type("--yes")
    assert (run.capacity_wait, run.waiting_s, waited - run.needs_s) == (CapacityWait(), 0.0, 1800.0)
    steps = [Step("load", 7200.0)]
    assert stack_life.life_of(steps, waiting_s=3600.0) - stack_life.life_of(steps) == timedelta(hours=1)


def test_rejected_hosts_end_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rejected than may be replaced: no campaign on them, and the hosts are taken away."""

    class Rejecting:
        rejected = ("broker-1", "broker-3")
        stopped = "Replaced none of them: 1 of 3 replacements left."

    monkeypatch.setattr(aws, "vet_testbed", lambda *_, **__: run._note("vet_testbed", Rejecting()))
    monkeypatch.setattr(aws, "print_vetting", lambda *_: None)
    result = run.type("--yes")
    assert "vetting rejected broker-1, broker-3. Replaced none of them" in str(result.exception)
    assert run.diary[-3:] == ["vet_testbed", "down", "look"]
