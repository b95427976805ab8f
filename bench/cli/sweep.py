"""`samebox sweep`: lists what samebox left on AWS, and deletes it when asked to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click
from rich.table import Table

from bench.cli.options import json_option, stack_option
from bench.cli.outcome import Outcome
from bench.cli.target import project, stack_of
from bench.cli.terminal import console, print_json, say, spinner, table_console
from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.shape import read_stack_config, stack_file, stacks
from provisioning.testbeds.aws.stack import Stack

if TYPE_CHECKING:
    from provisioning.testbeds.aws.leftovers import Leftover
    from provisioning.testbeds.aws.sweep import Found, Sweep

HEADINGS = ("kind", "id", "campaign", "region", "state")
PIPE_COLUMNS = 240


@click.command()
@click.option("--campaign", metavar="NAME", help="Only what is tagged with this campaign.")
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="REGION",
    help="Search this region; repeatable. Default: the regions of the stacks here, and AWS_REGION.",
)
@stack_option("Only what this stack made, in its region and for its campaign, and whether its state knows it.")
@click.option(
    "--orphans", is_flag=True, help="With --stack: only what no stack's state knows and no known resource uses."
)
@click.option(
    "--delete", is_flag=True, help="Delete what is listed and not kept on purpose, and empty buckets (asks first)."
)
@click.option("--yes", is_flag=True, help="With --delete: don't ask.")
@json_option
def sweep(
    campaign: str | None,
    regions: tuple[str, ...],
    stack_name: str | None,
    orphans: bool,
    delete: bool,
    yes: bool,
    as_json: bool,
) -> Outcome:
    """List everything of samebox that is still on AWS.

    Resources are found by their tags, without any stack's state. Exits 1 while something is left.
    """
    if yes and not delete:
        raise InvalidInput("--yes goes with --delete; without it nothing is deleted.")
    if stack_name and (campaign or regions):
        raise InvalidInput("--stack says campaign and region itself.", next_step="Leave out --campaign and --region.")
    if orphans and not stack_name:
        raise InvalidInput("--orphans: whose state is to be asked?", next_step="Add --stack NAME.")
    stack = stack_of(stack_name) if stack_name else None
    search = Search(regions or (() if stack else _regions()), campaign, stack, orphans)
    with console.status("searching"):
        found = search.find()
    removable = (*found.left, *found.empty)
    if delete and removable:
        if not as_json:
            search.show(found)
        search.require_told_apart(found)
        if not yes and not _agreed(found):
            click.echo("Nothing was deleted.", err=True)
            return Outcome.ERROR if found.left else Outcome.DONE
        with spinner("deleting") as show:
            found = search.remove(removable, show)
    if as_json:
        print_json(found.to_json(search.known))
    else:
        search.show(found)
    return Outcome.DONE if found.clean else Outcome.ERROR


@dataclass
class Search:
    """One sweep as it was asked for. `known` maps what is in a stack's state to that stack, once something was found."""

    regions: tuple[str, ...]
    campaign: str | None
    stack: Stack | None
    orphans: bool
    known: Mapping[str, str] | None = None

    @cached_property
    def sweep(self) -> Sweep:
        """The search on AWS."""
        # boto3 takes a third of a second to import, which no other command should wait for
        from provisioning.testbeds.aws.sweep import Sweep, sweep_of

        return sweep_of(self.stack) if self.stack else Sweep(self.regions, self.campaign)

    def find(self) -> Found:
        """What AWS has, and then what the state knows: whatever an update had made when AWS was asked is in it."""
        from provisioning.testbeds.aws.orphans import ids_of, known_ids

        found = self.sweep.find()
        if self.stack and self.orphans:
            self.known = known_ids(self.stack, str(self.sweep.campaign))
        elif self.stack:
            self.known = ids_of(self.stack, self.stack.resources())
        return self._judged(found)

    def remove(self, removable: Sequence[Leftover], on_line: Callable[[str], None]) -> Found:
        """Deletes these; returns what there is then."""
        return self._judged(self.sweep.remove_all(removable, on_line))

    def _judged(self, found: Found) -> Found:
        from provisioning.testbeds.aws.orphans import only_orphans

        return only_orphans(found, self.known or {}) if self.orphans else found

    def require_told_apart(self, found: Found) -> None:
        """Raises SameboxError if something couldn't be listed: it might show that another resource is no orphan."""
        if self.orphans and found.refused:
            raise SameboxError(
                "nothing was deleted: orphans can't be identified while AWS refuses to list resources.\n"
                + "\n".join(f"  {refusal}" for refusal in found.refused),
                next_step="Get the permissions that docs/aws.md names, then run the same command again.",
            )

    def show(self, found: Found) -> None:
        """A table of what was found, and the sum of it in words."""
        stack = self.stack is not None and not self.orphans  # of an orphan, no state knows
        if found.leftovers:
            table = Table(*HEADINGS, *(["stack"] if stack else []), "", box=None, header_style="bold")
            for each in found.leftovers:
                knows = ["knows it" if each.id in (self.known or {}) else "doesn't know it"] if stack else []
                table.add_row(each.kind, each.id, each.whose, each.region, each.state, *knows, _remark(each))
            # ids must come out whole in a pipe, too
            table_console(PIPE_COLUMNS).print(table)
        for refusal in found.refused:
            say(f"not known: {refusal}")
        whose = f" of campaign {self.sweep.campaign}" if self.sweep.campaign else ""
        click.echo(_sum(found, whose, orphans=self.orphans))
        for line in _left_alone(found):
            click.echo(line)


