"""The house's rules that a reader relies on: who may import whom, where a broker may be named, what no file may become."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from systems.registry import SYSTEMS
from tests.conftest import LONG, NEED_SPARK, NEED_THE_PAGE_CACHE

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("analysis", "bench", "contract", "disk-checks", "infra", "provisioning", "systems")
PACKAGES = set(ROOMS) - {"disk-checks"}
MAY_IMPORT = {
    "analysis": {"analysis", "contract"},
    "bench": {"bench", "contract", "provisioning", "systems"},
    "contract": {"contract"},
    "disk-checks": set(),
    "infra": {"infra"},
    "provisioning": {"contract", "provisioning"},
    "systems": {"contract", "provisioning", "systems"},
}
# what plays EMR on this machine needs Spark's own jars, and fetches them as the systems' are
REHEARSAL = "provisioning/testbeds/aws/rehearsal/"
LONGEST_FILE_LINES = 330
# the words of one system or of one kind of system
OF_A_SYSTEM = re.compile(
    r"jvm|\bjava|java\b|\bjars?\b|maven|heap|bookie|bookkeeper|journal|zookeeper|kafka|pulsar|bypass|kraft|librdkafka"
    r"|\bnats\b|jetstream|valkey|appendfsync|\bresp\b|rabbit|\bamqp\b|erlang|redpanda|seastar|\brpk\b",
    re.I,
)
MAY_NAME_A_SYSTEM = {
    # Spark's own Java
    "analysis/storage.py",
    "bench/cli/doctor.py",
    "bench/report/here.py",
    "provisioning/testbeds/aws/emr_sizes.py",
    "provisioning/testbeds/aws/spark_step.py",
    # results of samebox 0.1, which knew one variant
    "contract/durability.py",
    # sentences for people
    "bench/cli/options.py",
    "provisioning/preparation/settings.py",
}
# published evidence, and files of other tools, are about the systems that they name
EVIDENCE = ("analysis/claims/", "analysis/omb/", REHEARSAL)


def python_files(room: str) -> list[Path]:
    """The Python files of one room."""
    return sorted(path for path in (ROOT / room).rglob("*.py") if "__pycache__" not in path.parts)


def tracked() -> list[Path]:
    """Every file of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [path for name in listed if (path := ROOT / name).is_file()]


def all_files() -> list[Path]:
    """The Python files of all rooms."""
    return [path for room in ROOMS for path in python_files(room)]


