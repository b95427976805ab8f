"""The samebox command: the only place that prints errors and decides exit codes.

Exit codes: 0 ok (an outcome may be "not met"), 1 operator or infrastructure error, 2 it ran but something is invalid, unknown or
rejected, 130 interrupted.
"""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType

import click
from rich.console import Console

from bench.cli import (
    aws,
    campaign,
    claims,
    compare,
    detached,
    doctor,
    extend,
    hosts,
    money,
    omb_results,
    plan,
    prove,
    rehearse,
    status,
    sweep,
    testbed,
)
from provisioning.errors import SameboxError
from provisioning.testbeds.aws.rehearsal.mark import NOTICE, rehearsing

OK, ERROR, UNSOUND, INTERRUPTED = 0, 1, 2, 130
# what to do about what the operating system refused
AFTER = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space there"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Mend the permissions there"),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP), "Take away what stands there"),
}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with: samebox campaign local campaigns/demo.toml",
)
@click.version_option(package_name="samebox", message="samebox %(version)s")
def samebox() -> None:
    """Message-broker benchmarks in which the machines are out of the argument."""
    if rehearsing():
        click.echo(NOTICE, err=True)


for command in (
    testbed.up,
    testbed.down,
    hosts.prepare,
    testbed.vet,
    prove.prove_durability,
    plan.plan,
    campaign.run,
    campaign.resume,
    status.status,
    detached.abandon,
    campaign.report,
    compare.compare,
    claims.claims,
    campaign.whole_campaign,
    omb_results.import_omb,
    omb_results.export_omb,
    doctor.doctor,
    money.cost,
    extend.extend,
    sweep.sweep,
    rehearse.rehearse,
):
    samebox.add_command(command)
campaign.whole_campaign.add_command(aws.aws_campaign)


def main() -> None:
    """Runs the command line and exits."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup asked for it to be ignored
            signal.signal(number, _interrupt)
    console = Console(stderr=True, highlight=False)
    try:
        sys.exit(samebox.main(standalone_mode=False) or OK)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.ClickException as error:
        # click's own wording of a wrong option or argument, with its usage line
        error.show()
        sys.exit(ERROR)
    except SameboxError as error:
        console.print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)
        if error.next_step:
            console.print(f"[bold]next:[/]  {_plain(error.next_step)}", soft_wrap=True)
        sys.exit(ERROR)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}." if error.filename and error.strerror else str(error)
        console.print(f"[bold red]error:[/] {_plain(said)}", soft_wrap=True)
        if error.errno in AFTER:
            console.print(f"[bold]next:[/]  {AFTER[error.errno]}, then type the same command again.")
        sys.exit(ERROR)
    except (KeyboardInterrupt, click.Abort):
        console.print("interrupted.")
        sys.exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: with everything cleaned up."""
    del number, frame
    raise KeyboardInterrupt


def _plain(text: str) -> str:
    """Text that holds square brackets must not be taken for markup, and none of it may move the cursor."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)
    return shown.replace("[", r"\[")


if __name__ == "__main__":
    main()