def _remark(leftover: Leftover) -> str:
    if leftover.empty:
        return "kept, empty"
    return "kept" if leftover.kept else leftover.detail


def _sum(found: Found, whose: str, *, orphans: bool) -> str:
    """How much is left, and of what isn't counted, in one line."""
    where = ", ".join(found.regions)
    kept, missing = len(found.leftovers) - len(found.left), len(found.refused)
    what = "No orphan" if orphans else "Nothing"
    said = [f"{what}{whose} is left in {where}."]
    if not found.clean:
        said = [f"{len(found.left)}{' orphans' if orphans else ''}{whose} left in {where}."]
    if kept:
        said.append(f"{kept} kept on purpose.")
    if found.empty:
        said.append(f"{len(found.empty)} of these empty; --delete removes them too.")
    if missing:
        said.append(f"{missing} answers are missing.")
    return " ".join(said)


def _left_alone(found: Found) -> Iterator[str]:
    """What isn't an orphan: the known summed up, the others one by one, with the reason."""
    known = Counter(each.reason for each in found.left_alone if each.known)
    yield from (f"Left alone: {count} things {reason}." for reason, count in known.items())
    for each in found.left_alone:
        if not each.known:
            yield f"Left alone: {each.leftover.kind} {each.leftover.id}: {each.reason}."


def _regions() -> tuple[str, ...]:
    """Where samebox may have made something, as far as this machine can tell."""
    files = [stack_file(project(), name) for name in stacks(project())]
    configured = [read_stack_config(file).get("region") for file in files]
    named = [*configured, os.environ.get("AWS_REGION"), os.environ.get("AWS_DEFAULT_REGION")]
    found = tuple(dict.fromkeys(str(region) for region in named if region))
    if not found:
        raise InvalidInput(
            "no region to search: no stack here names one, and AWS_REGION isn't set.", next_step="--region us-west-2"
        )
    return found


def _agreed(found: Found) -> bool:
    """Whether the operator says yes. Raises Abort where stdin is closed."""
    buckets = f" and {len(found.empty)} empty buckets" if found.empty else ""
    try:
        return click.confirm(f"Delete these {len(found.left)}{buckets}? This can't be undone", err=True)
    except click.Abort:
        say("Nothing was deleted. In a script: --delete --yes")
        raise
