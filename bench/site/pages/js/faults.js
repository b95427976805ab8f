"use strict";
// What faults did to each system: messages acknowledged and lost, the longest gap, and how long recovery took.

const GAP = "fault_gap_of_a_partition";
const TIMES = [[GAP, "longest gap of a partition"], ["fault_acknowledged_after", "acknowledged again after"], ["fault_response_back_after", "latency back after"]];

function faultKind(fault) {
  return `${fault.do} ${fault.target.split(":")[0]}`;
}

// one of each fault, cell and campaign that passes the filters
function faultCells(parameters) {
  const passing = new Set(filtered({ ...parameters, fault: "" }));
  return MODEL.campaigns.flatMap((campaign) => campaign.faults.flatMap((fault) => {
    if (parameters.fault && faultKind(fault) !== parameters.fault) return [];
    const felt = fault.felt.map((own) => ({ ...own, entry: campaign.entries[own.entry] })).filter((own) => passing.has(own.entry));
    if (!felt.length) return [];
    const [{ entry }] = felt;
    return [{ fault, felt, campaign, promise: entry.promise, workload: entry.workload, hosts: campaign.hosts, published: false, entries: felt.map((own) => own.entry) }];
  })).sort((one, other) => one.promise.level - other.promise.level);
}

function happened(fault) {
  const done = new Map([["kill", "was killed"], ["freeze", "was frozen"], ["cut", "was cut off"], ["restart", "was restarted"]]);
  const role = fault.target.split(":")[0];
  const whom = new Map([["leader", "a leader"], ["all", "every broker"], ["coordinator", "the coordinator"]]).get(role) ?? role;
  const was = done.get(fault.do);
  return was ? `When ${whom} ${was} (${fault.words})` : `Fault: ${fault.words}`;
}

function lossWords(own) {
  return `${nameOf(own.entry)} lost ${own.lost === 0 ? "none" : number(own.lost)} of ${own.acknowledged.toLocaleString("en-US")} acknowledged messages`;
}

function faultCard(cell) {
  const { fault, felt, campaign } = cell;
  const broken = felt.filter((own) => own.lost > 0 && own.must);
  const measured = TIMES.filter(([name]) => felt.some((own) => Object.hasOwn(own.times, name)));
  const heads = ["", "acknowledged", "lost", "failed", "unanswered", ...measured.map(([, words]) => words), "blocks", "promise"];
  const rows = felt.map((own) => element("tr", { "data-entry": own.entry.id },
    element("th", { scope: "row" }, swatch(own.entry), nameOf(own.entry)),
    element("td", { class: "n" }, own.acknowledged.toLocaleString("en-US")),
    element("td", { class: own.lost ? "n bad" : "n" }, own.lost.toLocaleString("en-US")),
    ["failed", "unanswered"].map((name) => element("td", { class: "n" }, own[name].toLocaleString("en-US"))),
    measured.map(([name]) => element("td", { class: "n" }, timeWords(Object.hasOwn(own.times, name) ? own.times[name] : null))),
    element("td", {}, `${blockWords(own.entry)}, ${validityWords(own.entry)}`),
    element("td", {}, own.must ? "must survive this" : own.why)));
  const title = `${happened(fault)}: longest time without acknowledgements`;
  const drawn = felt.filter((own) => Object.hasOwn(own.times, GAP)).map((own) => {
    const time = own.times[GAP];
    return { id: own.entry.id, label: [nameOf(own.entry), `(${blockWords(own.entry)})`], median: at(time.median), longest: at(time.longest), colour: colourOf(own.entry), title: `${nameOf(own.entry)}: median ${quantity(time.median, "s")}, longest ${quantity(time.longest, "s")}` };
  });
  const legend = "The bar is the median over the blocks, the point the longest of them: how long a partition was without acknowledgements.";
  return element("article", { class: "card" },
    element("h3", {}, happened(fault)),
    element("p", { class: "sub" }, [cell.workload.words, cell.workload.rest, hostsWords(cell.hosts)].filter(Boolean).join(" · "), " · ", campaignLink(campaign)),
    element("p", { class: broken.length ? "headline bad" : "headline" }, element("b", {}, `${felt.map(lossWords).join("; ")}.`), broken.length ? ` Lost what had to survive: ${listed(broken.map((own) => nameOf(own.entry)))}.` : ""),
    withoutRecords([campaign]) ?? "",
    drawn.length ? figure(gaps(drawn, "s", "longest gap of a partition"), { ...aboutGroup(cell, title, [campaign]), legend }, legend) : "",
    table("Table of what was felt", heads, rows, { classes: [null, "n", "n", "n", "n", ...measured.map(() => "n")] }),
    element("p", { class: "sub" }, "Messages are of all trials. Times are medians of the trials that count, with the longest behind them."));
}

function timeWords(time) {
  if (!time) return "–";
  const longest = time.longest === null || at(time.longest) === at(time.median) ? "" : ` (${known(time.longest)})`;
  return `${quantity(time.median, time.unit)}${longest}`;
}

const FAULTS = {
  title: "Faults",
  heading: "What users feel when something breaks",
  lead: "Each fault at a constant rate, with every message on record: what was acknowledged and never received is lost.",
  filters: () => ["fault", "system", "promise", "workload", "hosts", "since", "until"],
  render: (parameters) => {
    const cells = faultCells(parameters);
    if (!cells.length) return [element("p", {}, "No campaign with faults passes these filters.")];
    return [progressive(cells, faultCard)];
  },
};
FILTERS.fault = {
  label: "Fault", options: () => options(same(distinct(MODEL.campaigns.flatMap((campaign) => campaign.faults.map(faultKind)))), "all faults"),
  passes: () => true, // of a fault, not of an entry
};
