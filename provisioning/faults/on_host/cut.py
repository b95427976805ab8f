"""Cuts a host off from others: packets are dropped by a table of nftables of this fault's own.

Hosts are told apart by their addresses. Where several share one machine, and with it one address that they connect from, it is by the
control groups of their processes: a packet is marked by who sends it, and dropped by that mark and by who receives it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioning.faults.on_host.effect import NoEffect

NFT_TIMEOUT_S = 10.0
_MARK = 0x5B0000  # beside whatever marks this machine uses otherwise


class Cut:
    """`target` and each of `peers` are {"addresses": [...]} or {"cgroup": a path below the file system of cgroup 2}."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._table = f"samebox_{os.getpid()}"
        self.to_undo: dict[str, Any] = {"table": self._table}

    def prepare(self) -> None:
        """See Kind. Raises NoEffect where nftables isn't there or refuses the rules."""
        nft(["--check", "--file", "-"], self._rules())

    def begin(self) -> dict[str, int]:
        """See Kind."""
        nft(["--file", "-"], self._rules())
        return {}

    def undo(self) -> str:
        """See Kind. Raises NoEffect where no packet was dropped: nobody was cut off from anybody."""
        listed = nft(["list", "table", "inet", self._table], "")
        undo_noted(self.to_undo)
        dropped = sum(int(found) for found in re.findall(r"counter packets (\d+)", listed))
        if not dropped:
            raise NoEffect("no packet was dropped")
        return f"{dropped:,} packets dropped"

    def _rules(self) -> str:
        make = _by_control_group if "cgroup" in self._request["target"] else _by_address
        return make(self._table, **{name: self._request[name] for name in ("target", "peers", "direction", "others")})


def undo_noted(noted: Mapping[str, Any]) -> None:
    """Removes the table, if it is there."""
    if noted["table"] in nft(["list", "tables"], ""):
        nft(["delete", "table", "inet", noted["table"]], "")


def nft(words: list[str], script: str) -> str:
    """What nftables prints. Raises NoEffect with its words where it refuses, or isn't there."""
    argv = ["nft", *words] if os.geteuid() == 0 else ["sudo", "-n", "nft", *words]
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(
            argv, input=script, capture_output=True, text=True, timeout=NFT_TIMEOUT_S, env=environment
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NoEffect(f"{argv[0]}: {error}") from None
    if done.returncode != 0:
        raise NoEffect(f"{' '.join(argv)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def _by_address(
    table: str, *, target: dict[str, Any], peers: list[dict[str, Any]], direction: str, others: object
) -> str:
    del target, others
    off = ", ".join(address for peer in peers for address in peer["addresses"])
    to = f"chain to {{ type filter hook input priority -200; ip saddr {{ {off} }} counter drop; }}"
    out = f"chain from {{ type filter hook output priority -200; ip daddr {{ {off} }} counter drop; }}"
    chains = {"to": [to], "from": [out], "both": [to, out]}[direction]
    return _table(table, chains)


def _by_control_group(
    table: str, *, target: dict[str, Any], peers: list[dict[str, Any]], direction: str, others: list[dict[str, Any]]
) -> str:
    """`others`: all hosts of brokers but the target. A peer without a control group is whoever is in none of these: the clients."""
    marked = [target, *others]
    numbers = {each["cgroup"]: _MARK + number for number, each in enumerate(marked, 1)}
    sent = [f"{_of(path)} meta mark set {number:#x};" for path, number in numbers.items()]
    mine, its = numbers[target["cgroup"]], _of(target["cgroup"])
    drops = []
    for peer in peers:
        path = peer.get("cgroup")
        if direction in ("to", "both"):
            from_it = f"meta mark {numbers[path]:#x}" if path else f"meta mark & {_MARK:#x} == 0"
            drops.append(f"{from_it} {its} counter drop;")
        if direction in ("from", "both"):
            to_it = _of(path) if path else " ".join(_of(other["cgroup"], "!=") for other in marked)
            drops.append(f"meta mark {mine:#x} {to_it} counter drop;")
    return _table(
        table,
        [
            f"chain sent {{ type filter hook output priority -200; {' '.join(sent)} }}",
            f"chain received {{ type filter hook input priority -200; {' '.join(drops)} }}",
        ],
    )


def _of(path: str, relation: str = "") -> str:
    """A packet whose socket was made by a process of a control group; as deep as the path says."""
    level = len(Path(path).parts) - _above(path)
    return f'socket cgroupv2 level {level} {relation} "{path}"'.replace("  ", " ")


def _above(path: str) -> int:
    """How many leading parts of a path below /sys/fs/cgroup are where cgroup 2 is mounted, and no groups."""
    return 1 if Path(path).parts[0] == "unified" else 0


def _table(name: str, chains: list[str]) -> str:
    return f"table inet {name} {{\n" + "\n".join(chains) + "\n}\n"


SAMPLE_BY_ADDRESS = _table(
    "samebox_check", ["chain to { type filter hook input priority -200; ip saddr { 127.0.0.9 } counter drop; }"]
)
# the root group is always there; of level 1 nothing is in it
SAMPLE_BY_GROUP = _table(
    "samebox_check",
    ['chain sent { type filter hook output priority -200; socket cgroupv2 level 1 "." meta mark set 1; }'],
)
