"""`samebox doctor`: what this machine, or AWS for a stack, has and lacks for samebox, and what to do about it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import WHOLE
from bench.campaign.estimate import gibibytes
from bench.campaign.prepared import prepare
from bench.checkout import CHECKOUT
from bench.cli.cost import cost_of
from bench.cli.options import PATH, given, json_option, stack_option
from bench.cli.outcome import Outcome
from bench.cli.target import project, stack_kind
from bench.cli.terminal import console, print_json, say, table_console
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.hosts.requirement import Requirement
from provisioning.testbeds.finding import Finding
from systems.registry import SYSTEMS, lacking, operator_requirements
from systems.software.added import added

FREE_BYTES_NEEDED = 5 * 2**30
MEMORY_BYTES_NEEDED = 6 * 2**30
MARKS = {True: Text("ok", style="green"), False: Text("missing", style="bold red"), None: Text("?", style="yellow")}


def findings_here() -> Iterator[Finding]:
    """What this machine has and lacks."""
    yield Finding(
        "Linux", sys.platform == "linux", f"{platform.system()} {platform.release()}", "samebox runs on Linux only."
    )
    yield Finding("Python 3.11", sys.version_info[:2] == (3, 11), platform.python_version(), "make setup")
    yield _program("ssh server program", "sshd", "openssh-server  (it need not run)")
    yield _program("ssh-keygen", "ssh-keygen", "openssh-client")
    yield _java()
    yield from map(_requirement, operator_requirements())
    yield from _archives()
    strace = shutil.which("strace") or "not found: only `samebox prove-durability` needs it (apt-get install strace)"
    yield Finding("strace", True, strace)
    free = shutil.disk_usage(CHECKOUT).free
    yield Finding(
        f"{gibibytes(FREE_BYTES_NEEDED)} free disk",
        free >= FREE_BYTES_NEEDED,
        f"{gibibytes(free)} free at the checkout",
        "Free some space, or clone onto another disk.",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    enough = memory >= MEMORY_BYTES_NEEDED
    yield Finding("6 GiB memory", enough, gibibytes(memory), "Three nodes of each system take about 4 GiB.")
    yield Finding("page caches can be emptied", True, _page_caches())
    cache = user_cache()
    parent = next(folder for folder in (cache, *cache.parents) if folder.exists())
    writable = os.access(parent, os.W_OK)
    yield Finding("user cache writable", writable, str(cache), "Set XDG_CACHE_HOME to a writable folder.")


def _program(need: str, name: str, package: str) -> Finding:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return Finding(need, path is not None, path or "not found", f"sudo apt-get install {package}")


def _requirement(one: Requirement) -> Finding:
    met = subprocess.run(["sh", "-c", one.test], capture_output=True, check=False).returncode == 0
    found = subprocess.run(["sh", "-c", one.shows], capture_output=True, text=True, check=False).stdout.strip()
    return Finding(one.name, met, found or "not found", f"sudo apt-get install {' '.join(one.packages['debian'])}")


def _archives() -> Iterator[Finding]:
    """Of the systems that can't be fetched; none of them is needed by the others, and what was never run is said either way."""
    there = added(user_cache())
    for name, command in lacking(()).items():
        record = there.get(name)
        found = f"{record.version}, SHA-256 {record.sha256[:16]}" if record else "not added: its cells stay empty"
        yield Finding(f"{name}'s archive", True if record else None, found, command)
    for name, system in SYSTEMS.items():
        if system.untried:
            yield Finding(f"{name} was run by samebox's makers", None, "never", system.untried)


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


def _page_caches() -> str:
    """Sudo counts where it asks for no password."""
    sudo = ["sudo", "-n", "true"]
    if os.geteuid() == 0 or (shutil.which("sudo") and subprocess.run(sudo, capture_output=True).returncode == 0):
        return "root: the machine's are dropped"
    return "not root: only samebox's own files are evicted, and the report says so"


@click.command()
@stack_option("Check what AWS has for this stack or preset instead. Costs nothing and creates nothing.")
@click.option(
    "--campaign", "campaign_file", type=PATH, help="With --stack: check that the credentials outlast this campaign."
)
@json_option
def doctor(stack_name: str | None, campaign_file: Path | None, as_json: bool) -> Outcome:
    """Check this machine for what samebox needs.

    With --stack, check AWS for what that stack needs. Changes nothing. Exits 1 if something is missing.
    """
    if campaign_file is not None and stack_name is None:
        raise InvalidInput("--campaign FILE is compared with the credentials for a stack: name the stack with --stack.")
    if stack_name is None:
        findings = tuple(findings_here())
    else:
        findings = findings_of(stack_name, _seconds(campaign_file, stack_name) if campaign_file else None)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        table_console().print(_table(findings))
    return Outcome.ERROR if any(finding.met is False for finding in findings) else Outcome.DONE


def _seconds(campaign_file: Path, stack: str) -> float:
    """How long `samebox cost` expects a campaign to take on a stack, all included. Raises InvalidInput."""
    prepared = prepare(load_campaign(campaign_file), campaign_file, stack_kind(), WHOLE, given())
    return cost_of(prepared, stack).hours * 3600


def _table(findings: Sequence[Finding]) -> Table:
    """A line for each; what to do only where something is to be done."""
    table = Table("need", "", "found", "to do", box=None, header_style="bold")
    for finding in findings:
        todo = "" if finding.met else finding.next_step
        table.add_row(finding.need, MARKS[finding.met], Text(finding.found), Text(todo))
    return table


def findings_of(stack: str, needs_s: float | None) -> tuple[Finding, ...]:
    """What a stack would meet on AWS; `needs_s` is what its campaign takes in all. Raises InvalidInput for an unknown stack."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from provisioning.testbeds.aws.readiness.looks import look_around
    from provisioning.testbeds.aws.readiness.planned import planned

    with console.status("asking AWS"):
        return look_around(planned(project(), stack, needs_s=needs_s))


def zones_of(stack: str) -> tuple[str, ...]:
    """The zones that a stack may stand in, in the order in which they are tried; none where its config names one.

    Raises MissingRequirement if AWS doesn't say which zones have its types.
    """
    from provisioning.testbeds.aws.readiness.machines import zones_to_try
    from provisioning.testbeds.aws.readiness.planned import planned

    return zones_to_try(planned(project(), stack))


def require_ready(stack: str, needs_s: float) -> None:
    """Raises MissingRequirement with every need that isn't met. What isn't known is said and let pass."""
    findings = findings_of(stack, needs_s)
    missing = [finding.sentence for finding in findings if finding.met is False]
    if missing:
        raise MissingRequirement(
            "\n  ".join([f"stack {stack} can't be stood up as things are:", *missing]),
            next_step=f"Fix them; `samebox doctor --stack {stack}` checks again, and costs nothing. "
            "The steps of docs/aws.md, run one by one, don't require all of this.",
        )
    for finding in findings:
        if finding.met is None:
            say(finding.sentence)
