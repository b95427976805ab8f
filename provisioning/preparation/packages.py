"""Programs that hosts must have, as data, and their installation from the host's own distribution. Nothing is upgraded.

Programs are looked for, not packages: what is installed already, from wherever, is fine. On Amazon Linux 2023 the repository is
locked to the release of the machine image, so the same image means the same versions; it is named all the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from provisioning.errors import HostError
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import HostRecord
from provisioning.hosts.requirement import EVERY_ROLE, Requirement, missing_on
from provisioning.preparation.step import Step, as_root
from provisioning.software.python_environment import PYTHON_VERSION

INSTALL_TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Manager:
    """How a kind of distribution installs and lists packages. `install` ends with the packages' names; both run as root."""

    install: str
    installed: str


def _packaged(name: str, test: str, why: str, roles: tuple[str, ...] = EVERY_ROLE, *, package: str = "") -> Requirement:
    """What the package of the same name (or `package`) brings on every distribution."""
    return Requirement(name, test, dict.fromkeys(("amazon", "redhat", "debian"), (package or name,)), why, roles)


REQUIREMENTS = (
    _packaged(
        "Python 3.9 or newer",
        "python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'",
        "the disk probes and everything else that is asked on a host",
        package="python3",
    ),
    _packaged(
        f"Python {PYTHON_VERSION}",
        f'for python in python{PYTHON_VERSION} python3; do "$python" -c \'import sys; sys.exit('
        f'".".join(map(str, sys.version_info[:2])) != "{PYTHON_VERSION}")\' && exit 0; done; exit 1',
        "the libraries of the load generator and of a detached campaign are locked for it",
        ("client", "metadata"),
        package=f"python{PYTHON_VERSION}",
    ),
    _packaged("tar", "command -v tar", "software comes as an archive"),
    _packaged(
        "strace",
        "command -v strace",
        "shows what a broker syncs before it acknowledges, for `samebox prove-durability`",
        ("broker",),
    ),
    _packaged(
        "nftables",
        "PATH=$PATH:/usr/sbin:/sbin; command -v nft",
        "drops packets, for faults that cut a host off",
        ("broker", "metadata"),
    ),
)
XFS = _packaged("xfsprogs", "PATH=$PATH:/usr/sbin:/sbin; command -v mkfs.xfs", "makes the file system of owned disks")
CHRONY = _packaged(
    "chrony",
    "PATH=$PATH:/usr/sbin:/sbin; command -v chronyd && command -v chronyc",
    "keeps the clock by the testbed's time server and says how far it may be off",
)

_DNF_INSTALL = "dnf --assumeyes --quiet --setopt=install_weak_deps=False"
MANAGERS = {
    # the release of the image, given explicitly: without it a file in /etc/dnf/vars could have moved the host to a newer one
    "amazon": Manager(
        f"{_DNF_INSTALL} --releasever=\"$(rpm -q --qf '%{{VERSION}}' system-release)\" install",
        "rpm -qa --qf '%{NAME}.%{ARCH} %{EVR}\\n'",
    ),
    "redhat": Manager(f"{_DNF_INSTALL} install", "rpm -qa --qf '%{NAME}.%{ARCH} %{EVR}\\n'"),
    "debian": Manager(
        "apt-get update -qq && DEBIAN_FRONTEND=noninteractive"
        " apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends --no-upgrade",
        "dpkg-query --show --showformat '${Package}.${Architecture} ${Version}\\n'",
    ),
}


def requirements_of(
    record: HostRecord, *, time_server: str | None, of_systems: Sequence[Requirement] = ()
) -> tuple[Requirement, ...]:
    """What a host needs by its role, its disks, whether it has to follow a time server, and for the systems that run there."""
    needed = [requirement for requirement in (*of_systems, *REQUIREMENTS) if record.role in requirement.roles]
    if any(data_dir.owned for data_dir in record.data_dirs):
        needed.append(XFS)
    return tuple([*needed, CHRONY] if time_server else needed)


def distribution_of(os_release: str) -> str | None:
    """The kind of distribution in an /etc/os-release: a key of MANAGERS; None = one that we can't install on."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").replace("'", "").split()
    if fields.get("ID", "").strip("\"'") == "amzn":
        return "amazon"
    kinds = {"debian": "debian", "ubuntu": "debian", "rhel": "redhat", "fedora": "redhat", "centos": "redhat"}
    return next((kinds[name] for name in names if name in kinds), None)


def provide_packages(
    host: Host, time_server: str | None, of_systems: Sequence[Requirement], *, may_change: bool
) -> list[Step]:
    """Installs what is missing and looks again. Raises HostError naming what is still missing or was upgraded by it."""
    needed = requirements_of(host.record, time_server=time_server, of_systems=of_systems)
    missing = missing_on(host, needed)
    if missing and may_change:
        _install(host, missing)
        still = missing_on(host, needed)
        if still:
            raise HostError(
                host.name,
                f"still missing after the installation: {', '.join(one.name for one in still)}.",
                next_step="If an older version comes first on the PATH there, put the newer one first.",
            )
    return [
        Step(
            host.name,
            one.name,
            "there",
            "missing" if one in missing else "there",
            "there" if may_change or one not in missing else "missing",
            "as wanted" if one not in missing else "changed" if may_change else "left",
            one.why,
        )
        for one in needed
    ]


def _install(host: Host, missing: Sequence[Requirement]) -> None:
    kind = distribution_of(host.run("cat /etc/os-release", check=False).stdout)
    if kind is None:
        raise HostError(
            host.name,
            f"missing: {', '.join(one.name for one in missing)}; unsupported distribution, so samebox can't install them.",
            next_step=f"Install them there by hand. Distributions that samebox installs on: {', '.join(sorted(MANAGERS))}.",
        )
    manager = MANAGERS[kind]
    names = sorted({package for one in missing for package in one.packages[kind]})
    before = _versions(host.run(manager.installed).stdout)
    completed = host.run(install_command(kind, names), timeout_s=INSTALL_TIMEOUT_S, check=False)
    if completed.exit_status != 0:
        raise HostError(
            host.name,
            f"can't install {', '.join(names)}: exit {completed.exit_status}: {completed.stderr.strip()[-600:]}",
            next_step="Check that the host reaches its package repository, or install them there by hand.",
        )
    after = _versions(host.run(manager.installed).stdout)
    upgraded = [f"{name} {old} -> {after[name]}" for name, old in before.items() if after.get(name, old) != old]
    if upgraded:
        raise HostError(
            host.name,
            f"installing {', '.join(names)} changed packages that were already installed: {'; '.join(upgraded[:5])}.",
            next_step="Hosts that are compared must have the same packages: bring all of them to the same state first.",
        )


def install_command(kind: str, packages: Sequence[str]) -> str:
    """Installs packages; hosts that are one machine take turns."""
    return as_root(f"exec 9>/run/samebox-packages.lock; flock 9; {MANAGERS[kind].install} {shlex.join(packages)}")


def _versions(listed: str) -> dict[str, str]:
    """Package -> its versions; a kernel may be installed in several."""
    found: dict[str, list[str]] = {}
    for line in listed.splitlines():
        name, _, version = line.partition(" ")
        found.setdefault(name, []).append(version)
    return {name: " ".join(sorted(versions)) for name, versions in found.items()}
