"use strict";
// What these pages are, and what they can't tell.

const ABOUT = {
  title: "About",
  heading: "What these pages can and can't tell",
  lead: "",
  filters: () => [],
  render: () => [element("div", { class: "prose" },
    element("h2", {}, "Where the figures come from"),
    element("p", {}, "Each campaign is one bundle: one file with the manifest, the records of every message, and the report. Making these pages recomputed nothing. What they show is what the report in the bundle says, rounded to five digits; the root stands for every byte of the bundle, and ", element("code", {}, "samebox verify --root"), " recomputes the report from the records."),
    element("h2", {}, "What stands side by side"),
    element("p", {}, "Only entries with the same promise, workload, rate, hosts, machines, kernel, scale and settings profile share an axis. Systems, versions, and a contestant's own settings may differ: they are what is compared. Trials of one campaign that ran in the same block are compared block by block, and the verdict is the report's own, corrected over all its comparisons. Between campaigns there is no interval, only whether their ranges overlap."),
    element("h2", {}, "How sure"),
    element("p", {}, "With fewer than 6 blocks no 95 % interval is possible, so no difference is shown, however large it looks. Trials that were found invalid are drawn as crosses and count in no median."),
    element("h2", {}, "Published results"),
    element("p", {}, "What is grey was imported from result files that somebody published. There are no records of messages, hosts or blocks; latencies start when the send call starts. Nobody can recompute them, so they are compared with nothing."),
    element("h2", {}, "What nobody can tell from here"),
    element("ul", {}, ["Whether the machines were what they said, and idle.", "Whether the records are of real messages: whoever makes up records and report alike contradicts nothing. A signature is somebody's word for them.", "Whether a campaign ran only once, or this is the run that was liked best.", "How a system does on other machines, or with other settings."].map((said) => element("li", {}, said))),
    element("h2", {}, "Made with"),
    element("p", {}, "Observable Plot and D3 (ISC licence; vendor/ has the licences). No page of this site asks anybody for anything."))],
};
