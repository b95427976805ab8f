"""Presses Ctrl-C on real campaigns: at seeded random moments and once in every step. Not a pytest: it takes an hour.

    .venv/bin/python tests/faults/interrupt_campaign.py [--campaign campaigns/smoke.toml] [--moments 10] [--seed 1]

After each interrupt: exit code 130, no process of a testbed left, the listeners as before, every finished trial whole.
At the end one campaign runs through, uninterrupted, and must exit 0. Prints a line per attempt; exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMEBOX = ROOT / ".venv" / "bin" / "samebox"
MARKER = b"SAMEBOX_HOST_ROOT=" + str(ROOT).encode()
LAST_STEP = "testbed down"
STEP_LINE = re.compile(r"^\[ *(\d+)/\d+\] (.*?)  \(")


@dataclass(frozen=True)
class Moment:
    """When to interrupt: so many seconds after the first line, or after a step's line has come (plus a little)."""

    after_s: float
    step: str | None = None

    def __str__(self) -> str:
        return f"in step {self.step!r} + {self.after_s:.1f} s" if self.step else f"at {self.after_s:.1f} s"


def processes_left() -> list[str]:
    """Command lines of processes that carry this checkout's testbed marker."""
    left = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if MARKER in (folder / "environ").read_bytes():
                    left.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120])
            except OSError:
                continue
    return left


def listeners() -> set[str]:
    """Local addresses that this user's TCP sockets listen on, as the kernel lists them."""
    lines = [*Path("/proc/net/tcp").read_text().splitlines()[1:], *Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    rows = [line.split() for line in lines]
    return {row[1] for row in rows if row[3] == "0A" and row[7] == str(os.getuid())}


def half_trials(campaign: str) -> list[str]:
    """Trials that look finished and can't be read."""
    broken = []
    for folder in (ROOT / "results" / campaign / "trials").glob("[!.]*"):
        try:
            document = json.loads((folder / "trial.json").read_text())
            if not document["ended"]:
                broken.append(folder.name)
        except (OSError, ValueError, KeyError):
            broken.append(folder.name)
    return broken


class Campaign:
    """A running `samebox campaign local`, its step lines as they come."""

    def __init__(self, file: str) -> None:
        self.process = subprocess.Popen(
            [str(SAMEBOX), "campaign", "local", file, "--again", "--plain"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.began_s = time.monotonic()
        self.steps: list[str] = []
        self.tail: list[str] = []
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.tail = [*self.tail[-14:], line.rstrip()]
                match = STEP_LINE.match(line)
                if match:
                    self.steps.append(match.group(2))
                self._news.notify_all()

    def wait_for(self, moment: Moment) -> bool:
        """Waits for the moment; False if the campaign ended before it."""
        if moment.step is not None:
            with self._news:
                while moment.step not in self.steps:
                    self._news.wait(0.2)
                    if self.process.poll() is not None:
                        return False
            self.began_s = time.monotonic()
        while time.monotonic() < self.began_s + moment.after_s:
            if self.process.poll() is not None:
                return False
            time.sleep(0.02)
        return True

    def interrupt(self) -> int:
        """Ctrl-C as a terminal sends it, to the whole process group; then the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(timeout=120)


def attempt(file: str, name: str, moment: Moment, before: set[str]) -> list[str]:
    """One interrupted campaign; what was wrong afterwards."""
    campaign = Campaign(file)
    if not campaign.wait_for(moment):
        return [f"the campaign ended before the moment (exit {campaign.process.wait()}): {campaign.tail}"]
    began_s = time.monotonic()
    try:
        status = campaign.interrupt()
    except subprocess.TimeoutExpired:
        os.killpg(campaign.process.pid, signal.SIGKILL)
        return [f"still running 120 s after Ctrl-C: {campaign.tail}"]
    took_s = time.monotonic() - began_s
    # the teardown isn't cut short: a campaign that is whole by then ends as it would have
    expected = (0, 130) if campaign.steps[-1:] == [LAST_STEP] and moment.step in (None, LAST_STEP) else (130,)
    wrong = [] if status in expected else [f"exit {status} instead of 130: {campaign.tail}"]
    wrong += [f"left running: {command}" for command in processes_left()]
    wrong += [f"left listening: {address}" for address in listeners() - before]
    wrong += [f"half a trial: {trial}" for trial in half_trials(name)]
    wrong += ["a traceback was printed"] if any("Traceback" in line for line in campaign.tail) else []
    print(f"{moment}: ended in {took_s:.1f} s in step {campaign.steps[-1] if campaign.steps else '-'!r}", flush=True)
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Runs all attempts; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--campaign", default="campaigns/smoke.toml")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random-only", action="store_true", help="leave the moment in each step out")
    options = parser.parse_args(arguments)
    # a shell that starts this in the background has SIGINT ignored, which the campaigns would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    name = tomllib.loads((ROOT / options.campaign).read_text())["name"]
    before = listeners()

    began_s = time.monotonic()
    whole = Campaign(options.campaign)
    status = whole.process.wait()
    length_s = time.monotonic() - began_s
    print(f"uninterrupted: exit {status} after {length_s:.0f} s, {len(whole.steps)} steps", flush=True)
    chooser = random.Random(options.seed)
    first_trial = [step for step in dict.fromkeys(whole.steps) if "b01-2" not in step]
    moments = [] if options.random_only else [Moment(chooser.uniform(0.1, 0.8), step) for step in first_trial]
    moments += [Moment(chooser.uniform(0.2, length_s - 1)) for _ in range(options.moments)]
    failures = [f"the first run: exit {status}: {whole.tail}"] if status != 0 else []
    for moment in moments:
        wrong = attempt(options.campaign, name, moment, before)
        failures += [f"{moment}: {each}" for each in wrong]
        for each in wrong:
            print(f"  WRONG {each}", flush=True)
    final = Campaign(options.campaign)
    if final.process.wait() != 0:
        failures.append(f"the campaign after all interrupts: exit {final.process.returncode}: {final.tail}")
    print(f"{len(moments)} interrupts, {len(failures)} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
