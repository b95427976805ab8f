"""A Pulumi stack: its config, its plan, its changes, its outputs. The one door to the `pulumi` command.

It is run as the operator would type it, in the project's folder, with the operator's login, backend and credentials.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioning.document import build
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.inventory import INVENTORY_SCHEMA, Inventory
from provisioning.testbeds.aws.events import Change, EventLog
from provisioning.testbeds.aws.failures import StackFailed, explain
from provisioning.testbeds.aws.pulumi_command import Ended, InstalledPulumi, PulumiCommand
from provisioning.testbeds.aws.rehearsal.mark import KIND, rehearsing
from provisioning.testbeds.aws.shape import EMPTY, PROJECT_FILE, own_file
from provisioning.testbeds.aws.update_record import UpdateRecord, still_running, told

PROJECT = "samebox"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+){0,2}")
Follow = Callable[[str], None]
# what may be asked while an update runs: neither changes with it half-way
READING = ("config", "stack output")


class ChangeFailed(StackFailed):
    """A change of a stack ended half-way; `finished` is what was done of it."""

    def __init__(self, failure: StackFailed, finished: tuple[Change, ...]) -> None:
        super().__init__(failure.kind, str(failure), next_step=failure.next_step)
        self.finished = finished


class ChangeInterrupted(KeyboardInterrupt):
    """Ctrl-C during a change of a stack, after pulumi has finished what it had begun; `finished` is what was done of it."""

    def __init__(self, finished: tuple[Change, ...]) -> None:
        super().__init__()
        self.finished = finished


class Stack:
    """One stack of the project in `directory`. Every method may raise StackFailed and MissingRequirement.

    With `record`, an update outlives a command that is killed, and the next one that isn't mere reading is refused while it runs.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        command: PulumiCommand | None = None,
        notice: Follow = lambda _: None,
        record: UpdateRecord | None = None,
    ) -> None:
        if not NAME.fullmatch(name):
            raise InvalidInput(f"--stack {name}: not a valid stack name.", next_step="`pulumi stack ls` names them.")
        self.name = name
        self._directory = directory
        self._command: PulumiCommand = command or InstalledPulumi(directory, notice)
        self._notice = notice
        self._record = record
        self._told = False

    @property
    def config_file(self) -> Path:
        """The stack's own config, which git ignores."""
        return self._directory / f"Pulumi.{_bare(self.name)}.yaml"

    @property
    def tag(self) -> str:
        """What everything of the stack has as its tag `stack`: the name without organisation and project."""
        return _bare(self.name)

    def require_config(self) -> None:
        """Raises InvalidInput saying how to make the stack's config file, if there is none."""
        own_file(self._directory, self.name)

    def resource_count(self) -> int | None:
        """How many resources the stack holds now; None if the backend doesn't know the stack."""
        return self.resource_counts().get(_bare(self.name))

    def resource_counts(self) -> dict[str, int]:
        """How many resources each of the project's stacks in this backend holds, by name."""
        listed = self._json("stack ls", ["--json"], named=False)
        return {_bare(str(entry["name"])): int(entry.get("resourceCount") or 0) for entry in listed}

    def sibling(self, name: str) -> Stack:
        """Another stack of the project."""
        return Stack(name, self._directory, command=self._command)

    def init(self) -> None:
        """Makes the stack known to the backend, empty. It doesn't become the selected one."""
        self._text("stack init", ["--no-select", self.name], named=False)

    def config(self) -> dict[str, Any]:
        """The project's own keys that are set, or have a default, without their namespace. A secret is there, with the value None."""
        values: dict[str, Any] = {}
        for key, entry in self._json("config", ["--json"]).items():
            namespace, _, name = key.partition(":")
            if namespace == PROJECT:
                shown = entry["objectValue"] if "objectValue" in entry else entry.get("value")
                if entry.get("secret") or shown not in EMPTY:
                    values[name] = None if entry.get("secret") else shown
        return values

    def required(self, *keys: str, example: str = "VALUE") -> tuple[str, ...]:
        """The texts that keys of the config have. Raises InvalidInput with the command that sets one that has none."""
        config = self.config()
        for key in keys:
            if not isinstance(config.get(key), str):
                raise InvalidInput(
                    f"{self.config_file.name}: key 'samebox:{key}' is missing.",
                    next_step=f"pulumi config set samebox:{key} {example} --stack {self.name}",
                )
        return tuple(config[key] for key in keys)

    def set_config(self, path: str, value: str | int) -> None:
        """Sets one value in the stack's config file; `path` is a key, or key.key within a table."""
        self._text("config set", ["--path", "--plaintext", "--", path, str(value)])

    def set_secret(self, key: str, value: str) -> None:
        """Sets one value encrypted. It is handed over by standard input: no process list shows it."""
        self._text("config set", ["--secret", key], stdin=value)

    def outputs(self) -> dict[str, Any]:
        """What the program exported when it last ran whole; empty before that and after a destroy."""
        outputs: dict[str, Any] = self._json("stack output", ["--json"])
        return outputs

    def inventory(self) -> Inventory | None:
        """The inventory among the outputs, as they were exported; None if nothing is up. It asks no host."""
        try:
            exported = self.outputs().get("inventory")
        except StackFailed as failure:
            if failure.kind == "no stack" and self.config_file.is_file():
                return None
            raise
        if exported is None:
            return None
        where = f"stack {self.name}, output inventory"
        document = _decoded(exported, where)
        if document.get("schema") != INVENTORY_SCHEMA:
            raise InvalidInput(f"{where}: schema is {document.get('schema')!r}, this samebox reads {INVENTORY_SCHEMA}.")
        inventory = build(Inventory, document, where=where)
        return _rehearsed(inventory) if rehearsing() else inventory

    def resources(self) -> list[Mapping[str, Any]]:
        """The state's entries, as `pulumi stack export` has them; none if nothing is up."""
        exported = self._json("stack export", [])
        return list((exported.get("deployment") or {}).get("resources") or ())

    def refresh(self, urn: str) -> None:
        """Looks anew at one resource and notes in the state how it is. As every update, it needs the stack's lock."""
        self._follow("refresh", ["--yes", "--skip-preview", "--json", "--target", urn], lambda _: None)

    def preview(self, on_line: Follow, *, refresh: bool = False) -> tuple[Change, ...]:
        """What `up` would change. Changes nothing."""
        return self._follow("preview", ["--json", *_refresh(refresh)], on_line).planned

    def up(self, on_line: Follow, *, refresh: bool = False) -> tuple[Change, ...]:
        """Makes the world as the program and the config say. Raises ChangeFailed, ChangeInterrupted with what was done.

        `refresh` looks first at what is really there, so that hosts lost meanwhile are made anew.
        """
        return self._change("up", ["--yes", "--skip-preview", "--json", *_refresh(refresh)], on_line)

    def destroy(self, on_line: Follow) -> tuple[Change, ...]:
        """Takes everything away but what the program retains (the results bucket). Raises ChangeFailed, ChangeInterrupted."""
        return self._change("destroy", ["--yes", "--skip-preview", "--json"], on_line)

    def _change(self, command: str, options: Sequence[str], on_line: Follow) -> tuple[Change, ...]:
        log = EventLog(on_line)
        ended = self._run(command, options, log.take, record=self._record.folder if self._record else None)
        if self._record is not None:
            self._record.remove()
        if ended.interrupted:
            raise ChangeInterrupted(log.finished)
        if ended.exit_status != 0:
            raise ChangeFailed(self._explained(command, log.evidence, ended), log.finished)
        return log.finished

    def _follow(self, command: str, options: Sequence[str], on_line: Follow) -> EventLog:
        log = EventLog(on_line)
        self._require_success(command, self._run(command, options, log.take), log.evidence)
        return log

    def _json(self, command: str, options: Sequence[str], *, named: bool = True) -> Any:
        text = self._text(command, options, named=named)
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise SameboxError(f"pulumi {command} didn't print JSON: {text[:400]}") from None

    def _text(self, command: str, options: Sequence[str], *, named: bool = True, stdin: str = "") -> str:
        lines: list[str] = []
        ended = self._run(command, options, lines.append, named=named, stdin=stdin)
        self._require_success(command, ended, [])
        return "\n".join(lines)

    def _run(
        self,
        command: str,
        options: Sequence[str],
        on_line: Follow,
        *,
        named: bool = True,
        stdin: str = "",
        record: Path | None = None,
    ) -> Ended:
        if self._record is not None:
            self._look_for_update(self._record, reading=command in READING)
        stack = ["--stack", self.name] if named else []
        arguments = [*command.split(), "--non-interactive", *stack, *options]
        return self._command.run(arguments, on_line, stdin=stdin, record=record)

    def _look_for_update(self, record: UpdateRecord, *, reading: bool) -> None:
        """Tells of an update whose command was killed, once; raises StackFailed if it still runs and more than reading is wanted."""
        update = record.read()
        if update is None:
            return
        if update.running and not reading:
            raise still_running(update, self.name)
        if not self._told:
            self._told = True
            for line in told(update, self.name):
                self._notice(line)
        if not update.running:
            record.remove()

    def _require_success(self, command: str, ended: Ended, evidence: Sequence[str]) -> None:
        if ended.interrupted:
            raise KeyboardInterrupt
        if ended.exit_status != 0:
            raise self._explained(command, evidence, ended)

    def _explained(self, command: str, evidence: Sequence[str], ended: Ended) -> StackFailed:
        said = [*evidence, ended.stderr]
        if not any(said):
            said = [f"exit {ended.exit_status}"]
        return explain(f"pulumi {command} of stack {self.name}", self.name, said)


def _bare(name: str) -> str:
    """A stack's name without organisation and project."""
    return name.rsplit("/", 1)[-1]


def _rehearsed(inventory: Inventory) -> Inventory:
    """The program exports a testbed of AWS wherever it stands; here it's known better."""
    return replace(inventory, testbed=replace(inventory.testbed, kind=KIND))


def _refresh(refresh: bool) -> list[str]:
    return ["--refresh"] if refresh else []


def _decoded(exported: Any, where: str) -> dict[str, Any]:
    """An export is a table, or the same as JSON text."""
    try:
        document = json.loads(exported) if isinstance(exported, str) else exported
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{where}: not JSON: {error}") from None
    if not isinstance(document, Mapping):
        raise InvalidInput(f"{where}: expected a table of keys at the top.")
    return dict(document)


def project_directory(here: Path, checkout: Path) -> Path:
    """Where to run pulumi: `here` if it holds a copy of this project, else the checkout."""
    own = here / PROJECT_FILE
    if own.is_file() and re.search(rf"^name:\s*{PROJECT}\s*$", own.read_text(), re.MULTILINE):
        return here
    return checkout
