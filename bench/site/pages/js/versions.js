"use strict";
// A system over its versions: their values, and the ratio of each to the first version of its campaign, block by block.

function severalVersions(group) {
  return new Set(group.entries.map((entry) => entry.version)).size > 1;
}

function versionCard(group, system, metric) {
  const shownMetric = metricFor(group, metric);
  const entries = group.entries.filter((entry) => entry.figures.has(shownMetric));
  const versions = distinct(entries.map((entry) => entry.version), versionOrder);
  const campaigns = [...new Set(entries.map((entry) => entry.campaign))];
  const title = `${system}: ${called(shownMetric)} over versions at ${group.workload.words}`;
  const about = aboutGroup(group, title, campaigns);
  return element("article", { class: "card" },
    element("h3", {}, `${system}, ${group.workload.words}`),
    element("p", { class: "sub" }, [group.workload.name, group.workload.rest, hostsWords(group.hosts)].filter(Boolean).join(" · ")),
    headline(entries, shownMetric),
    withoutRecords(campaigns) ?? "",
    figure(trend(entries, shownMetric, versions), about, `${legendOf(entries)} A line joins versions of one campaign.`),
    ...campaigns.map((campaign) => anchored(campaign, entries, shownMetric, versions, group)),
    entryTable(ranked(entries, shownMetric), shownMetric));
}

// the first contestant of a campaign is what its others are compared with
function anchored(campaign, entries, metric, versions, group) {
  const [anchor, ...others] = entries.filter((entry) => entry.campaign === campaign).sort((one, other) => anchorFirst(campaign, one, other));
  if (!anchor || !others.length) return "";
  const rows = others.flatMap((entry) => {
    const pair = turned(pairOf(entry, anchor, metric), entry);
    if (!pair) return [];
    const said = `${nameOf(entry)} to ${nameOf(anchor)}: ${ratio(pair.ratio)}\n${sureWords(pair)}`;
    return [{ entry, version: entry.version, ratio: pair.ratio, interval: pair.interval, shown: isShown(pair), colour: colourOf(entry), title: said, pair }];
  });
  if (!rows.length) return "";
  const about = { ...aboutGroup(group, `${anchor.system}: ${called(metric)}, ratio to ${anchor.version}`, [campaign]), legend: "A circle is the median ratio of the blocks that both ran in, the line its interval where there are 6 blocks or more. Filled: a difference is shown." };
  return element("div", {},
    figure(ratios(rows, versions.filter((version) => version === anchor.version || rows.some((row) => row.version === version)), anchor.version, metric), about, about.legend),
    element("ul", { class: "findings" }, rows.map((row) => element("li", {}, element("b", {}, `${nameOf(row.entry)} to ${nameOf(anchor)}: `), sureWords(row.pair)))));
}

function anchorFirst(campaign, one, other) {
  const order = (entry) => campaign.pairs.findIndex((pair) => pair.first === entry || pair.second === entry);
  const first = (entry) => Number(!campaign.pairs.some((pair) => pair.first === entry) || campaign.pairs.some((pair) => pair.second === entry));
  return first(one) - first(other) || order(one) - order(other) || one.index - other.index;
}

function systemsWithVersions() {
  return distinct(groupsOf(MODEL.entries.filter((entry) => !entry.campaign.published)).flatMap((group) => {
    const systems = distinct(group.entries.map((entry) => entry.system));
    return systems.filter((system) => severalVersions({ entries: group.entries.filter((entry) => entry.system === system) }));
  }));
}

const VERSIONS = {
  title: "Versions",
  heading: "A system over its versions",
  lead: "Versions that ran in blocks with one another are compared block by block, so that a slower machine or another day cancels.",
  filters: () => ["system", "promise", "workload", "hosts", "since", "until", "metric"],
  render: (parameters) => {
    const systems = systemsWithVersions().filter((system) => !parameters.system || parameters.system === system);
    const cards = systems.flatMap((system) =>
      groupsOf(filtered({ ...parameters, system }).filter((entry) => !entry.campaign.published)).filter(severalVersions).map((group) => ({ ...group, system })));
    if (!cards.length) return [element("p", {}, "No two versions of a system were measured alike, as far as these filters let through.")];
    cards.sort((one, other) => one.promise.level - other.promise.level);
    return [progressive(cards, (group) => versionCard(group, group.system, parameters.metric || METRICS[0]))];
  },
};
