"""The commands about campaigns: run, resume, report, and `campaign`, which is all of it from up to down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from click.core import ParameterSource

from bench.campaign.campaign import load_campaign
from bench.campaign.choice import Choice, choice_of
from bench.campaign.prepared import prepare
from bench.checkout import CHECKOUT, RESULTS, SCRATCH, TESTBED_STATE
from bench.cli.conclusion import conclude, recorded, says_how_to_go_on
from bench.cli.detached import bring_home, leave, refuse_if_taken
from bench.cli.from_bucket import FETCH_STEP, fetch_records, from_option
from bench.cli.omb import Chosen, campaign_or_omb
from bench.cli.on_emr import EMR_STEP, emr_options, report_on_emr, require_consistent, says_what_goes_on
from bench.cli.options import (
    Target,
    choice_options,
    console,
    inventory_option,
    local_testbed,
    plain_option,
    read_thresholds,
    shown,
    software_option,
    stack_option,
    target_of,
)
from bench.cli.outcome import Outcome
from bench.cli.teardown import undisturbed
from bench.cli.testbed import print_vetting, vet_testbed
from bench.orchestrator.launch import HANDOVER_STEP
from bench.progress import Reporter, Step, reporter_for
from bench.report.here import Verdicts, make_report, require_spark
from bench.results.folder import Results
from bench.run.equipped import SOFTWARE_STEP
from bench.run.runner import REPORT_TITLE, report_step, require_continuable, run_campaign, steps_to_run
from bench.run.vetted import Vetted, load_vetted, vetted
from provisioning.errors import SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.time_to_live import require_time
from provisioning.testbeds.local.lock import exclusive

VETTING_STEP = Step("vetting", 15.0)

campaign_argument = click.argument("campaign_file", metavar="CAMPAIGN", type=click.Path(path_type=Path))
results_argument = click.argument("results_dir", metavar="RESULTS", type=click.Path(path_type=Path))
again_option = click.option(
    "--again", is_flag=True, help="Keep an earlier run of this name under its date, and start anew."
)
detach_option = click.option(
    "--detach",
    is_flag=True,
    help="Leave it to a host of the testbed, which runs it by itself; `samebox resume` brings records and report here.",
)
no_report_option = click.option(
    "--no-report", is_flag=True, help="Records only; `samebox report` makes the report later, here or on EMR."
)
master_option = click.option("--master", default="local[*]", show_default=True, help="Spark master for the report.")


@click.command()
@campaign_or_omb
@choice_options
@inventory_option
@stack_option
@software_option
@plain_option
@again_option
@detach_option
@master_option
def run(
    chosen: Chosen,
    choice: Choice,
    inventory_file: Path | None,
    stack_name: str | None,
    tarballs: Mapping[str, Path],
    plain: bool,
    again: bool,
    detach: bool,
    master: str,
) -> Outcome:
    """Run a campaign on a testbed that is up, and report. Exits 2 if a trial is invalid.

    With --detach it runs on a host of the testbed, and this machine may be closed: `samebox status` says how far it is, from
    anywhere, and `samebox resume` follows it, brings its records here and makes the report.
    """
    campaign = chosen.campaign
    chosen.announce()
    choice.require_known(campaign, where=str(chosen.file))
    target = target_of(inventory_file, stack_name)
    with exclusive(target.state):
        inventory = target.inventory()
        report_here = inventory.records_bucket is None and not detach
        if report_here:
            require_spark()
        prepared = prepare(campaign, chosen.file, inventory.testbed.kind, choice)
        reporting = [report_step(len(prepared.trials))] if report_here else []
        steps = [VETTING_STEP, *steps_to_run(prepared, ()), *reporting]
        _require_time(inventory, steps)
        refuse_if_taken(inventory, target.typed)
        kept = _kept_vetting(target)
        results = fresh_results(Results(RESULTS / campaign.name), again=again)
        repeat = [f"samebox run {chosen.typed}{choice.typed}{target.typed}{' --detach' if detach else ''}"]
        shown_steps = [VETTING_STEP, SOFTWARE_STEP, HANDOVER_STEP] if detach else steps
        with reporter_of(plain, shown_steps) as reporter, says_how_to_go_on(results, target, tarballs, reporter):
            vetting = _vetted(target, inventory, kept, reporter)
            if detach:
                typed = target.typed
                leave(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=repeat, typed=typed)
                return Outcome.DONE
            run_campaign(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=repeat)
            if not report_here:
                return recorded(results, target)
            verdicts = _report(results, master, reporter)
    return conclude(results, verdicts)


@click.command()
@results_argument
@inventory_option
@stack_option
@software_option
@plain_option
@no_report_option
@master_option
def resume(
    results_dir: Path,
    inventory_file: Path | None,
    stack_name: str | None,
    tarballs: Mapping[str, Path],
    plain: bool,
    no_report: bool,
    master: str,
) -> Outcome:
    """Continue a campaign on the same testbed; finished trials are kept, none is repeated.

    One that was started with --detach is followed to its end, from any machine: it is started again if it has died, its records
    are brought here, and the testbed is free again. Ctrl-C ends the watching only.
    """
    results = Results(results_dir)
    if results.root.exists():
        results.manifest()
    target = target_of(inventory_file, stack_name)
    with exclusive(target.state):
        inventory = target.inventory()
        report_here = inventory.records_bucket is None and not no_report
        if report_here:
            require_spark()
        fetched = bring_home(inventory, results, target.typed, plain=plain)
        manifest = results.manifest("repeat")
        campaign, choice = load_campaign(results.campaign_file), choice_of(manifest)
        prepared = prepare(campaign, results.campaign_file, inventory.testbed.kind, choice)
        require_continuable(results, prepared, inventory)
        left = [] if fetched else [VETTING_STEP, *steps_to_run(prepared, results.finished(), results.probed())]
        if left:
            _require_time(inventory, left)
        reporting = [report_step(len(prepared.trials))] if report_here else []
        steps = [*left, *reporting]
        with reporter_of(plain, steps) as reporter, says_how_to_go_on(results, target, tarballs, reporter):
            if left:
                repeat = manifest["repeat"]
                vetting = _vetted(target, inventory, _kept_vetting(target), reporter)
                run_campaign(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=repeat)
            if not report_here:
                return recorded(results, target)
            verdicts = _report(results, master, reporter)
    return conclude(results, verdicts)


@click.command()
@results_argument
@master_option
@from_option
@emr_options
@plain_option
def report(
    results_dir: Path,
    master: str,
    bucket: str | None,
    place: str,
    stack: str | None,
    outputs_file: Path | None,
    cluster: str | None,
    plain: bool,
) -> Outcome:
    """Turn a campaign's records into its report, with PySpark. Exits 2 if a trial is invalid.

    With --on emr that happens on AWS, on a cluster that is started for it and ends with it. Interrupted, or typed twice, the
    command finds what it started; a report that has been made is only fetched.

    Records that the client hosts sent to a bucket are brought here by --from, and the report is made of them on this machine.
    """
    master_given = click.get_current_context().get_parameter_source("master") is not ParameterSource.DEFAULT
    require_consistent(
        place, master_given=master_given, bucket=bucket, stack=stack, outputs_file=outputs_file, cluster=cluster
    )
    results = Results(results_dir)
    results.manifest()
    step = EMR_STEP if place == "emr" else report_step(len(results.finished()))
    with reporter_of(plain, [*([FETCH_STEP] if bucket else []), step]) as reporter:
        if bucket:
            fetch_records(results, bucket, reporter)
        if place == "emr":
            with says_what_goes_on(reporter):
                verdicts = report_on_emr(results, reporter, stack=stack, outputs_file=outputs_file, cluster=cluster)
        else:
            verdicts = _report(results, master, reporter)
    return conclude(results, verdicts)


@click.group(name="campaign")
def whole_campaign() -> None:
    """All of it: stand a testbed up, vet it, run a campaign, report, tear everything down."""


@whole_campaign.command(name="local")
@campaign_argument
@choice_options
@software_option
@plain_option
@again_option
@master_option
def local_campaign(
    campaign_file: Path, choice: Choice, tarballs: Mapping[str, Path], plain: bool, again: bool, master: str
) -> Outcome:
    """All of it on this machine."""
    require_spark()
    campaign = load_campaign(campaign_file)
    prepared = prepare(campaign, campaign_file, "local", choice)
    repeat = [f"samebox campaign local {shown(campaign_file)}{choice.typed}"]
    first, last = Step("testbed up", 3.0), Step("testbed down", 5.0)
    with exclusive(TESTBED_STATE):
        target, local = Target(), local_testbed(campaign.brokers)
        kept = _kept_vetting(target)
        results = fresh_results(Results(RESULTS / campaign.name), again=again)
        steps = [first, VETTING_STEP, *steps_to_run(prepared, ()), report_step(len(prepared.trials)), last]
        with reporter_of(plain, steps) as reporter:
            try:
                reporter.step(first.title)
                inventory = local.up()
                vetting = _vetted(target, inventory, kept, reporter)
                run_campaign(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=repeat)
                verdicts = _report(results, master, reporter)
            finally:
                with undisturbed():
                    reporter.step(last.title)
                    local.down()
                    target.vetting_file.unlink(missing_ok=True)
    return conclude(results, verdicts)


def _require_time(inventory: Inventory, steps: Sequence[Step]) -> None:
    """Raises InvalidInput for a plan that hosts which end by themselves wouldn't outlive."""
    require_time(inventory.expires, sum(step.estimate_s for step in steps), datetime.now(UTC))


