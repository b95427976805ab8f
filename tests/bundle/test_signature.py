"""A root signed with an SSH key: by whom, for what, and by nobody else. Real keys, real ssh-keygen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.bundle.signature import NotSigned, check_signature, sign
from provisioning.errors import InvalidInput
from provisioning.testbeds.local.sshd import make_key

ROOT = "a1" * 32


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key without a passphrase."""
    make_key(tmp_path / "key", "ada@example.org")
    return tmp_path / "key"


@pytest.fixture
def allowed(key: Path) -> Path:
    """Its owner, and nobody else."""
    file = key.with_name("allowed")
    file.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    return file


def test_a_signer_who_is_allowed_is_named(key: Path, allowed: Path) -> None:
    """By the name in the file."""
    assert check_signature(ROOT, sign(ROOT, key), allowed).principal == "ada@example.org"


def test_without_a_list_only_the_key_is_known(key: Path) -> None:
    """Its fingerprint, as ssh-keygen prints it."""
    signed = check_signature(ROOT, sign(ROOT, key), None)
    printed = subprocess.run(["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True).stdout
    assert signed.principal is None
    assert signed.fingerprint.split()[1] in printed


def test_another_key_is_not_the_signer(allowed: Path, tmp_path: Path) -> None:
    """Though its signature is one of the root."""
    make_key(tmp_path / "other", "eve@example.org")
    with pytest.raises(NotSigned, match=r"doesn't list"):
        check_signature(ROOT, sign(ROOT, tmp_path / "other"), allowed)


def test_a_signature_is_of_one_root(key: Path) -> None:
    """Nobody can put it beside another."""
    with pytest.raises(NotSigned, match="isn't one of its root"):
        check_signature("b2" * 32, sign(ROOT, key), None)


def test_a_signature_for_something_else_is_none_of_a_bundle(key: Path, tmp_path: Path) -> None:
    """Its namespace is part of what was signed."""
    text = tmp_path / "root"
    text.write_text(f"{ROOT}\n")
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "git", str(text)], check=True, capture_output=True
    )
    with pytest.raises(NotSigned):
        check_signature(ROOT, text.with_name("root.sig").read_bytes(), None)


def test_what_is_no_signature_is_told_so() -> None:
    """A sentence, whatever its bytes are."""
    with pytest.raises(NotSigned):
        check_signature(ROOT, b"\x00\xff", None)


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything is signed."""
    with pytest.raises(InvalidInput, match="no such file"):
        sign(ROOT, tmp_path / "none")


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    """With what ssh-keygen says of it."""
    (tmp_path / "text").write_text("no key")
    with pytest.raises(InvalidInput, match="couldn't sign with it"):
        sign(ROOT, tmp_path / "text")
