"""What is where in a results folder (docs/records.md): the names and patterns that its writers and readers share."""

from __future__ import annotations

MANIFEST = "manifest.json"
CAMPAIGN = "campaign.toml"
DURABILITY_PROOF = "durability_proof.json"
TRIALS, TRIAL = "trials", "trial.json"
VETTING = "vetting"
PROBES = f"{VETTING}/again"  # of disks, in the middle of a campaign
REPORT = "report"
CHECKS = f"{REPORT}/checks.json"
# of a trial's records, a folder each
RECORD_KINDS = ("produced", "consumed", "hosts")

# what is written when a campaign begins, what is added while it runs, and the documents of trials that are whole; what begins with a
# dot is still being written, but for attempts
BEGUN = (MANIFEST, CAMPAIGN, DURABILITY_PROOF, "omb-*.yaml", f"{VETTING}/*.json")
NOTED = (f"{TRIALS}/.attempts-*.json", f"{PROBES}/[!.]*.json")
WHOLE_TRIALS = f"{TRIALS}/[!.]*/{TRIAL}"


def trial_folder(trial: str) -> str:
    """The folder of a trial that is whole."""
    return f"{TRIALS}/{trial}"


def attempts_file(trial: str) -> str:
    """Notes on the attempts at a trial, until it is whole."""
    return f"{TRIALS}/.attempts-{trial}.json"
