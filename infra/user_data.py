"""What a host does at its first boot, as a cloud-init document: host key, disks, end, PTP clock.

The document is JSON, which is YAML. The files it puts on the host lie in infra/on_host/.

The SSH host key is known before the host exists: nobody has to trust one on first sight. It is derived (HKDF-SHA256) from the stack's
secret seed, the campaign, the host's name and its generation: the same on every `pulumi up`, another one for a host replaced. Its
private half travels in user data, which whoever may call ec2:DescribeInstanceAttribute, and any process on that host, can read: it
proves which host answers, within the operator's account, and guards nothing else. Keys made on the hosts would have to be fetched
over the very connection that they should vouch for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

ON_HOST = Path(__file__).with_name("on_host")
PROGRAMS = ("samebox-disks", "samebox-expire-at")
PTP_PROGRAM = "samebox-ptp"
UNITS = ("samebox-disks.service", "samebox-expires.service")
KEY_BYTES = 32
LOGIN = "ec2-user"
ROOT = "/opt/samebox"  # where samebox's files live


@dataclass(frozen=True)
class HostKey:
    """An ed25519 host key: the OpenSSH private key file and the public line ("ssh-ed25519 AAAA...")."""

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True)
class FirstBoot:
    """Everything in which one host's first boot differs from another's. `ptp`: its type has a PTP hardware clock."""

    host: str
    host_key: HostKey
    expires: str
    instance_disks: int
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
            _file("/etc/samebox/disks", f"COUNT={boot.instance_disks}\nLOGIN={LOGIN}\n", "0644"),
        ],
        "runcmd": [
            # first: whatever fails next, the host will end; and one that nothing would end must not live
            f"/usr/local/sbin/samebox-expire-at {boot.expires} || shutdown -h now",
            # data-1: where a host without a disk of its own keeps its data
            ["install", "-d", "-o", LOGIN, "-g", LOGIN, ROOT, f"{ROOT}/data-1"],
            ["systemctl", "enable", "--now", "samebox-disks.service"],
            *([[f"/usr/local/sbin/{PTP_PROGRAM}"]] if boot.ptp else []),
        ],
    }
    return f"#cloud-config\n{json.dumps(document, indent=1)}\n"


def _text(name: str) -> str:
    return (ON_HOST / name).read_text()


def _file(path: str, content: str, permissions: str) -> dict[str, Any]:
    return {"path": path, "content": content, "permissions": permissions}


def host_key(seed: str, *, campaign: str, host: str, generation: int) -> HostKey:
    """The key of one host in one generation; `seed` is 64 hex digits."""
    purpose = f"samebox host key\n{campaign}\n{host}\n{generation}".encode()
    derived = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(bytes.fromhex(seed))
    key = Ed25519PrivateKey.from_private_bytes(derived)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    return HostKey(private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())
