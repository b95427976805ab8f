"""What a process on a host asks of its kernel: strace attached over SSH, and its output. It doesn't read the output.

A traced process is slower by orders of magnitude: never take a latency from it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioning.errors import HostError, MissingRequirement
from provisioning.hosts.host import Host, RemoteProcess, on_all

AGENT = Path(__file__).with_name("strace_agent.py").read_text()
# Bytes of each buffer that are printed.
SHOWN_BYTES = 16_384
EXIT_TIMEOUT_S = 90.0
INSTALL = "`samebox prepare` installs it on hosts of yours and on AWS; on this machine: sudo apt-get install strace"
NOT_PERMITTED = (
    "Another user's process, or one that isn't a child, may only be traced by root: let the ssh user become root by sudo without a "
    "password, or allow it until the next boot: sudo sysctl kernel.yama.ptrace_scope=0. A container needs CAP_SYS_PTRACE."
)


@dataclass(frozen=True)
class Traced:
    """A process under strace, and where its output goes on the host."""

    host: Host
    output: str


def require_strace(hosts: Sequence[Host]) -> None:
    """Raises MissingRequirement naming every host without strace."""
    found = on_all("looking for strace", hosts, lambda host: host.run("command -v strace", check=False).exit_status)
    without = [name for name, exit_status in found.items() if exit_status != 0]
    if without:
        raise MissingRequirement(f"strace is missing on {', '.join(without)}.", next_step=INSTALL)


@contextmanager
def traced(processes: Sequence[tuple[Host, int]], calls: Sequence[str], name: str) -> Iterator[tuple[Traced, ...]]:
    """All `processes` (host, pid), one a host, with every thread under strace while inside; the outputs are whole afterwards.

    `calls` are the system calls to look at; `name` names the output. Raises HostsFailed or HostError: not permitted, or a
    process that ended while it was traced.
    """
    pids = {host.name: pid for host, pid in processes}
    hosts = [host for host, _ in processes]
    outputs = tuple(Traced(host, f"{host.record.root}/strace/{name}") for host in hosts)
    by_host = {each.host.name: each for each in outputs}
    with ExitStack() as stack:

        def begin(host: Host) -> tuple[RemoteProcess, Iterator[str]]:
            host.run(f"mkdir -p {shlex.quote(str(Path(by_host[host.name].output).parent))}")
            process = host.spawn(_command(pids[host.name], by_host[host.name].output, calls))
            stack.callback(process.close)
            answers = process.lines()
            _expect(host, process, answers, "attached")
            return process, answers

        running = on_all("attaching strace", hosts, begin)
        yield outputs

        def end(host: Host) -> None:
            process, answers = running[host.name]
            process.send_line("let go")
            _expect(host, process, answers, "bytes")

        on_all("detaching strace", hosts, end)


def fetch(each: Traced, target: Path) -> None:
    """Brings an output to the operator's disk and removes it from the host."""
    target.parent.mkdir(parents=True, exist_ok=True)
    each.host.fetch(each.output, target)
    each.host.run(f"rm -f -- {shlex.quote(each.output)}")


def _command(pid: int, output: str, calls: Sequence[str]) -> str:
    """The agent's command line, as root where that can be had without a password."""
    # absolute times of the wall clock, durations, the paths of descriptors; signals are the JVM's own business
    strace = ["strace", "-f", "-q", "-y", "-ttt", "-T", "-s", str(SHOWN_BYTES), "-e", "signal=none"]
    strace += ["-e", f"trace={','.join(calls)}"]
    agent = shlex.join(["python3", "-u", "-c", AGENT, str(pid), output, *strace])
    return f'if [ "$(id -u)" = 0 ] || ! sudo -n true 2>/dev/null; then exec {agent}; else exec sudo -n {agent}; fi'


def _expect(host: Host, process: RemoteProcess, answers: Iterator[str], key: str) -> None:
    """Reads the agent's next answer. Raises HostError unless it has `key`."""
    line = next(answers, "")
    try:
        answer: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        said = process.wait(timeout_s=EXIT_TIMEOUT_S).stderr.strip()[-400:]
        raise HostError(
            host.name, f"strace's agent said {line[:200]!r} instead of an answer. {said}".rstrip()
        ) from None
    if key in answer:
        return
    said = str(answer.get("said", answer))
    next_step = {"missing": INSTALL, "refused": NOT_PERMITTED}.get(str(answer.get("error")), "")
    raise HostError(host.name, f"can't be traced: {said[-600:]}", next_step=next_step)
