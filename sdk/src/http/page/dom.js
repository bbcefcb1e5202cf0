// Helpers for elements. Text is only ever inserted as text.

import { ApiError, pause } from "./api.js";

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

/** Returns a label with its field below it. */
export function field(label, input, hint) {
  input.id ||= newId("field");
  const hintNode = hint ? el("p", { id: `${input.id}-hint`, class: "hint" }, hint) : undefined;
  if (hintNode) input.setAttribute("aria-describedby", hintNode.id);
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input, hintNode);
}

/** Sets the text of a node, if it differs. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Lets screen readers say a text, after what they say now. */
export function announce(text) {
  const region = document.getElementById("announcements");
  region.append(el("p", {}, text));
  while (region.childElementCount > 20) region.firstElementChild.remove();
}

export function statusBadge(status) {
  const badge = el("span", { "data-testid": "status" });
  setStatus(badge, status);
  return badge;
}

/** The statuses of runs that have ended; a run of any other status may still change. */
const ENDED = new Set(["completed", "failed", "cancelled", "terminated", "timed_out", "gone"]);
export const hasEnded = (status) => ENDED.has(status);

/** Returns a status as people read it. */
export const wordOf = (status) => status.replaceAll("_", " ");

export function setStatus(badge, status) {
  badge.className = `status status-${/^[a-z_]+$/.test(status) ? status : "other"}`;
  badge.dataset.status = status;
  setText(badge, wordOf(status));
}

export function timeOf(text) {
  const date = new Date(text ?? NaN);
  if (Number.isNaN(date.getTime())) return el("span", {}, text ?? "");
  const format = { dateStyle: "medium", timeStyle: "medium" };
  return el("time", { datetime: date.toISOString() }, date.toLocaleString(undefined, format));
}

export function textOfError(error) {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return "The service cannot be reached.";
  return String(error?.message ?? error);
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
    await pause(ms, signal);
  }
}
