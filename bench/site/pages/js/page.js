"use strict";
// Elements, and the state that is in the address. What comes from a bundle becomes text here, and never markup.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

// #view?key=value&...: the address of everything that is shown
function address(view, parameters = {}) {
  const given = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const text = given.toString();
  return `#${view}${text ? `?${text}` : ""}`;
}

function state() {
  const [view, query = ""] = location.hash.slice(1).split("?", 2);
  return { view, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

function link(text, view, parameters) {
  return element("a", { href: address(view, parameters) }, text);
}

// a table that scrolls by itself where it is wider than the page; `classes` are of its columns' heads
function table(label, heads, rows, { classes = [], id = null } = {}) {
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, element("table", { id },
    element("thead", {}, element("tr", {}, heads.map((head, place) => element("th", { scope: "col", class: classes[place] }, head)))),
    element("tbody", {}, rows)));
}

function select(label, name, options, chosen, onchange) {
  const made = element("select", { name, onchange });
  for (const each of options) {
    if (each.options) {
      made.append(element("optgroup", { label: each.label }, each.options.map(([value, text]) => element("option", { value }, text))));
    } else {
      made.append(element("option", { value: each[0] }, each[1]));
    }
  }
  made.value = chosen ?? "";
  return element("label", {}, element("span", {}, label), made);
}

function copied(lines) {
  const text = lines.join("\n");
  const said = element("span", { role: "status" });
  const take = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const range = document.createRange(); // a page that is a file may not write to the clipboard everywhere
      range.selectNodeContents(box.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      said.textContent = "selected: press Ctrl-C";
      return;
    }
    said.textContent = "copied";
  };
  const box = element("div", { class: "lines" }, element("pre", { tabindex: "0" }, element("code", {}, text)), element("button", { type: "button", onclick: take }, "Copy"), said);
  return box;
}
