// The handoffs between agents, as a graph with a text alternative.

import { el, named, newId, setParts } from "./dom.js";
import { clip, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 300;
const NODE = { width: 150, height: 34, gap: 34 };
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
  return el("figcaption", {}, el("ul", {}, ...lines.map((parts) => {
    const item = el("li");
    setParts(item, parts);
    return item;
  })));
}

function draw(handoffs, current) {
  const names = [...new Set(handoffs.flatMap(({ from, to }) => [from, to]))].slice(0, MAX_AGENTS);
  const edges = handoffs.filter(({ from, to }) => names.includes(from) && names.includes(to));
  const height = names.length * (NODE.height + NODE.gap) - NODE.gap + 4;
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
    ...edges.map((handoff, index) => edge(handoff, names, index, marker)),
    ...names.map((name, index) => agent(name, index, name === current)),
  );
}

function agent(name, index, isCurrent) {
  const y = index * (NODE.height + NODE.gap) + 2;
  const x = (WIDTH - NODE.width) / 2;
  const text = svg("text", { x: WIDTH / 2, y: y + NODE.height / 2 });
  text.textContent = visible(clip(name, MAX_NAME));
  const box = svg("rect", { x, y, width: NODE.width, height: NODE.height, rx: 6 });
  return svg("g", { class: isCurrent ? "agent current" : "agent" }, box, text);
}

/** Handoffs down the column are on its right side, those up the column on its left side. */
function edge({ from, to, count }, names, index, marker) {
  const [start, end] = [names.indexOf(from), names.indexOf(to)];
  const side = end > start ? 1 : -1;
  const x = WIDTH / 2 + (side * NODE.width) / 2;
  const middle = (at) => at * (NODE.height + NODE.gap) + NODE.height / 2 + 2;
  // The ends are apart, so that edges of the same agent do not cover each other.
  const [y1, y2] = [middle(start) + 6, middle(end) - 6];
  const bend = x + side * Math.min(20 + 14 * Math.abs(end - start) + 3 * index, 70);
  const path = svg("path", {
    d: `M${x} ${y1} C${bend} ${y1} ${bend} ${y2} ${x} ${y2}`,
    class: "edge", "marker-end": `url(#${marker})`,
  });
  if (count === 1) return path;
  const text = svg("text", { x: x + side * 26, y: (y1 + y2) / 2, class: "count" });
  text.textContent = `×${count}`;
  return svg("g", {}, path, text);
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}
