"""`samebox report --on emr`: where on AWS, and how it is shown. What happens there is provisioning/testbeds/aws's business."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench.checkout import CHECKOUT, SCRATCH
from bench.cli.options import stack_of
from bench.progress import Reporter, Step
from bench.report.here import Verdicts
from bench.results.folder import Results
from provisioning.cache import user_cache
from provisioning.document import read_document
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.cost import EMR_S

if TYPE_CHECKING:
    from provisioning.testbeds.aws.emr_target import EmrTarget

F = TypeVar("F", bound=Callable[..., Any])

EMR_STEP = Step("report on EMR", EMR_S)


def emr_options(command: F) -> F:
    """--on, --stack, --outputs, --cluster"""
    for option in (
        click.option(
            "--cluster",
            metavar="j-XXXX",
            help="With --on emr: an EMR cluster that is there, instead of one for this report alone.",
        ),
        click.option(
            "--outputs",
            "outputs_file",
            metavar="FILE.json",
            type=click.Path(path_type=Path),
            help="With --on emr: what `pulumi stack output --json` printed, in place of --stack.",
        ),
        click.option(
            "--stack", metavar="NAME", help="With --on emr: the Pulumi stack whose bucket and roles are used."
        ),
        click.option(
            "--on",
            "place",
            type=click.Choice(["local", "emr"]),
            default="local",
            show_default=True,
            help="Where Spark runs.",
        ),
    ):
        command = option(command)
    return command


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
    if place == "emr":
        if bucket:
            raise InvalidInput("--from is for a report made here.", next_step="Leave it out, or --on emr.")
        if master_given:
            raise InvalidInput("--master is for a report made here.", next_step="Leave it out, or give --on local.")
        if stack and outputs_file:
            raise InvalidInput("--stack and --outputs say the same twice.", next_step="Give one of them.")
        return
    for name, value in (("--stack", stack), ("--outputs", outputs_file), ("--cluster", cluster)):
        if value:
            raise InvalidInput(f"{name} is for a report made on AWS.", next_step=f"Add --on emr, or leave {name} out.")


def report_on_emr(
    results: Results, reporter: Reporter, *, stack: str | None, outputs_file: Path | None, cluster: str | None
) -> Verdicts:
    """The report, made on AWS and fetched."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from bench.report.on_emr import make_report_on_emr

    target = _target(stack, outputs_file)
    reporter.step(EMR_STEP.title)
    return make_report_on_emr(
        results, CHECKOUT, target, cluster=cluster, scratch=SCRATCH, cache_dir=user_cache(), progress=reporter
    )


@contextmanager
def says_what_goes_on(reporter: Reporter) -> Iterator[None]:
    """Ctrl-C ends the waiting and not the step: says how to come back to it, or to end it."""
    try:
        yield
    except KeyboardInterrupt as interrupted:
        if words := str(interrupted):
            reporter.notice(words)
        raise


def _target(stack: str | None, outputs_file: Path | None) -> EmrTarget:
    """What the stack exported says where; the owner, which no output names, is in its config."""
    from provisioning.testbeds.aws.emr_target import emr_target

    if outputs_file is not None:
        return emr_target(read_document(outputs_file), where=str(outputs_file))
    if stack is None:
        raise InvalidInput(
            "which stack has the bucket and the roles?", next_step="Add --stack NAME, or --outputs FILE."
        )
    opened = stack_of(stack)
    return emr_target({**opened.outputs(), "owner": opened.config().get("owner")}, where=f"stack {stack}")
