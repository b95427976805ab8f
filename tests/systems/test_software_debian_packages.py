"""Programs out of Debian packages, by a real apt with an archive of its own: what is recorded is what hosts get, and it runs there."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput, MissingRequirement
from systems.software import apt, deb
from systems.software.debian_packages import (
    ContentsDiffer,
    DebianPackages,
    debian_packages,
    main,
    read_packages,
    record,
)

SUITE = "toysuite"
KEEP = ("usr/lib/toy/*",)
VERSION = "1:2.0~rc1+a"
MACHINE = os.uname().machine
ARCHITECTURE = {machine: name for name, machine in deb.MACHINES.items()}[MACHINE]
LOADER = "ld-linux-x86-64.so.2" if MACHINE == "x86_64" else "ld-linux-aarch64.so.1"


def silent(line: str) -> None:
    """Takes notices without keeping them."""
    del line


def tar_of(files: dict[str, bytes | str]) -> bytes:
    """A data.tar.xz of files (path -> content, or what a link leads to); those in bin/ may be run."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(f"./{path}")
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size, member.mode = len(content), 0o755 if "/bin/" in path else 0o644
                tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def package_of(files: dict[str, bytes | str]) -> bytes:
    """A .deb of files."""
    control = io.BytesIO()
    with tarfile.open(fileobj=control, mode="w:xz"):
        pass
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": control.getvalue(), "data.tar.xz": tar_of(files)}
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        for name, content in parts.items()
    )


def programs() -> dict[str, bytes | str]:
    """A program of this machine with what it needs, as packages have them: the C library's loader and libraries, links among them."""
    told = subprocess.run(["ldd", shutil.which("true") or ""], capture_output=True, text=True, check=True).stdout
    found = {Path(word).name: Path(word) for word in told.split() if word.startswith("/")}
    libraries: dict[str, bytes | str] = {
        f"usr/lib/{MACHINE}-linux-gnu/{name}": path.read_bytes() for name, path in found.items()
    }
    libraries[f"usr/lib/{MACHINE}-linux-gnu/libtoy.so.1"] = LOADER
    program = Path(shutil.which("echo") or "").read_bytes()
    script = b"#!/bin/sh\necho a script\n"
    return libraries | {"usr/lib/toy/bin/toy": program, "usr/lib/toy/bin/plain": script, "usr/share/doc/toy": b"doc"}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of two packages that is all that apt knows of."""
    root = tmp_path / "archive"
    index = f"dists/{SUITE}/main/binary-{ARCHITECTURE}/Packages"
    (root / index).parent.mkdir(parents=True)
    add(root, index, "toy", ARCHITECTURE, package_of(programs()))
    add(root, index, "toy-data", "all", package_of({"usr/lib/toy/data.txt": b"data", "etc/toy": b"no"}))
    content = (root / index).read_bytes()
    listed = f" {hashlib.sha256(content).hexdigest()} {len(content)} {index.removeprefix(f'dists/{SUITE}/')}\n"
    release = (
        f"Origin: Debian\nSuite: {SUITE}\nCodename: {SUITE}\nArchitectures: {ARCHITECTURE}\nComponents: main\nSHA256:\n"
    )
    (root / f"dists/{SUITE}/Release").write_text(release + listed)
    private_apt(tmp_path, root, monkeypatch)
    return root


def add(root: Path, index: str, name: str, architecture: str, content: bytes) -> None:
    """Puts a package into an archive, and into its index. Its path is quoted as Debian's own indices don't, and addresses do."""
    file = root / f"pool/main/t/toy/{name}_2.0~rc1+a_{architecture}.deb"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    with (root / index).open("a") as listed:
        listed.write(
            f"Package: {name}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: toy <toy@example.org>\n"
            f"Filename: {file.relative_to(root)}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n\n"
        )


def private_apt(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has apt, however it is called from here, know this archive only."""
    for each in ("state/lists/partial", "cache/archives/partial", "parts"):
        (folder / each).mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [trusted=yes] copy:{root} {SUITE} main\n")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "{folder}/parts";\n'
        f'Dir::State "{folder}/state";\nDir::State::status "/dev/null";\nDir::Cache "{folder}/cache";\n'
        'APT::Sandbox::User "root";\nAPT::Get::AllowUnauthenticated "true";\nAcquire::AllowInsecureRepositories "true";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(folder / "apt.conf"))
    subprocess.run(["apt-get", "update"], capture_output=True, check=True)


