"""`pulumi stack output sshConfig` is all that ssh needs to reach a host by its name, and no key is trusted on first sight."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.outputs import rendered
from provisioning.hosts.inventory import Inventory

HOST = {"address": "198.51.100.7", "port": 22, "user": "ec2-user", "host_key": "ssh-ed25519 AAAA"}
INVENTORY: dict[str, Any] = {
    "identity_file": "/home/me/my keys/id_ed25519",
    "hosts": [{"name": "broker-1", "ssh": HOST}],
}


def test_ssh_understands_it(tmp_path: Path) -> None:
    """Address, user, a key file with a space in its path, and strictness about host keys, as ssh itself reads them."""
    file = tmp_path / "ssh_config"
    file.write_text(rendered(INVENTORY))
    asked = subprocess.run(["ssh", "-G", "-F", str(file), "broker-1"], capture_output=True, text=True, check=True)
    read = dict(line.split(" ", 1) for line in asked.stdout.splitlines())
    assert (read["hostname"], read["port"], read["user"]) == ("198.51.100.7", "22", "ec2-user")
    assert read["identityfile"] == "/home/me/my keys/id_ed25519"
    assert read["stricthostkeychecking"] == "true"
    assert read["knownhostscommand"] == "/bin/echo %H ssh-ed25519 AAAA"


@pytest.mark.integration
def test_ssh_reaches_every_host_by_name_and_nobody_else(local_testbed: Inventory, tmp_path: Path) -> None:
    """Real sshd: with the hosts' own keys they answer, with another host's key they don't."""
    inventory = dataclasses.asdict(local_testbed)
    own, swapped = tmp_path / "own", tmp_path / "swapped"
    own.write_text(rendered(inventory))
    first, second = inventory["hosts"][:2]
    first["ssh"]["host_key"], second["ssh"]["host_key"] = second["ssh"]["host_key"], first["ssh"]["host_key"]
    swapped.write_text(rendered(inventory))
    for host in local_testbed.hosts:
        assert _ssh(own, host.name, f"echo this is {host.name}").stdout == f"this is {host.name}\n"
    refused = _ssh(swapped, first["name"], "true")
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def _ssh(config: Path, host: str, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", "-F", str(config), "-o", "BatchMode=yes", host, command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
