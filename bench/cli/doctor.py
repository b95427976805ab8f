"""`samebox doctor`: what this machine has and lacks for samebox, and what to type for what it lacks. Changes nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

import click
from rich.console import Console
from rich.table import Table

from bench.checkout import CHECKOUT
from bench.space import gibibytes
from provisioning.software.maven import user_cache

FREE_BYTES_NEEDED = 5 * 2**30


@dataclass(frozen=True)
class Finding:
    """One need: whether it is met, what was found, and what to type if not."""

    need: str
    met: bool
    found: str
    next_step: str = ""


def _system() -> Finding:
    return Finding(
        "Linux", sys.platform == "linux", f"{platform.system()} {platform.release()}", "samebox runs on Linux only."
    )


def _python() -> Finding:
    return Finding("Python 3.11", sys.version_info[:2] == (3, 11), platform.python_version(), "make setup")


def _program(need: str, name: str, package: str) -> Callable[[], Finding]:
    def look() -> Finding:
        path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
        return Finding(need, path is not None, path or "not found", f"sudo apt-get install {package}")

    return look


def _java() -> Finding:
    try:
        command = ["java", "-XX:-UsePerfData", "-version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        answer = str(error)
    match = re.search(r'version "(\d+)', answer)
    met = match is not None and int(match.group(1)) >= 17
    found = answer.splitlines()[0] if answer else "no answer"
    return Finding("Java 17 or newer", met, found, "sudo apt-get install openjdk-17-jdk-headless")


def _disk() -> Finding:
    free = shutil.disk_usage(CHECKOUT).free
    return Finding(
        f"{gibibytes(FREE_BYTES_NEEDED)} free disk",
        free >= FREE_BYTES_NEEDED,
        f"{gibibytes(free)} free at the checkout",
        "Free some space, or clone onto another disk.",
    )


def _memory() -> Finding:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Finding("6 GiB memory", total >= 6 * 2**30, gibibytes(total), "Three nodes of each system take about 4 GiB.")


def _caches() -> Finding:
    asks_nothing = ["sudo", "-n", "true"]
    may = os.geteuid() == 0 or (
        shutil.which("sudo") is not None
        and subprocess.run(asks_nothing, capture_output=True, check=False).returncode == 0
    )
    how = "root: the machine's are dropped" if may else "not root: own files are evicted, and labelled so"
    return Finding("page caches can be emptied", True, how)


def _strace() -> Finding:
    path = shutil.which("strace")
    return Finding(
        "strace", True, path or "not found: only `samebox prove-durability` needs it (apt-get install strace)"
    )


def _cache_dir() -> Finding:
    target = user_cache()
    parent = next(folder for folder in (target, *target.parents) if folder.exists())
    return Finding(
        "user cache writable", os.access(parent, os.W_OK), str(target), "Set XDG_CACHE_HOME to a writable folder."
    )


LOOKS: tuple[Callable[[], Finding], ...] = (
    _system,
    _python,
    _program("ssh server program", "sshd", "openssh-server  (it need not run)"),
    _program("ssh-keygen", "ssh-keygen", "openssh-client"),
    _java,
    _program("Maven", "mvn", "maven"),
    _strace,
    _disk,
    _memory,
    _caches,
    _cache_dir,
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> int:
    """Say what this machine has and lacks for samebox."""
    findings = [look() for look in LOOKS]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        table = Table("need", "", "found", "to do", box=None, header_style="bold")
        for finding in findings:
            mark = "[green]ok[/]" if finding.met else "[bold red]missing[/]"
            table.add_row(finding.need, mark, finding.found, "" if finding.met else finding.next_step)
        Console(highlight=False).print(table)
    return 0 if all(finding.met for finding in findings) else 1