@pytest.fixture
def toy(archive: Path, tmp_path: Path) -> DebianPackages:
    """The toy as it is recorded from this archive."""
    del archive
    folder = tmp_path / "software" / "2.0"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "toy").write_text('#!/bin/sh\nexec "${0%/*}/../$(uname -m)/usr/lib/toy/bin/toy" "$@"\n')
    assert record(folder, SUITE, ["toy", "toy-data"], KEEP, notice=silent) == 2
    return debian_packages("toy", folder, *KEEP, current_on="2026-11-25")


def test_a_host_starts_the_program_with_the_packages_own_libraries(toy: DebianPackages, tmp_path: Path) -> None:
    """By the loader out of the package, from wherever it lies, with its arguments and as the same process."""
    folder = toy.fetch(tmp_path / "cache", notice=silent)
    moved = folder.rename(tmp_path / "some where else")
    said = subprocess.run([moved / "bin" / "toy", "a b", "c"], capture_output=True, text=True, check=True)
    assert said.stdout == "a b c\n"
    loader = moved / MACHINE / "lib" / LOADER
    loader.unlink()
    broken = subprocess.run([moved / "bin" / "toy", "a"], capture_output=True, text=True, check=False)
    assert broken.returncode != 0


def test_hosts_get_what_is_kept_and_no_more(toy: DebianPackages, tmp_path: Path) -> None:
    """Files that match, of packages for all processors as well; shared libraries through their links; scripts as they are."""
    folder = toy.fetch(tmp_path / "cache", notice=silent)
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    kept = {name for name in found if not name.startswith(f"{MACHINE}/lib/")}
    own = f"{MACHINE}/usr/lib/toy"
    assert kept == {"bin/toy", f"{own}/bin/toy", f"{own}/bin/elf/toy", f"{own}/bin/plain", f"{own}/data.txt"}
    assert (folder / own / "bin/plain").read_text() == "#!/bin/sh\necho a script\n"
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    libraries = folder / MACHINE / "lib"
    assert (libraries / "libtoy.so.1").read_bytes() == (libraries / LOADER).read_bytes()


