"""Vetting and replacing over scripted hosts: who is probed, who is replaced, when it stops. And once over real sshd."""

from __future__ import annotations

import time

import pytest

from provisioning.errors import CommandFailed, Completed
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.ssh import SshHost
from provisioning.vetting import load_thresholds, vet, vet_and_replace
from tests.provisioning.probed_hosts import BAD, GOOD, SMALL, Cloud, ProbedHost, record


def test_repeats_are_spread_and_progress_reaches_the_end() -> None:
    """Three repeats with the profile's pause between them; each disk has all probes in each."""
    slept: list[float] = []
    steps: list[tuple[int, int]] = []
    host = ProbedHost(record("broker-1"))
    vetting = vet(
        [host],
        SMALL,
        progress=lambda done, of, _: steps.append((done, of)),
        sleep=slept.append,
    )
    assert slept == [7.0, 7.0]
    assert host.probed == ["device", *["idle", "throughput", "fsync"] * 3]
    assert steps[-1] == (4, 4)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert vetting.rejected == ()


def test_a_shared_disk_is_probed_once_through_one_host() -> None:
    """Hosts of one machine on one device share its probes; the result stands for all of them."""
    hosts = [ProbedHost(record(f"broker-{n}"), machine="boot-1") for n in (1, 2, 3)]
    vetting = vet(hosts, SMALL, progress=lambda *_: None, sleep=lambda _: None)
    assert [host.probed.count("throughput") for host in hosts] == [3, 0, 0]
    assert {verdict.host for verdict in vetting.verdicts} == {"broker-1", "broker-2", "broker-3"}
    assert len(vetting.documents()["broker-3"]["series"][0]["repeats"]) == 3


def test_same_device_number_on_other_machines_is_another_disk() -> None:
    """The device number alone doesn't make a disk shared: every machine has an nvme1n1."""
    hosts = [ProbedHost(record(f"broker-{n}")) for n in (1, 2, 3)]
    vet(hosts, SMALL, progress=lambda *_: None, sleep=lambda _: None)
    assert [host.probed.count("throughput") for host in hosts] == [3, 3, 3]


def test_only_the_rejected_host_is_replaced_and_probed_again() -> None:
    """One slow disk of three: its host is replaced once, the others keep their probes, the rejected id stays on record."""
    cloud = Cloud({"broker-1": [GOOD], "broker-2": [BAD, GOOD], "broker-3": [GOOD]})
    vetting, hosts = cloud.vet(max_replacements=2)
    assert cloud.replaced == [("broker-2",)]
    assert {host.name: bool(host.probed) for host in hosts} == {"broker-1": False, "broker-2": True, "broker-3": False}
    assert (vetting.rejected, vetting.stopped) == ((), "")
    assert [(one.host, one.instance_id) for one in vetting.history] == [("broker-2", "i-broker-2-1")]
    assert vetting.summary()["rejected"][0]["instance_id"] == "i-broker-2-1"
    assert vetting.documents()["broker-2"]["instance_id"] == "i-broker-2-2"
    assert {host: document["verdict"] for host, document in vetting.documents().items()} == {
        "broker-1": "accept",
        "broker-2": "accept",
        "broker-3": "accept",
    }


def test_it_stops_after_so_many_replacements_and_says_so() -> None:
    """A name that gets one slow machine after the other ends with all of them on record."""
    cloud = Cloud({"broker-1": [GOOD], "broker-2": [BAD, BAD, BAD, GOOD], "broker-3": [GOOD]})
    vetting, _ = cloud.vet(max_replacements=2)
    assert cloud.replaced == [("broker-2",), ("broker-2",)]
    assert vetting.rejected == ("broker-2",)
    assert [one.generation for one in vetting.history] == [1, 2, 3]
    assert vetting.stopped == "Replaced none of them: 0 of 2 replacements left."


def test_hosts_given_are_closed_once_others_take_their_place() -> None:
    """Connections to the machines before a replacement don't stay open; without one they do."""
    cloud = Cloud({"broker-1": [GOOD], "broker-2": [BAD, GOOD], "broker-3": [GOOD]})
    before = cloud.connect(cloud.inventory())
    _, after = vet_and_replace(
        cloud.replace,
        before,
        cloud.connect,
        SMALL,
        max_replacements=1,
        progress=lambda *_: None,
        sleep=lambda _: None,
    )
    assert [host.closed for host in before] == [True] * 3
    assert [host.closed for host in after if isinstance(host, ProbedHost)] == [False] * 3


def test_a_broken_probe_is_an_error_with_its_evidence() -> None:
    """A host without a working python3 fails the vetting with the host's words, it isn't 'rejected'."""
    host = ScriptedHost(record("broker-1"))
    for directories in ("/srv/samebox /data/1",):
        command = f"python3 -IS /srv/samebox/tools/disk-checks.pyz device {directories}"
        host.answers[command] = Completed(command, "", "python3: not found", 127)
    with pytest.raises(Exception, match="python3: not found") as raised:
        vet([host], SMALL, progress=lambda *_: None)
    assert any(isinstance(error, CommandFailed) for error in getattr(raised.value, "errors", {}).values())


@pytest.mark.integration
def test_vetting_of_the_local_testbed(hosts: dict[str, SshHost]) -> None:
    """Over real sshd: one disk stands for all, every sample is there, the banner is carried, no probe file is left."""
    started_s = time.monotonic()
    vetting = vet(list(hosts.values()), load_thresholds(), progress=lambda *_: None)
    took_s = time.monotonic() - started_s
    documents = vetting.documents()
    assert took_s < 60, "meant to take 15 s; this machine is shared"
    assert set(documents) == set(hosts)
    for document in documents.values():
        disk = next(series for series in document["series"] if series["kind"] == "disk")
        assert set(disk["shared_by"]) == set(hosts)
        assert [len(repeat["results"]["fsync"]["samples_ns"]) for repeat in disk["repeats"]] == [1000] * 3
    assert vetting.caveats
    client = next(document for document in documents.values() if document["role"] == "client")
    assert [pair["error"] for pair in client["network"]] == [""]
    assert client["network"][0]["result"]["bytes_per_s"] > 0
    for host in hosts.values():
        assert host.run(f"find {host.record.root} -name '.samebox-probe-*'").stdout == ""
        preset = next(v for v in vetting.verdicts if v.host == host.name and v.rule == "preset")
        assert preset.verdict == "not judged"
