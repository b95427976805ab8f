"""`samebox campaign aws`: from nothing to a report to nothing. It shows what it will cost, asks, and takes away what it stood up."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from bench.campaign.campaign import load_campaign
from bench.campaign.choice import Choice
from bench.campaign.prepared import Prepared, prepare
from bench.checkout import RESULTS
from bench.cli.campaign import again_option, campaign_argument, fresh_results, reporter_of
from bench.cli.conclusion import conclude, way_back
from bench.cli.money import cost, vetting_step
from bench.cli.on_emr import EMR_STEP, report_on_emr
from bench.cli.options import (
    Target,
    choice_options,
    console,
    left_to_itself,
    plain_option,
    shown,
    software_option,
    stack_kind,
    stack_of,
    thresholds_option,
)
from bench.cli.outcome import Outcome
from bench.cli.readiness import require_ready, zones_of
from bench.cli.teardown import DOWN_STEP, SWEEP_STEP, UP_STEP, Keeper
from bench.cli.testbed import print_vetting, vet_testbed
from bench.progress import Reporter, Step, clock_text
from bench.report.here import Verdicts
from bench.results.folder import Results
from bench.run.runner import run_campaign, steps_to_run
from bench.run.vetted import vetted
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.capacity import CapacityWait
from provisioning.testbeds.aws.prices import PRICES_FILE
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.testbed import AwsTestbed
from provisioning.testbeds.aws.time_to_live import LONGEST_AHEAD, require_time, utc_text
from provisioning.testbeds.local.lock import exclusive
from provisioning.vetting import Thresholds

# A campaign that takes twice as long as estimated still ends before its hosts do.
SLACK = 2.0
MARGIN = timedelta(minutes=30)
SHORTEST_LIFE = timedelta(hours=2)
HOST_KEY_SEED_BYTES = 32


@click.command(name="aws")
@campaign_argument
@choice_options
@click.option(
    "--stack", "stack_name", metavar="NAME", required=True, help="The Pulumi stack (config file) to stand up."
)
@click.option("--yes", is_flag=True, help="Spend the money without being asked.")
@click.option("--keep", is_flag=True, help="If something fails, leave the hosts up to look at them. They cost money.")
@click.option(
    "--wait-for-capacity",
    "wait_minutes",
    metavar="MINUTES",
    type=click.FloatRange(0, 1440),
    default=0.0,
    help="While AWS has no such machines free: how long to try again, in each zone that may be taken.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="After the question, leave it to a process on this machine that outlives the terminal; `samebox status` finds it.",
)
@click.option("--max-replacements", type=click.IntRange(0, 100), default=3, show_default=True)
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
    """All of it on AWS: cost and confirmation, hosts up, vetted, the campaign, a report on EMR, hosts down, nothing left."""
    campaign = load_campaign(campaign_file)
    prepared = prepare(campaign, campaign_file, stack_kind(), choice)
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
        show_cost(campaign_file, choice, stack_name)
        console.print(
            f"{len(plan)} resources are to be created; the hosts end at {expires} at the latest.", markup=False
        )
        if not (yes or agreed()):
            console.print("Nothing was started.")
            return Outcome.ERROR
        if detach:
            held.close()  # the stack is the other process' from now on
            options = ["--keep"] * keep + ["--max-replacements", str(max_replacements)]
            options += ["--wait-for-capacity", str(wait_minutes)]
            options += [f"--software={system}={path.resolve()}" for system, path in tarballs.items()]
            leave_to_itself(stack_name, [str(campaign_file.resolve()), *shlex.split(choice.typed), *options])
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
                inventory = target.inventory()  # replaced hosts are others now
                left_s = sum(step.estimate_s for step in steps_to_run(prepared, ()))
                require_time(inventory.expires, left_s + EMR_STEP.estimate_s, datetime.now(UTC))
                run_campaign(prepared, inventory, vetted(vetting), results, reporter, tarballs=tarballs, repeat=repeat)
                try:
                    return report_on_emr(results, reporter, stack=stack_name, outputs_file=None, cluster=None)
                except BaseException:
                    reporter.notice(way_back(results))
                    raise

            keeper = Keeper(testbed, stack_name, Leftovers(stack, reporter), reporter)
            verdicts = keeper.undertake(work, keep=keep)
            target.vetting_file.unlink(missing_ok=True)
    return conclude(results, verdicts)


def leave_to_itself(stack_name: str, arguments: Sequence[str]) -> None:
    """Begins the same campaign, agreed to, in a process of its own, and says how to find it, follow it and end it."""
    thresholds_file: Path | None = click.get_current_context().params["thresholds_file"]
    options = ["--stack", stack_name, "--yes", "--plain"]
    if thresholds_file is not None:
        options += ["--thresholds", str(thresholds_file.resolve())]
    campaign = left_to_itself(stack_name)
    pid = campaign.begin(["campaign", "aws", *arguments, *options])
    for line in (
        f"It goes on by itself on this machine (pid {pid}), which has to stay on; this terminal may be closed.",
        f"How far it is: samebox status --stack {stack_name}",
        f"Follow it: tail -f {shown(campaign.log)}",
        f"End it early, with its hosts taken away: kill {pid}",
    ):
        console.print(line, markup=False, soft_wrap=True)


def steps_of(prepared: Prepared, vetting_first: Step) -> list[Step]:
    """Everything that `samebox campaign aws` reports, in order."""
    return [UP_STEP, vetting_first, *steps_to_run(prepared, ()), EMR_STEP, DOWN_STEP, SWEEP_STEP]


def require_nothing_up(stack: Stack) -> None:
    """Makes the stack if nobody has. Raises InvalidInput if it holds something: what others stood up isn't taken away."""
    count = stack.resource_count()
    if count is None:
        stack.init()
    elif count:
        raise InvalidInput(
            f"stack {stack.name} holds {count} resources already, and `samebox campaign aws` takes away what it stood up.",
            next_step=f"Use what is up: `samebox run CAMPAIGN --stack {stack.name}`. "
            f"Or take it away first: `pulumi destroy --stack {stack.name}`.",
        )


