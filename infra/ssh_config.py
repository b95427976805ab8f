"""The stack output `sshConfig`: what `ssh -F` needs to reach every host by its name. Of the inventory alone; it opens no connection.

Host keys are in it, as commands that print them: one file is enough, and no key is trusted on first sight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

HEAD = "# pulumi stack output sshConfig > ssh_config; ssh -F ssh_config {first}"
HOST = """\
Host {name}
  HostName {address}
  Port {port}
  User {user}
  KnownHostsCommand /bin/echo %H {host_key}
"""
ALL = """\
Host *
  IdentityFile {identity_file}
  IdentitiesOnly yes
  StrictHostKeyChecking yes
  UserKnownHostsFile none
  GlobalKnownHostsFile none
"""


def ssh_config(inventory: Mapping[str, Any]) -> pulumi.Output[str]:
    """As text; `inventory` may hold outputs."""
    return pulumi.Output.from_input(dict(inventory)).apply(rendered)


def rendered(inventory: Mapping[str, Any]) -> str:
    """The same of an inventory whose outputs are known."""
    hosts = [HOST.format(name=host["name"], **host["ssh"]) for host in inventory["hosts"]]
    first = inventory["hosts"][0]["name"] if hosts else "HOST"
    return "\n".join([HEAD.format(first=first), *hosts, ALL.format(identity_file=_quoted(inventory["identity_file"]))])


def _quoted(path: str) -> str:
    """As ssh_config(5) wants a path with a space."""
    return f'"{path}"' if " " in path else path
