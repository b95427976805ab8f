"use strict";
// Which view is shown, its filters, and what happens when the address changes. Everything that is shown is in the address.

const VIEWS = { results: RESULTS, versions: VERSIONS, compare: COMPARE, faults: FAULTS, campaigns: CAMPAIGNS, campaign: CAMPAIGN, about: ABOUT };
const WIDTH_STEP = 80; // pixels by which a window must change before figures are drawn again
let shownView = null;
let shownAddress = null; // what is drawn; an address changes a moment before
let drawnWidth = 0;

function current() {
  const { view, parameters } = state();
  return { name: Object.hasOwn(VIEWS, view) ? view : "results", parameters };
}

function change(name, value) {
  const { name: view, parameters } = current();
  location.hash = address(view, { ...parameters, [name]: value });
}

function filterFields(view, parameters) {
  const fields = view.filters().map((name) => {
    if (name === "metric") return select("Figure", "metric", metricsThere(), parameters.metric || metricsThere()[0]?.[0], (event) => change("metric", event.target.value));
    const filter = FILTERS[name];
    if (filter.date) return element("label", {}, element("span", {}, filter.label), element("input", { type: "date", name, value: parameters[name] ?? "", onchange: (event) => change(name, event.target.value) }));
    return select(filter.label, name, filter.options(), parameters[name] ?? "", (event) => change(name, event.target.value));
  });
  const choosers = (view.choosers?.(parameters) ?? []).map(([name, label, choices]) => select(label, name, choices, parameters[name] || (name === "metric" ? choices[0]?.[0] : ""), (event) => change(name, event.target.value)));
  const none = element("a", { class: "clear", href: address(current().name) }, "Clear");
  return fields.length + choosers.length ? [...fields, ...choosers, none] : [];
}

// fields are made anew where what may be chosen depends on what is, and keep the keyboard's place
function showFilters(view, parameters) {
  const form = document.getElementById("filters");
  const focused = form.contains(document.activeElement) ? document.activeElement.name : null;
  form.replaceChildren(...filterFields(view, parameters));
  form.hidden = !form.children.length;
  if (focused) form.elements.namedItem(focused)?.focus();
}

function show() {
  const { name, parameters } = current();
  const view = VIEWS[name];
  const words = (said) => (typeof said === "function" ? said(parameters) : said);
  document.querySelector("h1").textContent = words(view.heading);
  document.getElementById("lead").textContent = words(view.lead);
  document.title = `samebox: ${view.title ?? words(view.heading)}`;
  for (const each of document.querySelectorAll("nav a")) {
    if (each.dataset.view === name) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  showFilters(view, parameters);
  drawnWidth = innerWidth;
  document.getElementById("view").replaceChildren(...view.render(parameters).flat(Infinity));
  const place = name === "campaign" ? `campaign ${parameters.id}` : name;
  if (shownView !== null && shownView !== place) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  }
  shownView = place;
  shownAddress = location.hash;
  showPicked();
}

function begin() {
  document.getElementById("counts").textContent = [plural(MODEL.campaigns.length, "campaign"), between(MODEL.campaigns)].filter(Boolean).join(", ");
  document.querySelector("nav").append(...Object.entries(VIEWS).filter(([, view]) => view.title).map(([name, view]) => element("a", { href: `#${name}`, "data-view": name }, view.title)));
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // its address would be taken for a view
    document.getElementById("main").focus();
  });
  addEventListener("hashchange", show);
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - drawnWidth) >= WIDTH_STEP) show();
  });
  show();
}

begin();
