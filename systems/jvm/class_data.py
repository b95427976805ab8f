"""Class-data archives: what a Java process knew of its classes when it ended, from which the next one like it starts in half the time.

They lie beside the jars, `<software>/<kind>.jsa`. The JVM itself checks that an archive fits the jars and the JVM, and goes
on without one that is missing or doesn't fit: an archive can make a start quicker and change nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from provisioning.hosts.host import Host, on_all

_RECORDED = ".recorded"


def archive(software: str, kind: str) -> str:
    """The archive of one kind of process; `software` is the directory of its software on the host."""
    return f"{software}/{kind}.jsa"


def flag(software: str, kind: str, *, record: bool = False) -> str:
    """The JVM's flag that uses the archive, or has it written at the end of the process (aside, until `keep`)."""
    path = archive(software, kind)
    return f"-XX:ArchiveClassesAtExit={path}{_RECORDED}" if record else f"-XX:SharedArchiveFile={path}"


def keep(hosts: Sequence[Host], software: str) -> None:
    """Has the recordings used from now on; `software` is relative to a host's root.

    Only after their processes have ended by themselves: a killed one leaves half of a recording.
    """
    script = f'for each in *{_RECORDED}; do [ ! -f "$each" ] || mv -f -- "$each" "${{each%{_RECORDED}}}"; done'
    on_all(
        "keeping class data", hosts, lambda host: host.run(f"cd {quote(f'{host.record.root}/{software}')} && {script}")
    )


def there(expected: Sequence[tuple[Host, str]], software: str) -> bool:
    """Whether each of (host, kind of process) has its archive."""
    tests: dict[str, list[str]] = {}
    for host, kind in expected:
        path = archive(f"{host.record.root}/{software}", kind)
        tests.setdefault(host.name, []).append(f"test -f {quote(path)}")
    found = on_all(
        "looking for class data",
        list({host.name: host for host, _ in expected}.values()),
        lambda host: host.run(" && ".join(tests[host.name]), check=False).exit_status == 0,
    )
    return all(found.values())
