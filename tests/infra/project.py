"""The committed Pulumi project as an operator has it who never saw AWS: a copy, the real engine, a backend of files, a local cloud."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from provisioning.document import build
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import CHECKOUT
from provisioning.testbeds.aws.rehearsal.engine.engine import Engine
from provisioning.testbeds.aws.rehearsal.project import environment_of, lay_out, make_key
from tests.cloud.faults import Cloud

COMMAND_TIMEOUT_S = 900
OPERATOR_CIDR = "203.0.113.7/32"


@dataclass(frozen=True)
class Step:
    """One finished operation on a resource, as the engine reports it: create-replacement, broker-1."""

    operation: str
    resource: str


@dataclass(frozen=True)
class Ran:
    """A finished pulumi command. `steps` and `changes` are there for commands run with --json."""

    exit_status: int
    output: str

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done, in order, without what stayed the same."""
        found = [event["resOutputsEvent"]["metadata"] for event in self._events() if "resOutputsEvent" in event]
        return tuple(Step(each["op"], each["urn"].split("::")[-1]) for each in found if each["op"] != "same")

    @property
    def changes(self) -> dict[str, int]:
        """The engine's own count at the end, without what stayed the same."""
        summaries = [event["summaryEvent"] for event in self._events() if "summaryEvent" in event]
        return {name: count for name, count in summaries[-1]["resourceChanges"].items() if name != "same"}

    def _events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]


class Project:
    """One stack of a copy of the project in `folder`, from a preset, configured as its README says."""

    def __init__(self, folder: Path, preset: str, cloud: Cloud, engine: Engine) -> None:
        self.folder, self.preset, self.cloud = folder / "project", preset, cloud
        # stacks of one name are in use by several processes of tests at once
        self.environment = {**environment_of(folder, cloud, engine), "SAMEBOX_HOME": str(folder / "samebox")}
        lay_out(self.folder, CHECKOUT)
        shutil.copy(CHECKOUT / f"infra/presets/{preset}.yaml", self.folder / f"Pulumi.{preset}.yaml")
        key = folder / "operator_key"
        make_key(key)
        self.pulumi("stack", "init", preset)
        now = datetime.now(UTC)
        for name, value in {
            "owner": "tester",
            "operatorCidr": OPERATOR_CIDR,
            "identityFile": str(key),
            "created": moment(now),
            "expires": moment(now + timedelta(hours=5)),
        }.items():
            self.set(name, value)
        self.pulumi("config", "set", "--secret", "samebox:hostKeySeed", "5a" * 32)

    def set(self, key: str, value: str | int) -> None:
        """Sets a key of the stack's config; broker-1's generation is `generations.broker-1`."""
        self.pulumi("config", "set", "--path", f"samebox:{key}", str(value))

    def pulumi(self, *arguments: str, exit_status: int | None = 0) -> Ran:
        """Runs `pulumi ARGUMENTS`; None as `exit_status` accepts any."""
        process = self.start(*arguments)
        output, complaint = process.communicate(timeout=COMMAND_TIMEOUT_S)
        if exit_status is not None:
            told = f"pulumi {' '.join(arguments)}: exit {process.returncode}\n{output[-4000:]}\n{complaint[-4000:]}"
            assert process.returncode == exit_status, told
        return Ran(process.returncode, output + complaint)

    def samebox(self, *arguments: str) -> Ran:
        """Runs `samebox ARGUMENTS` in the project's folder; its exit status is the caller's to judge."""
        process = self._start(str(CHECKOUT / ".venv/bin/samebox"), *arguments)
        output, complaint = process.communicate(timeout=COMMAND_TIMEOUT_S)
        return Ran(process.returncode, output + complaint)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts `pulumi ARGUMENTS`."""
        return self._start("pulumi", "--non-interactive", *arguments)

    def _start(self, *command: str) -> subprocess.Popen[str]:
        """In a process group of its own: a Ctrl-C at the tests isn't for it."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def up(self, *options: str, exit_status: int | None = 0) -> Ran:
        """`pulumi up`, without asking."""
        return self.pulumi("up", "--yes", "--skip-preview", "--json", *options, exit_status=exit_status)

    def destroy(self, *options: str, exit_status: int | None = 0) -> Ran:
        """`pulumi destroy`, without asking."""
        return self.pulumi("destroy", "--yes", "--skip-preview", "--json", *options, exit_status=exit_status)

    def outputs(self) -> dict[str, Any]:
        """What the stack exports."""
        outputs: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json").output)
        return outputs

    def inventory(self) -> Inventory:
        """The exported inventory, read as everything else reads it."""
        return build(Inventory, self.outputs()["inventory"], where="the stack output `inventory`")

    def state(self) -> str:
        """The stack's whole state as the backend has it, in the clear where it is in the clear."""
        return self.pulumi("stack", "export").output


# makes a stack of its own, from a preset ("smoke"), in a cloud of its own; with hosts=True its instances are hosts
NewProject = Callable[..., Project]


def moment(time: datetime) -> str:
    """A time as the config has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
