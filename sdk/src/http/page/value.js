// A JSON value from outside as a list of names and values, for people who do not read JSON.

import { el } from "./dom.js";
import { clip, parsedJson, visible } from "./text.js";

const MAX_MEMBERS = 200;
const MAX_DEPTH = 6;
const MAX_CHARS = 20_000;

/** Returns the elements of an object or a list as text; `undefined` if they should stay a text. */
export function valueNode(text) {
  const value = parsedJson(text);
  if (value === null || typeof value !== "object" || text.length > MAX_CHARS) return undefined;
  return sizeOf(value, 0) > MAX_MEMBERS ? undefined : nodeOf(value);
}

function sizeOf(value, depth) {
  if (value === null || typeof value !== "object") return 1;
  if (depth === MAX_DEPTH) return Infinity;
  return Object.values(value).reduce((sum, member) => sum + sizeOf(member, depth + 1), 1);
}

function nodeOf(value) {
  if (Array.isArray(value) && value.length > 0) {
    return el("ul", { class: "value" }, ...value.map((member) => el("li", {}, nodeOf(member))));
  }
  if (value !== null && typeof value === "object" && Object.keys(value).length > 0) {
    return el("dl", { class: "value" }, ...Object.entries(value).flatMap(([name, member]) => [
      el("dt", {}, el("bdi", {}, visible(clip(name, 80)))), el("dd", {}, nodeOf(member)),
    ]));
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return el("span", { class: "text", dir: "auto" }, text === "" ? "–" : text);
}
