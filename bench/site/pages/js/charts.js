"use strict";
// Charts, drawn by Observable Plot. Each is a function of a width and a theme, so that a picture of it can be drawn again.

const LIGHT = { ink: "#1b1f24", soft: "#5b6470", paper: "#ffffff" };
const SCREEN = { ink: "currentColor", soft: "var(--soft)", paper: "transparent" };
const GREY = "#8a929c";
const FALLBACK = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const MOST_LABEL = { narrow: 24, wide: 46 };
const AS_TRIAL = { symbol: "symbol", stroke: "colour", fill: (point) => (point.symbol === "circle" ? point.colour : "none"), fillOpacity: 0.45, r: 4, strokeWidth: 1.5, title: "title" };

function colourOf(entry) {
  if (entry.campaign.published) return GREY;
  const known = MODEL.colours.get(entry.system);
  if (known) return known;
  const sum = [...entry.system].reduce((total, letter) => total + letter.codePointAt(0), 0);
  return FALLBACK[sum % FALLBACK.length];
}

function symbolOf(entry, trial) {
  if (entry.campaign.published) return "square";
  if (!COUNTED.has(trial.validity)) return "times";
  return trial.validity === "warn" ? "diamond" : "circle";
}

// every trial of an entry as a point, with what is said of it
function pointsOf(entry, metric) {
  const figure = entry.figures.get(metric);
  if (!figure) return [];
  return entry.trials.flatMap((trial, place) => {
    const value = figure.values[place];
    if (value === null) return [];
    const counts = COUNTED.has(trial.validity) || entry.campaign.published;
    const where = entry.campaign.published ? "published, no records" : `block ${trial.block}, ${trial.validity}${counts ? "" : ": not counted"}`;
    return [{ entry, id: entry.id, version: entry.version, value: at(value), counts, symbol: symbolOf(entry, trial), colour: counts ? colourOf(entry) : GREY, title: `${nameOf(entry)}: ${quantity(value, figure.unit)}\n${where}` }];
  });
}

// of the trials that count, for those entries that have any
function mediansOf(entries, metric) {
  return entries.filter((entry) => (entry.figures.get(metric)?.median ?? null) !== null)
    .map((entry) => ({ id: entry.id, version: entry.version, campaign: entry.campaign.id, value: at(entry.figures.get(metric).median), colour: colourOf(entry) }));
}

function axisLabel(entries, metric, type) {
  const unit = entries.map((entry) => entry.figures.get(metric)?.unit).find(Boolean) ?? "";
  return `${called(metric)} (${unit})${type === "log" ? ", log scale" : ""}`;
}

function spread(values) {
  const positive = values.filter((value) => value > 0);
  const wide = positive.length === values.length && Math.max(...positive) / Math.min(...positive) > 4;
  return wide ? "log" : "linear";
}

function base(width, theme, rest) {
  return { width, style: { fontFamily: FONT, fontSize: "12px", color: theme.ink, background: theme.paper, overflow: "visible" }, ...rest };
}

// a name that is as long as there is room for, and what is behind it in full: how many blocks a point is of is never cut off
function labelled(name, behind, width) {
  const most = (width < 500 ? MOST_LABEL.narrow : MOST_LABEL.wide) - behind.length - 1;
  return `${name.length <= most ? name : `${name.slice(0, Math.max(1, most - 1))}…`} ${behind}`;
}

// one line per entry: a point per trial, and a bar at the median of those that count
function dots(entries, metric, label) {
  return (width, theme) => {
    const points = entries.flatMap((entry) => pointsOf(entry, metric));
    const medians = mediansOf(entries, metric);
    const names = new Map(entries.map((entry) => [entry.id, labelled(...label(entry), width)]));
    const longest = Math.max(...[...names.values()].map((name) => name.length));
    const type = spread(points.map((point) => point.value));
    return Plot.plot(base(width, theme, {
      height: 52 + 30 * entries.length, marginLeft: Math.min(width / 2, 16 + 6.6 * longest), marginRight: 24, marginBottom: 40,
      x: { type, grid: true, nice: true, label: axisLabel(entries, metric, type), labelAnchor: "center", labelArrow: "none", ticks: width < 500 ? 4 : 8, zero: type === "linear", tickFormat: number },
      y: { domain: entries.map((entry) => entry.id), tickFormat: (id) => names.get(id), label: null, tickSize: 0 },
      symbol: { type: "identity" }, color: { type: "identity" },
      marks: [
        Plot.tickX(medians, { x: "value", y: "id", stroke: "colour", strokeWidth: 3, insetTop: 4, insetBottom: 4 }),
        Plot.dot(points, { x: "value", y: "id", ...AS_TRIAL }),
      ],
    }));
  };
}

