"""A stack: what pulumi is asked, how its events and its failures are read, and how its process is treated."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.checkout import CHECKOUT
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.testbeds.aws.events import Change
from provisioning.testbeds.aws.failures import RULES, StackFailed, explain, masked
from provisioning.testbeds.aws.pulumi_command import Answer, InstalledPulumi, ScriptedPulumi, UnscriptedPulumi
from provisioning.testbeds.aws.stack import ChangeFailed, ChangeInterrupted, Stack, project_directory
from tests.aws import engine

UP = "up --non-interactive --stack sn --yes --skip-preview --json"
PREVIEW = "preview --non-interactive --stack sn --json"
OUTPUT = "stack output --non-interactive --stack sn --json"
CAPACITY = (
    "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 500, api error "
    "InsufficientInstanceCapacity: We currently do not have sufficient i3en.6xlarge capacity in the Availability Zone you "
    "requested (us-west-2a)."
)


def silent(_: str) -> None:
    """Takes a line of progress."""


def stack(*script: tuple[str, str | Answer], directory: Path = Path()) -> Stack:
    """Stack sn over a scripted pulumi."""
    return Stack("sn", directory, command=ScriptedPulumi(list(script)))


def test_the_fake_is_strict() -> None:
    """Another command than the one scripted next, one too many and one too few are all errors."""
    with pytest.raises(UnscriptedPulumi, match="scripted next"):
        stack((PREVIEW, "")).up(silent)
    with pytest.raises(UnscriptedPulumi, match="nothing more was scripted"):
        stack().up(silent)
    with pytest.raises(UnscriptedPulumi, match="never asked"):
        ScriptedPulumi([(UP, "")]).require_done()


def test_up_tells_what_it_does_and_returns_what_changed() -> None:
    """Created and replaced resources become lines; a replacement counts once, the unchanged and the engine's own not at all."""
    events = engine.lines(
        engine.began("same", "vpc", "aws:ec2/vpc:Vpc"),
        engine.began("create", "broker-3", host="broker-3"),
        engine.done("create", "broker-3", host="broker-3"),
        *engine.replacement("broker-2"),
    )
    said: list[str] = []
    changes = stack((f"{UP} --refresh", events)).up(said.append, refresh=True)
    assert changes == (
        Change("create", engine.INSTANCE, "broker-3", "broker-3"),
        Change("replace", engine.INSTANCE, "broker-2", "broker-2"),
    )
    assert said == [
        "creating broker-3 (ec2 Instance)",
        "created broker-3 (ec2 Instance)",
        "creating the successor of broker-2 (ec2 Instance)",
        "created the successor of broker-2 (ec2 Instance)",
        "deleting the predecessor of broker-2 (ec2 Instance)",
        "deleted the predecessor of broker-2 (ec2 Instance)",
    ]


def test_preview_returns_the_plan() -> None:
    """What would be done counts, although nothing is."""
    events = engine.lines(
        engine.began("update", "schedule", "aws:scheduler/schedule:Schedule"),
        engine.began("create-replacement", "broker-1", host="broker-1"),
        engine.began("replace", "broker-1", host="broker-1"),
    )
    assert [(change.operation, change.name) for change in stack((PREVIEW, events)).preview(silent)] == [
        ("update", "schedule"),
        ("replace", "broker-1"),
    ]


def test_a_failed_up_says_why_and_what_was_done() -> None:
    """The resource's error is the evidence, not the engine's epilogue; what was created before it is known."""
    events = engine.lines(
        engine.done("create", "broker-1", host="broker-1"),
        engine.began("create", "broker-2", host="broker-2"),
        engine.error("broker-2", CAPACITY),
        engine.error("samebox-sn", "update failed"),
    )
    with pytest.raises(
        ChangeFailed, match="pulumi up of stack sn failed: AWS has no capacity for this machine"
    ) as raised:
        stack((UP, Answer(events, exit_status=1))).up(silent)
    assert raised.value.kind == "capacity"
    assert "broker-2: creating EC2 Instance" in str(raised.value)
    assert "update failed" not in str(raised.value)
    assert [change.name for change in raised.value.finished] == ["broker-1"]
    assert "availabilityZone" in raised.value.next_step


