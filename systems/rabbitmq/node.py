"""What running nodes are asked, each on its own host: Erlang that a node evaluates, and its answer as JSON.

Asked so, a node answers in milliseconds. The vendor's rabbitmqctl asks in the same way, but starts a virtual machine first, which takes
seconds of the host's processor; and its management plugin would measure all the time.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from provisioning.errors import DeploymentError
from provisioning.hosts.host import Host, on_all
from systems.processes import Process, hosts_of
from systems.rabbitmq.layout import NODE_PORT, home
from systems.rendering import render

TIMEOUT_S = 60.0
_TEMPLATES = Path("rabbitmq/templates")
_EXTRA_S = 15.0


class Nodes:
    """The nodes of one deployment. `software`: its folder, relative to a host's root."""

    def __init__(self, servers: Sequence[Process], software: str) -> None:
        self._servers = {server.host.name: server for server in servers}
        self._hosts = hosts_of(servers)
        self._software = software

    def ask(self, server: Process, question: str, *, timeout_s: float = TIMEOUT_S, **given: object) -> Any:
        """A node's answer to a question: a template of Erlang expressions. Raises DeploymentError."""
        said = server.host.run(
            self._command(server, timeout_s),
            timeout_s=timeout_s + _EXTRA_S,
            stdin=asked(question, **given),
            check=False,
        )
        where = f"rabbitmq: {server.component} at {server.address}:{NODE_PORT}"
        if said.exit_status != 0:
            raise DeploymentError(
                f"{where} can't be asked {question}: {(said.stderr or said.stdout).strip()[:400]}",
                next_step=f"Look at {server.log_path} on {server.host.name}.",
            )
        try:
            answer = json.loads(said.stdout)
        except ValueError:
            raise DeploymentError(f"{where}: no answer to {question}: {said.stdout[:400]!r}") from None
        if "failed" in answer:
            raise DeploymentError(f"{where} fails at {question}: {answer['failed'][:1000]}")
        return answer["answer"]

    def ask_all(self, question: str, *, timeout_s: float = TIMEOUT_S, **given: object) -> dict[str, Any]:
        """Every node's answer, by the name of its host. Raises DeploymentError or HostsFailed."""

        def one(host: Host) -> Any:
            return self.ask(self._servers[host.name], question, timeout_s=timeout_s, **given)

        return on_all(f"rabbitmq: asking {question}", self._hosts, one)

    def _command(self, server: Process, timeout_s: float) -> str:
        """The cookie is read from its file: it stands in no command line."""
        call = f"{server.host.record.root}/{self._software}/bin/erl_call"
        address = f"{server.address}:{NODE_PORT}"
        # a name that nobody had: a node refuses to know a second one of a name until it has noticed that the first one left
        name = f"samebox{secrets.token_hex(8)}"
        words = [call, "-h", name, "-address", address, "-timeout", str(round(timeout_s))]
        words += ["-fetch_stdout", "-no_result_term"]
        return f"HOME={quote(home(server))} {' '.join(map(quote, words))} -e"


def asked(question: str, **given: object) -> bytes:
    """The Erlang of a question: its expressions, whose last value is the answer."""
    expressions = render(str(_TEMPLATES / f"{question}.erl.j2"), **given).strip()
    return render(str(_TEMPLATES / "answer.erl.j2"), expressions=expressions).encode()


def binaries(words: Iterable[str]) -> str:
    """A list of texts in Erlang. Raises ValueError for what would have to be escaped."""
    return "[" + ", ".join(map(binary, words)) + "]"


def binary(word: str) -> str:
    """A text in Erlang. Raises ValueError for what would have to be escaped."""
    if not word.isascii() or not word.isprintable() or '"' in word or "\\" in word:
        raise ValueError(f"not a plain text: {word!r}")
    return f'<<"{word}">>'


def arguments(values: Mapping[str, str]) -> str:
    """A queue's arguments as AMQP has them: whole numbers, true and false, everything else as text."""

    def typed(value: str) -> str:
        if value.removeprefix("-").isdigit():
            return f"long, {value}"
        return f"bool, {value}" if value in ("true", "false") else f"longstr, {binary(value)}"

    return "[" + ", ".join(f"{{{binary(key)}, {typed(value)}}}" for key, value in values.items()) + "]"