// versions in their order: a point per trial, and a line through the medians of each campaign
function trend(entries, metric, versions) {
  return (width, theme) => {
    const points = entries.flatMap((entry) => pointsOf(entry, metric));
    const medians = mediansOf(entries, metric);
    medians.sort((one, other) => versions.indexOf(one.version) - versions.indexOf(other.version));
    const type = spread(points.map((point) => point.value));
    const blocks = (version) => entries.filter((entry) => entry.version === version).map((entry) => blocksOf(entry).sound).join(" + ");
    return Plot.plot(base(width, theme, {
      height: 272, marginLeft: 62, marginRight: 24, marginBottom: 54, marginTop: 30,
      x: { type: "band", domain: versions, tickFormat: (version) => `${version}\n${blocks(version)} blocks`, label: null, labelArrow: "none", labelAnchor: "center", padding: 0.3 },
      y: { type, grid: true, nice: true, zero: type === "linear", label: axisLabel(entries, metric, type), labelArrow: "none", ticks: 5, tickFormat: number },
      symbol: { type: "identity" }, color: { type: "identity" },
      marks: [
        Plot.line(medians, { x: "version", y: "value", z: "campaign", stroke: "colour", strokeWidth: 1.5 }),
        Plot.tickY(medians, { x: "version", y: "value", stroke: "colour", strokeWidth: 3, insetLeft: 8, insetRight: 8 }),
        Plot.dot(points, { x: "version", y: "value", ...AS_TRIAL }),
      ],
    }));
  };
}

// ratios with their intervals; filled where a difference is shown
function ratios(rows, versions, anchor, metric) {
  return (width, theme) => {
    const drawn = rows.map((row) => ({ ...row, value: at(row.ratio) })).filter((row) => row.value > 0);
    const intervals = drawn.filter((row) => row.interval && row.interval[0] > 0 && row.interval[1] !== null);
    const ends = [...drawn.map((row) => row.value), ...intervals.flatMap((row) => row.interval.slice(0, 2))];
    const type = spread([1, ...ends]);
    const blocks = new Map(drawn.map((row) => [row.version, plural(row.pair.blocks, "block")]));
    return Plot.plot(base(width, theme, {
      height: 232, marginLeft: 62, marginRight: 24, marginBottom: 54, marginTop: 30,
      x: { type: "band", domain: versions, tickFormat: (version) => `${version}\n${blocks.get(version) ?? "compared with"}`, label: null, labelArrow: "none", labelAnchor: "center", padding: 0.3 },
      y: { type, grid: true, domain: [Math.min(0.95, ...ends) * 0.97, Math.max(1.05, ...ends) * 1.03], label: `${called(metric)}, ratio to ${anchor}${type === "log" ? " (log scale)" : ""}`, labelArrow: "none", ticks: 5, tickFormat: (value) => ratio(value) },
      color: { type: "identity" },
      marks: [
        Plot.ruleY([1], { stroke: theme.ink, strokeDasharray: "3 3" }),
        Plot.ruleX(intervals, { x: "version", y1: (row) => row.interval[0], y2: (row) => row.interval[1], stroke: "colour", strokeWidth: 2 }),
        Plot.dot(drawn, { x: "version", y: "value", stroke: "colour", fill: (row) => (row.shown ? row.colour : "none"), r: 5, strokeWidth: 2, title: "title" }),
      ],
    }));
  };
}

// one line per contestant: the median over blocks, and the longest
function gaps(rows, unit, label) {
  return (width, theme) => {
    const names = new Map(rows.map((row) => [row.id, labelled(...row.label, width)]));
    const longest = Math.max(...[...names.values()].map((name) => name.length));
    return Plot.plot(base(width, theme, {
      height: 52 + 30 * rows.length, marginLeft: Math.min(width / 2, 16 + 6.6 * longest), marginRight: 24, marginBottom: 40,
      x: { grid: true, nice: true, zero: true, label: `${label} (${unit})`, labelAnchor: "center", labelArrow: "none", ticks: width < 500 ? 4 : 8, tickFormat: number },
      y: { domain: rows.map((row) => row.id), tickFormat: (id) => names.get(id), label: null, tickSize: 0 },
      color: { type: "identity" },
      marks: [
        Plot.ruleY(rows, { x1: "median", x2: "longest", y: "id", stroke: "colour", strokeWidth: 1.5 }),
        Plot.tickX(rows, { x: "median", y: "id", stroke: "colour", strokeWidth: 3, insetTop: 5, insetBottom: 5 }),
        Plot.dot(rows, { x: "longest", y: "id", stroke: "colour", fill: "colour", fillOpacity: 0.45, r: 4, title: "title" }),
      ],
    }));
  };
}
