"use strict";
// Why two entries may not be put side by side. Systems, versions and settings of contestants may differ: they are what is compared.

function unlike(one, other) {
  const found = [];
  const differ = (what, a, b) => {
    if (a !== b) found.push({ what, a: a ?? "none", b: b ?? "none" });
  };
  const said = (entry) => (entry.promise ? `level ${entry.promise.level}: ${entry.promise.words}` : "unknown");
  if (one.campaign.published || other.campaign.published) {
    const origin = (entry) => (entry.campaign.published ? `published by ${entry.campaign.origin}: no records, no hosts, latencies defined otherwise` : "measured by samebox, every message on record");
    found.push({ what: "where it comes from", a: origin(one), b: origin(other) });
  }
  differ("promise", said(one), said(other));
  differ("rate", rateOf(one), rateOf(other));
  for (const key of new Set([...one.workload.shape.keys(), ...other.workload.shape.keys()])) {
    differ(`workload: ${key.replaceAll("_", " ")}`, one.workload.shape.get(key), other.workload.shape.get(key));
  }
  differ("hosts", one.campaign.hosts.words, other.campaign.hosts.words);
  differ("machines", one.campaign.hosts.machines.join("; "), other.campaign.hosts.machines.join("; "));
  differ("kernel", one.campaign.hosts.kernels.join("; "), other.campaign.hosts.kernels.join("; "));
  differ("scale", one.campaign.scale, other.campaign.scale);
  differ("settings profile", one.campaign.profile, other.campaign.profile);
  return found;
}

function rateOf(entry) {
  return entry.workload.rate_per_s === null ? "not given beforehand" : `${number(entry.workload.rate_per_s)} msg/s`;
}

// what differs and makes nobody refuse, but weakens what is said
function weakens(one, other) {
  if (one.campaign === other.campaign) return [];
  const found = ["They are of two campaigns, which share no block: whatever else changed between them is in the ratio, and there is no interval."];
  const [made, otherwise] = [madeWith(one.campaign), madeWith(other.campaign)];
  if (made !== otherwise) found.push(`They were made with different versions: ${made}, and ${otherwise}.`);
  return found;
}
