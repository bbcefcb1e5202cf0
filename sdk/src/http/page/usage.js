// The usage of a run, by agent and model.

import { el, named, setParts } from "./dom.js";
import { costText } from "./format.js";
import { clip } from "./text.js";
import { totalOf } from "./view.js";

const MAX_ROWS = 50;
const MAX_NAME_CHARS = 40;

/** Returns a table; `update(sums)` fills it. */
export function usageTable() {
  const table = el("table", { class: "usage", "data-testid": "usage" });
  const extra = el("p", { class: "hint" });
  const node = el("section", { "aria-label": "Usage", hidden: true }, table, extra);
  let drawn = "";
  return {
    node,
    update({ models }) {
      const total = totalOf(models);
      const state = JSON.stringify(models);
      if (state === drawn) return;
      drawn = state;
      node.hidden = models.length === 0;
      const columns = COLUMNS.filter(({ name }) => name !== "cost" || total.cost !== undefined);
      table.replaceChildren(
        el("caption", {}, "Tokens by agent and model"),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Agent"),
          ...columns.map(({ title }) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, ...models.slice(0, MAX_ROWS).map((sum) => row(nameOf(sum), sum, columns))),
        el("tfoot", {}, row(["All"], total, columns)),
      );
      const calls = total.calls === 1 ? "model call" : "model calls";
      const notes = [`${count(total.calls)} ${calls} answered`];
      if (total.cached > 0) notes.push(`${count(total.cached)} of the tokens in were cached`);
      if (total.reasoning > 0) notes.push(`${count(total.reasoning)} of those out were reasoning`);
      setParts(extra, [`${notes.join("; ")}.`]);
    },
  };
}

const COLUMNS = [
  { name: "turns", title: "Turns" }, { name: "input", title: "In" },
  { name: "output", title: "Out" }, { name: "cost", title: "Cost" },
];

function nameOf({ agent, model }) {
  const name = el("span", { class: "model" });
  setParts(name, [named(clip(model ?? "", MAX_NAME_CHARS))]);
  return [named(clip(agent || "Agent", MAX_NAME_CHARS)), ...(model ? [" ", name] : [])];
}

function row(name, sum, columns) {
  const head = el("th", { scope: "row" });
  setParts(head, name);
  return el("tr", {}, head, ...columns.map((column) =>
    el("td", {}, column.name === "cost" ? costText(sum.cost) : count(sum[column.name]))));
}

const count = (number) => number.toLocaleString();
