"""What a detached campaign has left on a local testbed, as seen from outside: by the file system and /proc, not by samebox."""

from __future__ import annotations

from pathlib import Path

from provisioning.hosts.inventory import load_inventory

CAMPAIGN = """
schema = 1
name = "tiny"
question = "Does it run by itself?"
seed = 1
order = "fixed"
systems = ["{system}"]
durability = [2]
blocks = 2
[checks]
send-delay = {{ p99_ms = 5000 }}
[[workloads]]
name = "steady"
rate_per_s = 400
message_bytes = 512
partitions = 3
producers = 1
consumers = 1
warmup_s = 2
measure_s = 4
"""


def roots(home: Path) -> list[Path]:
    """The hosts' folders."""
    inventory = load_inventory(home / ".samebox" / "testbed" / "inventory.json")
    return [Path(host.root) for host in inventory.hosts]


def folders(home: Path) -> list[Path]:
    """Orchestrators' folders on the hosts."""
    return [root / "orchestrator" for root in roots(home) if (root / "orchestrator").exists()]


def keys(home: Path) -> list[Path]:
    """Files of the hosts that let a key in beside the operator's."""
    return [file for root in roots(home) if (file := root / ".ssh" / "authorized_keys").exists()]


def processes(home: Path) -> list[str]:
    """Command lines of orchestrators of this testbed that run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "bench.orchestrator.process" in words and any(word.startswith(f"{home}/") for word in words):
            found.append(" ".join(words))
    return found


def write_campaign(folder: Path, system: str) -> Path:
    """A campaign of two small trials of one system."""
    file = folder / "tiny.toml"
    file.write_text(CAMPAIGN.format(system=system))
    return file
