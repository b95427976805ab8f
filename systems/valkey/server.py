"""What is said to a running server, on its own host: the operator's machine may not reach its port."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import ask
from systems.processes import Process
from systems.valkey.layout import PORT
from systems.valkey.resp_client import ErrorReply, Incomplete, Reply, all_replies, encoded

AGENT = Path(__file__).with_name("command_agent.py").read_bytes()
TIMEOUT_S = 60.0
_PIECE_BYTES = 40_000  # a command line takes 60,000, and base64 needs a third more
_QUIT = encoded("QUIT")

Command = tuple[str, ...]


def ask_server(process: Process, commands: Sequence[Command], *, timeout_s: float = TIMEOUT_S) -> list[Reply]:
    """A server's replies, in order. Raises DeploymentError if it doesn't answer, or refuses one."""
    replies: list[Reply] = []
    for piece in _pieces(commands):
        replies += _ask(process, piece, timeout_s)
    return replies


def _ask(process: Process, commands: Sequence[Command], timeout_s: float) -> list[Reply]:
    words = b"".join(encoded(*command) for command in commands) + _QUIT
    request = {
        "address": process.address,
        "port": PORT,
        "words": base64.b64encode(words).decode(),
        "timeout_s": timeout_s,
    }
    answer = ask(process.host, AGENT, request, timeout_s=timeout_s + TIMEOUT_S)
    where = f"valkey: {process.component} at {process.address}:{PORT}"
    if "error" in answer:
        raise DeploymentError(
            f"{where} can't be asked {' '.join(commands[0])[:200]}: {answer['error']}",
            next_step=f"Look at {process.log_path} on {process.host.name}.",
        )
    try:
        replies = all_replies(base64.b64decode(answer["answer"]))
    except Incomplete:
        replies = []
    if len(replies) != len(commands) + 1:
        raise DeploymentError(f"{where} closed the connection while it answered {' '.join(commands[0])[:200]}.")
    for command, reply in zip(commands, replies, strict=False):
        if isinstance(reply, ErrorReply):
            raise DeploymentError(f"{where} refuses {' '.join(command)[:200]}: {reply.message}")
    return replies[:-1]


def _pieces(commands: Sequence[Command]) -> Iterator[list[Command]]:
    """As many at a time as a command line holds."""
    piece: list[Command] = []
    size_bytes = 0
    for command in commands:
        own_bytes = len(encoded(*command))
        if piece and size_bytes + own_bytes > _PIECE_BYTES:
            yield piece
            piece, size_bytes = [], 0
        piece.append(command)
        size_bytes += own_bytes
    if piece:
        yield piece
