"""One local host: an sshd of its own on a loopback address, with a root directory and a host key of its own.

An sshd that root starts insists on a folder /run/sshd. It is made when missing, and removed when it was ours and no sshd runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from provisioning.errors import HostUnreachable, MissingRequirement
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.hosts.looks import looks
from provisioning.testbeds.local.addresses import SSH_PORT, Slot
from provisioning.testbeds.local.processes import HOST_ROOT_VARIABLE, SSHD_CONFIG, any_runs, listener_of

START_TIMEOUT_S = 15.0
DATA_DIRS = ("data-1", "data-2")
PRIVILEGE_FOLDER = Path("/run/sshd")
_OURS = PRIVILEGE_FOLDER / "made-by-samebox"


class AddressTaken(Exception):
    """Another process bound the address between our look and our sshd's bind."""


def make_key(path: Path, comment: str) -> None:
    """A new ed25519 key pair at `path` (mode 600) and `path`.pub, without a passphrase."""
    path.unlink(missing_ok=True)
    command = [_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def start(slot: Slot, root: Path, generation: int, operator_key: Path) -> HostRecord:
    """Makes the host's directories and starts its sshd. Raises AddressTaken, HostUnreachable or MissingRequirement."""
    own = root / "sshd"
    own.mkdir(parents=True)
    for name in (*DATA_DIRS, "tmp"):
        (root / name).mkdir()
    make_key(own / "host_key", slot.name)
    user = _user()
    (root / SSHD_CONFIG).write_text(_config(slot.address, root, operator_key, user))
    _listen(slot.name, slot.address, root)
    key_type, key = (own / "host_key.pub").read_text().split()[:2]
    return HostRecord(
        name=slot.name,
        role=slot.role,
        ssh=SshAddress(slot.address, SSH_PORT, user.pw_name, f"{key_type} {key}"),
        address=slot.address,
        root=str(root),
        data_dirs=tuple(_data_dir(root / name) for name in DATA_DIRS),
        instance_id=f"local-{secrets.token_hex(6)}",
        instance_type="local",
        generation=generation,
    )


def start_again(record: HostRecord) -> None:
    """Starts the sshd of a host that was there before: same directories, host key and address. Raises as `start` does."""
    _listen(record.name, record.address, Path(record.root))


def answers(record: HostRecord) -> bool:
    """Whether the host's own sshd runs and greets."""
    if listener_of(Path(record.root)) is None:
        return False
    try:
        with socket.create_connection((record.ssh.address, record.ssh.port), timeout=5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _listen(name: str, address: str, root: Path) -> None:
    """Starts an sshd by the configuration that lies in the host's root, and waits until it listens."""
    log = root / "sshd/sshd.log"
    log.touch()
    logged_before = log.stat().st_size
    started = subprocess.run(
        [_program("sshd"), "-f", str(root / SSHD_CONFIG), "-E", str(log)],
        env=_environment(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    for _ in looks(START_TIMEOUT_S, every_s=0.01):
        if listener_of(root) is not None:  # the pid file is written after the bind
            return
        text = log.read_bytes()[logged_before:].decode(errors="replace")
        if "Address already in use" in text:
            raise AddressTaken(address)
        if started.stderr or "fatal:" in text:
            break
    evidence = (started.stderr + text).strip()[-800:] or f"no answer within {START_TIMEOUT_S:g} s"
    raise HostUnreachable(name, f"its sshd on {address}:{SSH_PORT} did not start:\n{evidence}")


def _config(address: str, root: Path, operator_key: Path, user: pwd.struct_passwd) -> str:
    path = _with_python(os.environ.get("PATH", os.defpath))
    variables = {HOST_ROOT_VARIABLE: str(root), "HOME": str(root), "TMPDIR": str(root / "tmp"), "PATH": path}
    # the second is what anybody's sshd reads, since HOME is the host's root; sshd expands % in both
    authorized = [path.replace("%", "%%") for path in (f"{operator_key}.pub", f"{root}/.ssh/authorized_keys")]
    lines = [
        f"ListenAddress {address}:{SSH_PORT}",
        f"HostKey {_quoted(f'{root}/sshd/host_key')}",
        f"PidFile {_quoted(f'{root}/sshd/sshd.pid')}",
        f"AuthorizedKeysFile {' '.join(map(_quoted, authorized))}",
        "AuthenticationMethods publickey",
        f"AllowUsers {user.pw_name}",
        "PermitRootLogin prohibit-password",
        "StrictModes no",  # a checkout or a temporary folder may be group-writable
        f"UsePAM {'yes' if _is_locked(user) else 'no'}",
        "UseDNS no",
        "PrintMotd no",
        "PrintLastLog no",
        "X11Forwarding no",
        "AllowTcpForwarding no",
        "ClientAliveInterval 15",
        "ClientAliveCountMax 4",
        "MaxStartups 100",
        "MaxSessions 100",
        "SetEnv " + " ".join(_quoted(f"{name}={value}") for name, value in variables.items()),
        "Subsystem sftp internal-sftp",  # samebox doesn't need it; an operator who looks around does
    ]
    return "\n".join(lines) + "\n"


@cache
def _with_python(path: str) -> str:
    """The search path. Where its python3 is only the stand-in of a version manager, the folder of the real one goes before it:
    hosts start it often, and finding it would take several times as long as it takes to start."""
    python = shutil.which("python3", path=path)
    if python is None:
        return path
    ask = [python, "-ISc", "import sys; print(sys.executable)"]
    real = subprocess.run(ask, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout.strip()
    folder = str(Path(real).parent)
    return path if not real or folder == str(Path(python).parent) else f"{folder}{os.pathsep}{path}"


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, HOST_ROOT_VARIABLE: str(root)}


def _is_locked(user: pwd.struct_passwd) -> bool:
    """Whether sshd would refuse the account for its locked password; it doesn't when PAM decides."""
    try:
        entries = Path("/etc/shadow").read_text().splitlines()
    except OSError:
        return False  # not root: then sshd can't read it either and doesn't refuse
    return any(entry.startswith(f"{user.pw_name}:!") for entry in entries)


def _user() -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.geteuid())
    except KeyError:
        raise MissingRequirement(
            f"user id {os.geteuid()} has no entry in /etc/passwd, without which sshd lets nobody in.",
            next_step="Run samebox as a user of this machine.",
        ) from None


def _program(name: str) -> str:
    found = shutil.which(
        name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
    )
    if found is None:
        package = "openssh-server" if name == "sshd" else "openssh-client"
        raise MissingRequirement(
            f"the program {name} is missing; every local host is an sshd of its own.",
            next_step=f"sudo apt-get install -y {package}",
        )
    return str(Path(found).absolute())


def _data_dir(path: Path) -> DataDir:
    """The directory with the file system it really lies on. Never owned: it is the operator's disk."""
    device, mount = "unknown", "/"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, source = line.partition(" - ")
        where = fields.split()[4].encode().decode("unicode_escape")
        if path.is_relative_to(where) and len(where) >= len(mount):
            device, mount = source.split()[1], where
    return DataDir(path=str(path), device=device, mount=mount, owned=False)


@contextlib.contextmanager
def privilege_separation() -> Iterator[None]:
    """The folder is there, and isn't removed by another samebox process before the sshd started inside has begun."""
    if not _is_needed():
        yield
        return
    with _locked():
        if not PRIVILEGE_FOLDER.exists():
            PRIVILEGE_FOLDER.mkdir(mode=0o755)
            _OURS.touch()
        yield


def release_privilege_separation() -> None:
    """Removes the folder if samebox made it and no sshd runs any more."""
    if not _is_needed():
        return
    with _locked():
        if _OURS.exists() and not any_runs("sshd"):
            _OURS.unlink()
            with contextlib.suppress(OSError):
                PRIVILEGE_FOLDER.rmdir()


def _is_needed() -> bool:
    return os.geteuid() == 0 and PRIVILEGE_FOLDER.parent.is_dir()


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    parent = os.open(PRIVILEGE_FOLDER.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(parent, fcntl.LOCK_EX)
        yield
    finally:
        os.close(parent)
