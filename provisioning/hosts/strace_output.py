"""strace's output (-f -y -ttt -T) as completed system calls. It knows no broker and judges nothing.

A call that another thread's line cuts in two comes as "<unfinished ...>" and "<... NAME resumed>"; both carry the thread.
What never completed (the process or strace ended first), signals, exits and restarts are no completed calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
    descriptor = _DESCRIPTOR.match(arguments)
    path = _unescaped(descriptor[1]) if descriptor is not None else None
    return Call(name, path, started_ns, started_ns + _ns(seconds, fraction), int(returned), arguments)


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
