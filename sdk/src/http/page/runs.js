// The list of runs, and the open questions of all runs.

import { listQuestions, listRuns } from "./api.js";
import {
  el, named, newId, poll, setParts, setStatus, showError, statusBadge, timeOf,
} from "./dom.js";
import { questionList } from "./questions.js";
import { clip, visible } from "./text.js";

const REFRESH_MS = 5_000;

export function runsPage(main, { signal }) {
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const empty = el("p", { hidden: true }, "There are no such runs yet. ",
    el("a", { href: "#/new" }, "Start one."));
  const isOpen = el("input", {
    type: "checkbox", id: newId("open"), "data-testid": "open-only", onchange: () => turnTo(""),
  });
  const rows = runRows();
  let page = ""; // the position from which this page of runs begins
  let next = "";

  const refresh = async () => {
    const wanted = { next: page, isOpen: isOpen.checked };
    const [runs, questions] = await Promise.allSettled([
      listRuns(wanted, signal), listQuestions(signal),
    ]);
    if (signal.aborted) return;
    if (questions.status === "fulfilled") open.update(questions.value.questions);
    if (wanted.next !== page || wanted.isOpen !== isOpen.checked) return;
    if (runs.status === "fulfilled") {
      rows.update(runs.value.runs);
      next = runs.value.next ?? "";
      older.hidden = !next;
      newest.hidden = !page;
      empty.hidden = runs.value.runs.length > 0 || page !== "";
    }
    showError(error, [runs, questions].find(({ status }) => status === "rejected")?.reason);
  };
  const turnTo = (position) => {
    page = position;
    if (document.activeElement !== isOpen) heading.focus();
    refresh();
  };
  const open = questionList({ title: "Open questions", linksToRun: true, onAnswer: refresh });
  const older = el("button", { type: "button", hidden: true, onclick: () => turnTo(next) },
    "Older runs");
  const newest = el("button", { type: "button", hidden: true, onclick: () => turnTo("") },
    "Newest runs");
  const heading = el("h1", { tabindex: -1 }, "Runs");
  main.append(heading, error, ...open.nodes,
    el("label", { for: isOpen.id, class: "check" }, isOpen, "Only runs that have not ended"),
    rows.node, empty,
    el("div", { class: "actions" }, newest, older));
  poll(refresh, REFRESH_MS, signal);
}

/** Returns a list of runs that keeps its elements while it is refreshed. */
function runRows() {
  const list = el("ul", { class: "runs", "data-testid": "run-list", "aria-label": "Runs" });
  const shown = new Map();
  return {
    node: list,
    update(runs) {
      const ids = new Set(runs.map((run) => run.id));
      for (const [id, row] of shown) {
        if (ids.has(id)) continue;
        row.node.remove();
        shown.delete(id);
      }
      runs.forEach((run, at) => {
        if (!shown.has(run.id)) shown.set(run.id, runRow(run));
        const row = shown.get(run.id);
        row.update(run);
        if (list.children[at] !== row.node) list.insertBefore(row.node, list.children[at] ?? null);
      });
    },
  };
}

function runRow(run) {
  const status = statusBadge(run.status);
  const about = el("span", { class: "about" });
  const times = el("span", { class: "times" }, "started ", timeOf(run.started_at));
  const node = el("li", { "data-testid": "run-row", "data-run-id": run.id },
    el("a", { href: `#/runs/${encodeURIComponent(run.id)}` }, el("bdi", {}, visible(run.id))),
    status, about, times);
  let hasEnded = false;
  return {
    node,
    update({ kind, agent, status: now, started_at: started, ended_at: ended, labels }) {
      setStatus(status, now);
      const tags = Object.entries(labels ?? {}).map(([name, value]) =>
        `${name}: ${clip(value, 40)}`);
      setParts(about, [
        kind === "chat" ? "Chat" : "Run", ...(agent ? [" with ", named(agent)] : []),
        ...tags.flatMap((tag) => [" · ", named(tag)]),
      ]);
      if (!ended || hasEnded) return;
      hasEnded = true;
      times.append(`, took ${duration(Date.parse(ended) - Date.parse(started))}`);
    },
  };
}

function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (Number.isNaN(seconds)) return "an unknown time";
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60];
  const parts = [[days, "d"], [hours, "h"], [minutes, "min"], [seconds % 60, "s"]]
    .map(([value, unit]) => [Math.floor(value), unit]);
  const first = parts.findIndex(([value]) => value > 0);
  const shown = first < 0 ? [[0, "s"]] : parts.slice(first, first + 2);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(" ");
}
