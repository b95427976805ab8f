"""A campaign on its testbed: has the hosts equipped, writes the manifest, runs the trials in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.campaign.definition import completed_definition, definition_of
from bench.campaign.order import TrialSpec
from bench.campaign.prepared import Prepared
from bench.checkout import CHECKOUT, PROOFS, SCRATCH
from bench.load.collect import Upload
from bench.load.floor import measure_floor
from bench.progress import Reporter, Step
from bench.proof.document import basis_of, proof_for
from bench.results.folder import Results
from bench.run.attempt import TrialAttempt
from bench.run.equipped import SOFTWARE_STEP, Equipped, equip, store_for
from bench.run.manifest import Origin, manifest_of, origin_of
from bench.run.priming import prime, worth_priming
from bench.run.priming import step_of as priming_step
from bench.run.revetting import PlannedProbe, agenda, take_probe
from bench.run.trial import run_trial, steps_of
from bench.run.vetted import Vetted
from provisioning.errors import InvalidInput
from provisioning.hosts.host import on_all
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.testbeds.aws.bucket_layout import results_folder
from provisioning.vetting import Thresholds

FLOOR_STEP = Step("the load generator's own floor", 12.0)
REPORT_TITLE = "report"


def run_campaign(
    prepared: Prepared,
    inventory: Inventory,
    vetting: Vetted,
    results: Results,
    reporter: Reporter,
    *,
    tarballs: Mapping[str, Path],
    repeat: Sequence[str],
    origin: Origin | None = None,
) -> None:
    """Runs every trial that `results` doesn't have yet, in the planned order. `origin` None = this checkout.

    1. connect to every host and equip it; start each system once, if that makes the campaign shorter (`bench.run.priming`)
    2. measure the load generator's own floor and write the manifest, unless an earlier run of the campaign on these hosts did
    3. run the trials; each is whole on disk before the next begins
    """
    require_continuable(results, prepared, inventory)
    with connected(inventory) as hosts:
        equipped = equip(prepared, hosts, store_for(inventory, tarballs, reporter), reporter)
        _require_same_software(results, equipped.software)
        for spec in worth_priming(_left(prepared, results.finished())):
            prime(spec, equipped, reporter)
        if results.manifest_file.exists():
            reporter.skip(1)
        else:
            _begin(equipped, inventory, vetting, results, reporter, origin=origin or origin_of(CHECKOUT), repeat=repeat)
        if inventory.records_bucket is not None:
            folder = results_folder(results.name_in_bucket())
            upload = Upload(inventory.records_bucket, folder, equipped.pythons, reporter.detail)
            equipped = dataclasses.replace(equipped, upload=upload)
        _run_trials(equipped, vetting.thresholds(), results, reporter)


def _begin(
    equipped: Equipped,
    inventory: Inventory,
    vetting: Vetted,
    results: Results,
    reporter: Reporter,
    *,
    origin: Origin,
    repeat: Sequence[str],
) -> None:
    """Measures the load generator's own floor, and writes all that is known before the first trial."""
    reporter.step(FLOOR_STEP.title)
    prepared = equipped.prepared
    workloads = [trial.workload for trial in prepared.trials]
    fastest = max(workloads, key=lambda workload: workload.planned_rate_per_s)
    floor = measure_floor(equipped.clients, equipped.pythons, fastest, SCRATCH, on_progress=reporter.detail)
    manifest = manifest_of(equipped, inventory, vetting, floor, origin=origin, repeat=repeat)
    proof = proof_for(
        results.root.parent / PROOFS.name,
        manifest["durability_table"],
        equipped.software,
        {name: basis_of(name) for name in equipped.campaign.all_systems},
        systems={each.name: each.system for each in equipped.campaign.compared},
        system_profile=equipped.campaign.system_profile,
    )
    sources = equipped.campaign.sources
    results.begin(manifest, vetting.documents, prepared.campaign_file, sources=sources, durability_proof=proof)


def _run_trials(equipped: Equipped, thresholds: Thresholds, results: Results, reporter: Reporter) -> None:
    for spec in _agenda(equipped.prepared, results.finished(), results.probed()):
        if isinstance(spec, PlannedProbe):
            take_probe(spec, equipped, thresholds, results, reporter)
            continue
        planned = len(steps_of(spec))
        attempt = TrialAttempt(results, spec.trial)
        with attempt.noting_its_end():
            document = run_trial(spec, equipped, reporter, attempt)
            if document["abort"] is not None:
                attempt.ended_early(document["abort"])
                # a host that is gone for good would end every trial to come; this one is repeated by `samebox resume`
                on_all("looking after a trial that ended early", equipped.hosts, lambda host: host.run("true"))
        attempt.finish(document)
        reporter.skip(planned - len(document["steps"]))


def report_step(trials: int) -> Step:
    """Making the report of that many trials on this machine."""
    return Step(REPORT_TITLE, 20.0 + 7.0 * trials)


def steps_to_run(prepared: Prepared, finished: Sequence[str], probed: Sequence[str] = ()) -> list[Step]:
    """What `run_campaign` will report, in order. `finished` trials and `probed` disks of an earlier run are left out."""
    left = _left(prepared, finished)
    planned = _agenda(prepared, finished, probed)
    trials = [step for item in planned for step in ((item.step,) if isinstance(item, PlannedProbe) else steps_of(item))]
    return [SOFTWARE_STEP, *(priming_step(spec) for spec in worth_priming(left)), FLOOR_STEP, *trials]


def _agenda(prepared: Prepared, finished: Sequence[str], probed: Sequence[str]) -> list[PlannedProbe | TrialSpec]:
    return agenda(prepared.trials, prepared.campaign.revet_every_h, finished, probed)


def _left(prepared: Prepared, finished: Sequence[str]) -> list[TrialSpec]:
    return [spec for spec in prepared.trials if spec.trial not in finished]


def require_continuable(results: Results, prepared: Prepared, inventory: Inventory) -> None:
    """A campaign that has begun is continued on the hosts and with the file that it began with, or not at all. Raises InvalidInput."""
    if not results.manifest_file.exists():
        return
    manifest = results.manifest("definition", "testbed")
    if definition_of(prepared.campaign) != completed_definition(manifest["definition"]):
        raise InvalidInput(
            f"{prepared.campaign_file} no longer describes the trials of {results.root}.",
            next_step="Results are written once: start anew with `samebox run CAMPAIGN --again`, which keeps them under their date.",
        )
    began = {host["name"]: host["instance_id"] for host in manifest["testbed"]["hosts"]}
    now = {host.name: host.instance_id for host in inventory.hosts}
    if began != now:
        changed = ", ".join(sorted(name for name in began | now if began.get(name) != now.get(name)))
        raise InvalidInput(
            f"{results.root} began on other hosts ({changed} differ), and a campaign's blocks are compared on the same boxes.",
            next_step="Start anew with `samebox run CAMPAIGN --again`; the finished trials are kept under their date.",
        )


def _require_same_software(results: Results, software: Mapping[str, Mapping[str, str]]) -> None:
    began = results.manifest("software")["software"] if results.manifest_file.exists() else software
    if software != began:
        raise InvalidInput(
            f"{results.root} began with other software ({began}) than this ({software}).",
            next_step="Give the same --software as then, or start anew with `samebox run CAMPAIGN --again`.",
        )
