"""The commands that run campaigns: run, resume, and `campaign`, which is all of it from up to down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import Choice, choice_of
from bench.campaign.prepared import Prepared, prepare
from bench.checkout import RESULTS, TESTBED_STATE
from bench.cli.conclusion import conclude, recorded, says_how_to_go_on
from bench.cli.detached import bring_home, refuse_if_taken
from bench.cli.omb import Chosen, campaign_or_omb
from bench.cli.options import (
    again_option,
    campaign_argument,
    choice_options,
    master_option,
    plain_option,
    results_argument,
    software_option,
    target_options,
)
from bench.cli.outcome import Outcome
from bench.cli.report import local_report
from bench.cli.target import Target, local_testbed, read_thresholds
from bench.cli.teardown import undisturbed
from bench.cli.terminal import reporter_of, say, shown
from bench.cli.testbed import print_vetting, vet_testbed
from bench.orchestrator.launch import HANDOVER_STEP, launch
from bench.progress import Reporter, Step
from bench.report.here import require_spark
from bench.results.folder import Results
from bench.run.equipped import SOFTWARE_STEP
from bench.run.runner import report_step, require_continuable, run_campaign, steps_to_run
from bench.run.vetted import Vetted, load_vetted, vetted
from provisioning.cache import user_cache
from provisioning.errors import SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.time_to_live import require_time
from provisioning.testbeds.local.lock import exclusive
from systems.software.added import needed

VETTING_STEP = Step("vetting", 15.0)


@dataclass(frozen=True)
class Manner:
    """How a campaign is run from the command line. `repeat`: the command that does it again. `again`: over results that are there."""

    repeat: str
    plain: bool
    again: bool
    master: str


@click.command()
@campaign_or_omb
@choice_options
@target_options
@software_option
@plain_option
@again_option
@click.option(
    "--detach",
    is_flag=True,
    help="Leave the campaign to a host of the testbed; `samebox resume` brings records and report here.",
)
@master_option
def run(
    chosen: Chosen,
    choice: Choice,
    target: Target,
    tarballs: Mapping[str, Path],
    plain: bool,
    again: bool,
    detach: bool,
    master: str,
) -> Outcome:
    """Run a campaign on a testbed that is up.

    Vets the hosts if that hasn't been done yet, runs all trials and makes the report. Exits 2 if a trial is invalid.

    With --detach the campaign runs on a host of the testbed, and this machine may be switched off: from any machine `samebox
    status` shows how far it is, and `samebox resume` follows it, brings its records here and makes the report.
    """
    chosen.announce()
    repeat = f"samebox run {chosen.typed}{choice.typed}{target.typed}{' --detach' if detach else ''}"
    how = Manner(repeat, plain=plain, again=again, master=master)
    return run_on(target, chosen.campaign, chosen.file, choice, tarballs, how, detach=detach)


def run_on(
    target: Target,
    campaign: Campaign,
    campaign_file: Path,
    choice: Choice,
    tarballs: Mapping[str, Path],
    how: Manner,
    *,
    detach: bool = False,
) -> Outcome:
    """Runs a campaign on a testbed that is up, and makes its report. Raises SameboxError."""
    choice.require_known(campaign, where=str(campaign_file))
    with exclusive(target.state):
        inventory = target.inventory(brokers=campaign.brokers)
        report_here = inventory.records_bucket is None and not detach
        if report_here:
            require_spark()
        prepared = prepare(campaign, campaign_file, inventory.testbed.kind, choice, tarballs)
        tarballs = needed(tarballs, prepared.campaign.all_systems, user_cache())
        reporting = [report_step(len(prepared.trials))] if report_here else []
        steps = [VETTING_STEP, *steps_to_run(prepared, ()), *reporting]
        _require_time(inventory, steps)
        refuse_if_taken(inventory, target.typed)
        kept = _kept_vetting(target)
        results = fresh_results(Results(RESULTS / campaign.name), again=how.again)
        shown_steps = [VETTING_STEP, SOFTWARE_STEP, HANDOVER_STEP] if detach else steps
        with reporter_of(how.plain, shown_steps) as reporter, says_how_to_go_on(results, target, tarballs, reporter):
            vetting = _vetted(target, inventory, kept, reporter)
            if detach:
                typed = target.typed
                name = launch(
                    prepared, inventory, vetting, reporter, tarballs=tarballs, repeat=[how.repeat], typed=typed
                )
                reporter.notice(f"It runs detached on {name}; this machine is no longer needed.")
                reporter.notice(f"How far it is: samebox status{typed}")
                reporter.notice(
                    f"Follow it, and get its records and report: samebox resume {shown(results.root)}{typed}"
                )
                return Outcome.DONE
            run_campaign(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=[how.repeat])
            if not report_here:
                return recorded(results, target)
            verdicts = local_report(results, how.master, reporter)
    return conclude(results, verdicts)


@click.command()
@results_argument
@target_options
@software_option
@plain_option
@click.option(
    "--no-report", is_flag=True, help="Don't make the report; `samebox report` makes it later, here or on EMR."
)
@master_option
def resume(
    results_dir: Path,
    target: Target,
    tarballs: Mapping[str, Path],
    plain: bool,
    no_report: bool,
    master: str,
) -> Outcome:
    """Continue an interrupted campaign on its testbed.

    Finished trials are kept. Exits 2 if a trial is invalid.

    A campaign that was started with --detach is followed to its end, from any machine: it is restarted if it has died, its
    records are brought here, and the testbed is free again. Ctrl-C stops following and leaves the campaign running.
    """
    results = Results(results_dir)
    known = results.manifest() if results.root.exists() else {}
    brokers = (known.get("definition") or {}).get("brokers")
    with exclusive(target.state):
        inventory = target.inventory(brokers=brokers)
        report_here = inventory.records_bucket is None and not no_report
        if report_here:
            require_spark()
        fetched = bring_home(inventory, results, target.typed, plain=plain)
        manifest = results.manifest("repeat")
        campaign, choice = load_campaign(results.campaign_file), choice_of(manifest)
        prepared = prepare(campaign, results.campaign_file, inventory.testbed.kind, choice, tarballs)
        tarballs = needed(tarballs, prepared.campaign.all_systems, user_cache())
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
            verdicts = local_report(results, master, reporter)
    return conclude(results, verdicts)


@click.group(name="campaign")
def whole_campaign() -> None:
    """Run a whole campaign: testbed up, vetting, trials, report, teardown."""


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
    """Run a whole campaign on this machine.

    Stands up a local testbed, vets it, runs the campaign, makes the report and tears the testbed down. Exits 2 if a trial is
    invalid.
    """
    require_spark()
    campaign = load_campaign(campaign_file)
    prepared = prepare(campaign, campaign_file, "local", choice, tarballs)
    repeat = f"samebox campaign local {shown(campaign_file)}{choice.typed}"
    return whole_local_campaign(prepared, tarballs, Manner(repeat, plain=plain, again=again, master=master))


def whole_local_campaign(prepared: Prepared, tarballs: Mapping[str, Path], how: Manner) -> Outcome:
    """Runs a campaign on this machine, from testbed to report to teardown. Raises SameboxError."""
    campaign = prepared.campaign
    tarballs = needed(tarballs, campaign.all_systems, user_cache())
    first, last = Step("testbed up", 3.0), Step("testbed down", 5.0)
    with exclusive(TESTBED_STATE):
        target, local = Target(), local_testbed(campaign.brokers)
        kept = _kept_vetting(target)
        results = fresh_results(Results(RESULTS / campaign.name), again=how.again)
        steps = [first, VETTING_STEP, *steps_to_run(prepared, ()), report_step(len(prepared.trials)), last]
        with reporter_of(how.plain, steps) as reporter:
            try:
                reporter.step(first.title)
                inventory = local.up()
                vetting = _vetted(target, inventory, kept, reporter)
                run_campaign(prepared, inventory, vetting, results, reporter, tarballs=tarballs, repeat=[how.repeat])
                verdicts = local_report(results, how.master, reporter)
            finally:
                with undisturbed():
                    reporter.step(last.title)
                    local.down()
                    target.vetting_file.unlink(missing_ok=True)
    return conclude(results, verdicts)


def _require_time(inventory: Inventory, steps: Sequence[Step]) -> None:
    """Raises InvalidInput for a plan that the hosts wouldn't live long enough for."""
    require_time(inventory.expires, sum(step.estimate_s for step in steps), datetime.now(UTC))


def fresh_results(results: Results, *, again: bool) -> Results:
    """Results that aren't there yet; with `again`, an earlier run's are set aside. Raises InvalidInput if they are there."""
    if again:
        kept = results.set_aside()
        if kept is not None:
            say(f"An earlier run is kept as {shown(kept)}.")
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
            next_step=f"If the machine is busy, try again when it is idle. Otherwise: {target.after_rejection}",
        )
    return kept
