"use strict";
// Any two entries: side by side if they are alike, and else why they aren't.

function chooser(chosen, other) {
  const label = (entry) => `${nameOf(entry)}: level ${entry.promise?.level ?? "unknown"}, ${entry.workload.label}`;
  const options = (campaign, entries) => ({ label: `${campaign.name}${campaign.date ? `, ${campaign.date}` : ""}`, options: entries.map((entry) => [entry.id, label(entry)]) });
  const groups = MODEL.campaigns.map((campaign) => {
    const own = other ? campaign.entries.filter((entry) => entry !== other && (entry === chosen || entry.group === other.group)) : campaign.entries;
    return own.length ? options(campaign, own) : null;
  }).filter(Boolean);
  const unalike = other ? MODEL.entries.filter((entry) => entry.group !== other.group && entry !== chosen) : [];
  const rest = unalike.length ? [{ label: "Not alike: shows why", options: unalike.map((entry) => [entry.id, `${label(entry)} (${entry.campaign.name})`]) }] : [];
  return [["", "choose an entry"], ...groups, ...rest];
}

function entrySummary(entry) {
  const { campaign } = entry;
  return element("div", { class: "side" },
    element("h3", {}, swatch(entry), nameOf(entry)),
    element("dl", {},
      element("dt", {}, "Promise"), element("dd", {}, promiseWords(entry.promise)),
      element("dt", {}, "Load"), element("dd", {}, loadWords(entry.workload)),
      element("dt", {}, "Hosts"), element("dd", {}, hostsWords(campaign.hosts)),
      element("dt", {}, "Trials"), element("dd", {}, `${blockWords(entry)}, ${validityWords(entry)}; ${notMetWords(entry)}`),
      element("dt", {}, "Campaign"), element("dd", {}, campaign.published ? campaign.name : campaignLink(campaign))));
}

function sideBySide(one, other) {
  const metrics = METRICS.filter((metric) => one.figures.has(metric) && other.figures.has(metric));
  const rows = metrics.map((metric) => {
    const [a, b] = [one, other].map((entry) => entry.figures.get(metric));
    const pair = turned(pairOf(one, other, metric), one);
    const byMedians = at(a.median) !== null && at(b.median) > 0 ? at(a.median) / at(b.median) : null;
    const verdict = pair ? `${pair.verdict}${pair.interval ? `, ${intervalWords(pair.interval)}` : ""}; ${pair.why}` : overlap(one, other, metric);
    return element("tr", {},
      element("th", { scope: "row" }, called(metric)),
      element("td", { class: "n" }, quantity(a.median, a.unit), element("small", {}, rangeWords(one, metric))),
      element("td", { class: "n" }, quantity(b.median, b.unit), element("small", {}, rangeWords(other, metric))),
      element("td", { class: "n" }, pair ? ratio(pair.ratio) : byMedians === null ? "–" : ratio(byMedians)),
      element("td", { class: isShown(pair) ? "shown" : "" }, verdict),
      element("td", {}, pair ? plural(pair.blocks, "block") : "none in common"));
  });
  const heads = ["", nameOf(one), nameOf(other), "ratio", "verdict", "blocks"];
  return table("Figures side by side", heads, rows, { classes: [null, "n", "n", "n"], id: "figures" });
}

function overlap(one, other, metric) {
  const [a, b] = [counted(one, metric), counted(other, metric)];
  if (!a.length || !b.length) return "no trial that counts";
  return Math.min(...a) <= Math.max(...b) && Math.min(...b) <= Math.max(...a) ? "ranges overlap: no difference shown" : "ranges apart, without an interval";
}

function reasons(one, other, found) {
  return element("div", { id: "unlike", class: "card" },
    element("h2", {}, "These two aren't alike"),
    element("p", {}, "A difference between them would say nothing of what is compared, because something else differs too:"),
    element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "what"), element("th", { scope: "col" }, nameOf(one)), element("th", { scope: "col" }, nameOf(other)))),
      element("tbody", {}, found.map((each) => element("tr", {}, element("th", { scope: "row" }, each.what), element("td", {}, each.a), element("td", {}, each.b))))));
}

const COMPARE = {
  title: "Compare",
  heading: "Compare two entries",
  lead: "Systems, versions and settings may differ: promise, workload, rate and hosts must not.",
  filters: () => [],
  choosers: (parameters) => {
    const [one, other] = [MODEL.byId.get(parameters.a), MODEL.byId.get(parameters.b)];
    return [["a", "First", chooser(one, null)], ["b", "Second", chooser(other, one)], ["metric", "Figure", metricsThere()]];
  },
  render: (parameters) => {
    const [one, other] = [MODEL.byId.get(parameters.a), MODEL.byId.get(parameters.b)];
    if (!one || !other) {
      const missing = [parameters.a, parameters.b].some((id) => id && !MODEL.byId.has(id));
      return [element("p", {}, missing ? "This link names an entry that isn't on this site." : "Choose two entries above, or tick two rows of the results.")];
    }
    const sides = element("div", { class: "sides" }, entrySummary(one), entrySummary(other));
    const banner = withoutRecords([one.campaign, other.campaign]) ?? "";
    const found = unlike(one, other);
    if (found.length) return [banner, reasons(one, other, found), sides];
    const group = groupsOf([one, other])[0];
    const metric = metricFor({ entries: [one, other] }, parameters.metric || METRICS[0]);
    const label = (entry) => [nameOf(entry), `(${blockWords(entry)})`];
    const title = `${capital(called(metric))}: ${nameOf(one)} and ${nameOf(other)} at ${group.workload.words}`;
    return [
      banner,
      one.campaign === other.campaign ? headline([one, other], metric) : "",
      weakens(one, other).map((said) => element("p", { class: "banner" }, said)),
      element("div", { class: "card" }, figure(dots([one, other], metric, label), aboutGroup(group, title, [...new Set([one.campaign, other.campaign])]), legendOf([one, other])), sideBySide(one, other)),
      sides,
    ];
  },
};
