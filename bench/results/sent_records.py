"""Records that the client hosts sent to a bucket: which they are, whether they are here, bringing them here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.results.folder import Results
from bench.results.recorded import TRIAL_SCHEMA, SentKeys, documented
from contract import results_folder as layout
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from provisioning.testbeds.aws.bucket_layout import results_folder

if TYPE_CHECKING:
    from provisioning.testbeds.aws.emr import Progress
    from provisioning.testbeds.aws.storage import Bucket


@dataclass(frozen=True)
class SentRecords:
    """Record files by name inside the results folder -> bytes: of completed trials, and of those that ended early.

    Of the latter some may have been lost with their host.
    """

    completed: Mapping[str, int]
    ended_early: Mapping[str, int]


def sent_records(results: Results) -> SentRecords:
    """What the hosts sent of finished trials; nothing where the records were fetched over SSH."""
    files: dict[bool, dict[str, int]] = {True: {}, False: {}}
    if results.records_bucket() is not None:
        for trial in results.finished():
            document = documented(SentKeys, results.trial_dir(trial) / layout.TRIAL, schema=TRIAL_SCHEMA)
            files[document["abort"] is None] |= {
                f"trials/{trial}/{name}": size for name, size in document["records"].items()
            }
    return SentRecords(files[True], files[False])


def missing_records(results: Results) -> tuple[str, ...]:
    """Records of completed trials that are in a bucket only."""
    return tuple(_missing(results, sent_records(results).completed))


def require_here(results: Results) -> None:
    """Raises InvalidInput if records of completed trials are in a bucket only."""
    if missing_records(results):
        bucket = results.records_bucket()
        raise InvalidInput(
            f"the records of {results.root} are in the bucket {bucket}: the client hosts sent them there.",
            next_step=f"Make the report there: samebox report {results.root} --on emr --stack NAME\n"
            f"      Or bring the records here: samebox report {results.root} --from s3://{bucket}",
        )


def bring_here(results: Results, bucket: Bucket, progress: Progress) -> None:
    """Fetches what is missing of the records; what has arrived is kept, so that the same command continues where it stopped.

    Raises SameboxError where the bucket lacks records of a completed trial, MissingRequirement where the disk is too small.
    """
    # boto3 takes a third of a second to import, which no other command should wait for
    from provisioning.testbeds.aws.storage import MEGABYTE, so_far

    folder, sent = results_folder(results.name_in_bucket()), sent_records(results)
    there = bucket.sizes(f"{folder}/")
    wanted = _missing(results, {**sent.completed, **sent.ended_early})
    lost = sorted(name for name in wanted if name in sent.completed and there.get(f"{folder}/{name}") != wanted[name])
    if lost:
        raise SameboxError(
            f"{bucket.at(folder)} lacks {len(lost)} record files that the client hosts sent: {lost[0]} ...",
            next_step=f"The results name the bucket {results.records_bucket()}: give that one, or a whole copy of it.",
        )
    wanted = {name: size for name, size in wanted.items() if there.get(f"{folder}/{name}") == size}
    total_bytes, free_bytes = sum(wanted.values()), shutil.disk_usage(results.root).free
    if total_bytes > free_bytes:
        raise MissingRequirement(
            f"the records take {total_bytes / MEGABYTE:,.0f} MB and {results.root} has {free_bytes / MEGABYTE:,.0f} MB left.",
            next_step="Move the results folder to a larger disk, or make the report there: --on emr",
        )
    if wanted:
        progress.notice(
            f"fetching {len(wanted)} record files, {total_bytes / MEGABYTE:,.1f} MB, from {bucket.at(folder)}"
        )
    keys = {f"{folder}/{name}": name for name in wanted}
    tell = so_far({key: there[key] for key in keys}, "fetched", progress.detail)
    bucket.fetch({key: results.root / name for key, name in keys.items()}, tell)


def _missing(results: Results, files: Mapping[str, int]) -> dict[str, int]:
    """Those of these files that aren't in the results folder, or not whole."""
    return {name: size for name, size in files.items() if _size(results.root / name) != size}


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None
