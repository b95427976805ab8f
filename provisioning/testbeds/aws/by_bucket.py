"""The way to hosts on AWS by their results bucket: an archive leaves this machine once, and every host fetches it from there.

A host gets a link that is good for an hour and one object, over SSH and by standard input: no credentials of the operator's, and no
permission that its own role would need. What arrives is checked by SHA-256. The bucket's lifecycle removes what is a day old.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from provisioning.cache import sha256_of
from provisioning.errors import CommandFailed, CommandTimedOut, MissingRequirement, SameboxError
from provisioning.hosts.host import Host
from provisioning.software.delivery import DIRECT, Put
from provisioning.testbeds.aws.bucket_layout import software_archive

if TYPE_CHECKING:
    from provisioning.testbeds.aws.storage import Bucket

LINK_S = 3600
FETCH_TIMEOUT_S = 1800.0
CONNECT_TIMEOUT_S = 20
Notice = Callable[[str], None]


@dataclass(frozen=True)
class ByBucket:
    """By a bucket of a region. Where it can't be reached, from here or from a host, the archive goes directly, and that is said."""

    bucket: str
    region: str
    notice: Notice

    def ready(self, archive: Path, hosts: Sequence[Host]) -> Put:
        direct = DIRECT.ready(archive, hosts)
        if len(hosts) < 2:
            return direct  # no byte would be saved
        try:
            bucket = self._open()
        except (MissingRequirement, ModuleNotFoundError):
            # whose inventory somebody else made has no credentials; a host that runs a campaign has no boto3
            return direct
        digest = sha256_of(archive)
        key = software_archive(digest)
        try:
            if not bucket.exists(key):
                self.notice(f"sending {archive.stat().st_size // 10**6} MB once, to s3://{self.bucket}/{key}")
                bucket.upload({key: archive}, lambda _: None)
            link = bucket.link(key, LINK_S)
        except SameboxError as error:
            self.notice(f"sending directly to each host instead of by the bucket: {error}")
            return direct

        def put(host: Host, path: str) -> None:
            try:
                host.run(fetch_command(path, digest), stdin=f'url = "{link}"\n'.encode(), timeout_s=FETCH_TIMEOUT_S)
            except (CommandFailed, CommandTimedOut) as error:
                self.notice(f"{host.name} can't fetch from the bucket, so the archive is sent directly: {error}")
                direct(host, path)

        return put

    def _open(self) -> Bucket:
        # boto3 takes a third of a second to import, which nobody without a bucket should wait for
        from provisioning.testbeds.aws.session import session
        from provisioning.testbeds.aws.storage import Bucket

        return Bucket(session(self.region), self.bucket)


def fetch_command(path: str, digest: str) -> str:
    """Fetches what standard input names (a curl configuration: no process list shows the link) and checks it, or leaves nothing."""
    part, folder = shlex.quote(f"{path}.part"), shlex.quote(path.rpartition("/")[0])
    curl = (
        f"curl --config - --fail --silent --show-error --retry 3 --connect-timeout {CONNECT_TIMEOUT_S} --output {part}"
    )
    checked = f"echo {shlex.quote(f'{digest}  {path}.part')} | sha256sum --check --status"
    kept = f"mv {part} {shlex.quote(path)}"
    return f"mkdir -p {folder} && {curl} && {checked} && {kept} || {{ rm -f {part}; exit 1; }}"
