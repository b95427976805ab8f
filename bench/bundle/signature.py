"""The only door to ssh-keygen's signatures: the root of a bundle signed with the user's own SSH key, and told from another's.

The signed text is the root, 64 hexadecimal digits and a line feed, in the namespace samebox, so that a signature made for something
else can't be passed off as one of a bundle. Anyone checks it with ssh-keygen alone (docs/evidence.md); there is no service.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import InvalidInput, MissingRequirement

NAMESPACE = "samebox"
_FINGERPRINT = re.compile(r"with (?P<kind>\S+) key (?P<fingerprint>SHA256:\S+)")
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Signed:
    """Who signed a root: the key's fingerprint, and the name that --allowed-signers has for it (None: nobody was asked)."""

    fingerprint: str
    principal: str | None = None


class NotSigned(Exception):
    """A signature that doesn't hold for this root or isn't by an allowed signer; the message says which."""


def signed_text(root: str) -> bytes:
    """What is signed."""
    return f"{root}\n".encode()


def sign(root: str, key: Path) -> bytes:
    """The signature of a root by a private key, or by a public one whose private half an SSH agent has; ssh-keygen asks for a
    passphrase itself. Raises InvalidInput, MissingRequirement.
    """
    if not key.is_file():
        raise InvalidInput(
            f"--sign {key}: no such file.", next_step="Name your private SSH key, such as ~/.ssh/id_ed25519."
        )
    with tempfile.TemporaryDirectory(prefix="samebox-sign-") as folder:
        text = Path(folder) / "root"
        text.write_bytes(signed_text(root))
        # no pipe for its errors: it asks for the passphrase on the terminal
        done = subprocess.run(
            [_ssh_keygen(), "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(text)],
            stderr=subprocess.PIPE,
            text=True,
        )
        signature = text.with_name("root.sig")
        if done.returncode or not signature.is_file():
            raise InvalidInput(f"--sign {key}: ssh-keygen couldn't sign with it: {_last(done.stderr)}.")
        return signature.read_bytes()


def require_signers(file: Path) -> None:
    """Raises InvalidInput if there is no such file."""
    if not file.is_file():
        raise InvalidInput(
            f"--allowed-signers {file}: no such file.",
            next_step="One line for each signer: a name, then the public key (ssh-keygen(1), ALLOWED SIGNERS).",
        )


def check_signature(root: str, signature: bytes, allowed_signers: Path | None) -> Signed:
    """By which key a root was signed. `allowed_signers`: None asks only for the key. Raises NotSigned, MissingRequirement."""
    with tempfile.TemporaryDirectory(prefix="samebox-verify-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        signed = Signed(_fingerprint(_ask("check-novalidate", "-s", str(file), root=root)))
        if allowed_signers is None:
            return signed
        known = _ask_who(file, allowed_signers)
        if not known:
            raise NotSigned(f"signed by {signed.fingerprint}, whom {allowed_signers} doesn't list for {NAMESPACE}")
        _ask("verify", "-f", str(allowed_signers), "-I", known, "-s", str(file), root=root)
        return Signed(signed.fingerprint, known)


def _ask(what: str, *arguments: str, root: str) -> str:
    done = subprocess.run(
        [_ssh_keygen(), "-Y", what, "-n", NAMESPACE, *arguments],
        input=signed_text(root),
        capture_output=True,
        timeout=_TIMEOUT_S,
    )
    if done.returncode:
        raise NotSigned(f"its signature isn't one of its root: {_last(done.stderr.decode(errors='replace'))}")
    return done.stdout.decode(errors="replace")


def _ask_who(signature: Path, allowed_signers: Path) -> str:
    """The first name of the key in the file of allowed signers; empty: it isn't there, or has expired."""
    done = subprocess.run(
        [_ssh_keygen(), "-Y", "find-principals", "-s", str(signature), "-f", str(allowed_signers)],
        capture_output=True,
        timeout=_TIMEOUT_S,
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def _fingerprint(said: str) -> str:
    found = _FINGERPRINT.search(said)
    return f"{found['kind']} {found['fingerprint']}" if found else said.strip()


def _ssh_keygen() -> str:
    found = shutil.which("ssh-keygen")
    if found is None:
        raise MissingRequirement(
            "ssh-keygen isn't on the PATH.", next_step="Install OpenSSH's programs (openssh-client)."
        )
    return found


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
