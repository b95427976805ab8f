"""The samebox command: the only place that prints errors, and turns how a command came out into an exit code."""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType

import click

from bench.cli import (
    ab,
    aws,
    bundle,
    campaign,
    claims,
    compare,
    cost,
    detached,
    doctor,
    omb_results,
    plan,
    prove,
    rehearse,
    report,
    rungs,
    site,
    software,
    status,
    sweep,
    testbed,
    verify,
    watch,
)
from bench.cli.outcome import Outcome
from bench.cli.terminal import console, harmless
from provisioning.errors import SameboxError
from provisioning.testbeds.aws.rehearsal.mark import NOTICE, rehearsing

# what to do when the operating system refuses something
REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space there"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Fix the permissions there"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP), "Move what is there out of the way"),
}


SECTIONS = {
    "Everything at once": (campaign.whole_campaign, ab.ab, watch.watch_command, rehearse.rehearse),
    "Step by step": (
        *(testbed.up, testbed.prepare, testbed.vet, plan.plan, campaign.run, status.status, campaign.resume),
        *(detached.abandon, report.report, testbed.down),
    ),
    "Evidence": (
        prove.prove_durability,
        compare.compare,
        bundle.bundle,
        verify.verify_bundle,
        site.site,
        rungs.rungs,
        claims.claims,
        omb_results.import_omb,
        omb_results.export_omb,
    ),
    "This machine and AWS": (doctor.doctor, software.software, cost.cost, testbed.extend, sweep.sweep),
}


class Sections(click.Group):
    """A group whose help lists its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(each.name or "", each.get_short_help_str(80)) for each in commands])


@click.group(
    cls=Sections,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with: samebox campaign local campaigns/demo.toml",
)
@click.version_option(package_name="samebox", message="samebox %(version)s")
def samebox() -> None:
    """Compare message brokers on the very same machines."""
    if rehearsing():
        click.echo(NOTICE, err=True)


for section in SECTIONS.values():
    for command in section:
        samebox.add_command(command)
campaign.whole_campaign.add_command(aws.aws_campaign)


def main() -> None:
    """Runs the command line and exits."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup asked for it to be ignored
            signal.signal(number, _interrupt)
    sys.exit(_run())


def _run() -> int:
    """Runs the command line and prints its error, if any; returns the exit code."""
    try:
        return int(samebox.main(standalone_mode=False) or Outcome.DONE)
    except click.ClickException as error:
        error.show()  # click's own wording of a wrong option or argument, with its usage line
    except SameboxError as error:
        _print_error(str(error), error.next_step)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}." if error.filename and error.strerror else str(error)
        step = REMEDIES.get(error.errno or 0)
        _print_error(said, f"{step}, then run the same command again." if step else "")
    except (KeyboardInterrupt, click.Abort):
        console.print("interrupted.")
        return Outcome.INTERRUPTED
    return Outcome.ERROR


def _print_error(message: str, next_step: str) -> None:
    console.print(f"[bold red]error:[/] {_plain(message)}", soft_wrap=True)
    if next_step:
        console.print(f"[bold]next:[/]  {_plain(next_step)}", soft_wrap=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: with everything cleaned up."""
    del number, frame
    raise KeyboardInterrupt


def _plain(text: str) -> str:
    """Text that holds square brackets must not be taken for markup, and none of it may move the cursor."""
    return harmless(text).replace("[", r"\[")


if __name__ == "__main__":
    main()
