"""Whether a host can do a fault, tried out without any effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from provisioning.faults.on_host import cut, groups, slow_disk
from provisioning.faults.on_host.effect import NoEffect


def _cut(request: dict[str, Any]) -> str:
    """`shared`: whether hosts share this machine, so that packets have to be told apart by control groups."""
    try:
        if request["shared"]:
            groups.mounted()
            cut.nft(["--check", "--file", "-"], cut.SAMPLE_BY_GROUP)
        else:
            cut.nft(["--check", "--file", "-"], cut.SAMPLE_BY_ADDRESS)
    except NoEffect as error:
        return str(error)
    return ""


def _slow_disk(request: dict[str, Any]) -> str:
    """`directory`: where the data are."""
    try:
        slow_disk.hierarchy()
        slow_disk.device_of(request["directory"])
    except (NoEffect, OSError) as error:
        return str(error)
    return ""


ABLE: Mapping[str, Callable[[dict[str, Any]], str]] = {"cut": _cut, "slow-disk": _slow_disk}
