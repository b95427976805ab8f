"""The house's rules that a reader relies on: who may import whom, where a broker may be named, what no file may become."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.systems import SYSTEMS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("analysis", "bench", "disk-checks", "infra", "provisioning")
MAY_IMPORT = {
    "analysis": {"analysis"},
    "bench": {"bench", "provisioning"},
    "disk-checks": set(),
    "infra": {"infra"},
    "provisioning": {"provisioning"},
}
LONGEST_FILE_LINES = 330


def python_files(room: str) -> list[Path]:
    """The Python files of one room."""
    return sorted(path for path in (ROOT / room).rglob("*.py") if "__pycache__" not in path.parts)


def all_files() -> list[Path]:
    """The Python files of all rooms."""
    return [path for room in ROOMS for path in python_files(room)]


def imported_modules(path: Path) -> Iterator[str]:
    """Every module named in an import statement anywhere in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def importers(module: str) -> set[str]:
    """The files, relative to the root, that import a third-party module."""
    return {
        str(path.relative_to(ROOT))
        for path in all_files()
        if any(name == module or name.startswith(f"{module}.") for name in imported_modules(path))
    }


def test_every_room_has_files() -> None:
    """A rule over no files would pass for the wrong reason."""
    for room in ("analysis", "bench", "disk-checks", "provisioning"):
        assert python_files(room), room


@pytest.mark.parametrize("room", ROOMS)
def test_import_arrows(room: str) -> None:
    """bench may import provisioning; no other room imports another."""
    for path in python_files(room):
        ours = {name.split(".")[0] for name in imported_modules(path)} & {"analysis", "bench", "infra", "provisioning"}
        assert ours <= MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports {ours - MAY_IMPORT[room]}"


def test_one_door_for_ssh() -> None:
    """Only one file speaks paramiko."""
    assert importers("paramiko") == {"provisioning/ssh.py"}


def test_one_door_for_each_broker_client() -> None:
    """Client libraries are imported in bench/clients only, each in its system's own file."""
    assert importers("confluent_kafka") == {"bench/clients/kafka.py"}
    assert importers("pulsar") == {"bench/clients/pulsar.py"}


def test_only_infra_and_aws_know_aws() -> None:
    """boto3 and pulumi appear in infra/ and provisioning/aws/ only."""
    for module in ("boto3", "botocore", "pulumi", "pulumi_aws"):
        assert all(name.startswith(("infra/", "provisioning/aws/")) for name in importers(module))


def test_only_analysis_knows_spark() -> None:
    """pyspark is imported in analysis only: everything else starts it as a process."""
    assert all(name.startswith("analysis/") for name in importers("pyspark"))


def named_systems(source: str) -> set[str]:
    """Systems named in code (identifiers and strings); prose in comments and docstrings doesn't count."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    words: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            words.append(node.value)
        for attribute in ("id", "attr", "name", "module", "arg"):
            value = getattr(node, attribute, None)
            if isinstance(value, str):
                words.append(value)
    text = " ".join(words).lower()
    return {system for system in SYSTEMS if system in text}


def may_name_a_system(path: Path) -> bool:
    """A system's own files, and the registry."""
    relative = str(path.relative_to(ROOT))
    return relative == "bench/systems.py" or any(system in relative for system in SYSTEMS)


def test_brokers_are_named_in_their_own_files_only() -> None:
    """Adding a system touches its own files and the registry, nothing else."""
    for path in all_files():
        if not may_name_a_system(path):
            named = named_systems(path.read_text())
            # an example in a help text is for people, and says nothing about how the code works
            assert not named or path.name == "options.py", f"{path.relative_to(ROOT)} names {named}"


def test_disk_checks_use_the_standard_library_only() -> None:
    """They run on any host by plain python3."""
    own = {path.stem for path in python_files("disk-checks")}
    for path in python_files("disk-checks"):
        for name in imported_modules(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or top in own, f"{path.name} imports {name}"


def test_no_test_of_which_testbed_outside_its_own_folder() -> None:
    """What holds locally must hold on AWS: only provisioning/local knows that it is local."""
    pattern = re.compile(r"""(kind|testbed)\w*\s*(==|!=|in)\s*.?["'(]?local""")
    for path in all_files():
        relative = str(path.relative_to(ROOT))
        if not relative.startswith(("provisioning/local/", "bench/cli/")):
            assert not pattern.search(path.read_text()), relative


def test_no_file_grows_into_a_second_thing() -> None:
    """A file that has grown long holds two things: split it."""
    for path in all_files():
        lines = len(path.read_text().splitlines())
        assert lines <= LONGEST_FILE_LINES, f"{path.relative_to(ROOT)} has {lines} lines"


def test_no_kitchen_sink() -> None:
    """No module is called after having no subject."""
    for path in all_files():
        assert path.stem not in ("utils", "helpers", "common", "misc"), path


def test_no_machine_of_ours_in_the_repo() -> None:
    """No absolute path of a developer's machine and no package registry's host stands in a tracked file."""
    forbidden = re.compile(r"/(work|root)/[a-z]|files\.pythonhosted|repo1?\.maven|deb\.debian\.org|registry\.npmjs")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in tracked:
        path = ROOT / name
        if path == Path(__file__) or not path.is_file() or path.suffix in (".png", ".svg", ".parquet"):
            continue
        found = forbidden.search(path.read_text(errors="replace"))
        assert found is None, f"{name}: {found.group(0) if found else ''}"
