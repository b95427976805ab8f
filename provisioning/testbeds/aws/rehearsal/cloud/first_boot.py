"""What cloud-init makes of user data at a host's first boot, written into the folder that becomes the host's file system.

It knows the keys that samebox's own user data has, and refuses any other.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

LOGIN = "ec2-user"
SSH_PORT = 22
MACHINE = Path(__file__).with_name("machine")
HEADER = "#cloud-config\n"
KNOWN = {
    "hostname",
    "preserve_hostname",
    "ssh_deletekeys",
    "ssh_keys",
    "disable_root",
    "ssh_pwauth",
    "write_files",
    "runcmd",
}
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# where a program of the machine's own would stand, which needs the systemd that these hosts lack, or their own clock or kernel
STAND_INS = {
    "systemctl": "usr/bin",
    "udevadm": "usr/bin",
    "shutdown": "usr/sbin",
    "modprobe": "usr/sbin",
    "chronyd": "usr/sbin",
    "chronyc": "usr/bin",
}
IMAGE_UNITS = {"chronyd.service": "[Service]\nExecStart=/usr/sbin/chronyd\n"}


def lay_out(upper: Path, *, user_data: str, authorized_key: str, address: str, environment: Mapping[str, str]) -> str:
    """Writes what first boot writes below `upper`, before the host runs; returns the host's name. Raises ValueError.

    `environment`, in every login's, stands for the instance metadata service, which hands out the credentials of a host's role.
    """
    config = parse(user_data)
    for name, folder in STAND_INS.items():
        (upper / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(MACHINE / name, upper / folder)
    for name, content in IMAGE_UNITS.items():
        _write(upper / "etc/systemd/system" / name, content, 0o644)
    (upper / "etc/chrony.d").mkdir()
    name = str(config.get("hostname", "host"))
    _write(upper / "etc/hostname", f"{name}\n", 0o644)
    _account(upper, authorized_key)
    _ssh_server(upper, config.get("ssh_keys"), address, environment)
    for file in config.get("write_files", []):
        path = upper / str(file["path"]).lstrip("/")
        _write(path, file["content"], int(file.get("permissions", "0644"), 8))
    _write(upper / "var/lib/cloud/runcmd", _script(config.get("runcmd", [])), 0o700)
    return name


def parse(user_data: str) -> dict[str, Any]:
    """The cloud-config document. Raises ValueError for anything else, and for keys that cloud-init might do something with."""
    if not user_data.startswith(HEADER):
        raise ValueError("the user data isn't a #cloud-config document")
    config = yaml.safe_load(user_data)
    unknown = sorted(set(config) - KNOWN)
    if unknown:
        raise ValueError(f"these hosts' first boot doesn't know {', '.join(unknown)} in #cloud-config")
    return dict(config)


def _account(upper: Path, authorized_key: str) -> None:
    """The login of the image. It is root by another name, for this machine may have no sudo."""
    for file, line in (
        ("passwd", f"{LOGIN}:x:0:0::/home/{LOGIN}:/bin/bash"),
        ("group", f"{LOGIN}:x:0:"),
        ("shadow", f"{LOGIN}:*:19000:0:99999:7:::"),
    ):
        own = Path("/etc", file)
        _write(upper / "etc" / file, f"{own.read_text()}{line}\n", own.stat().st_mode & 0o777)
    _write(upper / "home" / LOGIN / ".bashrc", (MACHINE / "bashrc").read_text(), 0o644)
    _write(upper / "home" / LOGIN / ".ssh/authorized_keys", f"{authorized_key.strip()}\n", 0o600)


def _ssh_server(upper: Path, keys: Mapping[str, str] | None, address: str, environment: Mapping[str, str]) -> None:
    key = upper / "etc/ssh/ssh_host_ed25519_key"
    key.parent.mkdir(parents=True, exist_ok=True)
    if keys:
        _write(key, keys["ed25519_private"], 0o600)
        _write(key.with_suffix(".pub"), keys["ed25519_public"], 0o644)
    else:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    lines = (
        f"ListenAddress {address}:{SSH_PORT}",
        "HostKey /etc/ssh/ssh_host_ed25519_key",
        "PidFile none",
        "AuthorizedKeysFile .ssh/authorized_keys",
        "AuthenticationMethods publickey",
        f"AllowUsers {LOGIN}",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "UseDNS no",
        "PrintMotd no",
        "PrintLastLog no",
        "AllowTcpForwarding no",
        "MaxStartups 100",
        "MaxSessions 100",
        f"SetEnv {shlex.join(f'{name}={value}' for name, value in {'PATH': SYSTEM_PATH, **environment}.items())}",
        "Subsystem sftp internal-sftp",
    )
    _write(upper / "etc/ssh/sshd_config", "\n".join(lines) + "\n", 0o600)


def _script(commands: Sequence[str | Sequence[str]]) -> str:
    """cloud-init's own way with runcmd: one after the other in one shell, going on after a failure."""
    lines = [command if isinstance(command, str) else shlex.join(command) for command in commands]
    return "\n".join([f"export PATH={SYSTEM_PATH}", *lines]) + "\n"


def _write(path: Path, content: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
