"""How an archive gets from this machine to hosts. It packs nothing, and unpacks nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from provisioning.hosts.host import Host

# puts the archive at an absolute path of a host; raises HostError
Put = Callable[[Host, str], None]


class Way(Protocol):
    """A way to hosts. `ready` does once what needs doing once, however many hosts there are."""

    def ready(self, archive: Path, hosts: Sequence[Host]) -> Put:
        """Makes an archive ready for these hosts; what it returns may be called for all of them at once."""


class Direct:
    """To each host over its own connection: as many bytes leave this machine as all hosts take."""

    def ready(self, archive: Path, hosts: Sequence[Host]) -> Put:
        del hosts
        return lambda host, path: host.push(archive, path)


DIRECT = Direct()
