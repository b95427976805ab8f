"""The jars of an official release tarball, in place of the pinned ones. Nothing else of it is kept, and nothing of it runs."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from provisioning.cache import Notice, sha256_of
from provisioning.errors import InvalidInput
from systems.software.cached import cached

_VERSION = re.compile(r"-(\d+(?:\.\d+)+(?:[-.][A-Za-z0-9]+)*)$")


@dataclass(frozen=True)
class ReleaseJars:
    """A release as its makers publish it: <product>-<version>/lib or libs/*.jar; see Software. On a host they lie in `libs/`."""

    name: str
    version: str
    path: Path
    digest: str
    sizes: Mapping[str, int]

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software."""
        del notice

        def is_whole(entry: Path) -> bool:
            libs = entry / "libs"
            return libs.is_dir() and {jar.name: jar.stat().st_size for jar in libs.iterdir()} == self.sizes

        def make(entry: Path) -> None:
            _extract_jars(self, entry / "libs", entry.with_name("tree"))

        return cached(self, cache_dir, is_whole, make)


def read_tarball(name: str, path: Path) -> ReleaseJars:
    """Looks through a tarball. Raises InvalidInput where it isn't a release of `name`."""
    try:
        with tarfile.open(path) as tar:
            jars = {m.name: m.size for m in tar if m.isfile() and _is_jar_of_release(m.name)}
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InvalidInput(f"{path}: can't be read as a tarball of {name}: {error}") from None
    tops = sorted({PurePosixPath(jar).parts[0] for jar in jars})
    if len(tops) != 1:
        raise InvalidInput(
            f"{path}: not an official tarball of {name}: no <product>-<version>/lib/*.jar or libs/*.jar."
        )
    version = _VERSION.search(tops[0])
    if version is None or name not in tops[0]:
        raise InvalidInput(f"{path}: not an official tarball of {name}: its folder is called {tops[0]!r}.")
    return ReleaseJars(
        name, version[1], path, sha256_of(path), {PurePosixPath(jar).name: size for jar, size in jars.items()}
    )


def _is_jar_of_release(member: str) -> bool:
    parts = PurePosixPath(member).parts
    return len(parts) == 3 and parts[1] in ("lib", "libs") and parts[2].endswith(".jar")


def _extract_jars(tarball: ReleaseJars, libs: Path, tree: Path) -> None:
    libs.mkdir(parents=True)
    with tarfile.open(tarball.path) as tar:
        for member in tar:
            if member.isfile() and _is_jar_of_release(member.name):
                tar.extract(member, tree, filter="data")
                (tree / member.name).rename(libs / PurePosixPath(member.name).name)
