"""Vetting: take the probes (probes.py), judge them (judge.py), and replace the rejected hosts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.vetting.judge import judge
from provisioning.vetting.probes import Probes, Progress, find_targets, machine_pairs, take_pairs, take_series
from provisioning.vetting.thresholds import Thresholds
from provisioning.vetting.verdicts import Rejected, Vetting


def vet(
    hosts: Sequence[Host],
    thresholds: Thresholds,
    *,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Vetting:
    """Probes and judges all `hosts`. Raises HostsFailed if a host can't be asked."""
    return judge(_measure(hosts, thresholds, progress, sleep), thresholds)


def vet_and_replace(
    replace_hosts: Callable[[Sequence[str]], Inventory],
    hosts: Sequence[Host],
    connect: Callable[[Inventory], Sequence[Host]],
    thresholds: Thresholds,
    *,
    max_replacements: int,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Vetting, Sequence[Host]]:
    """Vets, replaces only rejected hosts by name, vets those again and judges all anew; at most `max_replacements` machines in all.

    Returns the vetting and the hosts as they are then: if anything was replaced, the given ones are closed and `connect` made
    new ones. More rejected hosts than replacements left replaces none: the testbed would be unfit either way. An error of the
    testbed (it can't replace) passes through.
    """
    probes = _measure(hosts, thresholds, progress, sleep)
    replaced: tuple[Rejected, ...] = ()
    left = max_replacements
    while True:
        vetting = replace(judge(probes, thresholds), replaced=replaced)
        replaced, names = vetting.history, vetting.rejected
        if not names or len(names) > left:
            stopped = f"Replaced none of them: {left} of {max_replacements} replacements left." if names else ""
            return replace(vetting, stopped=stopped), hosts
        inventory = replace_hosts(names)
        left -= len(names)
        for host in hosts:
            host.close()
        hosts = connect(inventory)
        fresh = [host for host in hosts if host.name in names]
        others = [host for host in hosts if host.name not in names and host.name in probes.boot_ids]
        anew = _measure(fresh, thresholds, progress, sleep, others, probes.boot_ids)
        probes = _merged(probes, anew, inventory)


def _measure(
    hosts: Sequence[Host],
    thresholds: Thresholds,
    progress: Progress,
    sleep: Callable[[float], None],
    others: Sequence[Host] = (),
    boot_ids_of_others: Mapping[str, str] | None = None,
) -> Probes:
    """All probes of `hosts`, and the network between them and `others`, which are probed already."""
    progress(0, 1, "device facts")
    targets, boot_ids = find_targets(hosts, thresholds.profile_of)
    boot_ids = {**(boot_ids_of_others or {}), **boot_ids}
    names = {host.name for host in hosts}
    pairs = [p for p in machine_pairs([*hosts, *others], boot_ids) if not names.isdisjoint((p[0].name, p[1].name))]
    repeats = max((target.profile.repeats for target in targets), default=0)
    of = 1 + repeats + len(pairs)
    series = take_series(targets, progress=progress, steps=(1, of), sleep=sleep)
    done = iter(range(1 + repeats, of))
    taken = take_pairs(pairs, boot_ids, thresholds.profile_of, lambda text: progress(next(done), of, text))
    progress(of, of, "judging")
    return Probes(tuple(host.record for host in hosts), boot_ids, series, taken)


def _merged(before: Probes, fresh: Probes, inventory: Inventory) -> Probes:
    """Everything still true of the kept hosts, with the replaced hosts' new probes."""
    new = {host.name for host in fresh.hosts}
    kept = []
    for series in before.series:
        hosts = tuple(host for host in series.hosts if host.name not in new)
        if hosts:
            kept.append(replace(series, hosts=hosts))
    pairs = tuple(pair for pair in before.pairs if pair.client not in new and pair.broker not in new)
    known = {host.name for host in before.hosts}
    return Probes(
        tuple(host for host in inventory.hosts if host.name in known),
        {**before.boot_ids, **fresh.boot_ids},
        (*kept, *fresh.series),
        (*pairs, *fresh.pairs),
    )
