"""`samebox campaign aws`: from nothing to a report to nothing. It shows what it will cost, asks, and takes down what it stood up."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import Choice
from bench.campaign.prepared import Prepared, prepare
from bench.checkout import RESULTS
from bench.cli.background import continue_in_background
from bench.cli.campaign import fresh_results
from bench.cli.conclusion import conclude, way_back
from bench.cli.cost import print_costs, vetting_step
from bench.cli.doctor import require_ready, zones_of
from bench.cli.options import (
    again_option,
    campaign_argument,
    choice_options,
    max_replacements_option,
    plain_option,
    software_option,
    stack_option,
    thresholds_option,
)
from bench.cli.outcome import Outcome
from bench.cli.report import EMR_STEP, report_on_emr
from bench.cli.stack_life import configure, require_nothing_up
from bench.cli.target import Target, stack_kind, stack_of
from bench.cli.teardown import DOWN_STEP, SWEEP_STEP, UP_STEP, Keeper, Leftovers
from bench.cli.terminal import console, reporter_of, say, shown
from bench.cli.testbed import print_vetting, vet_testbed
from bench.progress import Step
from bench.report.here import Verdicts
from bench.results.folder import Results
from bench.run.runner import run_campaign, steps_to_run
from bench.run.vetted import vetted
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.capacity import CapacityWait
from provisioning.testbeds.aws.prices import PRICES_FILE, load_prices
from provisioning.testbeds.aws.testbed import AwsTestbed
from provisioning.testbeds.aws.time_to_live import require_time
from provisioning.testbeds.local.lock import exclusive
from provisioning.vetting import Thresholds
from systems.software.added import needed


@click.command(name="aws")
@campaign_argument
@choice_options
@stack_option("The Pulumi stack (its config file) to stand up.", required=True)
@click.option("--yes", is_flag=True, help="Don't ask before spending money.")
@click.option("--keep", is_flag=True, help="If something fails, leave the hosts up for inspection. They cost money.")
@click.option(
    "--wait-for-capacity",
    "wait_minutes",
    metavar="MINUTES",
    type=click.FloatRange(0, 1440),
    default=0.0,
    help="How long to retry, in each allowed zone, while AWS is out of such machines.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="After the confirmation, continue in the background of this machine; `samebox status` finds it.",
)
@max_replacements_option(0)
@thresholds_option
@software_option
@plain_option
@again_option
def aws_campaign(
    campaign_file: Path,
    choice: Choice,
    stack_name: str,
    yes: bool,
    keep: bool,
    wait_minutes: float,
    detach: bool,
    max_replacements: int,
    thresholds: Thresholds,
    tarballs: Mapping[str, Path],
    plain: bool,
    again: bool,
) -> Outcome:
    """Run a whole campaign on AWS, from nothing to a report to nothing.

    Shows the cost and asks, stands hosts up, vets them and replaces rejected ones, runs the campaign, makes the report on EMR,
    takes the hosts down and looks for leftovers. Exits 2 if a trial is invalid.
    """
    campaign = load_campaign(campaign_file)
    prepared = prepare(campaign, campaign_file, stack_kind(), choice, tarballs)
    tarballs = needed(tarballs, prepared.campaign.all_systems, user_cache())
    target = Target(stack_name=stack_name)
    stack = stack_of(stack_name)
    vetting_first = vetting_step(stack_name, thresholds)
    steps = steps_of(prepared, vetting_first)
    with ExitStack() as held:
        held.enter_context(exclusive(target.state))
        results = fresh_results(Results(RESULTS / campaign.name), again=again)
        require_nothing_up(stack)
        require_ready(stack_name, 60 * wait_minutes + sum(step.estimate_s for step in steps))
        capacity_wait = CapacityWait(60 * wait_minutes, zones_of(stack_name))
        with console.status("looking at the plan"):
            expires = configure(stack, campaign.name, steps, datetime.now(UTC), waiting_s=capacity_wait.longest_s)
            plan = stack.preview(lambda _: None)
        print_costs([stack_name], prepared, load_prices(PRICES_FILE), thresholds)
        say(f"{len(plan)} resources are to be created; the hosts end at {expires} at the latest.")
        if not (yes or agreed()):
            say("Nothing was started.")
            return Outcome.ERROR
        if detach:
            held.close()  # the stack is the other process' from now on
            continue_in_background(stack_name)
            return Outcome.DONE
        repeat = [f"samebox campaign aws {shown(campaign_file)}{choice.typed} --stack {stack_name}"]
        with reporter_of(plain, steps) as reporter:
            testbed = AwsTestbed(stack, on_line=reporter.detail, capacity_wait=capacity_wait)

            def work(inventory: Inventory) -> Verdicts:
                reporter.step(vetting_first.title)
                vetting = vet_testbed(target, inventory, thresholds, reporter.detail, max_replacements=max_replacements)
                if vetting.rejected:
                    print_vetting(vetting, target)
                    raise SameboxError(f"vetting rejected {', '.join(vetting.rejected)}. {vetting.stopped}".strip())
                inventory = target.inventory()  # replacements are other hosts
                left_s = sum(step.estimate_s for step in steps_to_run(prepared, ()))
                require_time(inventory.expires, left_s + EMR_STEP.estimate_s, datetime.now(UTC))
                run_campaign(prepared, inventory, vetted(vetting), results, reporter, tarballs=tarballs, repeat=repeat)
                try:
                    return report_on_emr(results, reporter, stack=stack_name)
                except BaseException:
                    reporter.notice(way_back(results))
                    raise

            keeper = Keeper(testbed, stack_name, Leftovers(stack, reporter), reporter)
            verdicts = keeper.undertake(work, keep=keep)
            target.vetting_file.unlink(missing_ok=True)
    return conclude(results, verdicts)


def steps_of(prepared: Prepared, vetting_first: Step) -> list[Step]:
    """Everything that `samebox campaign aws` reports, in order."""
    return [UP_STEP, vetting_first, *steps_to_run(prepared, ()), EMR_STEP, DOWN_STEP, SWEEP_STEP]


def agreed() -> bool:
    """Whether the operator typed yes. Raises InvalidInput where stdin is closed."""
    try:
        return bool(click.prompt("Type yes to spend it", default="", show_default=False, err=True).strip() == "yes")
    except click.Abort:
        raise InvalidInput("no confirmation of the cost: stdin closed.", next_step="In a script: --yes") from None
