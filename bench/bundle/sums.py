"""The tree of SHA-256 of a bundle: a text file as sha256sum writes and reads it, with every file in it, and over it the root.

The root is the SHA-256 of that text. It says all: whoever has been told 64 digits can tell whether a bundle is the one that was meant,
with `sha256sum` alone. What is made of the root (the signature, the page that prints it) isn't among the files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import BinaryIO

from provisioning.errors import InvalidInput

ROOT = re.compile(r"[0-9a-f]{64}")
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>[^\n\\]+)")
_CHUNK_BYTES = 1 << 20


def sums_text(digests: Mapping[str, str]) -> str:
    """A line for each file, by name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def read_sums(text: str, where: str) -> dict[str, str]:
    """File -> its SHA-256, of a text that `sums_text` has written. Raises InvalidInput for any other."""
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise InvalidInput(f"{where}: line {number} isn't a SHA-256, two spaces and the name of a file.")
        if found["name"] in digests:
            raise InvalidInput(f"{where}: line {number} names {found['name']!r} a second time.")
        digests[found["name"]] = found["digest"]
    if sums_text(digests) != text:
        raise InvalidInput(f"{where}: its lines aren't sorted by name, or don't end as lines do.")
    return digests


def root_of(sums: bytes) -> str:
    """The root over that text, 64 hexadecimal digits."""
    return hashlib.sha256(sums).hexdigest()


def digest_of(stream: BinaryIO) -> str:
    """The SHA-256 of what a stream holds, in hex."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
