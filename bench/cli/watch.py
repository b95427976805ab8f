"""`samebox watch`: a series of versions against one anchor, and a regression only where new blocks show it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.campaign.two_contestants import STEADY
from bench.checkout import RESULTS
from bench.cli.one_line import (
    blocks_option,
    durability_option,
    manner_of_this_line,
    prepared_for,
    require_known,
    run_there,
    seed_option,
    workload_in,
    workload_option,
)
from bench.cli.options import (
    PATH,
    again_option,
    json_option,
    master_option,
    one_value,
    plain_option,
    target_options,
)
from bench.cli.outcome import Outcome
from bench.cli.plan import print_plan
from bench.cli.target import Target
from bench.cli.terminal import print_json, say, shown, table_console
from bench.report.ask import ask
from bench.report.here import require_spark
from bench.results.folder import Results
from bench.watch.history_file import HistoryFile, default_file, new_history
from bench.watch.watchable import require_series, require_watchable, versions_in
from bench.watch.watching import FEWEST_BLOCKS, Seen, Watch, confirming_blocks, watch
from contract.watch_history import Round, Suspicion, round_of
from provisioning.errors import InvalidInput, MissingRequirement
from systems.registry import DURABILITY, SYSTEMS

ANALYSIS = "analysis.watch"
FORMATS = ("otava", "bencher", "openmetrics")


def _task(
    system: str,
    anchor: str,
    named: str,
    workload_file: Path | None,
    durability: str,
    blocks: int,
    seed: int,
    history_file: Path | None,
) -> Watch:
    """What is to be done. Raises InvalidInput for whatever can't be."""
    require_known("SYSTEM", system, SYSTEMS)
    require_known("--durability", durability, DURABILITY)
    workload = STEADY if workload_file is None else workload_in(workload_file)
    versions = versions_in(named)
    require_watchable(system, anchor, versions, durability, workload)
    asked = new_history(system, anchor, durability, workload)
    file = HistoryFile(history_file or default_file(asked))
    history = file.read(asked)
    require_series(history, versions)
    return Watch(file, history, versions, blocks, seed)


task_options = one_value(
    "task",
    _task,
    click.argument("system"),
    click.option("--anchor", metavar="VERSION", required=True, help="The version that every other one is run beside."),
    click.option(
        "--versions",
        "named",
        metavar="A,B,C",
        required=True,
        help="The series, in this order; it may be continued.",
    ),
    workload_option,
    durability_option,
    blocks_option("How often new versions are run; a suspicion gets twice as many."),
    seed_option,
    click.option("--history", "history_file", type=PATH, help="Where the series is kept. Default: a file in watches/."),
)


@click.command(name="watch")
@task_options
@click.option(
    "--export",
    "exports",
    type=(click.Choice(FORMATS), PATH),
    multiple=True,
    metavar="FORMAT PATH",
    help="Write the series for another tool: otava (CSV), bencher (JSON) or openmetrics; repeatable.",
)
@target_options
@plain_option
@again_option
@json_option
@master_option
def watch_command(
    task: Watch,
    exports: Sequence[tuple[str, Path]],
    target: Target,
    plain: bool,
    again: bool,
    as_json: bool,
    master: str,
) -> Outcome:
    """Watch versions of one SYSTEM for regressions.

    \b
    samebox watch kafka --anchor 3.9.1 --versions 4.1.1,4.3.1,4.4.0
    samebox watch kafka --anchor 3.9.1 --versions 4.5.0        # continues it

    Every new version runs in blocks beside the anchor, so that a slower machine or another day cancels. What was run before isn't run
    again. Where the level changes for the worse, the two versions on either side are run again, twice as often, and those blocks alone
    decide. Exits 3 if a regression is shown, 2 if a trial is invalid.
    """
    _require_folders(exports)
    require_spark()
    _announce(task)
    campaigns = OnTestbed(target, plain=plain, again=again, master=master)
    seen = watch(task, campaigns, _judge)
    for name, path in exports:
        path.write_text(ask(ANALYSIS, ["export", name, str(task.file.path)]))
        say(f"{name}: {shown(path)}")
    _print(seen, as_json=as_json)
    if seen.shown:
        return Outcome.REGRESSION
    return max(campaigns.outcomes, default=Outcome.DONE)


