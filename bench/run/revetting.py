"""Takes a campaign's planned probes between its trials and keeps what they find in the results folder. It judges nothing itself."""

from __future__ import annotations

from dataclasses import dataclass

from bench.campaign.probe_times import PlannedProbe
from bench.progress import Reporter
from bench.results.folder import Results, write_json
from bench.run.trial import Bench
from provisioning.document import read_document
from provisioning.hosts import daemons
from provisioning.reset.reset import reset
from provisioning.vetting import Thresholds, probe_again

AGAIN_SCHEMA = 1


@dataclass(frozen=True)
class Revetting:
    """Short probes of the bench's hosts. The first one that is there is what all others are compared with."""

    thresholds: Thresholds
    bench: Bench
    results: Results
    reporter: Reporter

    def take(self, planned: PlannedProbe) -> None:
        """Resets the hosts as before any trial, probes them, and writes the document. Raises HostsFailed, ResetError.

        A run that is cut off in it leaves no document, and the next takes the probe anew.
        """
        self.reporter.step(planned.step.title)
        hosts = self.bench.hosts
        cleaned = reset(hosts, lambda: daemons.kill_everything(hosts), drop_caches=self.bench.drop_caches)
        names = self.results.probed()
        first = read_document(self.results.probe_file(names[0])) if names else None
        found = probe_again(
            hosts, self.thresholds, first, progress=lambda done, of, text: self.reporter.detail(f"{text} ({done}/{of})")
        )
        for sentence in sorted({verdict.sentence for verdict in found.verdicts if verdict.verdict == "warn"}):
            self.reporter.notice(f"warning: {sentence}")
        document = {
            "schema": AGAIN_SCHEMA,
            "name": planned.name,
            "after": list(planned.after),
            "before": list(planned.before),
            "compared_with": names[0] if names else None,
            **found.document,
            "reset": cleaned.as_observation(),
        }
        write_json(self.results.probe_file(planned.name), document)