def configure(stack: Stack, campaign: str, steps: Sequence[Step], now: datetime, *, waiting_s: float = 0.0) -> str:
    """Sets what belongs to this one run in the stack's config, and returns when its hosts end. Raises InvalidInput if too late."""
    life = life_of(steps, waiting_s=waiting_s)
    configured = stack.config()
    if "campaign" not in configured:
        stack.set_config("campaign", campaign)
    if "hostKeySeed" not in configured:
        stack.set_secret("hostKeySeed", secrets.token_hex(HOST_KEY_SEED_BYTES))
    expires = utc_text(now + life)
    stack.set_config("created", utc_text(now))
    stack.set_config("expires", expires)
    return expires


def life_of(steps: Sequence[Step], *, waiting_s: float = 0.0) -> timedelta:
    """How long the hosts may live: `waiting_s` for capacity, then twice the plan and half an hour.

    Raises InvalidInput for a plan that no host may outlive.
    """
    seconds = sum(step.estimate_s for step in steps)
    life = max(SHORTEST_LIFE, timedelta(seconds=SLACK * seconds) + MARGIN) + timedelta(seconds=waiting_s)
    if life > LONGEST_AHEAD:
        raise InvalidInput(
            f"the campaign takes about {clock_text(seconds)}; with slack its hosts would have to live longer than the "
            f"{LONGEST_AHEAD.days} days that any host may.",
            next_step="Split it into campaigns of fewer blocks, or stand the hosts up with `pulumi up` and extend them as it goes.",
        )
    return life


def show_cost(campaign_file: Path, choice: Choice, stack_name: str) -> None:
    """What `samebox cost CAMPAIGN --stack NAME` prints."""
    shown_by = click.get_current_context()
    shown_by.invoke(
        cost,
        campaign_file=campaign_file,
        scale=choice.scale,
        representative=choice.representative,
        stack=stack_name,
        results_dir=None,
        prices_file=PRICES_FILE,
        thresholds_file=shown_by.params["thresholds_file"],
    )


def agreed() -> bool:
    """Whether the operator typed yes. Raises InvalidInput where stdin is closed."""
    try:
        return bool(click.prompt("Type yes to spend it", default="", show_default=False, err=True).strip() == "yes")
    except click.Abort:
        raise InvalidInput("no confirmation of the cost: stdin closed.", next_step="In a script: --yes") from None


@dataclass(frozen=True)
class Leftovers:
    """The sweep of a stack's region for its campaign. What it waits for goes to the reporter."""

    stack: Stack
    reporter: Reporter

    def find(self) -> Sequence[str]:
        """What is left and shouldn't be, a line each. What is on its way out isn't left: AWS takes minutes to end an instance."""
        # boto3 takes a third of a second to import, which no other command should wait for
        from provisioning.testbeds.aws.sweep import LONGEST_ENDING_S, sweep_of

        found = sweep_of(self.stack).await_ending(self.reporter.detail)
        ending = [each for each in found.left if found.is_ending(each)]
        if ending:
            named = ", ".join(f"{each.kind} {each.id}" for each in ending)
            self.reporter.notice(
                f"Still ending after {LONGEST_ENDING_S / 60:.0f} minutes: {named}. `samebox sweep` says when they have gone."
            )
        left = [f"{each.kind} {each.id}" for each in found.left if each not in ending]
        return [*left, *(f"not known: {each}" for each in found.refused)]

    def orphans(self) -> Sequence[str]:
        """What no stack knows of, a line each; nothing where that can't be told."""
        from provisioning.testbeds.aws.orphans import only_orphans
        from provisioning.testbeds.aws.state import known_ids
        from provisioning.testbeds.aws.sweep import sweep_of

        try:
            sweep = sweep_of(self.stack)
            found = sweep.find()
            known = known_ids(self.stack, str(sweep.campaign))
        except SameboxError:
            return ()
        return () if found.refused else [f"{each.kind} {each.id}" for each in only_orphans(found, known).left]
