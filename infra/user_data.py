"""What a host does at its first boot, as a cloud-init document: host key, disks, end, PTP clock. It installs no software.

The document is JSON, which is YAML. The files it puts on the host lie in infra/on_host/.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.host_keys import HostKey

ON_HOST = Path(__file__).with_name("on_host")
PROGRAMS = ("samebox-disks", "samebox-expire-at")
PTP_PROGRAM = "samebox-ptp"
UNITS = ("samebox-disks.service", "samebox-expires.service")


@dataclass(frozen=True)
class FirstBoot:
    """Everything in which one host's first boot differs from another's. `root` is where samebox's files live.

    `ptp`: its type has a PTP hardware clock.
    """

    host: str
    host_key: HostKey
    expires: str
    instance_disks: int
    login: str
    root: str
    ptp: bool = False


def user_data(boot: FirstBoot) -> str:
    """The host's user data. It holds the private host key: keep it a secret."""
    document = {
        "hostname": boot.host,
        "preserve_hostname": False,
        # installed by cloud-init before its sshd starts, so that no connection ever meets another key
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": boot.host_key.private, "ed25519_public": boot.host_key.public},
        "disable_root": True,
        "ssh_pwauth": False,
        "write_files": [
            *(
                _file(f"/usr/local/sbin/{name}", _text(name), "0755")
                for name in (*PROGRAMS, *([PTP_PROGRAM] if boot.ptp else []))
            ),
            *(_file(f"/etc/systemd/system/{name}", _text(name), "0644") for name in UNITS),
            _file("/etc/samebox/disks", f"COUNT={boot.instance_disks}\nLOGIN={boot.login}\n", "0644"),
        ],
        "runcmd": [
            # first: whatever fails next, the host will end; and one that nothing would end must not live
            f"/usr/local/sbin/samebox-expire-at {boot.expires} || shutdown -h now",
            # data-1: where a host without a disk of its own keeps its data
            ["install", "-d", "-o", boot.login, "-g", boot.login, boot.root, f"{boot.root}/data-1"],
            ["systemctl", "enable", "--now", "samebox-disks.service"],
            *([[f"/usr/local/sbin/{PTP_PROGRAM}"]] if boot.ptp else []),
        ],
    }
    return f"#cloud-config\n{json.dumps(document, indent=1)}\n"


def _text(name: str) -> str:
    return (ON_HOST / name).read_text()


def _file(path: str, content: str, permissions: str) -> dict[str, Any]:
    return {"path": path, "content": content, "permissions": permissions}
