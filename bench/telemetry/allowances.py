"""The counters of a network card's driver that tell when an instance exceeded its allowance.

Asked by ioctl (SIOCETHTOOL), as ethtool -S does, but without a process per second. Runs on the hosts: standard library only.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from pathlib import Path

DRIVER = "ena"
COUNTER_SUFFIX = "_allowance_exceeded"

_SIOCETHTOOL = 0x8946
_GET_STRINGS = 0x1B
_GET_COUNTERS = 0x1D
_COUNT_OF_STRINGS = 0x37
_STATISTICS = 1
_NAME_BYTES = 32


class DriverCounters:
    """All counters of one interface's driver. Names are read once; they don't change while the driver is loaded."""

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self.names = self._read_names()

    def _ask(self, request: array.array[int]) -> None:
        address, _ = request.buffer_info()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP", self._interface.encode(), address))

    def _read_names(self) -> list[str]:
        count_request = array.array("B", struct.pack("IIQI", _COUNT_OF_STRINGS, 0, 1 << _STATISTICS, 0))
        self._ask(count_request)
        (_, _, known, count) = struct.unpack("IIQI", count_request)
        if not known:
            return []
        request = array.array("B", struct.pack("III", _GET_STRINGS, _STATISTICS, count) + bytes(count * _NAME_BYTES))
        self._ask(request)
        text = request.tobytes()[12:]
        return [
            text[at : at + _NAME_BYTES].split(b"\0")[0].decode() for at in range(0, count * _NAME_BYTES, _NAME_BYTES)
        ]

    def read(self) -> dict[str, int]:
        """Every counter by the driver's name for it."""
        count = len(self.names)
        request = array.array("B", struct.pack("II", _GET_COUNTERS, count) + bytes(count * 8))
        self._ask(request)
        values: tuple[int, ...] = struct.unpack(f"{count}Q", request.tobytes()[8:])
        return dict(zip(self.names, values))  # noqa: B905 - hosts may run Python 3.9


def cards() -> list[DriverCounters]:
    """The interfaces whose driver has allowance counters."""
    found = []
    for link in sorted(Path("/sys/class/net").glob("*/device/driver")):
        if link.resolve().name == DRIVER:
            found.append(DriverCounters(link.parent.parent.name))
    return found


def allowance_metrics(counters: list[dict[str, int]]) -> dict[str, float]:
    """The counters of all cards, summed, as ena_<what>; only those that count an exceeded allowance."""
    metrics: dict[str, float] = {}
    for of_card in counters:
        for name, value in of_card.items():
            if name.endswith(COUNTER_SUFFIX):
                metrics[f"{DRIVER}_{name}"] = metrics.get(f"{DRIVER}_{name}", 0) + value
    return metrics
