// Helpers for elements. Text is only ever inserted as text.

import { ApiError, pause } from "./api.js";
import { wordOf } from "./format.js";
import { clip, visible } from "./text.js";

const MAX_NAME_CHARS = 80;
const MAX_SHOWN_CHARS = 20_000;

/** Returns an element. Children are elements or strings; absent ones are left out. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

let nextId = 0;
export function newId(prefix) {
  nextId += 1;
  return `${prefix}-${nextId}`;
}

/** Returns a label with its field below it. The label is a string, or parts as in `setParts`. */
export function field(label, input, hint) {
  input.id ||= newId("field");
  const hintNode = hint ? el("p", { id: `${input.id}-hint`, class: "hint" }, hint) : undefined;
  if (hintNode) input.setAttribute("aria-describedby", hintNode.id);
  const labelNode = el("label", { for: input.id });
  setParts(labelNode, [label].flat());
  return el("div", { class: "field" }, labelNode, input, hintNode);
}

/** Sets the text of a node, if it differs. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Marks a part of a sentence as a name from outside: it cannot change the text around it. */
export function named(name) {
  return { name: visible(clip(String(name), MAX_NAME_CHARS)) };
}

/** Sets the content of a node to strings, elements and names, if it differs. */
export function setParts(node, parts) {
  const kept = parts.filter((part) => part !== undefined && part !== "");
  const state = JSON.stringify(kept.map((part) => part instanceof Node ? part.outerHTML : part));
  if (drawnParts.get(node) === state) return;
  drawnParts.set(node, state);
  node.replaceChildren(...kept.map((part) =>
    typeof part === "string" || part instanceof Node ? part : el("bdi", {}, part.name)));
}
const drawnParts = new WeakMap();

/**
 * Returns a text of any length from outside, whose beginning is shown first. `update(text)` sets
 * it; with `isLive`, its end is shown.
 */
export function longText(name, attributes = {}) {
  const content = el(name, { dir: "auto", ...attributes });
  const more = el("button", { type: "button", class: "more", hidden: true });
  let full = "";
  let isWhole = false;
  const draw = (isLive) => {
    const isLong = !isWhole && full.length > MAX_SHOWN_CHARS;
    const shown = isLive ? `…${full.slice(-MAX_SHOWN_CHARS)}` : clip(full, MAX_SHOWN_CHARS);
    setText(content, isLong ? shown : full);
    more.hidden = !isLong || isLive === true;
    setText(more, `Show all ${full.length.toLocaleString()} characters`);
  };
  more.addEventListener("click", () => {
    isWhole = true;
    draw();
    content.tabIndex = -1;
    content.focus({ preventScroll: true });
  });
  return {
    content,
    nodes: [content, more],
    update(text, isLive) {
      full = text;
      draw(isLive);
    },
  };
}

/** Lets screen readers say a text, after what they say now. */
export function announce(text) {
  const region = document.getElementById("announcements");
  region.append(el("p", {}, clip(text, 500)));
  while (region.childElementCount > 20) region.firstElementChild.remove();
}

export function statusBadge(status) {
  const badge = el("span", { "data-testid": "status" });
  setStatus(badge, status);
  return badge;
}

export function setStatus(badge, status) {
  badge.className = `status status-${/^[a-z_]+$/.test(status) ? status : "other"}`;
  badge.dataset.status = status;
  setText(badge, wordOf(status));
}

export function timeOf(text, options = { dateStyle: "medium", timeStyle: "medium" }) {
  const date = new Date(text ?? NaN);
  if (Number.isNaN(date.getTime())) return el("span", {}, text ?? "");
  return el("time", { datetime: date.toISOString() }, date.toLocaleString(undefined, options));
}

const KIND_TEXTS = {
  no_worker: "No worker has answered in time. Try again: the same request counts once.",
  server_unavailable: "The Temporal server cannot be reached at the moment. Try again later.",
};

export function textOfError(error) {
  if (error instanceof TypeError) return "The service cannot be reached. Try again.";
  const text = String(error?.message ?? error);
  if (!(error instanceof ApiError)) return text;
  if (Object.hasOwn(KIND_TEXTS, error.code)) return KIND_TEXTS[error.code];
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return visible(/[.!?…]$/.test(sentence) ? sentence : `${sentence}.`);
}

/** Shows an error in a node with `role="alert"`; without one the node is hidden. */
export function showError(node, error) {
  node.hidden = !error;
  setText(node, error ? textOfError(error) : "");
}

/** Runs the action of a form once at a time, with its buttons turned off meanwhile. */
export async function whileBusy(form, errorNode, action) {
  if (form.getAttribute("aria-busy") === "true") return false;
  const focused = document.activeElement;
  const buttons = [...form.querySelectorAll("button")].filter((button) => !button.disabled);
  form.setAttribute("aria-busy", "true");
  for (const button of buttons) button.disabled = true;
  showError(errorNode);
  try {
    await action();
    return true;
  } catch (error) {
    showError(errorNode, error);
    return false;
  } finally {
    form.removeAttribute("aria-busy");
    for (const button of buttons) button.disabled = false;
    if (form.contains(focused)) focused.focus();
  }
}

/** Runs a task now and then again and again; not while the page is hidden. */
export async function poll(task, ms, signal) {
  while (!signal.aborted) {
    if (!document.hidden) await task();
    const shown = new AbortController();
    const wake = () => { if (!document.hidden) shown.abort(); };
    document.addEventListener("visibilitychange", wake);
    await pause(ms, AbortSignal.any([signal, shown.signal]));
    document.removeEventListener("visibilitychange", wake);
  }
}
