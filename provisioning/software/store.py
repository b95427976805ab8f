"""The operator's store of software: deployments ask it to bring what they need to hosts.

Hosts never reach for the internet: what they lack is brought to them, over SSH or by a way of their own (`way`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

from provisioning.cache import Notice
from provisioning.errors import InvalidInput
from provisioning.hosts.host import Host
from provisioning.software.delivery import DIRECT, Content, Way, deliver
from provisioning.software.software import Software, entry_of, key_of


class Store:
    """Software by name; see `systems.deployment.SoftwareStore`.

    >>> store = Store(user_cache(), [MavenJars("kafka", folder)])
    >>> store.deploy("kafka", hosts)
    'software/kafka-4.3.1-0123456789abcdef'
    """

    def __init__(
        self, cache_dir: Path, known: Iterable[Software], *, notice: Notice = lambda _: None, way: Way = DIRECT
    ) -> None:
        """`known`: the last of a name is the one that is meant."""
        self._cache_dir = cache_dir
        self._notice = notice
        self.way = way
        self._known = {software.name: software for software in known}
        self._sizes: dict[str, dict[str, int]] = {}  # by content, which views share
        self._guard = Lock()

    def at(self, software: Iterable[Software]) -> Store:
        """The same store in which these are meant by their names: deployments of two versions lie side by side on the same hosts."""
        view = copy.copy(self)
        view._known = {**self._known, **{each.name: each for each in software}}
        return view

    def version(self, name: str) -> str:
        """The version of what `deploy` would bring."""
        return self._named(name).version

    def digest(self, name: str) -> str:
        """SHA-256 telling the content."""
        return self._named(name).digest

    def folder(self, name: str) -> Path:
        """The verified folder on this machine, fetched first if need be.

        Verified in full when first asked for; afterwards, in the same store, names and sizes are compared.
        """
        software = self._named(name)
        with self._guard:
            key = key_of(software)
            if key in self._sizes and _sizes(cached := entry_of(software, self._cache_dir)) == self._sizes[key]:
                return cached
            folder = software.fetch(self._cache_dir, notice=self._notice)
            self._sizes[key] = _sizes(folder)
            return folder

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        """Puts the software on the hosts that lack it; returns its directory relative to their `root`."""
        software = self._named(name)
        content = Content(key_of(software), software.digest)

        def files() -> Iterable[tuple[str, Path]]:
            folder = self.folder(name)
            return ((str(path.relative_to(folder)), path) for path in _files(folder))

        what = f"{name} {software.version}"
        deliver(hosts, content, files, self._cache_dir, what=what, notice=self._notice, way=self.way)
        return content.relative_dir

    def _named(self, name: str) -> Software:
        if name not in self._known:
            valid = ", ".join(sorted(self._known)) or "none"
            raise InvalidInput(f"no software is called {name!r}. Valid names: {valid}.")
        return self._known[name]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def _sizes(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_size for path in _files(folder)}
