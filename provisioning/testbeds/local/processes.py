"""Which processes of this machine belong to a local host, told by facts in /proc; never by a program's name, never a guess.

A process belongs to the host whose root it carries in its environment, runs from, works in or writes to. The environment
alone isn't enough: daemons that set their own title (sshd, some brokers) overwrite it.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

from provisioning.errors import SameboxError
from provisioning.hosts.looks import looks

HOST_ROOT_VARIABLE = "SAMEBOX_HOST_ROOT"
SSHD_CONFIG = "sshd/sshd_config"  # below a host's root
END_TIMEOUT_S = 10.0
_PROC = Path("/proc")
# Only a path of the form a local host's root has, so that no other sshd's can be meant.
_SSHD_COMMAND = re.compile(r"-f (/.*?/hosts/[a-z]+-\d+\.g\d+)/" + re.escape(SSHD_CONFIG) + r"(?:\s|$)")


def end_processes(belongs: Callable[[int], bool]) -> int:
    """Kills every process for which `belongs` holds, and their sshd's descendants, until none is left; returns how many.

    The caller and its ancestors are spared. Raises SameboxError naming those that can't be killed.
    """
    spared = _with_ancestors(os.getpid())
    ended: set[int] = set()
    for _ in looks(END_TIMEOUT_S, every_s=0.02):
        listeners_first = sorted(pid for pid in _pids() - spared if belongs(pid))
        found = _with_descendants(listeners_first) - spared
        if not found:
            return len(ended)
        for pid in found:
            _kill(pid)
        ended |= found
    pids = ", ".join(str(pid) for pid in sorted(found))
    raise SameboxError(f"processes {pids} of local hosts can't be killed.", next_step=f"Look: ps -fp {pids}")


def belongs_under(folder: Path) -> Callable[[int], bool]:
    """Whether a process belongs to a host whose root lies in `folder`, alive or removed."""
    prefix = f"{folder}/"
    return lambda pid: any(root.startswith(prefix) for root in (*_claimed_roots(pid), *_used_paths(pid)))


def belongs_to(root: Path) -> Callable[[int], bool]:
    """Whether a process belongs to the host with this root."""

    def belongs(pid: int) -> bool:
        return str(root) in _claimed_roots(pid) or any(
            path == str(root) or path.startswith(f"{root}/") for path in _used_paths(pid)
        )

    return belongs


def orphaned(pid: int) -> bool:
    """Whether a process belongs to a host whose directory no longer exists, as the process itself sees the file system."""
    view = _PROC / str(pid) / "root"
    for root in _claimed_roots(pid):
        try:
            Path(f"{view}{root}").stat()
        except FileNotFoundError:
            return view.exists()  # else the process itself has gone
        except OSError:
            continue
    return False


def holder_of(socket_inode: str) -> int | None:
    """The pid of a process that holds a socket; None where it can't be told."""
    return next((pid for pid in _pids() if f"socket:[{socket_inode}]" in _descriptors(pid).values()), None)


def program_of(pid: int) -> str:
    """What runs in a process, by the kernel's name for it; empty if it has gone."""
    return os.fsdecode(_read(pid, "comm")).strip()


def any_runs(program: str) -> bool:
    """Whether anything on this machine runs whose name begins so; zombies don't count."""
    return any(program_of(pid).startswith(program) and _stat_fields(pid)[:1] not in ([], [b"Z"]) for pid in _pids())


def listener_of(root: Path) -> int | None:
    """The pid of the host's sshd, if it is running."""
    try:
        pid = int((root / "sshd/sshd.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if str(root) in _sshd_roots(pid) else None


def _claimed_roots(pid: int) -> list[str]:
    """The host roots a process names in its environment or, as an sshd, on its command line."""
    marker = f"{HOST_ROOT_VARIABLE}=".encode()
    variables = _read(pid, "environ").split(b"\0")
    roots = [os.fsdecode(variable[len(marker) :]) for variable in variables if variable.startswith(marker)]
    return [root for root in roots if root.startswith("/")] + _sshd_roots(pid)


def _sshd_roots(pid: int) -> list[str]:
    command = os.fsdecode(_read(pid, "cmdline").replace(b"\0", b" "))
    return _SSHD_COMMAND.findall(command) if "sshd" in command.split(" -f ", 1)[0] else []


def _used_paths(pid: int) -> list[str]:
    """Where a process without a terminal runs from, works in, and writes to. One with a terminal is an operator's own."""
    if _has_terminal(pid):
        return []
    paths = [_link(_PROC / str(pid) / name) for name in ("exe", "cwd")]
    paths += [path for number, path in _descriptors(pid).items() if _writes(pid, number)]
    return [path for path in paths if path.startswith("/")]


def _descriptors(pid: int) -> dict[str, str]:
    try:
        return {entry.name: _link(entry) for entry in (_PROC / str(pid) / "fd").iterdir()}
    except OSError:
        return {}


def _writes(pid: int, descriptor: str) -> bool:
    flags = re.search(rb"^flags:\s*([0-7]+)", _read(pid, f"fdinfo/{descriptor}"), re.MULTILINE)
    return flags is not None and int(flags.group(1), 8) & os.O_ACCMODE != os.O_RDONLY


def _has_terminal(pid: int) -> bool:
    fields = _stat_fields(pid)
    return len(fields) > 4 and fields[4] != b"0"


def _stat_fields(pid: int) -> list[bytes]:
    """/proc/PID/stat after the command's name: state, parent, group, session, terminal, ..."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _parent(pid: int) -> int:
    fields = _stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _with_ancestors(pid: int) -> set[int]:
    family = set()
    while pid > 0:
        family.add(pid)
        pid = _parent(pid)
    return family | {1}


def _with_descendants(pids: list[int]) -> set[int]:
    family = set(pids)
    parents = {pid: _parent(pid) for pid in _pids()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _pids() -> set[int]:
    return {int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()}


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone meanwhile; one that isn't ours to kill is found again until the deadline says so


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _link(path: Path) -> str:
    try:
        return str(path.readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""
