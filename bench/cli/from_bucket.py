"""`samebox report --from`: records that lie in a bucket, brought here. It needs no stack: a bucket outlives its own."""

from __future__ import annotations

import click

from bench.progress import Reporter, Step
from bench.results.folder import Results
from bench.results.sent_records import bring_here
from provisioning.errors import InvalidInput

FETCH_STEP = Step("records from the bucket", 60.0)
_SCHEME = "s3://"

from_option = click.option(
    "--from",
    "bucket",
    metavar="s3://BUCKET",
    help="Bring the records here first, from the bucket that the client hosts sent them to.",
)


def fetch_records(results: Results, typed: str, reporter: Reporter) -> None:
    """Brings the records here from the bucket that was typed. Raises InvalidInput if none can be meant."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from provisioning.testbeds.aws.session import session
    from provisioning.testbeds.aws.storage import Bucket

    named = results.records_bucket()
    if named is None:
        raise InvalidInput(f"the records of {results.root} never were in a bucket.", next_step="Leave out --from.")
    name = typed.removeprefix(_SCHEME).rstrip("/")
    if not name or "/" in name:
        raise InvalidInput(
            f"--from {typed}: not a bucket.", next_step=f"The results name this one: --from {_SCHEME}{named}"
        )
    reporter.step(FETCH_STEP.title)
    bring_here(results, Bucket(session(results.records_region()), name), reporter)
