"""What runs on this machine, as /proc tells it: read here without the code under test."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether it is there and more than a zombie."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def processes_naming(folder: Path) -> list[str]:
    """Live processes that carry the hosts of the testbed in `folder` in environment or command line: pid and how each begins."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{folder}/hosts/".encode() in text:
            found.append(f"{process.name} {text[:200]!r}")
    return found
