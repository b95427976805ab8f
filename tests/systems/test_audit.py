"""Looks at processes and jars, on this machine: listeners, string constants of classes."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import zipfile
from pathlib import Path

import pytest

from provisioning.hosts.agents import command
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.jvm.agent import constants, listeners, readable
from systems.jvm.readback import look

RECORD = HostRecord("broker-1", "broker", SshAddress("127.0.0.1", 22, "b", ""), "127.0.0.1", "/r", (), "", "", 1)


def test_own_listeners_are_seen_with_their_address() -> None:
    """A socket that listens on every address shows as such."""
    with socket.create_server(("127.0.0.1", 0)) as narrow, socket.create_server(("0.0.0.0", 0)) as wide:
        seen = listeners([os.getpid()])[str(os.getpid())]
        assert f"127.0.0.1:{narrow.getsockname()[1]}" in seen
        assert f"0.0.0.0:{wide.getsockname()[1]}" in seen


@pytest.mark.parametrize(
    ("printed", "family", "address"),
    [
        ("1500007F:2384", socket.AF_INET, "127.0.0.21:9092"),
        ("0000000000000000FFFF00000B09007F:2384", socket.AF_INET6, "::ffff:127.0.9.11:9092"),
    ],
)
def test_kernel_addresses_as_people_write_them(printed: str, family: int, address: str) -> None:
    """/proc/net/tcp prints 32-bit words in the machine's byte order."""
    assert readable(printed, family) == address


def test_only_whole_constants_count(tmp_path: Path) -> None:
    """A key that is only part of a longer string is not known."""
    with zipfile.ZipFile(tmp_path / "server-1.jar", "w") as jar:
        jar.writestr("A.class", b"\xca\xfe\x01\x00\x0fjournalSyncData\x01\x00\x03abc")
        jar.writestr("notes.txt", b"\x01\x00\x04text")
    wanted = ["journalSyncData", "journalSync", "text", "abc"]
    assert constants(str(tmp_path), ["server-*.jar"], wanted) == ["abc", "journalSyncData"]
    assert constants(str(tmp_path), ["other-*.jar"], wanted) == []


def test_the_jars_of_a_host_are_read_once() -> None:
    """The same names again are looked for in no jar; other names are, and so is everything on another host."""

    def asked(jars: list[str], names: list[str]) -> str:
        return command({"commands": [], "pids": [], "folder": "/r/libs", "jars": jars, "names": names, "say": []})

    def answer(*known: str) -> str:
        return json.dumps({"told": [], "listeners": {}, "constants": known, "said": []})

    host = ScriptedHost(RECORD, {asked(["a-*.jar"], ["x", "y"]): answer("x"), asked([], ["x", "y"]): answer()})
    for _ in range(2):
        assert look(host, {}, folder="/r/libs", jars=["a-*.jar"], names=["y", "x"]).constants == {"x"}
    host.answers = {asked(["a-*.jar"], ["z"]): answer("z")}
    assert look(host, {}, folder="/r/libs", jars=["a-*.jar"], names=["z"]).constants == {"z"}
    other = ScriptedHost(dataclasses.replace(RECORD, name="broker-2"), {asked(["a-*.jar"], ["x", "y"]): answer("y")})
    assert look(other, {}, folder="/r/libs", jars=["a-*.jar"], names=["x", "y"]).constants == {"y"}
