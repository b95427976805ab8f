"""The report's chapter on claims: rows for templates/claims.html.j2. It draws nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.claims.application import campaign_verdicts, printed_verdicts
from analysis.claims.claim import packaged_documents
from analysis.claims.figures import PRINTED_FILE, packaged_figures
from analysis.claims.verdict import Verdict


@dataclass(frozen=True)
class ClaimRow:
    """A claim about something that the campaign ran: what the printed figures say of it, and what the campaign says."""

    printed: Verdict
    own: Verdict

    def to_json(self) -> dict[str, Any]:
        """As report.json has it."""
        return {"printed": self.printed.to_json(), "own": self.own.to_json()}


def claim_rows(report: Mapping[str, Any]) -> list[ClaimRow]:
    """The claims whose experiments a campaign has, in the order of their files; `report` is the document of report.json."""
    ran = {str(trial["experiment"]) for trial in report["trials"]}
    documents, figures = packaged_documents(), packaged_figures(PRINTED_FILE)
    documents = tuple(each for each in documents if ran & {cell.experiment for cell in each.cells})
    printed, own = printed_verdicts(documents, figures), campaign_verdicts(documents, figures, report)
    pairs = [ClaimRow(one, other) for one, other in zip(printed, own, strict=True)]
    return [pair for pair in pairs if ran & set(pair.own.experiments)]
