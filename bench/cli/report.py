"""`samebox report`: a campaign's records into its report, on this machine or on EMR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from bench.cli.conclusion import conclude
from bench.cli.options import PATH, master_option, plain_option, results_argument, stack_option
from bench.cli.outcome import Outcome
from bench.cli.target import stack_of
from bench.cli.terminal import reporter_of
from bench.progress import Reporter, Step
from bench.report.here import Verdicts, make_report
from bench.results.folder import Results
from bench.results.sent_records import bring_here
from bench.run.runner import REPORT_TITLE, report_step
from provisioning.document import read_document
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.cost import EMR_S

if TYPE_CHECKING:
    from provisioning.testbeds.aws.emr_target import EmrTarget

EMR_STEP = Step("report on EMR", EMR_S)
FETCH_STEP = Step("records from the bucket", 60.0)
_SCHEME = "s3://"


@click.command()
@results_argument
@click.option(
    "--on", "place", type=click.Choice(["local", "emr"]), default="local", show_default=True, help="Where Spark runs."
)
@master_option
@click.option(
    "--from",
    "bucket",
    metavar="s3://BUCKET",
    help="First download the records from the bucket that the client hosts sent them to.",
)
@stack_option("With --on emr: the Pulumi stack whose bucket and roles are used.")
@click.option(
    "--outputs",
    "outputs_file",
    metavar="FILE.json",
    type=PATH,
    help="With --on emr: the output of `pulumi stack output --json`, instead of --stack.",
)
@click.option(
    "--cluster", metavar="j-XXXX", help="With --on emr: a running EMR cluster, instead of one for this report alone."
)
@plain_option
def report(
    results_dir: Path,
    place: str,
    master: str,
    bucket: str | None,
    stack_name: str | None,
    outputs_file: Path | None,
    cluster: str | None,
    plain: bool,
) -> Outcome:
    """Make a campaign's report from its records, with PySpark.

    With --on emr the report is made on AWS, on a cluster that is started for it and ends with it. If interrupted, run the
    command again: it finds what it started. A report that has been made is only downloaded.

    With --from the records that client hosts sent to a bucket are downloaded, and the report is made on this machine.

    Exits 2 if a trial is invalid.
    """
    master_given = click.get_current_context().get_parameter_source("master") is ParameterSource.COMMANDLINE
    require_consistent(
        place, master_given=master_given, bucket=bucket, stack=stack_name, outputs_file=outputs_file, cluster=cluster
    )
    results = Results(results_dir)
    results.manifest()
    step = EMR_STEP if place == "emr" else report_step(len(results.finished()))
    with reporter_of(plain, [*([FETCH_STEP] if bucket else []), step]) as reporter:
        if bucket:
            fetch_records(results, bucket, reporter)
        if place == "local":
            verdicts = local_report(results, master, reporter)
        else:
            verdicts = report_on_emr(results, reporter, stack=stack_name, outputs_file=outputs_file, cluster=cluster)
    return conclude(results, verdicts)


def require_consistent(
    place: str,
    *,
    master_given: bool,
    bucket: str | None,
    stack: str | None,
    outputs_file: Path | None,
    cluster: str | None,
) -> None:
    """Raises InvalidInput for an option that means nothing where the report is made."""
    here = {"--from": bucket, "--master": master_given}
    on_aws = {"--stack": stack, "--outputs": outputs_file, "--cluster": cluster}
    misplaced, where = (here, "local") if place == "emr" else (on_aws, "emr")
    for name, value in misplaced.items():
        if value:
            raise InvalidInput(f"{name} needs --on {where}.", next_step=f"Give --on {where}, or leave {name} out.")
    if stack and outputs_file:
        raise InvalidInput("--stack and --outputs say the same twice.", next_step="Give one of them.")


def local_report(results: Results, master: str, reporter: Reporter) -> Verdicts:
    """The report, made on this machine."""
    reporter.step(REPORT_TITLE)
    return make_report(results, master=master, on_line=reporter.detail)


def report_on_emr(
    results: Results,
    reporter: Reporter,
    *,
    stack: str | None,
    outputs_file: Path | None = None,
    cluster: str | None = None,
) -> Verdicts:
    """The report, made on AWS and downloaded."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from bench.report.on_emr import make_report_on_emr

    target = _emr_target(stack, outputs_file)
    reporter.step(EMR_STEP.title)
    try:
        return make_report_on_emr(results, target, cluster=cluster, progress=reporter)
    except KeyboardInterrupt as interrupted:
        if words := str(interrupted):  # the step goes on all the same: how to come back to it, or to end it
            reporter.notice(words)
        raise


def _emr_target(stack: str | None, outputs_file: Path | None) -> EmrTarget:
    """What the stack exported says where; the owner, which no output names, is in its config."""
    from provisioning.testbeds.aws.emr_target import emr_target

    if outputs_file is not None:
        return emr_target(read_document(outputs_file), where=str(outputs_file))
    if stack is None:
        raise InvalidInput(
            "--on emr: which stack has the bucket and the roles?", next_step="Add --stack NAME, or --outputs FILE."
        )
    opened = stack_of(stack)
    return emr_target({**opened.outputs(), "owner": opened.config().get("owner")}, where=f"stack {stack}")


def fetch_records(results: Results, typed: str, reporter: Reporter) -> None:
    """Downloads the records from the bucket that was typed. Raises InvalidInput if they never were in one."""
    # boto3, as above
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
