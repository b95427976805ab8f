"use strict";
// The front page: which system or version, at which promise, at which rate, on which hosts, how sure.

const MOST_ROWS = 12; // of a group, before one asks for more
const MOST_GROUPS = 6;

function options(values, all) {
  return [["", all], ...values];
}

function distinct(values, order = (one, other) => one.localeCompare(other, "en")) {
  return [...new Set(values.filter(Boolean))].sort(order);
}

const same = (values) => values.map((value) => [value, value]);

// name -> how it is called, what may be chosen, and whether an entry passes
const FILTERS = {
  system: {
    label: "System", options: () => options(same(distinct(MODEL.entries.map((entry) => entry.system))), "all systems"),
    passes: (entry, value) => entry.system === value,
  },
  version: {
    label: "Version", options: () => options(distinct(MODEL.entries.map((entry) => entry.version && `${entry.system} ${entry.version}`), (one, other) => one.split(" ")[0].localeCompare(other.split(" ")[0], "en") || versionOrder(one.split(" ").slice(1).join(" "), other.split(" ").slice(1).join(" "))).map((value) => [value, value]), "all versions"),
    passes: (entry, value) => `${entry.system} ${entry.version}` === value,
  },
  promise: {
    label: "Promise", options: () => options(promisesThere(), "all promises, apart"),
    passes: (entry, value) => promiseId(entry) === value,
  },
  workload: {
    label: "Workload", options: () => options(same(distinct(MODEL.entries.map((entry) => entry.workload.label))), "all workloads"),
    passes: (entry, value) => entry.workload.label === value,
  },
  hosts: {
    label: "Hosts", options: () => options(same(distinct(MODEL.campaigns.map((campaign) => campaign.hosts.words))), "all hosts"),
    passes: (entry, value) => entry.campaign.hosts.words === value,
  },
  since: { label: "Since", date: true, passes: (entry, value) => entry.campaign.published || entry.campaign.date >= value },
  until: { label: "Until", date: true, passes: (entry, value) => entry.campaign.published || entry.campaign.date <= value },
};

function promiseId(entry) {
  return entry.promise ? `${entry.promise.level}-${entry.promise.replication}-${entry.promise.local}` : "unknown";
}

function promisesThere() {
  const found = new Map(MODEL.entries.map((entry) => [promiseId(entry), promiseWords(entry.promise)]));
  return [...found].sort(([one], [other]) => one.localeCompare(other, "en"));
}

function filtered(parameters) {
  const chosen = Object.entries(FILTERS).filter(([name]) => parameters[name]);
  return MODEL.entries.filter((entry) => chosen.every(([name, filter]) => filter.passes(entry, parameters[name])));
}

function metricsThere() {
  return METRICS.filter((metric) => MODEL.entries.some((entry) => entry.figures.has(metric))).map((metric) => [metric, called(metric)]);
}

function questions() {
  const found = [];
  for (const system of distinct(MODEL.entries.map((entry) => entry.system))) {
    const versions = distinct(MODEL.entries.filter((entry) => entry.system === system && !entry.campaign.published).map((entry) => entry.version), versionOrder);
    if (versions.length > 1) found.push(link(`Which version of ${system} has the lower p99?`, "versions", { system }));
  }
  const does = MODEL.campaigns.flatMap((campaign) => campaign.faults);
  if (does.some((fault) => fault.do === "kill" && fault.target.startsWith("leader"))) found.push(link("How many messages did each system lose when its leader was killed?", "faults", { fault: "kill leader" }));
  else if (does.length) found.push(link("What did faults do to each system?", "faults"));
  if (MODEL.campaigns.some((campaign) => !campaign.published)) found.push(link("How do I repeat a result?", "campaigns"));
  return element("ul", { class: "questions", "aria-label": "Questions" }, found.map((each) => element("li", {}, each)));
}

function groupCard(group, metric) {
  const shownMetric = metricFor(group, metric);
  const card = element("article", { class: group.published ? "card published" : "card" });
  const several = new Set(group.entries.map((entry) => entry.campaign)).size > 1;
  const order = several ? group.entries : ranked(group.entries, shownMetric);
  const title = `${capital(called(shownMetric))} at ${group.workload.words}`;
  const draw = (count) => {
    const shown = order.slice(0, count);
    const campaigns = [...new Set(shown.map((entry) => entry.campaign))];
    const label = (entry) => (group.published ? [`${nameOf(entry)}: ${entry.source}`, ""] : [`${nameOf(entry)}${several ? `, ${entry.campaign.name}` : ""}`, `(${blockWords(entry)})`]);
    const more = order.length > count ? element("button", { type: "button", onclick: () => draw(order.length) }, `Show all ${order.length} entries`) : null;
    const subtitle = [group.workload.name, group.workload.rest, hostsWords(group.hosts), group.campaign.scale ? "scaled down" : ""].filter(Boolean).join(" · ");
    card.replaceChildren(
      element("h3", {}, group.workload.words, group.published ? element("span", { class: "tag" }, "published, no records") : null),
      element("p", { class: "sub" }, subtitle),
      headline(group.entries, shownMetric),
      withoutRecords(campaigns) ?? "",
      figure(dots(shown, shownMetric, label), aboutGroup(group, title, campaigns), legendOf(shown)),
      entryTable(shown, shownMetric),
      more ?? "");
  };
  draw(MOST_ROWS);
  return card;
}

// groups under the promise that they share: promises are never on one axis
function groupSections(groups, card) {
  const sections = [];
  let at = null;
  for (const group of groups) {
    const words = group.published ? `Published, without records. ${promiseWords(group.promise)}` : promiseWords(group.promise);
    if (at !== words) {
      at = words;
      sections.push(element("section", {}, element("h2", {}, words)));
    }
    sections.at(-1).append(card(group));
  }
  return sections;
}

function progressive(groups, card, most = MOST_GROUPS) {
  const place = element("div", {});
  const draw = (count) => {
    const more = groups.length > count ? element("button", { type: "button", onclick: () => draw(groups.length) }, `Show ${groups.length - count} more workloads`) : null;
    place.replaceChildren(...groupSections(groups.slice(0, count), card), more ?? "");
  };
  draw(most);
  return place;
}

const RESULTS = {
  title: "Results",
  heading: "Which broker, at which promise, how sure?",
  lead: "Only what was measured alike stands on one axis: the same promise, workload and hosts.",
  filters: () => ["system", "version", "promise", "workload", "hosts", "since", "until", "metric"],
  render: (parameters, chosen = filtered(parameters)) => [
    Object.keys(parameters).length ? "" : questions(),
    element("p", { class: "count", role: "status" }, `${plural(chosen.length, "entry").replace("entrys", "entries")} of ${MODEL.entries.length.toLocaleString("en-US")}`),
    chosen.length ? progressive(groupsOf(chosen), (group) => groupCard(group, parameters.metric || METRICS[0])) : element("p", {}, "Nothing passes these filters."),
  ],
};
