"use strict";
// The campaigns, and all that is said of one: its answer, what weakens it, its root, and the lines that check and repeat it.

function campaignRow(campaign) {
  const systems = distinct(campaign.entries.map(nameOf));
  const blocks = Math.max(0, ...campaign.entries.map((entry) => blocksOf(entry).all));
  return element("tr", { class: campaign.published ? "published" : null },
    element("th", { scope: "row" }, campaign.published ? campaign.name : link(campaign.name, "campaign", { id: campaign.id }), campaign.published ? null : campaign.records ? null : element("span", { class: "tag" }, "without records")),
    element("td", { class: "nowrap" }, campaign.date || "–"),
    element("td", {}, `${listed(systems.slice(0, 6))}${systems.length > 6 ? ` and ${systems.length - 6} more` : ""}`),
    element("td", {}, campaign.hosts.words),
    element("td", { class: "n" }, campaign.published ? "–" : String(blocks)),
    element("td", {}, campaign.root ? element("code", {}, campaign.root.slice(0, 12)) : "no records"));
}

const CAMPAIGNS = {
  title: "Campaigns",
  heading: "Campaigns",
  lead: "Each is one bundle. Open one for its answer, and for the exact lines that check and repeat it.",
  filters: () => ["system", "hosts", "since", "until"],
  render: (parameters) => {
    const passing = new Set(filtered(parameters).map((entry) => entry.campaign));
    const found = MODEL.campaigns.filter((campaign) => passing.has(campaign));
    return [element("p", { class: "count", role: "status" }, `${plural(found.length, "campaign")} of ${MODEL.campaigns.length}`), withoutRecords(found) ?? "",
      table("Table of campaigns", ["campaign", "date", "contestants", "hosts", "blocks", "root"], found.map(campaignRow))];
  },
};

function list(title, sentences, className) {
  return sentences.length ? [element("h3", {}, title), element("ul", { class: className }, sentences.map((said) => element("li", {}, said)))] : [];
}

function repeatBox(campaign) {
  const changed = campaign.changed ? element("p", { class: "banner" }, "It was made with changes to that commit, or it isn't known whether there were any: the lines give what was committed.") : "";
  return element("section", { class: "card", id: "repeat" },
    element("h2", {}, "Repeat this result: the exact lines"),
    element("p", {}, "In a clone of samebox, with the bundle's file in it. What is measured will differ as far as your machines do."),
    changed, copied(campaign.repeat),
    element("h2", {}, "Check these figures"),
    element("p", {}, campaign.records ? "This recomputes every figure from the records in the bundle, and tells whether your copy is the one shown here." : "There are no records in this bundle: this checks its hashes, and nobody can recompute its figures."),
    copied([campaign.verify]),
    element("p", { class: "sub" }, "Root: ", element("code", { class: "root" }, campaign.root), campaign.signed ? " The bundle is signed; samebox verify tells by whom." : ""));
}

const CAMPAIGN = {
  title: null,
  heading: (parameters) => campaignOf(parameters)?.name ?? "No such campaign",
  lead: (parameters) => campaignOf(parameters)?.question ?? "",
  filters: () => [],
  render: (parameters) => {
    const campaign = campaignOf(parameters);
    if (!campaign) return [element("p", {}, "This link names a campaign that isn't on this site. ", link("All campaigns", "campaigns"))];
    const facts = [["Date", campaign.date], ["Hosts", hostsWords(campaign.hosts)], ["Settings profile", campaign.profile], ["Scale", campaign.scale ?? "as written"], ["Made with", madeWith(campaign)]];
    return [
      withoutRecords([campaign]) ?? "",
      element("section", { class: "card" },
        element("dl", {}, facts.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
        ...list("What came out", campaign.findings, "findings"),
        element("p", { class: "headline" }, campaign.certainty),
        ...list("What differs between its contestants", campaign.differences, "findings"),
        ...list("What weakens it", [...campaign.warnings, ...campaign.caveats, ...(campaign.excluded ? [`${plural(campaign.excluded, "trial")} not compared.`] : [])], "warnings")),
      repeatBox(campaign),
      campaign.faults.length ? element("p", {}, link("What its faults did", "faults", {})) : "",
      element("h2", {}, "Its entries"),
      progressive(groupsOf(campaign.entries), (group) => groupCard(group, METRICS[0])),
    ];
  },
};

function campaignOf(parameters) {
  return MODEL.campaigns.find((campaign) => campaign.id === parameters.id && !campaign.published);
}