def test_an_interrupted_up_knows_what_was_done() -> None:
    """Ctrl-C passes through as such, with what pulumi finished after it."""
    events = engine.lines(*engine.replacement("broker-1"))
    with pytest.raises(ChangeInterrupted) as raised:
        stack((UP, Answer(events, exit_status=1, interrupted=True))).up(silent)
    assert [change.name for change in raised.value.finished] == ["broker-1"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end ...", "lock"),
        ("error: [409] Conflict: Another update is currently in progress.", "lock"),
        ("error: no stack named 'sn' found", "no stack"),
        ("error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions", "login"),
        ("error: get stack secrets manager: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or ...", "passphrase"),
        ("error: constructing secrets manager of type passphrase: incorrect passphrase", "passphrase"),
        (
            "api error InvalidPlacementGroup.InUse: The placement group samebox-1 is in use and may not be deleted.",
            "in use",
        ),
        ("api error DependencyViolation: resource sg-1 has a dependent object", "in use"),
        ("error: failed to load checkpoint: EOF", "state cut off"),
        ("error: EOF", "state cut off"),
        ("error: no resource plugin 'pulumi-resource-aws' found in the workspace at version v7.51.1", "plugin"),
        ("api error RequestLimitExceeded: Request limit exceeded.", "busy"),
        ("api error ThrottlingException: Rate exceeded", "busy"),
        (CAPACITY, "capacity"),
        (
            "api error VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32",
            "quota",
        ),
        ("api error VpcLimitExceeded: The maximum number of VPCs has been reached.", "quota"),
        ("api error ServiceQuotaExceededException: too many schedules", "quota"),
        (
            "api error Unsupported: Your requested instance type (i3en.6xlarge) is not supported in your requested "
            "Availability Zone (us-west-2d). Please retry your request by choosing us-west-2a, us-west-2b.",
            "not offered",
        ),
        ("api error InvalidAMIID.NotFound: The image id '[ami-0d53cc9bd365ad65b]' does not exist", "image"),
        ("samebox:ami ami-0d53cc9bd365ad65b doesn't exist in us-west-2, not as a deprecated image either", "image"),
        ("api error ExpiredToken: The security token included in the request is expired", "credentials"),
        ("No valid credential sources found. Please see https://www.pulumi.com/registry/packages/aws/", "credentials"),
        ("api error AuthFailure: AWS was not able to validate the provided access credentials", "credentials"),
        (
            "api error UnauthorizedOperation: You are not authorized. User: x is not authorized to perform: y",
            "permission",
        ),
        ("api error OptInRequired: You are not subscribed to this service.", "account"),
        ("a region without a name", "other"),
    ],
)
def test_failures_are_told_apart(said: str, kind: str) -> None:
    """Each message in the words of pulumi or AWS has its kind, keeps its evidence and says what to do."""
    failure = explain("pulumi up of stack sn", "sn", [said])
    assert failure.kind == kind
    assert said.removeprefix("error: ") in str(failure)
    assert failure.next_step
    assert "{stack}" not in str(failure) + failure.next_step


def test_every_kind_of_failure_says_what_to_do() -> None:
    """No rule without a sentence and a next step."""
    assert all(rule.sentence.endswith(".") and rule.next_step.endswith(".") for rule in RULES)


def test_what_to_do_names_sections_that_exist() -> None:
    """A section of the guide that an answer sends people to is there."""
    guide = (CHECKOUT / "docs" / "aws.md").read_text()
    named = [re.search(r"docs/aws\.md, ([\w ]+)[;)]", rule.next_step) for rule in RULES]
    sections = [found[1] for found in named if found]
    assert sections == ["How long an image lives", "Permissions"]
    assert all(f"\n## {section}\n" in guide for section in sections)
    assert not any("README" in rule.next_step for rule in RULES)


