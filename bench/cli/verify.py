"""`samebox verify`: is a bundle what it says, down to the last digit?"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from bench.bundle.reading import open_bundle
from bench.bundle.sums import ROOT
from bench.checkout import CHECKOUT, SCRATCH
from bench.cli.options import PATH, json_option, master_option, plain_option
from bench.cli.outcome import Outcome
from bench.cli.terminal import harmless, print_json, reporter_of, say, shown
from bench.progress import Step
from bench.report.here import remake_report, require_spark
from bench.run.manifest import origin_of
from bench.verify.seals import Expected
from bench.verify.verify import CANNOT_KNOW, Verification, verify
from provisioning.errors import InvalidInput

LONGEST = 400  # characters of what is told of one difference
OF_A_VERSION = ("report", "rules", "order")  # what another version of samebox may do otherwise, and be right


@click.command(name="verify")
@click.argument("file", metavar="FILE.samebox", type=PATH)
@click.option("--root", metavar="DIGITS", help="The root that was published: any other bundle differs.")
@click.option("--allowed-signers", metavar="FILE", type=PATH, help="Who may have signed it, as in ssh-keygen(1).")
@master_option
@plain_option
@json_option
def verify_bundle(
    file: Path, root: str | None, allowed_signers: Path | None, master: str, plain: bool, as_json: bool
) -> Outcome:
    """Check a bundle and recompute everything in it.

    Checks every hash and the signature, whether the trials follow from campaign and seed and are all there, whether times, rows,
    counters and lock files agree, and makes the report again from the records: every figure must have the same digits.

    Exits 0 if all of it is identical, 2 if anything differs or couldn't be recomputed, 1 if the file can't be read.
    """
    if root is not None and ROOT.fullmatch(root) is None:
        raise InvalidInput(f"--root {root}: a root has 64 hexadecimal digits.", next_step="`samebox bundle` prints it.")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with open_bundle(file) as bundle, reporter_of(plain or as_json, [Step("verify", 30.0)]) as reporter:
        if bundle.has_records:
            require_spark()
        reporter.step("verify")
        make = partial(remake_report, master=master, on_line=lambda _line: None)
        done = verify(bundle, SCRATCH, make, Expected(root, allowed_signers), reporter.detail)
    if as_json:
        print_json(_document(file, done))
    else:
        _print(file, done)
    return Outcome.DONE if done.is_identical else Outcome.UNSOUND


def _print(file: Path, done: Verification) -> None:
    for each in done.differences:
        click.echo(f"differs    {_line(f'{each.where}: {each.what}')} [{each.kind}]")
    for unchecked in done.unchecked:
        click.echo(f"{'unchecked' if unchecked.matters else 'note':9}  {_line(unchecked.what)}")
    if not done.has_records:
        click.echo("It holds no records of messages, so nobody can recompute its figures.")
    if any(each.kind in OF_A_VERSION for each in done.differences) and (other := _other_version(done)):
        say(_line(other))
    click.echo(f"root: {done.root}")
    click.echo(_line(_signed(done)))
    click.echo(f"{shown(file)}: campaign {done.campaign}, {done.trials} trials: {_verdict(done)}")
    say("What no verifier can know: " + "; ".join(CANNOT_KNOW) + ".")


def _line(text: str) -> str:
    """What a bundle says may be anybody's words."""
    said = harmless(text.replace("\n", " "))
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}..."


def _verdict(done: Verification) -> str:
    if done.is_identical:
        return "IDENTICAL. Every hash, row and counter agrees, and every figure was recomputed, digit by digit."
    count = len(done.differences)
    if count:
        return f"DIFFERS in {count} {'thing' if count == 1 else 'things'}."
    return "NOT PROVEN. Nothing differs in what was looked at, and not everything was."


def _signed(done: Verification) -> str:
    if done.signed is None:
        return (
            "signature: none that holds"
            if any(each.kind == "signature" for each in done.differences)
            else "signature: none"
        )
    if done.signed.principal is None:
        return f"signature: by {done.signed.fingerprint}, whoever that is: --allowed-signers FILE tells"
    return f"signature: by {done.signed.principal} ({done.signed.fingerprint})"


def _other_version(done: Verification) -> str:
    """A report made by another version of samebox may differ for that reason alone."""
    origin = origin_of(CHECKOUT)
    here = f"samebox {origin.samebox_version}" + (
        f", commit {str(origin.git['commit'])[:12]}" if origin.git.get("commit") else ""
    )
    if here == done.made_with:
        return ""
    return f"Its campaign was begun with {done.made_with}, and this is {here}: verify with that version before you conclude anything."


def _document(file: Path, done: Verification) -> dict[str, Any]:
    return {
        "file": str(file),
        "root": done.root,
        "campaign": done.campaign,
        "trials": done.trials,
        "records": done.has_records,
        "identical": done.is_identical,
        "recomputed": done.recomputed,
        "signature": None if done.signed is None else asdict(done.signed),
        "differences": [asdict(each) for each in done.differences],
        "unchecked": [each.what for each in done.unchecked],
        "made_with": done.made_with,
        "cannot_know": list(CANNOT_KNOW),
    }
