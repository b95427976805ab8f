"""What running processes and their jars show of themselves beside their own interfaces. It changes nothing on a host."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import HostRecord

AGENT = Path(__file__).with_name("audit_agent.py").read_bytes()
AUDIT_TIMEOUT_S = 60.0
# what was found in the jars of a host's folder
_constants: dict[tuple[HostRecord, str, tuple[str, ...], frozenset[str]], frozenset[str]] = {}


@dataclass(frozen=True)
class Evidence:
    """`listeners`: daemon -> "address:port". `constants`: names that the jars' classes know. `said`: answers in order."""

    listeners: Mapping[str, tuple[str, ...]]
    constants: frozenset[str]
    said: tuple[str, ...]


def look(
    host: Host,
    pids: Mapping[str, int],
    *,
    folder: str = "",
    jars: Sequence[str] = (),
    names: Collection[str] = (),
    say: Sequence[tuple[str, int, str]] = (),
) -> Evidence:
    """One look at a host: where `pids` listen, which `names` are strings in the `jars` of `folder`, what ports answer to `say`.

    A host's jars are read once for the same names: they are never changed, only brought as another folder.
    """
    question = (host.record, folder, tuple(jars), frozenset(names))
    request = {
        "pids": list(pids.values()),
        "folder": folder,
        "jars": [] if question in _constants else list(jars),
        "names": sorted(names),
        "say": [list(one) for one in say],
    }
    answer = ask(host, AGENT, request, timeout_s=AUDIT_TIMEOUT_S)
    return Evidence(
        {name: tuple(answer["listeners"][str(pid)]) for name, pid in pids.items()},
        _constants.setdefault(question, frozenset(answer["constants"])),
        tuple(answer["said"]),
    )
