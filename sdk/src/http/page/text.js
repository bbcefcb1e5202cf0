// Texts from outside, as the page shows them. Everything in this file is pure.

/** JSON of at most so many characters is one line. */
const SHORT_JSON = 60;

/** Characters that reorder or hide the text around them. */
const INVISIBLE = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b\\u200e\\u200f"
    + "\\u2028-\\u202e\\u2060-\\u2069\\ufeff]", "g");

/**
 * Returns a text in which such characters are written as escapes: for names, and for what a person
 * decides about, which must look like what it is.
 */
export function visible(text) {
  return text.replace(INVISIBLE, (char) =>
    `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns at most so many characters from the beginning of a text. */
export function clip(text, length) {
  if (text.length <= length) return text;
  // Not between the halves of a character.
  const end = /[\ud800-\udbff]/.test(text[length - 1]) ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}

/** Returns the text of a message or of a reasoning item. */
export function textOfItem(item) {
  const parts = [item?.content, item?.summary].flatMap((content) =>
    Array.isArray(content) ? content : content == null ? [] : [content]);
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      return part?.text ?? part?.refusal ?? (part?.type ? `[${part.type}]` : "");
    })
    .filter((text) => text !== "")
    .join("\n");
}

/** Returns a failure with its causes, as one sentence. */
export function textOfFailure(failure) {
  const texts = [];
  for (let at = failure; at; at = at.cause) {
    const name = at.type ?? at.kind;
    texts.push([name, at.message].filter(Boolean).join(": "));
  }
  return texts.join(", because of ") || "unknown failure";
}

/** Returns a value as text: a string as it is, the text of content parts, other values as JSON. */
export function textOfValue(value) {
  if (typeof value === "string") return value;
  const isText = (part) => typeof part?.text === "string";
  if (Array.isArray(value) && value.length > 0 && value.every(isText)) {
    return value.map((part) => part.text).join("\n");
  }
  return JSON.stringify(value, null, 2) ?? "";
}

/** Returns the value of JSON text; `undefined` for other text, and if numbers would change. */
export function parsedJson(text) {
  if (!/^\s*[[{]/.test(text) || hasLargeNumber(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns whether a text is this value, or its JSON in any form. */
export function isTextOf(text, value) {
  if (typeof value === "string") return text === value;
  const parsed = parsedJson(text);
  return parsed !== undefined && canonical(parsed) === canonical(value);
}

function canonical(value) {
  return JSON.stringify(value, (_, member) => {
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Returns JSON text with spaces and line breaks; other text unchanged. */
export function prettyJson(text) {
  try {
    const value = JSON.parse(text);
    // Numbers that JavaScript cannot hold would be shown as others.
    if (hasLargeNumber(text)) return text;
    const lines = JSON.stringify(value, null, 2);
    const line = lines.replace(/\n */g, " ");
    return line.length <= SHORT_JSON ? line : lines;
  } catch {
    return text;
  }
}

function hasLargeNumber(text) {
  return /\d{16}|\d[eE][+-]?\d{3}/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
}
