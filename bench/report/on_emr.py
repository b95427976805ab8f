"""The report on a Spark cluster of AWS instead of this machine: hands results and job over, and fetches the report.

What happens on AWS is in provisioning/testbeds/aws/report_job.py; the job is the same one that runs here.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from bench.checkout import CHECKOUT, SCRATCH
from bench.report.here import JOB, Verdicts, analysis_files, analysis_requirements, read_verdicts, zip_analysis
from bench.results.folder import Results
from bench.results.sent_records import sent_records
from contract import results_folder as layout
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.emr import Progress
from provisioning.testbeds.aws.emr_target import EmrTarget
from provisioning.testbeds.aws.libraries import libraries
from provisioning.testbeds.aws.report_job import ReportJob, Timing, report_on_emr


def make_report_on_emr(
    results: Results, target: EmrTarget, *, cluster: str | None, progress: Progress, timing: Timing | None = None
) -> Verdicts:
    """Runs the job on EMR, on a cluster of its own or the one given, and returns its verdicts; report/ appears whole or not at all."""
    if not results.finished():
        raise SameboxError(f"{results.root} has no finished trial, so there is nothing to report.")
    _refuse_foreign(results)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="report-", dir=SCRATCH) as work:
        job = report_job(results, Path(work) / "analysis.zip")
        fetched = results.root / ".report.fetching"
        shutil.rmtree(fetched, ignore_errors=True)
        try:
            report_on_emr(
                job, target, fetched, cluster=cluster, cache_dir=user_cache(), progress=progress, timing=timing
            )
            shutil.rmtree(results.report_dir, ignore_errors=True)
            fetched.rename(results.report_dir)
        finally:
            shutil.rmtree(fetched, ignore_errors=True)
    return read_verdicts(results)


def report_job(results: Results, package: Path) -> ReportJob:
    """The results' files and the job's pieces; writes the package's zip to `package`."""
    lock = CHECKOUT / "requirements.lock"
    trials = [results.trial_dir(trial) for trial in results.finished()]
    patterns = (*layout.BEGUN, *layout.NOTED, layout.WHOLE_TRIALS)
    documents = [file for pattern in patterns for file in sorted(results.root.glob(pattern))]
    records = [
        file for trial in trials for kind in layout.RECORD_KINDS for file in sorted((trial / kind).glob("*.parquet"))
    ]
    sent = sent_records(results)
    return ReportJob(
        results_name=results.name_in_bucket(),
        documents=_named(results, documents),
        records=_named(results, records),
        program=JOB,
        package=zip_analysis(package),
        code=analysis_files(),
        libraries=libraries(analysis_requirements(), lock.read_text(), where=str(lock)),
        uploaded=sent.completed,
        perhaps_uploaded=frozenset(sent.ended_early),
        results_bucket=results.records_bucket(),
    )


def _named(results: Results, files: list[Path]) -> dict[str, Path]:
    return {str(file.relative_to(results.root)): file for file in sorted(files) if file.is_file()}


def _refuse_foreign(results: Results) -> None:
    """Only a report is replaced by a report."""
    if results.report_dir.is_dir() and any(results.report_dir.iterdir()) and not results.report_file.exists():
        raise InvalidInput(
            f"{results.report_dir} holds files that aren't a report's, so it isn't replaced.",
            next_step="Move them elsewhere.",
        )
