"""Exit codes: one table, and the one place that exits with them."""

from __future__ import annotations

import ast
import sys

import click
import pytest

from bench.checkout import CHECKOUT
from bench.cli import main
from bench.cli.outcome import Outcome
from provisioning.errors import InvalidInput


@pytest.mark.parametrize(
    ("came_out", "code"),
    [
        (None, 0),
        (Outcome.DONE, 0),
        (Outcome.ERROR, 1),
        (InvalidInput("wrong"), 1),
        (OSError(28, "No space left on device"), 1),
        (click.UsageError("no such option"), 1),
        (Outcome.UNSOUND, 2),
        (Outcome.REGRESSION, 3),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_how_a_command_comes_out_is_the_exit_code(
    came_out: Outcome | BaseException | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it returns or raises, and nothing else."""

    def run(**_: object) -> Outcome | None:
        if isinstance(came_out, BaseException):
            raise came_out
        return came_out

    monkeypatch.setattr(main.samebox, "main", run)
    monkeypatch.setattr(sys, "argv", ["samebox"])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code


def test_no_command_names_a_code() -> None:
    """A number that is returned or exited with in the commands' folder would be a second table."""
    for path in sorted((CHECKOUT / "bench" / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit" and node.args:
                value = node.args[0]
            assert not (isinstance(value, ast.Constant) and type(value.value) is int), f"{path.name}:{node}"
