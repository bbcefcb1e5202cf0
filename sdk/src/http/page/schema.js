// Fields for a JSON schema from outside: an object of strings, numbers, booleans and choices.

import { el, field, newId } from "./dom.js";
import { visible } from "./text.js";

const MAX_FIELDS = 100;
const MAX_CHOICES = 500;
const TYPES = { email: "email", uri: "url", date: "date" };

/** Returns for each property its name, its elements, and a function that reads its value. */
export function schemaFields(schema) {
  const required = new Set(listOf(schema?.required));
  return Object.entries(schema?.properties ?? {}).slice(0, MAX_FIELDS).map(([name, of]) =>
    schemaField(name, of ?? {}, required.has(name)));
}

const listOf = (value) => (Array.isArray(value) ? value : []);

// The inputs have no `name`: one of a form's own members would hide that member.
function schemaField(name, schema, isRequired) {
  const title = visible(String(schema.title ?? name));
  const label = isRequired ? title : `${title} (optional)`;
  const hint = schema.description ? String(schema.description) : undefined;
  if (schema.type === "boolean") {
    const input = el("input", { type: "checkbox", id: newId("field") });
    input.checked = schema.default === true;
    const node = el("label", { for: input.id, class: "check" }, input, title);
    return { name, node, read: () => input.checked };
  }
  const choices = choicesOf(schema);
  if (choices.length > 0) {
    const options = choices.map(([, text], at) => el("option", { value: at }, String(text)));
    const input = el("select", { required: isRequired },
      el("option", { value: "" }, "Choose"), ...options);
    const chosen = choices.findIndex(([value]) => value === schema.default);
    if (chosen >= 0) input.value = String(chosen);
    const read = () => (input.value === "" ? undefined : choices[Number(input.value)][0]);
    return { name, node: field(label, input, hint), read };
  }
  const isNumber = schema.type === "number" || schema.type === "integer";
  const input = el("input", {
    required: isRequired, type: isNumber ? "number" : textTypeOf(schema.format),
    step: schema.type === "number" ? "any" : undefined, min: schema.minimum, max: schema.maximum,
    minlength: schema.minLength, maxlength: schema.maxLength, value: schema.default,
  });
  const read = () => {
    if (input.value === "") return isRequired && !isNumber ? "" : undefined;
    return isNumber ? Number(input.value) : input.value;
  };
  return { name, node: field(label, input, hint), read };
}

const textTypeOf = (format) => (Object.hasOwn(TYPES, format ?? "") ? TYPES[format] : "text");

/** Returns pairs of a value and its text. */
function choicesOf(schema) {
  const names = listOf(schema.enumNames);
  const values = listOf(schema.enum).map((value, at) => [value, names[at] ?? value]);
  const titled = listOf(schema.oneOf).map((choice) =>
    [choice?.const, choice?.title ?? choice?.const]);
  return (values.length > 0 ? values : titled).slice(0, MAX_CHOICES);
}
