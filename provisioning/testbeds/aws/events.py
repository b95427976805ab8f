"""The engine's events, one JSON line each, as changes to resources, lines of progress, and errors. It runs nothing.

`pulumi up --json` and `destroy --json` print them; `preview --json` too where PULUMI_ENABLE_STREAMING_JSON_PREVIEW says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from provisioning.testbeds.aws.failures import without_colour

Operation = Literal["create", "update", "replace", "delete"]

# a replacement is three steps: create-replacement, replace (which only books it), delete-replaced
PLANNED: Mapping[str, Operation] = {
    "create": "create",
    "update": "update",
    "delete": "delete",
    "create-replacement": "replace",
    "replace": "replace",
    "delete-replaced": "replace",
}
FINISHED: Mapping[str, Operation] = {
    "create": "create",
    "update": "update",
    "delete": "delete",
    "create-replacement": "replace",
}
SAID: Mapping[str, tuple[str, str]] = {
    "create": ("creating", "created"),
    "update": ("updating", "updated"),
    "delete": ("deleting", "deleted"),
    "create-replacement": ("creating the successor of", "created the successor of"),
    "delete-replaced": ("deleting the predecessor of", "deleted the predecessor of"),
}
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
    """Takes a command's output line by line. `planned` is what it began, `finished` what is done, `errors` what went wrong."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._planned: dict[Change, None] = {}
        self._finished: dict[Change, None] = {}
        self._errors: list[str] = []
        self._plain: list[str] = []
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the engine has come to its end, well or not: it then sums up."""
        return self._ended

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
        """What went wrong, most telling first: the resources' errors, then what was printed that is no event."""
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
            self._began(event["resourcePreEvent"]["metadata"])
        elif "resOutputsEvent" in event:
            self._done(event["resOutputsEvent"]["metadata"])
        elif "diagnosticEvent" in event:
            self._diagnosed(event["diagnosticEvent"])
        elif "summaryEvent" in event:
            self._ended = True

    def _began(self, step: Mapping[str, Any]) -> None:
        operation = PLANNED.get(step["op"])
        if operation is not None and not _is_the_engines(step):
            self._planned[_change(operation, step)] = None
            self._say(step, done=False)

    def _done(self, step: Mapping[str, Any]) -> None:
        operation = FINISHED.get(step["op"])
        if operation is not None and not _is_the_engines(step):
            self._finished[_change(operation, step)] = None
        if not _is_the_engines(step):
            self._say(step, done=True)

    def _say(self, step: Mapping[str, Any], *, done: bool) -> None:
        if step["op"] in SAID:
            self._on_line(f"{SAID[step['op']][done]} {_name(step['urn'])} ({_kind(step['type'])})")

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


def _is_the_engines(step: Mapping[str, Any]) -> bool:
    """The stack itself and its providers: they are no resources of anyone's cloud."""
    return str(step["type"]).startswith("pulumi:")


def _change(operation: Operation, step: Mapping[str, Any]) -> Change:
    return Change(operation, str(step["type"]), _name(step["urn"]), _host(step))


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
