"""`samebox doctor`: what this machine, or AWS for a stack, has and lacks for samebox, and what to do about it. Changes nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from bench.campaign.campaign import load_campaign
from bench.campaign.choice import WHOLE
from bench.campaign.prepared import prepare
from bench.campaign.space import gibibytes
from bench.checkout import CHECKOUT
from bench.cli.money import cost_of
from bench.cli.options import json_option, stack_kind, table_console
from bench.cli.outcome import Outcome
from bench.cli.readiness import findings_of
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from provisioning.hosts.requirement import Requirement
from provisioning.testbeds.finding import Finding
from systems.registry import operator_requirements

FREE_BYTES_NEEDED = 5 * 2**30


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


def _requirement(one: Requirement) -> Callable[[], Finding]:
    def look() -> Finding:
        met = subprocess.run(["sh", "-c", one.test], capture_output=True, check=False).returncode == 0
        found = subprocess.run(["sh", "-c", one.shows], capture_output=True, text=True, check=False).stdout.strip()
        step = f"sudo apt-get install {' '.join(one.packages['debian'])}"
        return Finding(one.name, met, found or "not found", step)

    return look


def _java() -> Finding:
    """The report's: Spark runs on it."""
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


MARKS = {
    True: Text("ok", style="green"),
    False: Text("missing", style="bold red"),
    None: Text("?", style="yellow"),
}
LOOKS: tuple[Callable[[], Finding], ...] = (
    _system,
    _python,
    _program("ssh server program", "sshd", "openssh-server  (it need not run)"),
    _program("ssh-keygen", "ssh-keygen", "openssh-client"),
    _java,
    *(_requirement(one) for one in operator_requirements()),
    _strace,
    _disk,
    _memory,
    _caches,
    _cache_dir,
)


@click.command()
@click.option(
    "--stack", metavar="NAME", help="Look at what this stack or preset would meet on AWS instead. Free; makes nothing."
)
@click.option(
    "--campaign",
    "campaign_file",
    type=click.Path(path_type=Path),
    help="With --stack: whether credentials outlast this campaign.",
)
@json_option
def doctor(stack: str | None, campaign_file: Path | None, as_json: bool) -> Outcome:
    """Say what this machine has and lacks for samebox; with --stack, what AWS has and lacks for a stack."""
    if campaign_file is not None and stack is None:
        raise InvalidInput("--campaign FILE is compared with the credentials for a stack: name it with --stack.")
    if stack is None:
        findings = tuple(look() for look in LOOKS)
    else:
        findings = findings_of(stack, seconds_of(campaign_file, stack) if campaign_file else None)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        table_console().print(table_of(findings))
    return Outcome.ERROR if any(finding.met is False for finding in findings) else Outcome.DONE


def seconds_of(campaign_file: Path, stack: str) -> float:
    """What `samebox cost` reckons for all of a campaign on a stack. Raises InvalidInput."""
    prepared = prepare(load_campaign(campaign_file), campaign_file, stack_kind(), WHOLE)
    return cost_of(prepared, stack).hours * 3600


def table_of(findings: Sequence[Finding]) -> Table:
    """A line for each; what to do only where something is to be done."""
    table = Table("need", "", "found", "to do", box=None, header_style="bold")
    for finding in findings:
        todo = "" if finding.met else finding.next_step
        table.add_row(finding.need, MARKS[finding.met], Text(finding.found), Text(todo))
    return table
