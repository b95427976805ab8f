"""What a durability proof rests on beside the system's software and settings: a change of it, and the proof says nothing any more."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.checkout import CHECKOUT
from bench.load.client_hosts import LOCK_FILE
from systems.registry import SYSTEMS

# what every client is connected by, and what a proof is made with
_CLIENT = (
    "systems/client.py",
    "contract/workload.py",
    "bench/load/jobs.py",
    "bench/worker/job.py",
    "bench/worker/one_answer.py",
)
_PROOF = (
    "bench/proof",
    "bench/worker/sender.py",
    "provisioning/hosts/strace.py",
    "provisioning/hosts/strace_agent.py",
)
_LOCKED = re.compile(r"^([a-z0-9-]+)==([^\s\\]+)", re.MULTILINE)

Basis = Mapping[str, str]


def basis_of(system: str, checkout: Path = CHECKOUT) -> Basis:
    """Part -> what identifies it in this checkout: the locked libraries by name and version, everything else by a digest."""
    own = SYSTEMS[system]
    client = own.client_module.replace(".", "/") + ".py"
    libraries = _LOCKED.findall((checkout / LOCK_FILE.relative_to(CHECKOUT)).read_text())
    return {
        "client libraries": ", ".join(f"{name} {version}" for name, version in libraries),
        "client code": _digest(checkout, (*_CLIENT, client)),
        "deployment code": _digest(checkout, _deployment_of(system, checkout)),
        "proof code": _digest(checkout, _PROOF),
    }


def unlike(kept: Basis | None, here: Basis) -> list[str]:
    """The parts that aren't as they are here, in words; of a proof that doesn't say what it rests on, that."""
    if kept is None:
        return ["what nobody noted"]
    return [f"different {part}" if part in kept else f"unknown {part}" for part in here if kept.get(part) != here[part]]


def _deployment_of(system: str, checkout: Path) -> list[str]:
    """The system's own folder and all that systems share, but clients and load tools, which put nothing on broker hosts."""
    others = {checkout / "systems" / name for name in SYSTEMS if name != system}
    return [
        str(file.relative_to(checkout))
        for file in (checkout / "systems").rglob("*")
        if file.is_file() and not others & set(file.parents) and not file.stem.endswith(("client", "load_tool", "keys"))
    ]


def _digest(checkout: Path, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        whole = checkout / path
        files = [whole] if whole.is_file() else sorted(file for file in whole.rglob("*") if file.is_file())
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(checkout)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
