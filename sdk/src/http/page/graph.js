// The handoffs between agents, as a graph with a text alternative.

import { el, named, newId, setParts } from "./dom.js";
import { clip, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 300;
const NODE = { width: 150, height: 34, gap: 34 };
/** More agents than these are drawn closer together. */
const MANY = 6;
const SMALL_NODE = { width: 150, height: 26, gap: 12 };
const MAX_NAME = 17;
const MAX_AGENTS = 12;
const MAX_LINES = 40;

/** Returns a figure; `update(handoffs, current)` draws it again if something has changed. */
export function handoffGraph() {
  const figure = el("figure", { class: "graph", hidden: true });
  let drawn = "";
  return {
    node: figure,
    update(handoffs, current) {
      const state = JSON.stringify([handoffs, current]);
      if (state === drawn) return;
      drawn = state;
      figure.hidden = handoffs.length === 0;
      figure.replaceChildren();
      if (handoffs.length > 0) figure.append(draw(handoffs, current), caption(handoffs, current));
    },
  };
}

function caption(handoffs, current) {
  const lines = handoffs.slice(0, MAX_LINES).map(({ from, to, count }) =>
    [named(from), " hands off to ", named(to), count > 1 ? ` (${count} times)` : ""]);
  if (handoffs.length > MAX_LINES) lines.push([`and ${handoffs.length - MAX_LINES} others`]);
  if (current) lines.push(["Now: ", named(current)]);
  const list = el("ul", {}, ...lines.map((parts) => {
    const item = el("li");
    setParts(item, parts);
    return item;
  }));
  const isLong = lines.length > MANY;
  return el("figcaption", {}, isLong ? el("details", {}, el("summary", {}, `${handoffs.length} handoffs`), list)
    : list);
}

function draw(handoffs, current) {
  const names = [...new Set(handoffs.flatMap(({ from, to }) => [from, to]))].slice(0, MAX_AGENTS);
  const edges = linesOf(handoffs.filter(({ from, to }) => names.includes(from) && names.includes(to)));
  const node = names.length > MANY ? SMALL_NODE : NODE;
  const height = names.length * (node.height + node.gap) - node.gap + 4;
  const marker = newId("arrow");
  const title = newId("graph");
  const arrow = svg("marker", {
    id: marker, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
    orient: "auto-start-reverse",
  }, svg("path", { d: "M0 0 8 4 0 8z", class: "arrow" }));
  const label = svg("title", { id: title });
  label.textContent = `Handoffs between ${names.length} agents; the list below names them.`;
  return svg(
    "svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-labelledby": title },
    label, svg("defs", {}, arrow),
    ...edges.map((line) => edge(line, names, node, marker)),
    ...names.map((name, index) => agent(name, index, node, name === current)),
  );
}

/** Returns one line for the handoffs between two agents, which may be to and fro. */
function linesOf(handoffs) {
  const lines = new Map();
  for (const { from, to, count } of handoffs) {
    const back = lines.get(JSON.stringify([to, from]));
    if (back && from !== to) Object.assign(back, { isMutual: true, count: back.count + count });
    else lines.set(JSON.stringify([from, to]), { from, to, count, isMutual: false });
  }
  return [...lines.values()];
}

function agent(name, index, node, isCurrent) {
  const y = index * (node.height + node.gap) + 2;
  const x = (WIDTH - node.width) / 2;
  const text = svg("text", { x: WIDTH / 2, y: y + node.height / 2 });
  text.textContent = visible(clip(name, MAX_NAME));
  const box = svg("rect", { x, y, width: node.width, height: node.height, rx: 6 });
  return svg("g", { class: isCurrent ? "agent current" : "agent" }, box, text);
}

/** Handoffs down the column, and those to and fro, are on its right side, others on its left. */
function edge({ from, to, count, isMutual }, names, node, marker) {
  const [start, end] = [names.indexOf(from), names.indexOf(to)];
  const side = end > start || isMutual ? 1 : -1;
  const x = WIDTH / 2 + (side * node.width) / 2;
  const middle = (at) => at * (node.height + node.gap) + node.height / 2 + 2;
  // The ends are apart, so that edges of the same agent do not cover each other.
  const [y1, y2] = [middle(start) + 4, middle(end) - 4];
  const bend = x + side * Math.min(16 + 10 * Math.abs(end - start), 90);
  const path = svg("path", {
    d: `M${x} ${y1} C${bend} ${y1} ${bend} ${y2} ${x} ${y2}`, class: "edge",
    "marker-end": `url(#${marker})`, ...(isMutual && { "marker-start": `url(#${marker})` }),
  });
  if (count === 1 || (isMutual && count === 2)) return path;
  const text = svg("text", {
    x: x + 0.75 * (bend - x) + side * 5, y: (y1 + y2) / 2, class: side > 0 ? "count" : "count left",
  });
  text.textContent = `×${count}`;
  return svg("g", {}, path, text);
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}