@contextmanager
def reporter_of(plain: bool, steps: list[Step]) -> Iterator[Reporter]:
    """Where a command reports to, told of all its steps; closed at the end."""
    reporter = reporter_for(console, plain=plain)
    reporter.plan(steps)
    try:
        yield reporter
    finally:
        reporter.close()


def fresh_results(results: Results, *, again: bool) -> Results:
    """Results that aren't there yet; with `again`, an earlier run's are set aside. Raises InvalidInput if they are there."""
    if again:
        kept = results.set_aside()
        if kept is not None:
            console.print(f"An earlier run is kept as {shown(kept)}.", markup=False)
    else:
        results.require_new()
    return results


def _kept_vetting(target: Target) -> Vetted | None:
    """The last vetting, if there is one. Raises InvalidInput if it can't be read: before an earlier run is set aside."""
    return load_vetted(target.vetting_file) if target.vetting_file.exists() else None


def _vetted(target: Target, inventory: Inventory, kept: Vetted | None, reporter: Reporter) -> Vetted:
    """The kept vetting if it is of these very hosts, else a new one. Raises SameboxError if a host is rejected."""
    reporter.step(VETTING_STEP.title)
    if kept is None or not kept.covers(inventory):
        vetting = vet_testbed(target, inventory, read_thresholds(), reporter.detail, max_replacements=0)
        if vetting.rejected:
            print_vetting(vetting, target)
        kept = vetted(vetting)
    if kept.rejected:
        raise SameboxError(
            f"vetting rejected {', '.join(kept.rejected)}.",
            next_step=f"Let a busy machine come to rest and try again. By hand: {target.after_rejection}",
        )
    return kept


def _report(results: Results, master: str, reporter: Reporter) -> Verdicts:
    reporter.step(REPORT_TITLE)
    return make_report(results, CHECKOUT, master=master, scratch=SCRATCH, on_line=reporter.detail)
