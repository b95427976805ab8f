"""The operator's store of software: knows what is wanted and brings it to hosts. Deployments ask it; it starts nothing.

Hosts never reach for the internet: what they lack is brought to them, over SSH or by a way of their own (`way`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

from provisioning.host import Host
from provisioning.software.delivery import Content, deliver, lacking, pack, temporary_archive
from provisioning.software.maven import Bundle, Notice, bundle_named, bundles, resolve
from provisioning.software.tarball import Tarball, read_tarball, unpack
from provisioning.software.way import DIRECT, Way


def _silent(line: str) -> None:
    del line


class Store:
    """Bundles by name, from Maven or from tarballs that the operator gave; see `provisioning.deployment.SoftwareStore`.

    >>> store = Store(user_cache(), tarballs={"kafka": Path("kafka_2.13-4.3.1.tgz")})
    >>> store.deploy("kafka", hosts)
    'software/kafka-4.3.1-0123456789abcdef'
    """

    def __init__(
        self,
        cache_dir: Path,
        *,
        tarballs: Mapping[str, Path] | None = None,
        notice: Notice = _silent,
        way: Way = DIRECT,
        known: Mapping[str, Bundle] | None = None,
    ) -> None:
        """Reads and checks the tarballs. Raises InvalidInput for an unknown name or a file that is no such tarball."""
        self._cache_dir = cache_dir
        self._notice = notice
        self.way = way
        self._known = bundles() if known is None else known
        self._tarballs: dict[str, Tarball] = {}
        for name, path in (tarballs or {}).items():
            bundle_named(name, self._known)
            self._tarballs[name] = read_tarball(name, path)
        self._sizes: dict[str, dict[str, int]] = {}
        self._guard = Lock()

    def names(self) -> tuple[str, ...]:
        """Every bundle's name."""
        return tuple(sorted(self._known))

    def version(self, name: str) -> str:
        """The version of what `deploy` would bring."""
        return self._source(name).version

    def digest(self, name: str) -> str:
        """SHA-256 telling the content: of the recorded sums, or of the tarball itself."""
        return self._source(name).digest

    def libs(self, name: str) -> Path:
        """The verified jars on this machine, resolved first if need be.

        Hashed in full when first asked for; afterwards, in the same store, names and sizes are compared.
        """
        source = self._source(name)
        with self._guard:
            cached = self._cache_dir / "software" / source.key / "libs"
            if source.key in self._sizes and _sizes(cached) == self._sizes[source.key]:
                return cached
            if isinstance(source, Tarball):
                libs = unpack(source, self._cache_dir)
            else:
                libs = resolve(source, self._cache_dir, notice=self._notice)
            self._sizes[source.key] = _sizes(libs)
            return libs

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        """Puts the bundle on the hosts that lack it; returns its directory relative to their `root` (jars in libs/)."""
        source = self._source(name)
        content = Content(source.key, source.digest)
        without = lacking(hosts, content)
        if without:
            libs = self.libs(name)
            with temporary_archive(self._cache_dir) as scratch:
                archive = Path(scratch) / "bundle.tar"
                pack(((f"libs/{jar.name}", jar) for jar in sorted(libs.iterdir())), archive)
                self._notice(
                    f"{name} {source.version}: sending {archive.stat().st_size // 10**6} MB "
                    f"to {', '.join(host.name for host in without)}"
                )
                deliver(without, content, archive, way=self.way)
        return content.relative_dir

    def _source(self, name: str) -> Bundle | Tarball:
        bundle = bundle_named(name, self._known)
        return self._tarballs.get(name, bundle)


def _sizes(libs: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in libs.iterdir()} if libs.is_dir() else {}
