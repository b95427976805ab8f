"""Measures a host's disks, page cache, CPU and network and prints one JSON object. Standard library only.

    python3 disk-checks throughput DIRECTORY --bytes 68719476736
    python3 disk-checks fsync DIRECTORY --count 1000
    python3 disk-checks --help

Runs from the folder or from a zip archive of it, on Python 3.9 or newer. A probe that can't be taken prints
{"error": {"kind", "message"}} and exits 3.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import client
import device
import disk
import network
import page_cache
import quiet
from probe_file import ProbeError

EXIT_NOT_MEASURED = 3


# name -> (what it measures, its arguments, the work on the parsed arguments)
_Argument = tuple[str, dict[str, Any]]
_DIRECTORY: _Argument = ("directory", {"help": "a directory on the disk in question"})
_PROBES: dict[str, tuple[str, list[_Argument], Callable[[argparse.Namespace], Any]]] = {
    "throughput": (
        "dd: direct write, then direct read",
        [_DIRECTORY, ("--bytes", {"type": int, "default": 64 << 20})],
        lambda o: disk.throughput(o.directory, o.bytes),
    ),
    "fsync": (
        "latency of (write, fdatasync), every sample",
        [
            _DIRECTORY,
            ("--count", {"type": int, "default": disk.SMALLEST_COUNT}),
            ("--bytes", {"type": int, "default": 4096}),
        ],
        lambda o: disk.fsync_latency(o.directory, o.count, o.bytes),
    ),
    "device": (
        "facts of the devices under directories",
        [("directory", {"nargs": "+"})],
        lambda o: {"devices": [device.describe(directory) for directory in o.directory]},
    ),
    "idle": (
        "CPU busy share and load",
        [("--seconds", {"type": float, "default": 1.0})],
        lambda o: client.idleness(o.seconds),
    ),
    "records": (
        "rate of writing records",
        [_DIRECTORY, ("--bytes", {"type": int, "default": 64 << 20})],
        lambda o: client.write_records(o.directory, o.bytes),
    ),
    "cpu": (
        "one core's compression rate",
        [("--seconds", {"type": float, "default": 1.0})],
        lambda o: client.compute(o.seconds),
    ),
    "serve": (
        "the far side of `network`; ends with its standard input",
        [("address", {}), ("--port", {"type": int, "default": 0})],
        lambda o: network.serve(o.address, o.port),
    ),
    "network": (
        "TCP throughput and round trips to a `serve`",
        [
            ("address", {}),
            ("port", {"type": int}),
            ("--seconds", {"type": float, "default": 1.0}),
            ("--round-trips", {"type": int, "default": 1000}),
        ],
        lambda o: network.measure(o.address, o.port, o.seconds, o.round_trips),
    ),
    "residency": (
        "share of each file's pages in the page cache",
        [("path", {"nargs": "+"})],
        lambda o: {"files": [page_cache.residency(path) for path in o.path]},
    ),
    "cached": ("the machine's cached and dirty bytes", [], lambda _: page_cache.cached()),
    "settle": (
        "waits until the disks under directories have nothing to do (part of the reset)",
        [
            ("directory", {"nargs": "+"}),
            ("--seconds", {"type": float, "default": 20.0}),
            ("--dirty", {"type": int, "default": 16 << 20}),
        ],
        lambda o: quiet.settle(o.directory, o.seconds, o.dirty),
    ),
    "canary": (
        "new files, fully read",
        [("path", {"nargs": "+"}), ("--bytes", {"type": int, "default": 8 << 20})],
        lambda o: {"files": [page_cache.make_canary(path, o.bytes) for path in o.path]},
    ),
    "evict": (
        "asks the kernel to forget own files (part of the reset)",
        [("tree", {"nargs": "+"})],
        lambda o: page_cache.evict(o.tree),
    ),
}


def main() -> int:
    """Parses, measures, prints. SIGTERM and SIGHUP unwind like Ctrl-C, so that children end with this process."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    parser = argparse.ArgumentParser(prog="disk-checks", description=(__doc__ or "").splitlines()[0])
    probes = parser.add_subparsers(dest="probe", required=True, metavar="PROBE")
    for name, (summary, arguments, _) in _PROBES.items():
        probe = probes.add_parser(name, help=summary, description=summary)
        for argument, keywords in arguments:
            probe.add_argument(argument, **keywords)
    options = parser.parse_args()
    try:
        result = _PROBES[options.probe][2](options)
    except ProbeError as error:
        return _not_measured(error.kind, str(error))
    except OSError as error:
        return _not_measured("os-error", f"{error.filename or options.probe}: {os.strerror(error.errno or 0)}")
    except KeyboardInterrupt:
        return 130
    if result is not None:
        print(json.dumps(result))
    return 0


def _not_measured(kind: str, message: str) -> int:
    print(json.dumps({"error": {"kind": kind, "message": message}}))
    return EXIT_NOT_MEASURED


if __name__ == "__main__":
    sys.exit(main())
