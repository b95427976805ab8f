"use strict";
// What several views are made of: figures, tables of entries, and the sentence that says how sure a difference is.

const SYMBOLS = [["diamond", "diamond: counted, with a warning"], ["times", "cross: not counted"]];
const picked = new Set();

function promiseWords(promise) {
  return promise ? `Level ${promise.level}: ${promise.words}` : "What an acknowledgement promised isn't known";
}

// what the points are; of the symbols, those that are there
function legendOf(entries) {
  if (entries.every((entry) => entry.campaign.published)) return "Figures as published; there are no records.";
  const there = new Set(entries.flatMap((entry) => entry.trials.map((trial) => symbolOf(entry, trial))));
  const symbols = SYMBOLS.filter(([symbol]) => there.has(symbol)).map(([, words]) => words);
  return `A point is one trial, the bar the median of those that count${symbols.length ? ` (${symbols.join("; ")})` : ""}.`;
}

function aboutGroup(group, title, campaigns) {
  return {
    title, campaigns,
    promise: `${promiseWords(group.promise)}.`,
    load: loadWords(group.workload),
    hosts: hostsWords(group.hosts),
    legend: legendOf(group.entries),
  };
}

function loadWords(workload) {
  return [workload.words, workload.rest].filter(Boolean).join(", ");
}

function swatch(entry) {
  return element("i", { class: "swatch", style: `background:${colourOf(entry)}` });
}

function campaignLink(campaign) {
  return link(`${campaign.name}, ${campaign.date}`, "campaign", { id: campaign.id });
}

function madeWith(campaign) {
  return `samebox ${campaign.samebox}${campaign.commit ? `, commit ${campaign.commit.slice(0, 12)}` : ""}`;
}

// from the first day to the last; "" without any
function between(campaigns) {
  const dates = campaigns.map((campaign) => campaign.date).filter(Boolean).sort();
  if (!dates.length) return "";
  return dates[0] === dates.at(-1) ? dates[0] : `${dates[0]} to ${dates.at(-1)}`;
}

function hostsWords(hosts) {
  return [hosts.words, ...hosts.machines].join("; ");
}

function figure(draw, about, caption) {
  const width = Math.max(280, Math.min(820, document.getElementById("view").clientWidth - 34));
  const chart = draw(width, SCREEN);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${about.title}. ${caption}`);
  const failed = element("span", { role: "status" });
  const save = () => savePicture(draw, about).catch((error) => { failed.textContent = `It couldn't be drawn: ${error.message}`; });
  return element("figure", {}, chart, element("figcaption", {}, element("span", {}, caption), element("button", { type: "button", class: "save", onclick: save }, "Save as PNG"), failed));
}

// every page that shows figures which nobody can recompute says so
function withoutRecords(campaigns) {
  const names = [...new Set(campaigns.filter((campaign) => !campaign.published && !campaign.records).map((campaign) => campaign.name))];
  if (!names.length) return null;
  return element("p", { class: "banner" }, `Bundled without the records of messages: ${listed(names.slice(0, 5))}${names.length > 5 ? ` and ${names.length - 5} more` : ""}. Nobody can recompute ${names.length > 1 ? "their" : "its"} figures.`);
}

// where the trials that count are; those that were published can't be judged
function counted(entry, metric) {
  const values = entry.figures.get(metric)?.values ?? [];
  return values.filter((value, place) => value !== null && (COUNTED.has(entry.trials[place].validity) || entry.campaign.published)).map(at);
}

function rangeWords(entry, metric) {
  const values = counted(entry, metric);
  if (values.length < 2) return "";
  return `${number(Math.min(...values))} to ${number(Math.max(...values))}`;
}

function notMetWords(entry) {
  if (entry.campaign.published) return entry.doubts.length ? `in doubt: ${entry.doubts.join(", ")}` : "";
  const failed = Object.entries(entry.notMet);
  return failed.length ? `not met: ${failed.map(([check, count]) => `${check} (${count})`).join(", ")}` : "all met";
}

function entryTable(entries, metric) {
  const heads = ["", called(metric), "range of its trials", "blocks", "validity", "what was asked", "campaign", "compare"];
  const classes = [null, "n", "n", null, null, null, null, "pick"];
  return table("Table of entries", heads, entries.map((entry) => entryRow(entry, metric)), { classes });
}

