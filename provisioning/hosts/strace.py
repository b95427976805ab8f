"""What a process on a host asks of its kernel: strace attached over SSH, and its output (-f -y -ttt -T) as completed system calls.

A call that another thread's line cuts in two comes as "<unfinished ...>" and "<... NAME resumed>"; both carry the thread. What never
completed (the process or strace ended first), signals, exits and restarts are no completed calls.
A traced process is slower by orders of magnitude: never take a latency from it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
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
_LINE = re.compile(r"^(\d+) +(\d+)\.(\d+) (.*)$", re.S)
_BEGUN = re.compile(r"^(\w+)\((.*)$", re.S)
_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$", re.S)
_UNFINISHED = " <unfinished ...>"
# greedy: the text of a buffer may look like a result, and the last one is the call's own
_RESULT = re.compile(r'^(.*)\) += (-?\d+)(?: [^"]*?)? <(\d+)\.(\d+)>$', re.S)
_DESCRIPTOR = re.compile(r"^-?\d+<((?:[^\\<>]|\\.)*)>")
_ESCAPED = re.compile(r"\\([0-7]{1,3}|.)")
_NS = 1_000_000_000


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
        raise HostError(host.name, f"unexpected answer of the strace agent: {line[:200]!r}. {said}".rstrip()) from None
    if key in answer:
        return
    said = str(answer.get("said", answer))
    next_step = {"missing": INSTALL, "refused": NOT_PERMITTED}.get(str(answer.get("error")), "")
    raise HostError(host.name, f"can't be traced: {said[-600:]}", next_step=next_step)


@dataclass(frozen=True)
class Call:
    """A system call that returned. Times are ns since the epoch, of the traced host's wall clock.

    `path` is that of its first argument, a descriptor: a file's absolute path, or such as "socket:[123]"; None without one.
    `arguments` are as printed, buffers cut off and escaped.
    """

    name: str
    path: str | None
    started_ns: int
    ended_ns: int
    returned: int
    arguments: str


def completed_calls(lines: Iterable[str]) -> Iterator[Call]:
    """The calls in the order in which they returned."""
    begun: dict[str, tuple[str, int, str]] = {}  # thread -> name, start, arguments so far
    for line in lines:
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            continue
        thread, at_ns, text = match[1], _ns(match[2], match[3]), match[4]
        resumed, fresh = _RESUMED.match(text), _BEGUN.match(text)
        if resumed is not None:
            name, started_ns, before = begun.pop(thread, ("", at_ns, ""))
            # a call that was under way when strace came has no beginning, and none that counts
            call = _call(name, started_ns, before + resumed[2]) if name == resumed[1] else None
        elif fresh is not None and text.endswith(_UNFINISHED):
            begun[thread] = (fresh[1], at_ns, fresh[2].removesuffix(_UNFINISHED))
            continue
        else:
            call = _call(fresh[1], at_ns, fresh[2]) if fresh is not None else None
        if call is not None:
            yield call


def _call(name: str, started_ns: int, text: str) -> Call | None:
    result = _RESULT.match(text)
    if result is None:
        return None
    arguments, returned, seconds, fraction = result.groups()
    return Call(name, described(arguments), started_ns, started_ns + _ns(seconds, fraction), int(returned), arguments)


def described(text: str) -> str | None:
    """The path of the descriptor with which a text begins; None where it begins with none."""
    descriptor = _DESCRIPTOR.match(text)
    return _unescaped(descriptor[1]) if descriptor is not None else None


def _ns(seconds: str, fraction: str) -> int:
    """A decimal time in whole nanoseconds: a double since the epoch is 256 ns coarse."""
    return int(seconds) * _NS + int(fraction.ljust(9, "0")[:9])


def _unescaped(text: str) -> str:
    """A printed path as it is."""

    def one(match: re.Match[str]) -> bytes:
        code = match[1]
        named = {"n": b"\n", "t": b"\t", "r": b"\r", "v": b"\v", "f": b"\f"}
        return bytes([int(code, 8)]) if code[0] in "01234567" else named.get(code, code.encode())

    pieces, at = [], 0
    for match in _ESCAPED.finditer(text):
        pieces += [text[at : match.start()].encode(), one(match)]
        at = match.end()
    return b"".join([*pieces, text[at:].encode()]).decode(errors="surrogateescape")
