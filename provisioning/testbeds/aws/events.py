"""The engine's events, one JSON line each, as changes to resources, lines of progress, and errors.

`pulumi up --json` and `destroy --json` print them; `preview --json` too where PULUMI_ENABLE_STREAMING_JSON_PREVIEW says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from provisioning.testbeds.aws.failures import without_colour

Operation = Literal["create", "update", "replace", "delete"]

# what a step does to its resource, and how it is said while it runs and once it is done
STEPS: Mapping[str, tuple[Operation, str, str]] = {
    "create": ("create", "creating", "created"),
    "update": ("update", "updating", "updated"),
    "delete": ("delete", "deleting", "deleted"),
    # a replacement is three steps, of which the second one only books it
    "create-replacement": ("replace", "creating the successor of", "created the successor of"),
    "replace": ("replace", "", ""),
    "delete-replaced": ("replace", "deleting the predecessor of", "deleted the predecessor of"),
}
AFTER_A_REPLACEMENT = ("replace", "delete-replaced")
# what the engine says after the errors that matter
EPILOGUES = ("update failed", "preview failed", "destroy failed", "resource operation failed")
TAIL_LINES = 40


@dataclass(frozen=True)
class Change:
    """What happens to one resource. `host` is the host it is tagged with, None for what hosts share."""

    operation: Operation
    type: str
    name: str
    host: str | None


class EventLog:
    """Takes a command's output line by line. `ended`: the engine has come to its end, well or not, and has summed up."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._planned: dict[Change, None] = {}
        self._finished: dict[Change, None] = {}
        self._errors: list[str] = []
        self._plain: list[str] = []
        self.ended = False

    @property
    def planned(self) -> tuple[Change, ...]:
        """Every change begun, each once."""
        return tuple(self._planned)

    @property
    def finished(self) -> tuple[Change, ...]:
        """Every change done; a replacement once the successor is there."""
        return tuple(self._finished)

    @property
    def evidence(self) -> list[str]:
        """What went wrong, most telling first: the resources' errors, then the printed lines that aren't events."""
        return [*self._errors, *self._plain]

    def take(self, line: str) -> None:
        """One line of output."""
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            event = None
        if not isinstance(event, dict):
            if line.strip():
                self._plain = [*self._plain[-TAIL_LINES + 1 :], line]
            return
        if "resourcePreEvent" in event:
            self._step(event["resourcePreEvent"]["metadata"], done=False)
        elif "resOutputsEvent" in event:
            self._step(event["resOutputsEvent"]["metadata"], done=True)
        elif "diagnosticEvent" in event:
            self._diagnosed(event["diagnosticEvent"])
        elif "summaryEvent" in event:
            self.ended = True

    def _step(self, step: Mapping[str, Any], *, done: bool) -> None:
        # the stack itself and its providers are no resources of anyone's cloud
        if step["op"] not in STEPS or str(step["type"]).startswith("pulumi:"):
            return
        operation, doing, did = STEPS[step["op"]]
        change = Change(operation, str(step["type"]), _name(step["urn"]), _host(step))
        if not done:
            self._planned[change] = None
        elif step["op"] not in AFTER_A_REPLACEMENT:
            self._finished[change] = None
        if said := did if done else doing:
            self._on_line(f"{said} {change.name} ({_kind(change.type)})")

    def _diagnosed(self, diagnostic: Mapping[str, Any]) -> None:
        message = without_colour(str(diagnostic.get("message", ""))).strip()
        if diagnostic.get("ephemeral") or not message:
            return
        if diagnostic.get("severity") == "error" and not message.endswith(EPILOGUES):
            self._errors.append(f"{_whose(diagnostic)}{message}")
        elif diagnostic.get("severity") == "warning":
            self._on_line(f"warning: {message.splitlines()[0]}")


def _whose(diagnostic: Mapping[str, Any]) -> str:
    """The resource that a message is about; nothing where it is about the whole stack."""
    urn = str(diagnostic.get("urn") or "")
    return f"{_name(urn)}: " if urn and "::pulumi:pulumi:Stack::" not in urn else ""


def _host(step: Mapping[str, Any]) -> str | None:
    for state in (step.get("new"), step.get("old")):
        tags = ((state or {}).get("inputs") or {}).get("tags")
        if isinstance(tags, Mapping) and isinstance(tags.get("host"), str):
            return str(tags["host"])
    return None


def _name(urn: str) -> str:
    return str(urn).rsplit("::", 1)[-1]


def _kind(resource_type: str) -> str:
    """`aws:ec2/instance:Instance` as `ec2 Instance`."""
    module, _, name = resource_type.rpartition(":")
    return f"{module.partition(':')[2].split('/')[0]} {name}".strip()
