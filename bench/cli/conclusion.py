"""What a command says when a campaign has ended or stopped: how it came out, where it is, what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from bench.cli.outcome import Outcome
from bench.cli.target import Target
from bench.cli.terminal import say, shown
from bench.progress import Reporter
from bench.report.here import Verdicts
from bench.results.folder import Results
from provisioning.cache import user_cache
from provisioning.testbeds.aws.bucket_layout import results_folder
from systems.software.added import is_added


@contextmanager
def says_how_to_go_on(
    results: Results, target: Target, tarballs: Mapping[str, Path], reporter: Reporter
) -> Iterator[None]:
    """An interrupted campaign that has begun isn't lost while its testbed is up."""
    try:
        yield
    except KeyboardInterrupt:
        if results.manifest_file.exists():
            finished, planned = len(results.finished()), len(results.manifest("order")["order"])
            typed = {name: path for name, path in tarballs.items() if not is_added(path, user_cache())}
            software = "".join(f" --software {name}={shown(path)}" for name, path in typed.items())
            command = f"samebox resume {shown(results.root)}{target.typed}{software}"
            reporter.notice(f"{finished} of {planned} trials are finished. Next: {command}")
        else:
            reporter.notice("Nothing is recorded yet, so there is nothing to resume. Next: run the same command again")
        raise


def recorded(results: Results, target: Target) -> Outcome:
    """Says where the records of a campaign are whose report is still to be made."""
    bucket, next_step = results.records_bucket(), f"samebox report {shown(results.root)}"
    place = shown(results.root)
    if bucket is not None:
        place = f"s3://{bucket}/{results_folder(results.name_in_bucket())}"
        next_step += f" --on emr --stack {target.stack_name or 'NAME'}"
    say(f"The records are in {place}. Next: {next_step}")
    return Outcome.DONE


def way_back(results: Results) -> str:
    """Where the records of a campaign without a report are, whatever becomes of its stack, and what makes the report of them."""
    place = f"s3://{results.records_bucket()}"
    return f"The records stay in {place}. To make the report on this machine: samebox report {shown(results.root)} --from {place}"


def conclude(results: Results, verdicts: Verdicts) -> Outcome:
    """Says how a campaign came out and where its report is."""
    for sentence in verdicts.not_met:
        say(f"not met   {sentence}")
    for sentence in verdicts.excluded:
        say(f"excluded  {sentence}")
    trust = "all valid" if verdicts.sound else "NOT all valid"
    say(f"{len(results.finished())} trials, {trust}.")
    click.echo(f"Report: {shown(results.report_file)}")
    return Outcome.DONE if verdicts.sound else Outcome.UNSOUND
