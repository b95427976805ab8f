"""`samebox campaign aws` killed at drawn moments of a rehearsal: what is left, and whether the documented steps take it away.

    python -m tests.infra.kills --kills 20 --seed 1

Each kill has an AWS of its own, in which one disk is slow, so that vetting has a host replaced through Pulumi. The moment is a share of
the phase that it hits, as long as that phase took when nothing was killed, which is measured first. Asked is the cloud itself,
whatever a state or a tag says. Some five minutes a kill on two cores; needs root, as rehearsals do.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.checkout import CHECKOUT
from bench.cli.rehearse import FOLDER, Rehearsal, rehearsal
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import PATCHES_VARIABLE
from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, instances, things
from tests.cloud.faults import PATCHES
from tests.cloud.slow_disk import only_first_is_slow

STACK, CAMPAIGN = "smoke", "campaigns/smoke.toml"
SIGNALS = (signal.SIGKILL, signal.SIGINT)
# the titles of the steps with which a phase begins, as the command prints them
PHASES = {
    "up": "hosts up",
    "vetting and replacement": "hosts prepared and vetted",
    "trials": "software",
    "report on EMR": "report on EMR",
    "destroy": "hosts down",
}
PAID = ("instance", "Volumes", "Clusters")
COMMAND_TIMEOUT_S = 1800.0
PAUSE_S = 2.0
# what docs/aws.md says to type after a command that was killed; the first refuses while Pulumi is still at work
ORPHANS = ("samebox", "sweep", "--stack", STACK, "--orphans", "--delete", "--yes")
DESTROY = ("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive", "--stack", STACK)
SWEEP = ("samebox", "sweep", "--campaign", STACK, "--delete", "--yes")


@dataclass(frozen=True)
class Hit:
    """One kill and what came of it. `left`, `after_orphans`, `after_all`: what is paid for then, by kind.

    `testbed_kept`: the sweep of orphans took no instance that the state knows; None where there was none.
    `paid_s`: from the signal until nothing was paid for.
    """

    phase: str
    share: float
    signal: str
    exit_status: int
    left: Mapping[str, int]
    testbed_kept: bool | None
    after_orphans: Mapping[str, int]
    after_all: Mapping[str, int]
    unpaid_left: int
    paid_s: float
    statuses: Sequence[int]


class Run:
    """One `samebox campaign aws` of a rehearsal, from its start; its steps are noted as it prints them."""

    def __init__(self, made: Rehearsal) -> None:
        self.began_s: dict[str, float] = {}
        command = ["samebox", "campaign", "aws", str(CHECKOUT / CAMPAIGN), "--stack", STACK]
        self.process = subprocess.Popen(
            [*command, "--yes", "--again", "--plain"],
            cwd=made.project,
            env=dict(made.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip())
            for phase, title in PHASES.items():
                if line.startswith("[") and f"] {title}" in line:
                    self.began_s.setdefault(phase, time.monotonic())

    def await_phase(self, phase: str) -> None:
        """Returns when the phase has begun; raises RuntimeError if the command ends before."""
        while phase not in self.began_s:
            if self.process.poll() is not None:
                raise RuntimeError(f"ended before {phase}:\n" + "\n".join(self.lines[-20:]))
            time.sleep(0.05)

    def wait(self) -> int:
        """Its exit status; negative for a signal."""
        status = self.process.wait(COMMAND_TIMEOUT_S)
        self._reading.join()
        return status


def undisturbed() -> dict[str, float]:
    """How long each phase takes, in seconds, when nothing is killed."""
    with only_first_is_slow(FOLDER / "cloud"), rehearsal(STACK) as made:
        run = Run(made)
        status = run.wait()
        if status != 0:
            raise RuntimeError(f"exit {status}:\n" + "\n".join(run.lines[-20:]))
        begun = [*run.began_s.values(), time.monotonic()]
    return {phase: after - before for phase, (before, after) in zip(run.began_s, pairwise(begun), strict=True)}


def kill(phase: str, share: float, number: signal.Signals, phase_s: float) -> Hit:
    """One kill, the documented steps, and what the cloud holds after each."""
    with only_first_is_slow(FOLDER / "cloud"), rehearsal(STACK) as made:
        run = Run(made)
        run.await_phase(phase)
        time.sleep(share * phase_s)
        run.process.send_signal(number)
        struck_s = time.monotonic()
        status = run.wait()
        left = paid(made)
        statuses = [await_engine(made)]
        known = known_instances(made)
        after_orphans = paid(made)
        kept = known <= set(instances(made.cloud)) if known else None
        statuses += [typed(made, command).returncode for command in (DESTROY, SWEEP)]
        paid_s = time.monotonic() - struck_s
        unpaid = things(made.cloud) - made.before - buckets(made.cloud)
        return Hit(
            phase, share, number.name, status, left, kept, after_orphans, paid(made), len(unpaid), paid_s, statuses
        )


def await_engine(made: Rehearsal) -> int:
    """Types the sweep of orphans until no update runs any more; its exit status."""
    deadline_s = time.monotonic() + COMMAND_TIMEOUT_S
    while True:
        swept = typed(made, ORPHANS)
        if "still running" not in swept.stderr or time.monotonic() > deadline_s:
            return swept.returncode
        time.sleep(PAUSE_S)


def typed(made: Rehearsal, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command of the documented steps."""
    return subprocess.run(
        command,
        cwd=made.project,
        env=dict(made.environment),
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


def known_instances(made: Rehearsal) -> set[str]:
    """The instances in the stack's state."""
    exported = typed(made, ("pulumi", "stack", "export", "--stack", STACK)).stdout
    resources = (json.loads(exported or "{}").get("deployment") or {}).get("resources") or ()
    return {str(each["id"]) for each in resources if each["type"] == "aws:ec2/instance:Instance"}


def paid(made: Rehearsal) -> dict[str, int]:
    """How many things there are that AWS charges by the hour, by kind."""
    kinds = [each.split()[0] for each in things(made.cloud) - made.before]
    return {kind: kinds.count(kind) for kind in PAID if kind in kinds}


def main() -> None:
    """Measures the phases, draws the moments, and prints a table and then the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    phases_s = undisturbed()
    print(json.dumps({"undisturbed_s": phases_s}), file=sys.stderr)
    hits = []
    for count in range(options.kills):
        phase, number = list(PHASES)[count % len(PHASES)], SIGNALS[count // len(PHASES) % len(SIGNALS)]
        hits.append(kill(phase, round(drawn.random(), 2), number, phases_s[phase]))
        print(json.dumps(dataclasses.asdict(hits[-1])), file=sys.stderr)
    print("\n".join(table(hits)))


def table(hits: Sequence[Hit]) -> list[str]:
    """Markdown, a row for each kill."""
    head = (
        "phase",
        "at",
        "signal",
        "exit",
        "paid for then",
        "testbed kept by the sweep",
        "after the sweep",
        "in the end",
        "until",
    )
    rows = [
        (
            hit.phase,
            f"{100 * hit.share:.0f} %",
            hit.signal,
            str(hit.exit_status),
            counted(hit.left),
            {True: "yes", False: "NO", None: "none there"}[hit.testbed_kept],
            counted(hit.after_orphans),
            counted(hit.after_all),
            f"{hit.paid_s:.0f} s",
        )
        for hit in hits
    ]
    return [" | ".join(("", *row, "")).strip() for row in (head, ("---",) * len(head), *rows)]


def counted(kinds: Mapping[str, int]) -> str:
    """2 instance, 1 cluster"""
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("Rehearsals need root: run it in a container, for example.")
    os.chdir(CHECKOUT)
    os.environ[PATCHES_VARIABLE] = PATCHES
    main()