def test_a_traceback_is_shown_by_its_last_line_only() -> None:
    """A program that crashed says what with, not where; AWS's encoded messages are left out."""
    crash = 'Program failed:\nTraceback (most recent call last):\n  File "x.py", line 1\nValueError: no brokers'
    encoded = "UnauthorizedOperation: not authorized. Encoded authorization failure message: " + "x" * 900
    failure = explain("pulumi preview of stack sn", "sn", [crash, encoded])
    assert "ValueError: no brokers" in str(failure)
    assert "Traceback" not in str(failure)
    assert "xxx" not in str(failure)


def test_secrets_are_masked() -> None:
    """Access keys by their shape, the environment's secrets by their value; a short word is no secret."""
    environment = {"AWS_SECRET_ACCESS_KEY": "very/secret", "PULUMI_CONFIG_PASSPHRASE": "x"}
    assert masked("x AKIAIOSFODNN7EXAMPLE very/secret", environment) == "x *** ***"


def test_config_is_read_and_set_as_the_operator_would() -> None:
    """Own keys without namespace, tables as tables, a secret never shown, a key that is only declared is none; a value that begins
    with a dash is no option."""
    shown = {
        "samebox:campaign": {"value": "", "secret": False},
        "samebox:generations": {"value": "{}", "objectValue": {}, "secret": False},
        "aws:region": {"value": "eu-west-1", "secret": False},
        "samebox:brokers": {"value": '{"count":3}', "objectValue": {"count": 3}, "secret": False},
        "samebox:region": {"value": "us-west-2", "secret": False},
        "samebox:token": {"secret": True},
    }
    opened = stack(
        ("config --non-interactive --stack sn --json", json.dumps(shown)),
        ("config set --non-interactive --stack sn --path --plaintext -- generations.broker-2 2", ""),
    )
    assert opened.config() == {"brokers": {"count": 3}, "region": "us-west-2", "token": None}
    opened.set_config("generations.broker-2", 2)


def test_a_secret_is_handed_over_by_standard_input() -> None:
    """The command line, which every process on this machine can read, names only the key."""
    pulumi = ScriptedPulumi([("config set --non-interactive --stack sn --secret hostKeySeed", "")])
    Stack("sn", Path(), command=pulumi).set_secret("hostKeySeed", "c0ffee")
    assert pulumi.told == ["c0ffee"]


def test_the_inventory_is_read_from_the_outputs() -> None:
    """As a table or as JSON text; nothing up is None; another schema is refused by name."""
    shown = engine.inventory(broker_2=4)
    as_text = json.dumps({"inventory": shown.to_json()})
    other = json.dumps({"inventory": {**json.loads(shown.to_json()), "schema": 2}})
    opened = stack((OUTPUT, engine.outputs(shown)), (OUTPUT, as_text), (OUTPUT, "{}"), (OUTPUT, other))
    assert opened.inventory() == shown
    assert opened.inventory() == shown
    assert opened.inventory() is None
    with pytest.raises(InvalidInput, match="stack sn, output inventory: schema is 2"):
        opened.inventory()


def test_a_stack_never_made_has_nothing_up_if_its_config_is_there(tmp_path: Path) -> None:
    """A stack's file before its first `pulumi up` is no error; a name that nobody knows is one."""
    unknown = (OUTPUT, Answer(stderr="error: no stack named 'sn' found", exit_status=1))
    with pytest.raises(StackFailed, match="there is no stack sn"):
        stack(unknown, directory=tmp_path).inventory()
    (tmp_path / "Pulumi.sn.yaml").write_text("config: {}\n")
    assert stack(unknown, directory=tmp_path).inventory() is None


def test_resource_count_tells_unknown_from_empty() -> None:
    """None before `pulumi stack init`, 0 after it or after a destroy."""
    listed = json.dumps([{"name": "other", "resourceCount": 4}, {"name": "sn", "resourceCount": 28}])
    ask = "stack ls --non-interactive --json"
    opened = stack((ask, listed), (ask, '[{"name": "sn", "current": false}]'), (ask, "[]"))
    assert [opened.resource_count() for _ in range(3)] == [28, 0, None]


