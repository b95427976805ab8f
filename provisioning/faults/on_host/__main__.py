"""Does one fault: `python3 -m provisioning.faults.on_host REQUEST`, lines of JSON out, each with its `event`.

    armed   it waits for its instant
    began   began_ns (when it had taken effect), processes (name -> pid)
    ended   ended_ns (when it was undone), seen (what showed that it had an effect, as a sentence; "" = nothing did)
    failed  why: it didn't take effect, or couldn't be undone

It is undone after `for_s`, by a line on standard input, and when that ends: whoever asked for it is gone then. What it did is noted in
the host's `run/faults` before it is done, so that `heal` can undo what this process couldn't any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from provisioning.faults.on_host.able import ABLE
from provisioning.faults.on_host.effect import NoEffect
from provisioning.faults.on_host.groups import own_group, remove_group
from provisioning.faults.on_host.kinds import KINDS, Kind
from provisioning.faults.on_host.marks import heal, mark_of

_NANO = 1_000_000_000
_SLEEP_LAST_NS = 2_000_000  # a wait for input may take this much too long; a sleep doesn't


def main() -> None:
    """One request: to do a fault, to heal what earlier ones left, or to say what can be done here."""
    request = json.loads(sys.argv[1])
    if request["verb"] in _ANSWERS:
        try:
            print(json.dumps(_ANSWERS[request["verb"]](request)))
        except (NoEffect, OSError) as error:
            sys.exit(f"can't {request['verb']}: {error}")
        return
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _leave)
    _do(request)


def _heal(request: dict[str, Any]) -> dict[str, Any]:
    healed = heal(Path(request["run_dir"]))
    remove_group(Path(request["run_dir"]))
    return {"healed": healed}


def _able(request: dict[str, Any]) -> dict[str, Any]:
    """For each fault of the request, by name: why it can't be done here; "" = it can."""
    return {do: ABLE[do](request) for do in request["faults"]}


def _group(request: dict[str, Any]) -> dict[str, Any]:
    return {"cgroup": own_group(Path(request["run_dir"]))}


_ANSWERS = {"heal": _heal, "able": _able, "group": _group}


def _do(request: dict[str, Any]) -> None:
    kind = KINDS[request["do"]](request)
    try:
        kind.prepare()
    except (NoEffect, OSError) as error:
        _say("failed", why=str(error))
        return
    with mark_of(Path(request["run_dir"]), request["do"], kind.to_undo):
        _say("armed")
        if not _await(request["at_ns"]):
            return
        try:
            _last(kind, request["for_s"])
        finally:
            _end(kind)


def _last(kind: Kind, for_s: float | None) -> None:
    """Begins it and lets it last; None = nothing of it lasts."""
    try:
        processes = kind.begin()
    except (NoEffect, OSError) as error:
        _say("failed", why=str(error))
        return
    began_ns = time.time_ns()
    _say("began", began_ns=began_ns, processes=processes)
    if for_s is not None:
        _await(began_ns + round(for_s * _NANO))


def _end(kind: Kind) -> None:
    """Undoes it, whatever else happens; nobody may be listening any more."""
    try:
        seen = kind.undo()
    except (NoEffect, OSError) as error:
        _say("failed", why=f"it couldn't be undone: {error}")
    else:
        _say("ended", ended_ns=time.time_ns(), seen=seen)


def _await(at_ns: int) -> bool:
    """Waits until an instant; False if standard input spoke or ended before."""
    while (left_ns := at_ns - time.time_ns()) > _SLEEP_LAST_NS:
        if select.select([0], [], [], (left_ns - _SLEEP_LAST_NS) / _NANO)[0]:
            return False
    time.sleep(max(0, at_ns - time.time_ns()) / _NANO)
    return True


def _say(event: str, **fields: Any) -> None:
    with contextlib.suppress(OSError):  # the one who asked is gone: what is left to do is done all the same
        os.write(1, (json.dumps({"event": event, **fields}) + "\n").encode())


def _leave(number: int, _frame: Any) -> NoReturn:
    sys.exit(128 + number)


main()
