// The entries of a view model as a list. An entry that changes keeps its elements, so that focus
// and opened details stay. Only the latest entries have elements, until a person asks for others.

import { el, setText } from "./dom.js";
import { MAKERS } from "./entries.js";

const SHOWN = 200;

/** Returns a list; `update(view)` shows the entries of a view model. */
export function timeline() {
  const note = el("p", { class: "hint" });
  const earlier = el("button", { type: "button", "data-testid": "earlier" });
  const top = el("div", { class: "earlier", hidden: true }, note, earlier);
  const list = el("ol", { class: "timeline", "aria-labelledby": "events-title" });
  const shown = new Map();
  let latest = { entries: [], dropped: 0 };
  let count = SHOWN;
  let latestFailed;

  const update = (view) => {
    latest = view;
    const entries = view.entries.slice(-count);
    showTop(view, view.entries.length - entries.length);
    const keys = new Set(entries.map((entry) => entry.key));
    for (const [key, item] of shown) {
      if (keys.has(key)) continue;
      item.node.remove();
      shown.delete(key);
    }
    let before = null;
    for (const entry of entries) {
      const item = itemOf(entry);
      const next = before ? before.nextElementSibling : list.firstElementChild;
      if (next !== item.node) list.insertBefore(item.node, next);
      before = item.node;
    }
  };
  const itemOf = (entry) => {
    let item = shown.get(entry.key);
    if (!item || item.type !== entry.type) {
      item?.node.remove();
      item = { type: entry.type, ...MAKERS[entry.type]() };
      shown.set(entry.key, item);
    }
    if (item.entry !== entry) {
      item.entry = entry;
      item.node.className = classesOf(entry);
      item.update(entry);
    }
    return item;
  };
  const showTop = ({ dropped }, hidden) => {
    top.hidden = hidden + dropped === 0;
    setText(note, dropped === 0 ? `${numberOf(hidden)} earlier entries are not shown.`
      : `${numberOf(hidden + dropped)} earlier entries are not shown; the first `
        + `${numberOf(dropped)} of them only count in the sums.`);
    earlier.hidden = hidden === 0;
    setText(earlier, `Show ${numberOf(Math.min(hidden, SHOWN))} earlier entries`);
  };
  earlier.addEventListener("click", () => {
    const first = list.firstElementChild;
    const place = first?.getBoundingClientRect().top ?? 0;
    count += SHOWN;
    update(latest);
    // What the person reads stays where it is; the focus is at the first of the new entries.
    if (first) window.scrollBy(0, first.getBoundingClientRect().top - place);
    const entry = list.firstElementChild;
    if (entry) {
      entry.tabIndex = -1;
      entry.focus({ preventScroll: true });
    }
  });
  /** Moves the focus to the next failed call after the one that has it. */
  const focusFailed = () => {
    const failed = [...list.querySelectorAll(':scope > [data-state="failed"]')];
    latestFailed = failed[failed.indexOf(latestFailed) + 1] ?? failed[0];
    if (!latestFailed) return;
    latestFailed.tabIndex = -1;
    latestFailed.focus();
  };
  return { nodes: [top, list], update, focusFailed };
}

const numberOf = (number) => number.toLocaleString();

function classesOf(entry) {
  const classes = ["entry", `entry-${entry.type}`, `depth-${Math.min(entry.path.length, 3)}`];
  if (entry.role) classes.push(`role-${entry.role}`);
  if (entry.tone) classes.push(`tone-${entry.tone}`);
  if (entry.isPartial) classes.push("partial");
  if (entry.isCut) classes.push("cut");
  if (entry.isAnswer) classes.push("is-answer");
  return classes.join(" ");
}