function entryRow(entry, metric) {
  const found = entry.figures.get(metric);
  const { campaign } = entry;
  const box = element("input", { type: "checkbox", "aria-label": `Compare ${nameOf(entry)}, ${campaign.name}`, onchange: (event) => pick(entry, event.target.checked) });
  box.checked = picked.has(entry.id);
  const note = campaign.published ? "published" : campaign.records ? "" : "without records";
  return element("tr", { class: campaign.published ? "published" : null, "data-entry": entry.id },
    element("th", { scope: "row" }, swatch(entry), nameOf(entry)),
    element("td", { class: "n" }, found ? quantity(found.median, found.unit) : "–"),
    element("td", { class: "n" }, rangeWords(entry, metric)),
    element("td", {}, blockWords(entry)),
    element("td", {}, validityWords(entry)),
    element("td", { class: Object.keys(entry.notMet).length ? "bad" : null }, notMetWords(entry)),
    element("td", {}, campaign.published ? entry.source : campaignLink(campaign), note ? element("span", { class: "tag" }, note) : null),
    element("td", { class: "pick" }, box));
}

function pick(entry, wanted) {
  if (wanted) picked.add(entry.id);
  else picked.delete(entry.id);
  showPicked();
}

function showPicked() {
  const bar = document.getElementById("picked");
  const ids = [...picked].filter((id) => MODEL.byId.has(id));
  bar.hidden = !ids.length;
  const names = ids.map((id) => nameOf(MODEL.byId.get(id)));
  const go = ids.length === 2 ? element("a", { class: "go", href: address("compare", { a: ids[0], b: ids[1] }) }, "Compare them") : element("span", {}, ids.length < 2 ? "Choose one more to compare it with." : "Two can be compared: take some away.");
  const none = element("button", { type: "button", onclick: () => { picked.clear(); for (const box of document.querySelectorAll("[data-entry] input")) box.checked = false; showPicked(); } }, "Choose none");
  bar.replaceChildren(element("span", {}, `Chosen: ${listed(names)}.`), go, none);
}

// the ratio of the first to the second as their comparison tells it, whichever way round it was made
function turned(pair, first) {
  if (!pair || pair.first === first) return pair;
  const over = (value) => (value === null ? 0 : 1 / value);
  const value = Array.isArray(pair.ratio) ? [pair.ratio[0] === null ? null : 1 / pair.ratio[0], over(pair.ratio[2]), pair.ratio[1] > 0 ? 1 / pair.ratio[1] : null] : 1 / pair.ratio;
  const interval = pair.interval && [over(pair.interval[1]), pair.interval[0] > 0 ? 1 / pair.interval[0] : null, pair.interval[2]];
  return { ...pair, first, second: pair.first, ratio: value, interval };
}

function intervalWords(interval) {
  if (!interval) return "";
  const [low, high, level] = interval;
  return `${Number((level * 100).toFixed(1))} % interval ${high === null ? `${ratio(low)} or more` : `${ratio(low)} to ${ratio(high)}`}`;
}

function isShown(pair) {
  return pair?.verdict === "difference shown";
}

// how sure it is that two differ: the words of their comparison, or why there is none
function sureWords(pair) {
  if (!pair) return "They ran in different campaigns, which share no block, so nothing says how sure this is.";
  const blocks = plural(pair.blocks, "block");
  const interval = intervalWords(pair.interval);
  if (isShown(pair)) return `A difference is shown: ratio ${ratio(pair.ratio)}, ${interval}, ${blocks}.`;
  return `No difference is shown: ratio ${ratio(pair.ratio)}${interval ? `, ${interval}` : ""}, ${blocks}; ${pair.why}.`;
}

// the first sentence of a group: who is best in the newest campaign with two of them, and how sure that is
function headline(entries, metric) {
  const usable = entries.filter((entry) => (entry.figures.get(metric)?.median ?? null) !== null);
  if (!usable.length) return element("p", { class: "headline" }, "No trial that counts has this figure.");
  const campaigns = [...new Set(usable.map((entry) => entry.campaign))];
  const campaign = campaigns.find((each) => usable.filter((entry) => entry.campaign === each).length > 1);
  const [best, next] = ranked(campaign ? usable.filter((entry) => entry.campaign === campaign) : usable, metric);
  const value = (entry) => quantity(entry.figures.get(metric).median, entry.figures.get(metric).unit);
  if (!next || best.campaign.published) {
    const said = best.campaign.published ? `${nameOf(best)}: ${called(metric)} ${value(best)}, as published. No records, so nobody can say how sure.` : `${nameOf(best)}: ${called(metric)} ${value(best)}, ${blockWords(best)}. Nothing alike is shown beside it.`;
    return element("p", { class: "headline" }, said);
  }
  const pair = pairOf(best, next, metric);
  const word = HIGHER_IS_BETTER.has(metric) ? "highest" : "lowest";
  const where = campaigns.length > 1 ? `In ${best.campaign.name}, ${best.campaign.date}: ` : "";
  return element("p", { class: "headline" }, where,
    element("b", {}, `${nameOf(best)} has the ${word} ${called(metric)}: ${value(best)}`), `; ${nameOf(next)} ${value(next)}. `,
    element("span", { class: isShown(pair) ? "shown" : "unshown" }, sureWords(turned(pair, best))));
}
