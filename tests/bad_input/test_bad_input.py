"""Wrong input gets one sentence that names what is wrong and what to do, in seconds, and leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.checkout import HOME
from bench.cli.main import main
from tests.bad_input.cases import Case, load_cases
from tests.bad_input.makers import spoil
from tests.bad_input.world import make_world

CASES = load_cases()
LONGEST_S = 10.0
MOST_CHARACTERS = 4_000


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in which nothing is wrong."""
    folder = tmp_path_factory.mktemp("sound") / "world"
    folder.mkdir()
    make_world(folder)
    return folder


@pytest.fixture
def world(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One of its own for a case, as the current folder and as the home of samebox. No JVM is started there, no host asked."""
    folder = tmp_path / "world"
    shutil.copytree(sound, folder, symlinks=True)
    monkeypatch.chdir(folder)
    for name, module in list(sys.modules.items()):
        if name.startswith("bench."):
            for constant, value in list(vars(module).items()):
                if isinstance(value, Path) and constant.isupper() and value.is_relative_to(HOME / ".samebox"):
                    monkeypatch.setattr(module, constant, folder / value.relative_to(HOME))
                if isinstance(value, Path) and constant in ("RESULTS", "PROOFS"):
                    monkeypatch.setattr(module, constant, folder / value.relative_to(HOME))
    monkeypatch.setattr("bench.report.here._run", _no_jvm)
    monkeypatch.setattr("bench.cli.campaign.refuse_if_taken", lambda *_given: None)
    monkeypatch.setattr("bench.cli.campaign.bring_home", lambda *_given, **_named: None)
    monkeypatch.setattr("signal.signal", lambda *_given: None)  # this process isn't the command's own
    yield folder


def _no_jvm(*_given: object) -> None:
    raise AssertionError("a JVM was started")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", CASES)
def test_wrong_input_is_refused_in_a_sentence(
    name: str, world: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 in seconds, no traceback, every fragment that the case asks for, and the same files as before."""
    case = CASES[name]
    change(world, case)
    before = _files(world)
    monkeypatch.setattr(sys, "argv", ["samebox", *case.type])
    began_s = time.process_time()
    with pytest.raises(SystemExit) as ended:
        main()
    seconds = time.process_time() - began_s
    said = capfd.readouterr()
    assert ended.value.code == 1, said.out + said.err
    assert "error:" in said.err.lower()
    assert "Traceback" not in said.err
    assert [part for part in case.says if part.lower() not in said.err.replace("\n", " ").lower()] == [], said.err
    assert len(said.err) < MOST_CHARACTERS
    assert [letter for letter in said.err if not letter.isprintable() and letter != "\n"] == []
    assert _files(world) == before
    assert seconds < LONGEST_S


@pytest.mark.usefixtures("world")
def test_the_world_is_sound(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """What the cases spoil is fine as it is: else they might be refused for another reason."""
    for typed in SOUND:
        monkeypatch.setattr(sys, "argv", ["samebox", *typed])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, (typed, capfd.readouterr().err)
    assert len(CASES) >= 100


SOUND = (
    ("plan", "campaign.toml"),
    ("plan", "--omb", "workload.yaml"),
    ("plan", "campaign.toml", "--stack", "Pulumi.smoke.yaml"),
    ("cost", "campaign.toml", "--stack", "Pulumi.smoke.yaml", "--prices", "prices.toml"),
)


def change(world: Path, case: Case) -> None:
    """Makes the world wrong."""
    if not case.file:
        return
    file = world / case.file
    if case.make:
        spoil(file, case.make)
    elif case.content is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(case.content)
    elif case.replace is not None:
        text = file.read_text()
        assert text.count(case.replace[0]) >= 1, f"{case.file} doesn't hold {case.replace[0]!r}"
        file.write_text(text.replace(case.replace[0], case.replace[1], 1))
    else:
        document = json.loads(file.read_text())
        for path, value in [*case.set.items(), *((path, None) for path in case.remove)]:
            *parents, last = path.split(".")
            table = document
            for parent in parents:
                table = table[int(parent) if isinstance(table, list) else parent]
            if path in case.remove:
                del table[last]
            else:
                table[int(last) if isinstance(table, list) else last] = value
        file.write_text(json.dumps(document))


def _files(folder: Path) -> set[str]:
    """Everything there but the lock of the testbed, which a command takes while it works."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != "lock"}