def test_apt_is_not_asked_again_for_what_is_in_the_cache(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """The second fetch works with no archive within reach, and gives the same folder."""
    first = toy.fetch(tmp_path / "cache", notice=silent)
    shutil.rmtree(archive)
    said: list[str] = []
    assert toy.fetch(tmp_path / "cache", notice=said.append) == first
    assert not said


def test_a_package_that_was_replaced_is_refused(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """One of the same name with other bytes isn't used, nothing that looks fetched is left, and what to do is said."""
    [file] = archive.rglob("toy-data_*.deb")
    file.write_bytes(package_of({"usr/lib/toy/data.txt": b"tada"}))
    with pytest.raises(MissingRequirement, match=r"the package toy-data 2\.0~rc1\+a .* with the recorded sum"):
        toy.fetch(tmp_path / "cache", notice=silent)
    assert not [path for path in (tmp_path / "cache" / "software").iterdir() if path.is_dir()]


def test_a_package_that_is_gone_is_named_with_what_to_do(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """Its name, its version and where it was; then the day whose archive has it, and how to give it."""
    [file] = archive.rglob("toy-data_*.deb")
    file.unlink()
    with pytest.raises(MissingRequirement, match=r"the package toy-data 2\.0~rc1\+a \(pool/main/t/toy/") as refusal:
        toy.fetch(tmp_path / "cache", notice=silent)
    for said in ("toy 2.0 is pinned as it was on 2026-11-25", "snapshot archive of that day", "--software toy=TAR"):
        assert said in refusal.value.next_step


def packed(files: Sequence[Path], into: Path) -> Path:
    """A tar archive of files."""
    with tarfile.open(into, "w") as tar:
        for file in files:
            tar.add(file, f"some/where/{file.name}")
    return into


def test_packages_that_are_given_need_no_archive(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """Out of a tar archive they are what they are out of Debian's, and the same software to everybody."""
    given = read_packages(toy, packed(list(archive.rglob("*.deb")), tmp_path / "given.tar"))
    shutil.rmtree(archive)
    assert (given.name, given.version, given.digest) == (toy.name, toy.version, toy.digest)
    folder = given.fetch(tmp_path / "cache", notice=silent)
    assert toy.fetch(tmp_path / "cache", notice=silent) == folder


def test_a_tar_archive_without_a_package_is_refused_at_once(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """With the names of those that aren't in it, before anything is run; and what is no tar archive."""
    some = packed(list(archive.rglob("toy_*.deb")), tmp_path / "some.tar")
    with pytest.raises(InvalidInput, match=r"it lacks toy-data_2\.0~rc1\+a_all\.deb"):
        read_packages(toy, some)
    (tmp_path / "none.tar").write_text("nothing")
    with pytest.raises(InvalidInput, match=r"none\.tar: can't be read"):
        read_packages(toy, tmp_path / "none.tar")


def test_a_given_package_that_is_another_is_refused(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """Its name doesn't make it the recorded one."""
    [file] = archive.rglob("toy-data_*.deb")
    file.write_bytes(package_of({"usr/lib/toy/data.txt": b"tada"}))
    given = read_packages(toy, packed(list(archive.rglob("*.deb")), tmp_path / "given.tar"))
    with pytest.raises(ContentsDiffer, match=r"toy-data_2.* isn't the recorded package"):
        given.fetch(tmp_path / "cache", notice=silent)


@pytest.mark.parametrize("damage", ["content", "right to run", "another file"])
def test_a_damaged_cache_entry_is_an_error(toy: DebianPackages, tmp_path: Path, damage: str) -> None:
    """Whatever was changed in it."""
    folder = toy.fetch(tmp_path / "cache", notice=silent)
    file = folder / MACHINE / "usr/lib/toy/data.txt"
    if damage == "content":
        file.write_text("Data")
    elif damage == "right to run":
        file.chmod(0o755)
    else:
        file.with_name("more.txt").write_text("")
    with pytest.raises(ContentsDiffer, match="aren't the recorded ones") as refusal:
        toy.fetch(tmp_path / "cache", notice=silent)
    assert str(folder) in refusal.value.next_step


def test_what_is_unpacked_otherwise_is_refused(toy: DebianPackages, tmp_path: Path) -> None:
    """The same packages with another pattern aren't what was recorded."""
    other = debian_packages("toy", toy.folder, "usr/lib/toy/bin/*", current_on="2026-11-25")
    with pytest.raises(ContentsDiffer, match=r"toy 2\.0 as unpacked"):
        other.fetch(tmp_path / "cache", notice=silent)


def test_a_machine_whose_apt_has_no_lists_yet_can_fetch(toy: DebianPackages, archive: Path, tmp_path: Path) -> None:
    """What archives hold is never asked for: a new machine, on which nobody has updated apt's lists, has what it needs."""
    shutil.rmtree(archive.parent / "state" / "lists")
    assert (toy.fetch(tmp_path / "cache", notice=silent) / "bin" / "toy").is_file()


def test_archives_without_the_package_are_passed_over(
    toy: DebianPackages, archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever's they are: the first one that has the package with its sum is enough."""
    sources = archive.parent / "sources.list"
    sources.write_text(f"deb [trusted=yes] copy:{tmp_path}/elsewhere {SUITE} main\n{sources.read_text()}")
    assert apt.archives() == (f"copy:{tmp_path}/elsewhere", f"copy:{archive}")
    assert (toy.fetch(tmp_path / "cache", notice=silent) / "bin" / "toy").is_file()
    assert capfd.readouterr() == ("", "")


def test_without_an_archive_it_is_said(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not that a package is missing."""
    (archive.parent / "sources.list").write_text("")
    with pytest.raises(MissingRequirement, match="configured with no archive"):
        apt.archives()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingRequirement, match="`apt-get` isn't on this machine"):
        apt.archives()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("toy_1_amd64.deb", b"PK", "not a Debian package"),
        ("toy_1_amd64.deb", b"!<arch>\n", "has no data.tar"),
        ("toy_1_riscv64.deb", package_of({}), "for riscv64"),
        ("toy_1_amd64.deb", package_of({"usr/lib/x86_64-linux-gnu/liba.so.1": "libb.so.2"}), "doesn't have"),
    ],
)
def test_what_is_no_package_for_us_is_refused(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    """With its name and the reason."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=problem):
        deb.unpack(tmp_path / name, KEEP, tmp_path / "target", ["x86_64"])


def test_an_unknown_package_is_not_recorded(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says which, and writes nothing."""
    del archive
    (tmp_path / "new" / "bin").mkdir(parents=True)
    words = ["--record", str(tmp_path / "new"), "--suite", SUITE, "--packages", "toy", "nothing", "--keep", *KEEP]
    assert main(words) == 1
    assert "nothing" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["bin"]


def test_the_command_needs_something_to_start_with(tmp_path: Path) -> None:
    """A folder without scripts that start the programs."""
    words = ["--record", str(tmp_path), "--suite", SUITE, "--packages", "toy", "--keep", *KEEP]
    said = subprocess.run(
        [sys.executable, "-m", "systems.software.debian_packages", *words], capture_output=True, text=True, check=False
    )
    assert said.returncode == 1
    assert "has no bin/" in said.stderr
