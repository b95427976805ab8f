"""Starts the jobs of analysis as processes: by spark-submit, or by Python alone where they need no Spark."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.checkout import CHECKOUT, SCRATCH
from bench.results.folder import Results
from bench.results.recorded import require_whole
from bench.results.sent_records import require_here
from provisioning.errors import MissingRequirement, SameboxError

JOB = CHECKOUT / "analysis" / "job.py"  # what spark-submit starts
READ_BY_ANALYSIS = (
    "campaign",
    "question",
    "created_ns",
    "order",
    "testbed",
    "checks",
)  # without which there is no report
END_TIMEOUT_S = 10.0
LAST_LINES = 1_000  # of a job; the stack of one error of Spark's can be a hundred
# The JVM lists files and hands their bytes on; what computes is Python. So its second compiler costs more than it saves.
DRIVER_JVM = "-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
MORE_MEMORY = "Its JVM had too little memory: give it more, for instance by SPARK_DRIVER_MEMORY=4g in the environment."
_OF_A_JAVA_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")
ERROR, NEXT = "error: ", "next: "  # how the job begins the lines of an error that is the operator's to fix


@dataclass(frozen=True)
class Verdicts:
    """How a campaign's trials came out: the sentences of what excludes a trial, and of what wasn't met."""

    excluded: tuple[str, ...]
    not_met: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether every trial is valid (or warned about only)."""
        return not self.excluded


def make_report(results: Results, *, master: str, on_line: Callable[[str], None]) -> Verdicts:
    """Runs the job over `results` and returns its verdicts. Raises SameboxError with the job's last words if it failed."""
    results.manifest(*READ_BY_ANALYSIS)
    if not results.finished():
        raise SameboxError(f"{results.root} has no finished trial, so there is nothing to report.")
    require_here(results)
    require_whole(results.root, results.finished())
    submit_job([str(results.root.resolve())], master=master, on_line=on_line, what="report")
    return read_verdicts(results)


def remake_report(results: Results, out: Path, *, master: str, on_line: Callable[[str], None]) -> None:
    """Makes the report once more, in another folder; what is in the results stays as it is. Raises as `make_report`."""
    submit_job(
        [str(results.root.resolve()), "--out", str(out.resolve())], master=master, on_line=on_line, what="report"
    )


def submit_job(arguments: Sequence[str], *, master: str, on_line: Callable[[str], None], what: str) -> None:
    """Runs the analysis job by spark-submit, in a folder of its own. Raises SameboxError with its own error, or its last words."""
    submit = require_spark()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{what}-", dir=SCRATCH) as work:
        archive = zip_analysis(Path(work) / "analysis.zip")
        command = [
            str(submit),
            *("--master", master, "--py-files", str(archive)),
            *("--conf", f"spark.local.dir={work}", "--conf", f"spark.sql.warehouse.dir={work}/warehouse"),
            *("--conf", f"spark.driver.extraJavaOptions=-Djava.io.tmpdir={work} {DRIVER_JVM}"),
            str(JOB),
            *arguments,
        ]
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LAUNCHER_OPTS": DRIVER_JVM,
            "MPLCONFIGDIR": work,
            "TMPDIR": work,
        }
        _run(command, environment, on_line, what)


def run_plain_job(arguments: Sequence[str], *, on_line: Callable[[str], None], what: str) -> None:
    """Runs an analysis job that needs no Spark. Raises SameboxError with its own error, or its last words."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    _run([sys.executable, "-m", "analysis.job", *arguments], environment, on_line, what)


def require_report(results: Results) -> None:
    """Raises SameboxError if there is no report yet."""
    if not results.checks_file.is_file():
        raise SameboxError(f"{results.root} has no report yet.", next_step=f"Type `samebox report {results.root}`.")


def read_verdicts(results: Results) -> Verdicts:
    """What report/checks.json says. Raises SameboxError if there is no report yet."""
    require_report(results)
    checks = json.loads(results.checks_file.read_text())
    validity = [entry for entry in checks if entry["axis"] == "validity"]
    return Verdicts(
        excluded=tuple(
            f"{e['trial']}: {e['check']} {e['verdict']}: {e['sentence']}"
            for e in validity
            if e["verdict"] in ("invalid", "unknown")
        ),
        not_met=tuple(
            f"{e['trial']}: {e['check']}: {e['sentence']}"
            for e in checks
            if e["axis"] == "outcome" and e["verdict"] == "not met"
        ),
    )


def analysis_files() -> dict[str, Path]:
    """All files of the analysis package and of the contract, but compiled code, by their names in the repository."""
    files = sorted(file for name in ("analysis", "contract") for file in (CHECKOUT / name).rglob("*") if file.is_file())
    return {str(file.relative_to(CHECKOUT)): file for file in files if "__pycache__" not in file.parts}


def zip_analysis(target: Path) -> Path:
    """The analysis package as one file, as spark-submit (and an EMR step) takes it."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, file in analysis_files().items():
            archive.write(file, name)
    return target


def analysis_requirements() -> list[str]:
    """The names of the packages that the job needs beside Spark; their versions are requirements.lock's."""
    lines = (CHECKOUT / "analysis" / "requirements.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def require_spark() -> Path:
    """Where spark-submit is. Raises MissingRequirement if it or Java isn't there."""
    if shutil.which("java") is None:
        raise MissingRequirement(
            "java is not on the PATH: the brokers and the report run on it.",
            next_step="Type `make setup`, or `samebox doctor` to see all that is missing.",
        )
    submit = Path(sys.executable).with_name("spark-submit")
    if not submit.exists():
        raise MissingRequirement(f"{submit} is missing.", next_step="Type `make setup` to install the locked packages.")
    return submit


def _run(command: list[str], environment: dict[str, str], on_line: Callable[[str], None], what: str) -> None:
    # a session of its own: Ctrl-C reaches this process only, which then ends Spark's whole group
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        tail: deque[str] = deque(maxlen=LAST_LINES)
        try:
            for line in process.stdout or ():
                tail.append(line.rstrip())
                on_line(line.rstrip())
            status = process.wait()
        except BaseException:
            _end_group(process)
            raise
    if status != 0:
        raise _failure(list(tail), f"the {what} job failed (exit {status})")


def _failure(tail: list[str], what: str) -> SameboxError:
    """The job's own error, where it printed one as its last words; else those words as they are."""
    begin = next((index for index in reversed(range(len(tail))) if tail[index].startswith(ERROR)), None)
    if begin is None:
        said = [line for line in tail if not _OF_A_JAVA_STACK.match(line)]
        memory = any("OutOfMemoryError" in line for line in tail)
        return SameboxError(
            f"{what}; its last lines:\n" + "\n".join(said[-20:]), next_step=MORE_MEMORY if memory else ""
        )
    end = next((index for index in range(begin, len(tail)) if tail[index].startswith(NEXT)), len(tail))
    sentence = "\n".join([tail[begin].removeprefix(ERROR), *tail[begin + 1 : end]])
    return SameboxError(f"{what}: {sentence}", next_step="\n".join(tail[end : end + 1]).removeprefix(NEXT))


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ends Spark and its Python workers: SIGTERM, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_TIMEOUT_S)
            return
