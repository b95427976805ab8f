"use strict";
// A figure as a PNG, to paste elsewhere: with its title, date, promise, hosts and the root of each bundle, on white whatever the page is.

const PICTURE = { width: 900, margin: 28, scale: 2, line: 19 };
const SVG = "http://www.w3.org/2000/svg";
const MOST_ROOTS = 4;

// about: {title, promise, load, hosts, campaigns}
function pictureLines(about) {
  const dates = between(about.campaigns);
  const lines = [`${dates ? `${dates}. ` : ""}${about.load}. Hosts: ${about.hosts}.`, about.promise];
  if (about.campaigns.some((campaign) => campaign.published)) lines.push("Published results: there are no records, so nobody can recompute them.");
  if (about.campaigns.some((campaign) => !campaign.published && !campaign.records)) lines.push("Bundled without the records of messages: nobody can recompute these figures.");
  if (about.legend) lines.push(about.legend);
  const roots = about.campaigns.filter((campaign) => campaign.root);
  lines.push(...roots.slice(0, MOST_ROOTS).map((campaign) => `${campaign.name}: root ${campaign.root}`));
  if (roots.length > MOST_ROOTS) lines.push(`and ${roots.length - MOST_ROOTS} more bundles`);
  return lines;
}

function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + word.length + 1 > most) lines.push(word);
    else lines[lines.length - 1] = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
  }
  return lines;
}

function svgText(text, y, size, weight, fill) {
  const made = document.createElementNS(SVG, "text");
  for (const [key, value] of Object.entries({ x: PICTURE.margin, y, "font-size": size, "font-weight": weight, fill, "font-family": FONT })) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function pictureOf(draw, about) {
  const chart = draw(PICTURE.width - 2 * PICTURE.margin, LIGHT);
  const titles = wrapped(about.title, 72);
  const lines = pictureLines(about).flatMap((line) => wrapped(line, 118));
  const top = PICTURE.margin + titles.length * 27 + 8;
  const height = top + Number(chart.getAttribute("height")) + lines.length * PICTURE.line + PICTURE.margin;
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ xmlns: SVG, width: PICTURE.width, height, viewBox: `0 0 ${PICTURE.width} ${height}` })) svg.setAttribute(key, value);
  const paper = document.createElementNS(SVG, "rect");
  for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: LIGHT.paper })) paper.setAttribute(key, value);
  svg.append(paper, ...titles.map((line, place) => svgText(line, PICTURE.margin + 14 + place * 27, 21, 650, LIGHT.ink)));
  chart.setAttribute("x", PICTURE.margin);
  chart.setAttribute("y", top);
  svg.append(chart);
  const below = top + Number(chart.getAttribute("height")) + 14;
  svg.append(...lines.map((line, place) => svgText(line, below + place * PICTURE.line, 12.5, 400, LIGHT.soft)));
  return { svg, width: PICTURE.width, height };
}

async function savePicture(draw, about) {
  const { svg, width, height } = pictureOf(draw, about);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * PICTURE.scale;
  canvas.height = height * PICTURE.scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const link = document.createElement("a");
  link.href = canvas.toDataURL("image/png");
  link.download = `${about.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "figure"}.png`;
  link.click();
}
