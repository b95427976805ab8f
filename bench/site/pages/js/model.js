"use strict";
// Campaigns and their entries, put together from the tables of data.js (bench/site/packing.py says what is where).

const MODEL = unpack(SAMEBOX);

function unpack({ tables, campaigns, colours }) {
  const text = (number) => tables.texts[number];
  const texts = (numbers) => (numbers ?? []).map(text);
  const workloads = tables.workloads.map(workload);
  const promises = tables.promises.map((each) => ({ ...each, key: JSON.stringify(each) }));
  const hosts = tables.hosts.map((each) => ({ ...each, words: hostWords(each), key: JSON.stringify(each) }));
  const unknown = { words: "hosts unknown", key: "unknown", machines: [], kernels: [], roles: {}, kind: "unknown" };
  const found = campaigns.map((packed) => {
    const published = packed.root === null;
    const campaign = {
      ...packed,
      published,
      origin: text(packed.origin),
      name: published ? `published results (${text(packed.origin)})` : text(packed.campaign),
      question: published ? "" : text(packed.question),
      date: published ? "" : text(packed.date),
      samebox: text(packed.samebox),
      commit: published ? null : text(packed.commit),
      profile: published ? null : text(packed.profile),
      scale: published ? null : text(packed.scale),
      certainty: published ? "" : text(packed.certainty),
      hosts: published ? unknown : hosts[packed.hosts],
      verify: published ? null : text(packed.verify).replace("ROOT", packed.root),
      faults: packed.faults ?? [],
    };
    for (const key of ["caveats", "findings", "warnings", "differences", "repeat"]) campaign[key] = texts(packed[key]);
    campaign.entries = packed.entries.map((each, index) => {
      const [contestant, system, version] = texts(each.slice(0, 3));
      const [, , , promise, load, trials, notMet, figures, source, doubts] = each;
      return {
        id: `${campaign.id}.${index}`, index, campaign, contestant, system, version, source, doubts: doubts ?? [], notMet,
        promise: promise === null ? null : promises[promise],
        workload: workloads[load],
        trials: tables.trials[trials].map(([block, validity]) => ({ block, validity })),
        figures: new Map(figures.map(([metric, median, values]) => [tables.metrics[metric][0], { unit: tables.metrics[metric][1], median, values }])),
      };
    });
    campaign.pairs = (packed.pairs ?? []).map(([metric, first, second, blocks, value, interval, verdict, why]) => ({
      metric: text(metric), first: campaign.entries[first], second: campaign.entries[second], blocks, ratio: value, interval, verdict: text(verdict), why: text(why),
    }));
    return campaign;
  });
  found.reverse(); // the newest first
  const entries = found.flatMap((campaign) => campaign.entries);
  for (const each of entries) {
    each.group = JSON.stringify([each.promise?.key, each.workload.rate_per_s, each.workload.shapeKey, each.campaign.hosts.key, each.campaign.scale, each.campaign.profile, each.campaign.published]);
  }
  return { campaigns: found, entries, colours: new Map(Object.entries(colours)), byId: new Map(entries.map((each) => [each.id, each])) };
}

function workload(given) {
  const shape = new Map(Object.entries(given.shape));
  const rate = given.rate_per_s === null ? capital(shape.get("pacing") ?? "rate unknown") : `${number(given.rate_per_s)} msg/s`;
  const size = shape.has("message_bytes") ? ` of ${bytes(shape.get("message_bytes"))}` : "";
  const parts = ["topics", "partitions", "partitions_per_topic", "producers", "consumers"]
    .filter((key) => shape.has(key) && !(key === "topics" && shape.get(key) === "1"))
    .map((key) => `${shape.get(key)} ${(shape.get(key) === "1" ? key.replace(/s\b|s(?=_)/, "") : key).replaceAll("_", " ")}`);
  if (shape.has("faults")) parts.push("with faults");
  const shapeKey = JSON.stringify(given.shape);
  return { ...given, shape, shapeKey, words: `${rate}${size}`, rest: parts.join(", "), label: `${given.name}: ${rate}${size}` };
}

function hostWords(hosts) {
  const roles = Object.entries(hosts.roles).map(([role, count]) => plural(count, role));
  return `${hosts.kind}: ${listed(roles)}`;
}

// how an entry is called: the version once, and only if the contestant isn't called after it
function nameOf(entry) {
  if (!entry.version || entry.contestant.includes(entry.version)) return entry.contestant;
  return `${entry.contestant} ${entry.version}`;
}

function blocksOf(entry) {
  const sound = entry.trials.filter((trial) => COUNTED.has(trial.validity)).length;
  return { sound, all: entry.trials.length };
}

function blockWords(entry) {
  if (entry.campaign.published) return "no records";
  const { sound, all } = blocksOf(entry);
  return sound === all ? plural(all, "block") : `${sound} of ${plural(all, "block")}`;
}

function validityWords(entry) {
  const counts = new Map();
  for (const { validity } of entry.trials) counts.set(validity, (counts.get(validity) ?? 0) + 1);
  return [...counts].map(([validity, count]) => (counts.size > 1 ? `${count} ${validity}` : validity)).join(", ");
}

function pairOf(one, other, metric) {
  if (one.campaign !== other.campaign) return null;
  const own = one.campaign.pairs.filter((pair) => pair.metric === metric);
  return own.find((pair) => (pair.first === one && pair.second === other) || (pair.first === other && pair.second === one)) ?? null;
}

function versionOrder(one, other) {
  const parts = (text) => text.split(/[.-]/);
  const [a, b] = [parts(one), parts(other)];
  for (let place = 0; place < Math.max(a.length, b.length); place += 1) {
    const [x, y] = [a[place] ?? "", b[place] ?? ""];
    const difference = /^\d+$/.test(x) && /^\d+$/.test(y) ? Number(x) - Number(y) : x.localeCompare(y, "en");
    if (difference) return difference;
  }
  return 0;
}

// entries that may stand on one axis, in groups: in the order of promises, and of those the newest first; faults come after what had none,
// and what was published comes last
function groupsOf(entries) {
  const groups = new Map();
  for (const each of entries) {
    if (!groups.has(each.group)) groups.set(each.group, { entries: [], promise: each.promise, workload: each.workload, hosts: each.campaign.hosts, campaign: each.campaign, published: each.campaign.published });
    groups.get(each.group).entries.push(each);
  }
  const level = (group) => group.promise?.level ?? 99;
  const faulty = (group) => Number(group.workload.shape.has("faults"));
  return [...groups.values()].sort((one, other) => Number(one.published) - Number(other.published) || level(one) - level(other) || faulty(one) - faulty(other));
}

function metricFor(group, wanted) {
  const has = (metric) => group.entries.some((entry) => entry.figures.has(metric));
  return has(wanted) ? wanted : METRICS.find(has) ?? wanted;
}

function ranked(entries, metric) {
  const sign = HIGHER_IS_BETTER.has(metric) ? -1 : 1;
  const value = (entry) => entry.figures.get(metric)?.median ?? null;
  const unsure = (entry) => Number(value(entry) === null) * 2 + Number(Array.isArray(value(entry)) && value(entry)[0] === null);
  return [...entries].sort((one, other) => unsure(one) - unsure(other) || sign * ((at(value(one)) ?? 0) - (at(value(other)) ?? 0)));
}