def test_wrong_names_are_refused(tmp_path: Path) -> None:
    """A name that would be an option, and a stack without a config file, which names those that have one."""
    with pytest.raises(InvalidInput, match="not a valid stack name"):
        Stack("--yes", tmp_path)
    (tmp_path / "Pulumi.sn2022.yaml").touch()
    with pytest.raises(
        InvalidInput, match=r"Pulumi.sn.yaml: no such file. Stacks with a config file: sn2022"
    ) as raised:
        stack(directory=tmp_path).require_config()
    (tmp_path / "infra" / "presets").mkdir(parents=True)
    for name in ("big", "sn"):
        (tmp_path / "infra" / "presets" / f"{name}.yaml").touch()
    with pytest.raises(InvalidInput, match=r"Pulumi.sn.yaml: no such file") as raised:
        stack(directory=tmp_path).require_config()
    assert "`cp infra/presets/sn.yaml Pulumi.sn.yaml` makes it from a preset (big, sn)" in raised.value.next_step


def test_a_copy_of_the_project_is_used_from_within(tmp_path: Path) -> None:
    """The current folder counts if it holds this project; another project's folder doesn't."""
    assert project_directory(tmp_path, Path("checkout")) == Path("checkout")
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    assert project_directory(tmp_path, Path("checkout")) == Path("checkout")
    (tmp_path / "Pulumi.yaml").write_text("name: samebox\nruntime: python\n")
    assert project_directory(tmp_path, Path("checkout")) == tmp_path


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], InstalledPulumi]:
    """Puts a shell script called pulumi on the PATH, and nothing else by that name."""

    def install(script: str) -> InstalledPulumi:
        file = tmp_path / "bin" / "pulumi"
        file.parent.mkdir()
        file.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then echo v3.259.0; exit; fi\n{script}\n')
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")
        return InstalledPulumi(tmp_path, silent)

    return install


def test_the_process_gets_arguments_folder_and_environment(
    program: Callable[[str], InstalledPulumi], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's folder, the operator's variables, this Python first on the PATH; both outputs apart; secrets masked."""
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    said: list[str] = []
    script = 'echo "$1"; pwd; command -v python; echo "$PULUMI_CONFIG_PASSPHRASE"; cat; echo to stderr >&2; exit 3'
    ended = program(script).run(["up"], said.append, stdin="by pipe")
    assert (ended.exit_status, ended.stderr, ended.interrupted) == (3, "to stderr", False)
    assert said[:2] == ["up", str(tmp_path)]
    assert said[2].endswith(("/.venv/bin/python", "/bin/python"))
    assert said[3:] == ["***", "by pipe"]


def test_an_interrupt_is_handed_on_once_and_waited_for(program: Callable[[str], InstalledPulumi]) -> None:
    """Ctrl-C, twice: pulumi gets one SIGINT, ends what it does, and every line of it arrives."""
    pulumi = program(
        "trap 'echo told' INT; echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo finished; exit 1"
    )
    said: list[str] = []

    def take(line: str) -> None:
        said.append(line)
        if line == "ready":
            threading.Thread(target=interrupt_twice).start()

    def interrupt_twice() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.15)

    ended = pulumi.run(["up"], take)
    assert said == ["ready", "told", "finished"]
    assert (ended.exit_status, ended.interrupted) == (1, True)


def test_an_error_while_reading_a_line_is_raised_after_the_end(program: Callable[[str], InstalledPulumi]) -> None:
    """The pipe is emptied all the same: pulumi must not block on it and leave its lock."""

    def refuse(line: str) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="first"):
        program("echo first; echo second").run(["up"], refuse)


def test_pulumi_must_be_there_and_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, too old, not pulumi at all: each is said with how to install it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirement, match="not on the PATH") as raised:
        InstalledPulumi(tmp_path, silent).run(["up"], silent)
    assert "pulumi.com/docs/install" in raised.value.next_step
    file = tmp_path / "pulumi"
    for answer, words in (("v3.225.9", "3.226.0 or newer"), ("hello", "prints 'hello' instead of its version")):
        file.write_text(f"#!/bin/sh\necho {answer}\n")
        file.chmod(0o755)
        with pytest.raises(MissingRequirement, match=words):
            InstalledPulumi(tmp_path, silent).run(["up"], silent)
