"""Odd files, by name: what can stand where a file is expected, and what a file can hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bad_input.bundles import BUNDLES

LONG = 10_000_000
DEEP = 100_000


def spoil(path: Path, how: str) -> None:
    """Puts an odd file in the place of what is there."""
    whole = path.read_bytes() if path.is_file() else b""
    path.unlink(missing_ok=True)
    MAKERS[how](path, whole)


def _holding(content: Callable[[bytes], bytes]) -> Callable[[Path, bytes], None]:
    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(content(whole))

    return make


def _loop(path: Path, _whole: bytes) -> None:
    path.symlink_to(path)


def _dangling(path: Path, _whole: bytes) -> None:
    path.symlink_to(path.with_name("nothing"))


def _under_a_file(path: Path, whole: bytes) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.write_bytes(whole)


MAKERS: Mapping[str, Callable[[Path, bytes], None]] = {
    "nothing": lambda _path, _whole: None,
    "directory": lambda path, _whole: path.mkdir(),
    "pipe": lambda path, _whole: os.mkfifo(path),
    "loop of links": _loop,
    "link to nothing": _dangling,
    "file in the place of its folder": _under_a_file,
    "empty": _holding(lambda _whole: b""),
    "not UTF-8": _holding(lambda whole: whole + b"\n# \xff\xfe\n"),
    "a NUL byte": _holding(lambda whole: whole[:20] + b"\0" + whole[20:]),
    "half of it": _holding(lambda whole: whole[: len(whole) // 2]),
    "a long text": _holding(lambda _whole: b'name = "' + b"a" * LONG + b'"\n'),
    "a long JSON text": _holding(lambda _whole: b'{"schema": "' + b"a" * LONG + b'"}'),
    "a long YAML text": _holding(lambda _whole: b"topics: " + b"a" * LONG + b"\n"),
    "deep TOML": _holding(lambda _whole: b"a = " + b"[" * DEEP + b"]" * DEEP),
    "deep dotted TOML": _holding(lambda _whole: b"schema = 1\n" + b".".join([b"a"] * 5_000) + b" = 1\n"),
    "deep JSON": _holding(lambda _whole: b'{"a": ' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "deep YAML": _holding(lambda _whole: b"a: " + b"[" * 5_000 + b"]" * 5_000),
    "a JSON number of 5,000 digits": _holding(lambda _whole: b'{"schema": ' + b"9" * 5_000 + b"}"),
    "a TOML number of 5,000 digits": _holding(lambda whole: whole + b"\nmost = " + b"9" * 5_000),
    "a YAML number of 5,000 digits": _holding(lambda _whole: b"topics: " + b"9" * 5_000),
    **BUNDLES,
    "many wrong keys": _holding(lambda whole: whole + b"".join(b"x%d = 1\n" % n for n in range(5_000))),
}
