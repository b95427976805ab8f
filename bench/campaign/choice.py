"""How much of a campaign is run: at which scale, and all of it or only what represents it. The manifest records the choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.campaign.campaign import Campaign, Experiment, Representative
from bench.campaign.scale import Scale
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Choice:
    """`scale`: one of the campaign's own, None = as the file says it. `representative`: one workload of every experiment."""

    scale: str | None = None
    representative: bool = False

    def require_known(self, campaign: Campaign, *, where: str) -> None:
        """Raises InvalidInput, starting with `where`, for a scale that the campaign hasn't."""
        if self.scale is None or self.scale in campaign.scales:
            return
        valid = ", ".join(sorted(campaign.scales)) or "none, the file has no scales"
        raise InvalidInput(
            f"{where}: unknown scale {self.scale!r}. Valid choices: {valid}.",
            next_step="Leave --scale out, or add a table [scales.NAME] to the file (docs/campaigns.md).",
        )

    def of(self, campaign: Campaign, *, where: str) -> Campaign:
        """The campaign as it is to be run. Raises InvalidInput as `require_known`."""
        self.require_known(campaign, where=where)
        if self.scale is not None:
            campaign = _scaled(campaign, campaign.scales[self.scale])
        if self.representative:
            chosen = tuple(_representative(each) for each in campaign.questions)
            campaign = replace(campaign, experiments=chosen, workloads=(), durability=())
        return campaign

    @property
    def typed(self) -> str:
        """The options, as they are to be typed again."""
        scale = f" --scale {self.scale}" if self.scale is not None else ""
        return scale + (" --representative" if self.representative else "")

    def to_json(self, campaign: Campaign) -> dict[str, Any]:
        """The manifest's `scale` (null, or its name and rules in words) and `representative`."""
        scale = None
        if self.scale is not None:
            scale = {"name": self.scale, "rules": list(campaign.scales[self.scale].sentences())}
        return {"scale": scale, "representative": self.representative}


WHOLE = Choice()


def choice_of(manifest: Mapping[str, Any]) -> Choice:
    """What was chosen when a campaign began."""
    scale = manifest.get("scale")
    return Choice(str(scale["name"]) if scale else None, bool(manifest.get("representative")))


def _scaled(campaign: Campaign, scale: Scale) -> Campaign:
    experiments = tuple(
        replace(each, workloads=tuple(scale.of(workload) for workload in each.workloads))
        for each in campaign.experiments
    )
    workloads = tuple(scale.of(workload) for workload in campaign.workloads)
    blocks, aa_blocks = (
        own if most is None else min(own, most)
        for own, most in ((campaign.blocks, scale.blocks), (campaign.aa_blocks, scale.aa_blocks))
    )
    return replace(campaign, experiments=experiments, workloads=workloads, blocks=blocks, aa_blocks=aa_blocks)


def _representative(experiment: Experiment) -> Experiment:
    """The experiment with what it declares as representative, else with its first durability and workload."""
    chosen = experiment.representative
    if chosen is None:
        chosen = Representative(experiment.durability[:1], experiment.workloads[0].name)
    asked = {
        system: tuple(name for name in levels if name in chosen.durability)
        for system, levels in experiment.durability_of.items()
    }
    workloads = tuple(workload for workload in experiment.workloads if workload.name == chosen.workload)
    return replace(experiment, durability=chosen.durability, durability_of=asked, workloads=workloads)
