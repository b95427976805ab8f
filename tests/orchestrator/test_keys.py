"""The orchestrator's key among an operator's own: let in once, taken away whole, nothing else touched."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bench.orchestrator.keys import COMMENT, WITHDRAW, authorise, make_key, withdraw
from bench.orchestrator.place import place_on
from provisioning.errors import HostUnreachable
from provisioning.hosts.host import ScriptedHost
from tests.orchestrator.folder_host import FolderHost, folder_host, record

KEY = f"ssh-ed25519 AAAAnew {COMMENT}"


@pytest.fixture
def host(tmp_path: Path) -> FolderHost:
    return folder_host(tmp_path / "host")


def authorized(host: FolderHost) -> Path:
    return Path(host.record.root) / ".ssh" / "authorized_keys"


def test_on_a_bare_host_nothing_is_left(host: FolderHost) -> None:
    """Folder and file are made with the modes that sshd asks for, and go again."""
    authorise([host], KEY)
    assert authorized(host).read_text() == f"restrict {KEY}\n"
    assert stat.S_IMODE(authorized(host).stat().st_mode) == 0o600
    assert stat.S_IMODE(authorized(host).parent.stat().st_mode) == 0o700
    assert withdraw([host]) == ()
    assert not authorized(host).parent.exists()


@pytest.mark.parametrize("ending", ["", "\n"])
def test_an_operators_keys_stay_as_they_are(host: FolderHost, ending: str) -> None:
    """Also when the last line has no newline, and when a key of ours is there already."""
    own = "ssh-ed25519 AAAAown me@laptop\n# samebox-orchestrator is a word in a comment"
    authorized(host).parent.mkdir()
    authorized(host).write_text(own + ending)
    authorized(host).chmod(0o640)
    authorise([host], f"ssh-ed25519 AAAAold {COMMENT}")
    authorise([host], KEY)
    assert authorized(host).read_text() == f"{own}\nrestrict {KEY}\n"
    withdraw([host])
    assert authorized(host).read_text() == f"{own}\n"
    assert stat.S_IMODE(authorized(host).stat().st_mode) == 0o640
    assert [path.name for path in authorized(host).parent.iterdir()] == ["authorized_keys"]


def test_a_host_that_fails_is_named(host: FolderHost) -> None:
    """The others' lines go all the same."""
    gone = ScriptedHost(record("broker-1", "broker", "/box"), answers={WITHDRAW: HostUnreachable("broker-1", "gone")})
    authorise([host], KEY)
    assert withdraw([gone, host]) == ("broker-1",)
    assert not authorized(host).exists()


def test_the_key_is_made_once(host: FolderHost) -> None:
    """Setting up anew keeps the pair; only the public half comes back."""
    place = place_on(host.record)
    Path(place.folder).mkdir()
    key = make_key(host)
    assert key.startswith("ssh-ed25519 ")
    assert key.endswith(f" {COMMENT}")
    assert make_key(host) == key
    assert stat.S_IMODE(Path(place.identity_file).stat().st_mode) == 0o600
