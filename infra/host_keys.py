"""The SSH host key of every host, known before the host exists: nobody has to trust a key on first sight. It opens no connection.

A key is derived (HKDF-SHA256) from the stack's secret seed, the campaign, the host's name and its generation: the same on every
`pulumi up`, another one for a host replaced. Its private half travels in user data, which whoever may call
ec2:DescribeInstanceAttribute, and any process on that host, can read: it proves which host answers, within the operator's account,
and guards nothing else. Keys made on the hosts would have to be fetched over the very connection that they should vouch for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

KEY_BYTES = 32


@dataclass(frozen=True)
class HostKey:
    """An ed25519 host key: the OpenSSH private key file and the public line ("ssh-ed25519 AAAA...")."""

    private: str = field(repr=False)
    public: str


def host_key(seed: str, *, campaign: str, host: str, generation: int) -> HostKey:
    """The key of one host in one generation; `seed` is 64 hex digits."""
    purpose = f"samebox host key\n{campaign}\n{host}\n{generation}".encode()
    derived = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(bytes.fromhex(seed))
    key = Ed25519PrivateKey.from_private_bytes(derived)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    return HostKey(private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())
