"""What a durability proof rests on beside the system's software and settings: a change of it, and the proof says nothing any more."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.checkout import CHECKOUT
from bench.systems import SYSTEMS
from provisioning.software.client_environment import LOCK_FILE

# what every client is connected by, and what a proof is made with
_CLIENT = ("bench/clients/client.py", "bench/load/jobs.py", "bench/load/job.py", "bench/load/one_answer.py")
_PROOF = ("bench/proof", "provisioning/strace.py", "provisioning/strace_agent.py")
_DEPLOYMENT = ("provisioning/deployment.py", "provisioning/rendering.py", "provisioning/settings.py")
_LOCKED = re.compile(r"^([a-z0-9-]+)==([^\s\\]+)", re.MULTILINE)

Basis = Mapping[str, str]


def basis_of(system: str, checkout: Path = CHECKOUT) -> Basis:
    """Part -> what identifies it in this checkout: the locked libraries by name and version, everything else by a digest."""
    own = SYSTEMS[system]
    client, package = own.client_module.replace(".", "/") + ".py", f"provisioning/{own.profiles.parent.name}"
    libraries = _LOCKED.findall((checkout / LOCK_FILE.relative_to(CHECKOUT)).read_text())
    return {
        "client libraries": ", ".join(f"{name} {version}" for name, version in libraries),
        "client code": _digest(checkout, (*_CLIENT, client)),
        "deployment code": _digest(
            checkout, (*_DEPLOYMENT, package, f"provisioning/templates/{own.profiles.parent.name}")
        ),
        "proof code": _digest(checkout, _PROOF),
    }


def unlike(kept: Basis | None, here: Basis) -> list[str]:
    """The parts that aren't as they are here, in words; of a proof that doesn't say what it rests on, that."""
    if kept is None:
        return ["what nobody noted"]
    return [f"different {part}" if part in kept else f"unknown {part}" for part in here if kept.get(part) != here[part]]


def _digest(checkout: Path, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        whole = checkout / path
        files = [whole] if whole.is_file() else sorted(file for file in whole.rglob("*") if file.is_file())
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(checkout)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