@dataclass
class OnTestbed:
    """Implements Campaigns on the hosts of a target. What was run whole and isn't in the history yet is taken as it is.

    `outcomes`: of those that were run.
    """

    target: Target
    plain: bool
    again: bool
    master: str
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, document: Mapping[str, Any], confirms: Sequence[Suspicion]) -> Round:
        prepared = prepared_for(self.target, document, "watch", {})
        results = Results(RESULTS / prepared.campaign.name)
        if not self.again and _is_the_same(results, prepared.campaign_file):
            say(f"Taken as it was run: {shown(results.root)}")
        else:
            if confirms:
                say(f"Looked worse, and is run again: {', '.join(each.version for each in confirms)}.")
            how = manner_of_this_line(plain=self.plain, again=self.again, master=self.master)
            with contextlib.redirect_stdout(sys.stderr):  # the series alone is the answer
                print_plan(prepared, self.target.stack_name)
                self.outcomes.append(run_there(self.target, prepared, {}, how))
        _require_report(results)
        suspicions = json.dumps([asdict(each) for each in confirms])
        return round_of(json.loads(ask(ANALYSIS, ["round", str(results.root), suspicions])))


def _judge(history_file: Path) -> Mapping[str, Any]:
    judgement: Mapping[str, Any] = json.loads(ask(ANALYSIS, ["judge", str(history_file)]))
    return judgement


def _is_the_same(results: Results, campaign_file: Path) -> bool:
    """Whether this very campaign has been begun before."""
    return results.campaign_file.is_file() and results.campaign_file.read_bytes() == campaign_file.read_bytes()


def _require_report(results: Results) -> None:
    if not (results.report_dir / "report.json").is_file():
        raise MissingRequirement(
            f"{shown(results.root)} has no report yet: the watch goes on from it.",
            next_step=f"If it was interrupted: samebox resume {shown(results.root)}. If its report is still to be made: samebox report "
            f"{shown(results.root)}. Then type the same line again; --again runs it anew.",
        )


def _require_folders(exports: Sequence[tuple[str, Path]]) -> None:
    """Before hours of trials."""
    for name, path in exports:
        if path.is_dir() or not path.resolve().parent.is_dir():
            why = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise InvalidInput(f"--export {name} {path}: it can't be written, {why}.")


def _announce(task: Watch) -> None:
    known = [version for version in task.versions if version not in task.new]
    if known:
        say(f"Measured before, and not run again: {', '.join(known)}.")
    if task.new and task.blocks < FEWEST_BLOCKS:
        say(
            f"{task.blocks} blocks are few: only a large change of level looks like one, and its ratio to the anchor gets no interval. "
            f"A suspicion gets {confirming_blocks(task.blocks)} blocks."
        )


def _print(seen: Seen, *, as_json: bool) -> None:
    if as_json:
        print_json({**seen.judgement, "shown": list(seen.shown)})
        return
    judgement = seen.judgement
    click.echo(
        f"{judgement['system']} over {judgement['anchor']}, {judgement['workload']}, level {judgement['durability']}"
    )
    table_console().print(_table(judgement["series"]))
    for sentence in judgement["sentences"]:
        click.echo(sentence)


def _table(series: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each version: of each metric its median ratio to the anchor, and its interval where there is one."""
    table = Table(box=None, header_style="bold", pad_edge=True)
    table.add_column("version", no_wrap=True)
    for each in series:
        table.add_column(each["metric"].replace("_", " "), no_wrap=True)
    for version in dict.fromkeys(place["version"] for each in series for place in each["versions"]):
        places = [{place["version"]: place for place in each["versions"]}.get(version) for each in series]
        table.add_row(version, *("-" if place is None else _cell(place) for place in places))
    return table


def _cell(place: Mapping[str, Any]) -> str:
    ratio, interval, blocks = place["ratio"]["value"], place["interval"], place["blocks"]
    said = "bounded only" if ratio is None else f"{ratio:.3f}"
    if interval is not None:
        high = "?" if interval["high"] is None else f"{interval['high']:.3f}"
        said += f" ({interval['low']:.3f} to {high})"
    return f"{said}, {blocks} block{'s' if blocks > 1 else ''}"
