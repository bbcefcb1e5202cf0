// The table of runs. Rows keep their elements while it is refreshed.

import { el, named, setParts, setStatus, setText, statusBadge, timeOf } from "./dom.js";
import { costText, durationOf, durationText, hasEnded, shortNumber, stateOf, titleOf } from "./format.js";
import { clip, visible } from "./text.js";
import { totals } from "./totals.js";

const COLUMNS = [
  ["state", "Status"], ["title", "Title"], ["agent", "Agent"], ["started", "Started"],
  ["duration", "Duration"], ["tokens", "Tokens"], ["cost", "Cost"],
];

// A narrow screen shows rows as blocks, which would no longer be a table without these roles.
const cell = (name, role, ...children) =>
  el(role === "rowheader" ? "th" : "td", { role, class: `in-${name}`, scope: role === "rowheader" && "row" },
    ...children);

/** Returns the table; `update(runs)` shows these. */
export function runTable(signal) {
  const head = el("tr", { role: "row" }, ...COLUMNS.map(([name, title]) =>
    el("th", { role: "columnheader", scope: "col", class: `in-${name}` }, title)));
  const body = el("tbody", { role: "rowgroup", "data-testid": "run-list" });
  const table = el("table", { class: "runs", role: "table", "aria-label": "Runs", hidden: true },
    el("thead", { role: "rowgroup" }, head), body);
  const shown = new Map();
  const usages = totals(signal, (id, usage) => {
    shown.get(id)?.showUsage(usage);
    if (usage && costText(usage.cost)) table.classList.add("has-cost");
  });
  return {
    node: table,
    update(runs) {
      table.hidden = runs.length === 0;
      const ids = new Set(runs.map((run) => run.id));
      for (const [id, row] of shown) {
        if (ids.has(id)) continue;
        usages.forget(row.node);
        row.node.remove();
        shown.delete(id);
      }
      runs.forEach((run, at) => {
        if (!shown.has(run.id)) shown.set(run.id, runRow(run));
        const row = shown.get(run.id);
        row.update(run);
        if (body.children[at] !== row.node) body.insertBefore(row.node, body.children[at] ?? null);
        usages.want(run, row.node);
      });
    },
  };
}

function runRow({ id }) {
  const link = el("a", { href: `#/runs/${encodeURIComponent(id)}`, dir: "auto" });
  const tags = el("span", { class: "tags" });
  const problem = el("p", { class: "problem" });
  const status = statusBadge("");
  const agent = el("span");
  const started = el("span");
  const duration = el("span");
  const tokens = el("span");
  const cost = el("span");
  const node = el("tr", { role: "row", "data-testid": "run-row", "data-run-id": id },
    cell("state", "cell", status), cell("title", "rowheader", link, tags, problem),
    cell("agent", "cell", agent), cell("started", "cell", started), cell("duration", "cell", duration),
    cell("tokens", "cell", tokens), cell("cost", "cell", cost));
  return {
    node,
    update(run) {
      const state = stateOf(run);
      setStatus(status, state);
      setText(link, visible(clip(titleOf(run), 200)));
      const labels = Object.entries(run.labels ?? {}).map(([name, value]) =>
        named(`${name}: ${clip(value, 40)}`));
      const kinds = run.kind === "chat" ? ["chat"] : [];
      setParts(tags, [...kinds, ...labels].flatMap((tag, at) => (at === 0 ? [tag] : [" · ", tag])));
      tags.hidden = tags.textContent === "";
      problem.hidden = state !== "stuck";
      setText(problem, problem.hidden ? "" : visible(clip(run.problem.message ?? "", 300)));
      setParts(agent, [named(run.agent ?? "–")]);
      setParts(started, [shortTime(run.started_at)]);
      // An idle chat takes no time.
      const isIdle = state === "idle" || state === "queued";
      setText(duration, isIdle ? "–" : durationText(durationOf(run, Date.now())) || "–");
      duration.classList.toggle("is-open", !hasEnded(run.status));
    },
    showUsage(usage) {
      const sum = usage ? (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0) : 0;
      setText(tokens, sum > 0 ? shortNumber(sum) : "–");
      setText(cost, usage ? costText(usage.cost) || "–" : "–");
    },
  };
}

/** Returns the time of today, or the date and the time. */
function shortTime(text) {
  const date = new Date(text ?? NaN);
  const isToday = date.toDateString() === new Date().toDateString();
  return timeOf(text, isToday ? { timeStyle: "short" }
    : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}
