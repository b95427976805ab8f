"""docs/aws.md typed line by line in a rehearsal, at a terminal as its reader has one: what each exits with, how long it takes.

    python -m tests.infra.guide [--from HEADING]

It types what stands in the guide's code blocks, in the guide's order, and answers questions with `yes`, or with the name that is to be
typed. Of the names that the guide leaves to its reader it fills in BUCKET, AMI and the bucket that the results name. The answer of
checkip.amazonaws.com is played. About half an hour on two cores; needs root, and `aws` on PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.checkout import CHECKOUT
from bench.cli.rehearse import Rehearsal, rehearsal
from provisioning.cache import user_cache

GUIDE = CHECKOUT / "docs/aws.md"
FENCED = re.compile(r"^( *)```\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# what starts a rehearsal isn't typed in one
ELSEWHERE = ("make rehearsal",)
# pulumi's menu, samebox's questions, and where pulumi wants the stack's name typed
ASKED = re.compile(
    rb"""perform[ ]this[ ]\w+\? .* \[Use[ ]arrows .* details
    | (to[ ]spend[ ]it | Type[ ].?yes | wait[ ]for[ ]it[ ]to[ ]complete | \[y/N\] | type[ ]`?yes`? | proceed) [^\n]* $
    | typing[ ]`(?P<name>[^`]+)` [^\n]* $""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
SILENCE_S = 0.5
LONGEST_S = 3600.0
CURL = "#!/bin/sh\necho 203.0.113.7\n"


@dataclass(frozen=True)
class Typed:
    """One line of the guide and how it ended; `said` is all that it printed."""

    heading: str
    line: str
    exit_status: int
    seconds: float
    said: str


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """Each command of the code blocks, continued lines joined, with the heading above it."""
    headings = [(found.start(), found.group(1)) for found in re.finditer(r"^## (.*)$", text, re.MULTILINE)]
    for block in FENCED.finditer(text):
        heading = [name for start, name in headings if start < block.start()][-1]
        for line in re.sub(r"\\\n\s*", "", block.group(2)).splitlines():
            if line.strip():
                yield heading, line.strip()


def at_a_terminal(made: Rehearsal, line: str) -> tuple[int, str]:
    """Types a line into a shell that has a terminal; questions are answered whenever the terminal is silent behind one."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(made.project)
        os.execvpe("bash", ["bash", "-c", line], {**made.environment, "TERM": "xterm", "COLUMNS": "180"})
    said, answered = b"", 0
    deadline_s = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline_s:
        if select.select([terminal], [], [], SILENCE_S)[0]:
            try:
                said += os.read(terminal, 65_536)
            except OSError:  # the terminal has closed
                break
        elif asked := ASKED.search(said[answered:]):
            answered = len(said)
            os.write(terminal, (asked["name"] or b"yes") + b"\r")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return status, said.decode(errors="replace")


def filled_in(made: Rehearsal, line: str) -> str:
    """The line with the names that the guide leaves to its reader."""
    results = re.search(r"results/([\w-]+)", line)
    manifests = sorted(
        Path(made.environment["SAMEBOX_HOME"]).glob(f"results/{results[1] if results else '*'}/manifest.json")
    )
    bucket = (
        (json.loads(manifests[-1].read_text())["testbed"].get("records_bucket") or {}).get("name", "")
        if manifests
        else ""
    )
    names = {r"s3://BUCKET\b": f"s3://{bucket}", r"samebox-smoke-0a1b2c3": bucket, r"\bAMI$": _image(made)}
    for name, value in names.items():
        line = re.sub(name, value, line)
    return line


def _image(made: Rehearsal) -> str:
    found = re.search(r"ami: (ami-\w+)", (made.project / "infra/presets/smoke.yaml").read_text())
    return found.group(1) if found else "AMI"


def walk(made: Rehearsal, tell: Callable[[Typed], None], start: str | None) -> list[Typed]:
    """Types all of the guide, or what follows a heading."""
    ended, begun = [], start is None
    for heading, line in lines_of(GUIDE.read_text()):
        begun = begun or heading == start
        if not begun or line in ELSEWHERE:
            continue
        began_s = time.monotonic()
        status, said = at_a_terminal(made, filled_in(made, line))
        ended.append(Typed(heading, line, status, time.monotonic() - began_s, said))
        tell(ended[-1])
    return ended


def main() -> None:
    """Prints each line as it ends; exits 1 if one ended with anything but 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="start", help="a heading of the guide, with which to begin")
    parser.add_argument("--said", type=Path, help="a file for all that was printed")
    options = parser.parse_args()
    if shutil.which("aws") is None:
        sys.exit("`aws` isn't on PATH: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html")

    def tell(typed: Typed) -> None:
        print(f"{typed.exit_status:>3}  {typed.seconds:6.0f} s  {typed.heading}: {typed.line}", flush=True)
        if options.said:
            with options.said.open("a") as file:
                file.write(f"$ {typed.line}\n{typed.said}\n[exit {typed.exit_status}]\n\n")

    with rehearsal(None) as made:
        played = made.project / "played"
        played.mkdir()
        (played / "curl").write_text(CURL)
        (played / "curl").chmod(0o755)
        path = os.pathsep.join([str(played), made.environment["PATH"]])
        home = made.project / "home"
        (home / ".ssh").mkdir(parents=True)
        own = {"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(user_cache().parent), "USER": "reader"}
        at_home = replace(made, environment={**made.environment, **own})
        ended = walk(at_home, tell, options.start)
    sys.exit(1 if any(typed.exit_status for typed in ended) else 0)


if __name__ == "__main__":
    os.chdir(CHECKOUT)
    main()
