"""The report on EMR: results and job up, one step, report down.

1. a report of this very content is in the bucket already: fetch it
2. a step of this content is on its way: follow it
3. else upload what is missing, start the step, follow it, fetch

What it is called and where it is written follows from a digest of results, code, packages and release, so typing the command
twice pays once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import boto3

from contract import results_folder as layout
from provisioning.cache import locked
from provisioning.errors import SameboxError
from provisioning.software.delivery import digest_of
from provisioning.testbeds.aws.bucket_layout import LOGS, code_folder, report_folder, results_folder
from provisioning.testbeds.aws.emr import Emr, Progress, Running
from provisioning.testbeds.aws.emr_logs import SHIPPED_WITHIN_S, last_words, log_folder
from provisioning.testbeds.aws.emr_sizes import SparkSizes
from provisioning.testbeds.aws.emr_target import EmrTarget
from provisioning.testbeds.aws.libraries import Libraries, library_archive
from provisioning.testbeds.aws.session import session
from provisioning.testbeds.aws.spark_step import SparkStep
from provisioning.testbeds.aws.storage import MEGABYTE, Bucket, Location, so_far

SUCCESS = "_SUCCESS"
RECORDS_SUFFIX = ".parquet"
CLUSTER_ENDS_WITHIN_S = 300.0


@dataclass(frozen=True)
class ReportJob:
    """Everything that decides what comes out.

    `results_name` is the results' own name in the bucket that has their records: `results_bucket`, None = the stack's.
    `documents` are always sent; `records` (write-once) where they are missing. Both map a name inside the results folder to the
    file; `code` names the package's files the same way.

    Records that the client hosts have sent themselves: `uploaded` (name -> bytes) have to be in the bucket, `perhaps_uploaded` may
    be. Other records in their folders are left of an attempt at a trial that was cut off; they are deleted.
    """

    results_name: str
    documents: Mapping[str, Path]
    records: Mapping[str, Path]
    program: Path
    package: Path
    code: Mapping[str, Path]
    libraries: Libraries
    uploaded: Mapping[str, int] = field(default_factory=dict)
    perhaps_uploaded: frozenset[str] = frozenset()
    results_bucket: str | None = None

    def digest(self, release: str) -> str:
        """SHA-256 over results, code, packages and release. Records count by name and size: they are written once."""
        parts = [
            self.results_name,
            release,
            self.libraries.digest,
            digest_of(sorted(self.documents.items())),
            digest_of(sorted(self.code.items())),
            json.dumps(sorted((name, file.stat().st_size) for name, file in self.records.items())),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class LeftRunning(KeyboardInterrupt):
    """The operator interrupted the waiting, and the step goes on; says so, how to come back to it, and how to end it."""


@dataclass(frozen=True)
class Timing:
    """How often to look, and how long to wait for what follows a step."""

    poll_every_s: float = 10.0
    logs_within_s: float = SHIPPED_WITHIN_S
    cluster_ends_within_s: float = CLUSTER_ENDS_WITHIN_S


def report_on_emr(
    job: ReportJob,
    target: EmrTarget,
    into: Path,
    *,
    cluster: str | None,
    cache_dir: Path,
    progress: Progress,
    timing: Timing | None = None,
) -> None:
    """Puts the report's files into the empty folder `into`. Raises SameboxError with the job's last words if it failed.

    Interrupted, it leaves the step to itself and raises LeftRunning.
    """
    _Run(job, target, session(target.region), cache_dir, progress, timing or Timing()).bring(into, cluster)


class _Run:
    def __init__(
        self,
        job: ReportJob,
        target: EmrTarget,
        opened: boto3.session.Session,
        cache_dir: Path,
        progress: Progress,
        timing: Timing,
    ) -> None:
        self._job, self._target, self._opened, self._timing = job, target, opened, timing
        self._cache_dir, self._progress = cache_dir, progress
        self._bucket = Bucket(opened, target.bucket)
        self._results = Bucket(opened, job.results_bucket or target.bucket)
        self._emr = Emr(opened, poll_every_s=timing.poll_every_s)
        self._digest = job.digest(target.release)
        self._name = f"samebox-report-{job.results_name}-{self._digest[:12]}"
        self._report = report_folder(job.results_name, self._digest[:16])

    def bring(self, into: Path, cluster: str | None) -> None:
        """The three cases of the module's docstring."""
        if self._is_there():
            self._progress.notice(f"this report has been made already: {self._bucket.at(self._report)}")
        else:
            self._see_through(self._started(cluster))
        if not self._bucket.download(f"{self._report}/", into):
            raise SameboxError(f"{self._bucket.at(self._report)} is empty.", next_step="Run the same command again.")

    def _is_there(self) -> bool:
        return self._bucket.exists(f"{self._report}/{SUCCESS}")

    def _started(self, cluster: str | None) -> Running:
        # two of us on this machine must not both find nothing and both start
        with locked(self._cache_dir / "emr" / f".{self._name}.lock"):
            running = self._emr.find(self._name, cluster)
            if running is not None:
                self._progress.notice(
                    f"the step has been submitted already: following {running.step} on {running.cluster}"
                )
                return running
            if cluster is not None:
                self._emr.require_usable(cluster)
            sizes = self._target.sizes() if cluster is None else self._emr.sizes_on(cluster)
            step = self._uploaded(sizes)
            self._progress.notice(f"its sizes: {sizes}")
            if cluster is not None:
                return self._emr.add(cluster, step)
            size = f"{self._target.instances} x {self._target.instance_type}"
            self._progress.notice(f"starting a cluster for it ({size}, {self._target.release}), which ends with it")
            return self._emr.start(self._target, step, str(self._bucket.at(LOGS)))

    def _uploaded(self, sizes: SparkSizes) -> SparkStep:
        """Everything into the bucket: the manifest last, so that half an upload is no results folder."""
        job, code = self._job, code_folder(self._digest[:16])
        results = results_folder(job.results_name)
        there = {key.removeprefix(f"{results}/"): size for key, size in self._results.sizes(f"{results}/").items()}
        self._require_same(self._results.at(results), there)
        if job.uploaded or job.perhaps_uploaded:
            # what hosts sent for an attempt at a trial that was cut off: with it messages would count twice
            known = {*job.uploaded, *job.perhaps_uploaded, *job.records}
            cut_off = [name for name in there if name.endswith(RECORDS_SUFFIX) and name not in known]
            self._results.delete([f"{results}/{name}" for name in cut_off])
        missing = {name: file for name, file in job.records.items() if there.get(name) != file.stat().st_size}
        self._send(self._results, {f"{results}/{name}": file for name, file in missing.items()}, "records")
        archive_key = f"code/{job.libraries.archive_name}"
        if not self._bucket.exists(archive_key):
            archive = library_archive(job.libraries, self._cache_dir, self._progress.notice)
            self._send(self._bucket, {archive_key: archive}, "Python packages")
        program, package = f"{code}/{job.program.name}", f"{code}/{job.package.name}"
        self._send(self._bucket, {program: job.program, package: job.package}, "the job")
        documents = {f"{results}/{name}": file for name, file in job.documents.items()}
        manifest = {key: documents.pop(key) for key in [f"{results}/{layout.MANIFEST}"] if key in documents}
        self._send(self._results, documents, "")
        self._send(self._results, manifest, "")
        at = self._bucket.at
        return SparkStep(
            name=self._name,
            program=str(at(program)),
            package=str(at(package)),
            archive=str(at(archive_key)),
            arguments=(str(self._results.at(results)), "--out", str(at(self._report))),
            sizes=sizes,
        )

    def _require_same(self, results: Location, there: Mapping[str, int]) -> None:
        """Raises SameboxError unless the bucket (name -> bytes) has what the hosts sent, and no trial that this folder doesn't.

        The job would read such a trial too, and the report would be another one than asked for.
        """
        strangers = sorted({name for name in there if name.endswith(f"/{layout.TRIAL}")} - self._job.documents.keys())
        if strangers:
            raise SameboxError(
                f"{results} has trials that this results folder doesn't: {', '.join(strangers[:3])}.",
                next_step="Make the report from the complete folder.",
            )
        missing = sorted(name for name, size in self._job.uploaded.items() if there.get(name) != size)
        if missing:
            raise SameboxError(
                f"{results} lacks {len(missing)} record files that the client hosts sent: {missing[0]} ...",
                next_step="They have been deleted since, or are in another account: `aws sts get-caller-identity` shows yours.",
            )

    def _send(self, bucket: Bucket, files: Mapping[str, Path], what: str) -> None:
        if not files:
            return
        sizes = {key: file.stat().st_size for key, file in files.items()}
        if what:
            self._progress.notice(f"uploading {what}: {len(files)} files, {sum(sizes.values()) / MEGABYTE:.1f} MB")
        bucket.upload(files, so_far(sizes, "sent", self._progress.detail))

    def _see_through(self, running: Running) -> None:
        try:
            ended = self._emr.follow(running, self._progress)
        except KeyboardInterrupt:
            raise LeftRunning(self._parting_words(running)) from None
        made, words = ended.completed and self._is_there(), ""
        if ended.ran and not made:  # a cluster that didn't start has no log of the step
            timing = self._timing
            words = last_words(
                self._opened, ended.log_uri, running, self._progress, timing.logs_within_s, timing.poll_every_s
            )
        if running.transient:
            self._emr.await_end(running.cluster, self._timing.cluster_ends_within_s, self._progress)
        if made:
            return
        reason = ended.reason or ("it left no report" if ended.completed else "EMR doesn't say why")
        folder = log_folder(ended.log_uri, running) if ended.ran else ""
        raise SameboxError(
            f"the report job failed on {running.cluster}: {reason}" + (f"\n{words}" if words else ""),
            next_step=f"Everything it printed: aws s3 ls --recursive {folder}"
            if folder
            else "Fix what it says, then run the same command again.",
        )

    def _parting_words(self, running: Running) -> str:
        if running.transient:
            return (
                f"{running.cluster} keeps running and ends by itself; the same command picks it up again. "
                f"To end it now: aws emr terminate-clusters --region {self._target.region} --cluster-ids {running.cluster}"
            )
        return (
            f"the step keeps running; the same command picks it up again. To end it now: aws emr cancel-steps --region "
            f"{self._target.region} --cluster-id {running.cluster} --step-ids {running.step} "
            "--step-cancellation-option SEND_INTERRUPT"
        )