@cache
def imports_of(path: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every module named in an import statement anywhere in the file, and what is taken from it."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append((node.module, tuple(alias.name for alias in node.names)))
    return tuple(found)


def imported_modules(path: Path) -> Iterator[str]:
    """The modules alone."""
    return (module for module, _ in imports_of(path))


def imported_names(path: Path) -> Iterator[str]:
    """The same, and what is taken from each as if it were a module."""
    for module, taken in imports_of(path):
        yield module
        yield from (f"{module}.{name}" for name in taken)


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
    """bench imports systems, systems provisioning; all but infra may import the contract; no other room imports another."""
    for path in python_files(room):
        relative = str(path.relative_to(ROOT))
        ours = {name.split(".")[0] for name in imported_modules(path)} & PACKAGES
        allowed = MAY_IMPORT[room] | ({"systems"} if relative.startswith(REHEARSAL) else set())
        assert ours <= allowed, f"{relative} imports {ours - allowed}"


def test_what_client_hosts_get_knows_nothing_of_the_operators() -> None:
    """Workers, clients and the contract import each other and the standard library, and no more of this checkout."""
    everybodys: tuple[str, ...] = ("bench.worker", "contract", "systems.client", "systems.connection", "systems.keys")
    may_import = {path: everybodys for room in ("bench/worker", "contract") for path in python_files(room)}
    may_import |= {
        ROOT / "systems" / f"{name}.py": everybodys for name in ("client", "connection", "keys", "null_client")
    }
    for system in SYSTEMS.values():
        own = tuple(name.removesuffix(".py").replace("/", ".") for name in system.client_files)
        assert system.client_module in own
        may_import |= {ROOT / name: (*everybodys, *own) for name in system.client_files}
    for path, allowed in may_import.items():
        for name in imported_modules(path):
            assert name.split(".")[0] not in PACKAGES or name.startswith(allowed), (
                f"{path.relative_to(ROOT)} imports {name}"
            )


def test_the_contract_is_of_the_standard_library() -> None:
    """Workers on client hosts have nothing else."""
    for path in python_files("contract"):
        for name in imported_modules(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or top == "contract", f"{path.name} imports {name}"


def test_no_circle_of_imports() -> None:
    """Not even for the type checker alone."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for room in sorted(PACKAGES)
        for path in python_files(room)
    }
    graph = {
        name: {each for each in imported_names(path) if each in modules and each != name}
        for name, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_one_door_for_ssh() -> None:
    """Only one file speaks paramiko."""
    assert importers("paramiko") == {"provisioning/hosts/ssh.py"}


def test_one_door_for_each_broker_client() -> None:
    """Client libraries are imported in one file each, in its system's folder."""
    assert importers("confluent_kafka") == {"systems/kafka/client.py"}
    assert importers("pulsar") == {"systems/pulsar/client.py"}


def test_only_infra_and_aws_know_aws() -> None:
    """boto3 and pulumi appear in infra/ and provisioning/testbeds/aws/ only."""
    for module in ("boto3", "botocore", "pulumi", "pulumi_aws"):
        assert all(name.startswith(("infra/", "provisioning/testbeds/aws/")) for name in importers(module))


def test_only_analysis_knows_spark() -> None:
    """pyspark is imported in analysis only: everything else starts it as a process."""
    assert all(name.startswith("analysis/") for name in importers("pyspark"))


def words_of_systems(source: str) -> set[str]:
    """Words of systems in code (identifiers and strings); prose in comments and docstrings doesn't count."""
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
    return {found.group() for word in words for found in OF_A_SYSTEM.finditer(word)}


def test_only_a_systems_own_folder_speaks_of_it() -> None:
    """Neither a name of a file nor code nor a key of TOML outside systems/ is about one system, or about those of one kind."""
    rooms = tuple(f"{room}/" for room in ROOMS if room != "systems")
    for path in tracked():
        relative = str(path.relative_to(ROOT))
        if relative.startswith(rooms) and not relative.startswith(EVIDENCE) and relative not in MAY_NAME_A_SYSTEM:
            found = {match.group() for match in OF_A_SYSTEM.finditer(relative)}
            if path.suffix == ".py":
                found |= words_of_systems(path.read_text())
            elif path.suffix == ".toml":
                lines = (line.partition("#")[0] for line in path.read_text().splitlines())
                found |= {match.group() for line in lines for match in OF_A_SYSTEM.finditer(line)}
            assert not found, f"{relative} speaks of {found}"


def test_the_door_names_no_system() -> None:
    """What all systems share, in systems/ itself, names none; the registry does, a line for each."""
    for path in (ROOT / "systems").glob("*.py"):
        if path.name != "registry.py":
            named = {name for name in SYSTEMS if name in " ".join(words_of_systems(path.read_text())).lower()}
            assert not named, f"{path.name} names {named}"


def test_disk_checks_use_the_standard_library_only() -> None:
    """They run on any host by plain python3."""
    own = {path.stem for path in python_files("disk-checks")}
    for path in python_files("disk-checks"):
        for name in imported_modules(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or top in own, f"{path.name} imports {name}"


def test_no_test_of_which_testbed_outside_its_own_folder() -> None:
    """What holds locally must hold on AWS: only provisioning/testbeds/local knows that it is local."""
    pattern = re.compile(r"""(kind|testbed)\w*\s*(==|!=|in)\s*.?["'(]?local""")
    for path in all_files():
        relative = str(path.relative_to(ROOT))
        if not relative.startswith(("provisioning/testbeds/local/", "bench/cli/")):
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
    for path in tracked():
        if path == Path(__file__) or path.suffix in (".png", ".svg", ".parquet"):
            continue
        found = forbidden.search(path.read_text(errors="replace"))
        assert found is None, f"{path}: {found.group(0) if found else ''}"


def test_files_that_are_scheduled_by_name_are_there() -> None:
    """One that was renamed would be scheduled like any other, and nobody would notice."""
    assert [name for name in {*LONG, *NEED_THE_PAGE_CACHE} if not (ROOT / name).is_file()] == []


def test_what_needs_spark_is_run_by_one_process() -> None:
    """A file that takes Spark's session starts a JVM in every process that runs such files."""
    takes_it = re.compile(r"\b(spark|either_ansi): SparkSession")
    files = (ROOT / "tests" / "analysis").rglob("test_*.py")
    assert {str(path.relative_to(ROOT)) for path in files if takes_it.search(path.read_text())} == set(NEED_SPARK)
