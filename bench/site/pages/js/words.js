"use strict";
// Values in words. A value is a number, or [told or null, low, high or null] where only bounds, or bounds as well, are known.

const HIGHER_IS_BETTER = new Set(["throughput_achieved", "drain_rate", "drain_rate_peak"]);
const METRICS = [
  "response_latency_p99", "response_latency_p50", "publish_latency_p99", "publish_latency_p50", "publish_latency_p99.9",
  "end_to_end_latency_p99", "end_to_end_latency_p50", "throughput_achieved", "catch_up_time", "drain_rate", "drain_rate_peak",
];
const SHORT = new Map([["throughput_achieved", "rate achieved"], ["end_to_end_latency_p50", "end-to-end latency p50"], ["end_to_end_latency_p99", "end-to-end latency p99"]]);
const COUNTED = new Set(["valid", "warn"]);

function called(metric) {
  return SHORT.get(metric) ?? metric.replaceAll("_", " ");
}

function number(value) {
  if (value === 0) return "0";
  const short = Number(value.toPrecision(3));
  return Math.abs(short) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(short);
}

function known(value, shown = number) {
  if (value === null || value === undefined) return "–";
  if (!Array.isArray(value)) return shown(value);
  const [told, low, high] = value;
  if (told !== null) return shown(told);
  return high === null ? `more than ${shown(low)}` : `${shown(low)} to ${shown(high)}`;
}

// where a value is drawn and sorted: what only has a lower bound is at it
function at(value) {
  return Array.isArray(value) ? value[0] ?? value[1] : value;
}

function quantity(value, unit) {
  return value === null || value === undefined ? "–" : `${known(value)} ${unit}`;
}

function ratio(value) {
  return known(value, (one) => String(Number(one.toPrecision(3))));
}

function plural(count, word) {
  return `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
}

function bytes(text) {
  const size = Number(text);
  if (!Number.isFinite(size)) return text;
  return size >= 1024 && size % 1024 === 0 ? `${size / 1024} KiB` : plural(size, "byte");
}

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
