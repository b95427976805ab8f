"""What a figure was measured under: the promise, the workload and the hosts, each as a document that is equal where they are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from analysis.digest.reading import flat, rounded, text, whole
from analysis.words import OPEN_LOOP
from contract.durability import variant_of

# of a workload, what its name and its place in a ladder say; the rate stands by itself
_NOT_ALIKE = ("name", "rate_per_s", "rates_per_s", "rungs", "ladder", "title")
_GIB = 2**30


def promise_of(durability: Mapping[str, Any]) -> dict[str, Any]:
    """The level's number and what an acknowledgement means; variants of a level promise the same, and are in a contestant's name."""
    words = str(durability["promise"])
    variant = variant_of(durability)
    if variant is not None:
        words = words.removesuffix(f", {variant['words']}")
    return {
        "level": whole(durability["level"]),
        "replication": text(durability["replication"], 20),
        "local": text(durability["local"], 20),
        "words": text(words),
    }


def workload_of(workload: Mapping[str, Any]) -> dict[str, Any]:
    """`rate_per_s`: None where it wasn't given beforehand. `shape`: everything else that must be alike, as texts by key."""
    offered = workload["pacing"] == OPEN_LOOP
    shape = flat({key: value for key, value in workload.items() if key not in _NOT_ALIKE})
    return {
        "name": text(workload["name"], 80),
        "rate_per_s": rounded(workload["rate_per_s"]) if offered else None,
        "shape": dict(sorted(shape.items())),
    }


def hosts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The kind of testbed, how many hosts of which role and type, and what machines they are; hosts that are alike are named once."""
    hosts, facts = manifest["testbed"]["hosts"], manifest["facts"]
    roles = Counter(text(host["role"], 40) for host in hosts)
    machines = sorted({_machine(host, facts.get(host["name"]) or {}) for host in hosts})
    return {
        "kind": text(manifest["testbed"]["testbed"]["kind"], 40),
        "roles": dict(sorted(roles.items())),
        "machines": machines[:12],
        "kernels": sorted({text(each.get("kernel"), 80) for each in facts.values()})[:12],
    }


def _machine(host: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    kind = text(host["instance_type"], 40)
    if not facts:
        return kind
    memory = f"{float(facts['memory_bytes']) / _GIB:.0f} GiB"
    return f"{kind}: {text(facts['cpu_model'], 80)}, {whole(facts['cpus'])} CPUs, {memory}"
