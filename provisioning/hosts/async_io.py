"""Linux' asynchronous I/O in a trace: each request with its completion as the one call that it stands for.

A process submits requests (io_submit) and later fetches the events of those that are done (io_getevents); both carry a number of the
process's own, by which they are put together. A request whose event wasn't seen is no call: a process may look into the kernel's ring
of events without any system call, and then none is seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from provisioning.hosts.strace import Call, described

SUBMIT = "io_submit"
FETCHES = ("io_getevents", "io_pgetevents")
CALLS = (SUBMIT, *FETCHES)
_STANDS_FOR = {"PWRITE": "pwrite64", "PWRITEV": "pwritev", "FSYNC": "fsync", "FDSYNC": "fdatasync"}
# what a buffer holds may look like a request: buffers are passed over
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_REQUEST = re.compile(rf"{_QUOTED}|\{{aio_data=(?P<data>\w+)")
_OPERATION = re.compile(r"aio_lio_opcode=IOCB_CMD_(\w+)")
_DESCRIPTOR = re.compile(r"aio_fildes=(.*)$", re.S)
_EVENT = re.compile(r"\{data=(?P<data>\w+), obj=\w+, res=(?P<res>-?\d+)")
_CONTEXT = re.compile(r"(0x[0-9a-f]+), ")


@dataclass(frozen=True)
class _Request:
    operation: str
    path: str | None
    started_ns: int
    text: str


def with_completions(calls: Iterable[Call]) -> Iterator[Call]:
    """The same calls, and what requests stand for: from their submission to the end of the call that fetched their event."""
    pending: dict[tuple[str, str], _Request] = {}
    for call in calls:
        context = _CONTEXT.match(call.arguments)
        if call.name not in CALLS or context is None:
            yield call
        elif call.name == SUBMIT:
            for data, request in _requests(call):
                pending[context[1], data] = request
        else:
            for event in _EVENT.finditer(call.arguments):
                done = pending.pop((context[1], event["data"]), None)
                if done is not None and done.operation in _STANDS_FOR:
                    name, returned = _STANDS_FOR[done.operation], int(event["res"])
                    yield Call(name, done.path, done.started_ns, call.ended_ns, returned, done.text)


def _requests(call: Call) -> Iterator[tuple[str, _Request]]:
    """Those that were taken, each with its number: a submission may take fewer than it was given, the first ones."""
    begun = [found for found in _REQUEST.finditer(call.arguments) if found["data"] is not None]
    ends = [found.start() for found in begun[1:]] + [len(call.arguments)]
    for found, end in list(zip(begun, ends, strict=True))[: max(0, call.returned)]:
        text = call.arguments[found.start() : end]
        operation, descriptor = _OPERATION.search(text), _DESCRIPTOR.search(text)
        if operation is not None and descriptor is not None:
            yield found["data"], _Request(operation[1], described(descriptor[1]), call.started_ns, text)
