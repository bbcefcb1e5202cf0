// Open questions: approvals, outputs of client tools, and requests for input.

import { decide, supplyOutput } from "./api.js";
import { announce, el, field, newId, whileBusy } from "./dom.js";
import { prettyJson } from "./view.js";

/**
 * Returns a section with the open questions. `update(questions)` keeps the forms of questions that
 * are still open, with what was typed. `onAnswer` is called after an answer was accepted.
 */
export function questionList({ title, linksToRun, onAnswer }) {
  const id = newId("questions");
  const heading = el("h2", { id, tabindex: -1 }, title);
  const list = el("ul", { class: "questions" });
  const node = el("section", { "aria-labelledby": id, hidden: true }, heading, list);
  const shown = new Map();
  const answered = new Set();
  return {
    node,
    update(questions) {
      const open = new Map(questions.map((question) => [keyOf(question), question]));
      for (const key of answered) if (!open.has(key)) answered.delete(key);
      for (const key of answered) open.delete(key);
      for (const [key, item] of shown) {
        if (open.has(key)) continue;
        const hadFocus = item.contains(document.activeElement);
        item.remove();
        shown.delete(key);
        if (hadFocus) heading.focus();
      }
      for (const [key, question] of open) {
        if (shown.has(key)) continue;
        const done = () => {
          answered.add(key);
          announce("The answer was sent.");
          const item = shown.get(key);
          const { activeElement, body } = document;
          const hadFocus = activeElement === body || item?.contains(activeElement);
          item?.remove();
          shown.delete(key);
          node.hidden = shown.size === 0;
          if (hadFocus) (node.hidden ? document.querySelector("h1") : heading).focus();
          onAnswer?.(question);
        };
        const item = questionItem(question, linksToRun, done);
        shown.set(key, item);
        list.append(item);
      }
      node.hidden = shown.size === 0;
    },
  };
}

const keyOf = (question) => JSON.stringify([question.run_id, question.question_id]);

const KINDS = { approval: approvalForm, output: outputForm, input: inputForm };
const TITLES = { approval: "wants to call", output: "needs the output of", input: "asks during" };

function questionItem(question, linksToRun, done) {
  const titleId = newId("question");
  const kind = question.waits_for ?? "approval";
  const verb = TITLES[kind] ?? "waits for";
  const title = el("h3", { id: titleId }, `${question.agent} ${verb} ${question.tool}`);
  const run = linksToRun
    ? el("p", {}, el("a", { href: `#/runs/${encodeURIComponent(question.run_id)}` },
      `Run ${question.run_id}`))
    : undefined;
  const args = question.arguments
    ? el("pre", { "aria-label": "Arguments", tabindex: 0, role: "region" },
      textOf(question.arguments))
    : undefined;
  const form = Object.hasOwn(KINDS, kind)
    ? KINDS[kind](question, done)
    : el("p", {}, `This page has no form for questions of the kind “${kind}”.`);
  return el("li", {}, el("article", { class: "question", "aria-labelledby": titleId },
    title, run, args, form));
}

const textOf = (args) =>
  typeof args === "string" ? prettyJson(args) : JSON.stringify(args, null, 2);

/** Returns a form; `answer` is the action of its first button, and rejecting is the other one. */
function answerForm(question, done, { fields, always, buttonLabel, testId, rejectLabel, answer }) {
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const reason = el("input", {
    type: "text", maxlength: 1000, autocomplete: "off", "data-testid": "reject-reason",
  });
  const reject = async () => {
    const message = reason.value.trim();
    const decision = { question_id: question.question_id, approved: false };
    if (message) decision.message = message;
    if (always?.checked) decision.always = true;
    if (await whileBusy(form, error, () => decide(question.run_id, decision))) done();
  };
  const form = el(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        if (await whileBusy(form, error, answer)) done();
      },
    },
    ...fields,
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "primary", "data-testid": testId }, buttonLabel)),
    field(`Reason to ${rejectLabel.toLowerCase()} (optional)`, reason),
    el("div", { class: "actions" },
      el("button", { type: "button", "data-testid": "reject", onclick: reject }, rejectLabel)),
    error,
  );
  // Enter in the reason must not approve.
  reason.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    reject();
  });
  return form;
}

function approvalForm(question, done) {
  const always = el("input", { type: "checkbox", id: newId("always"), "data-testid": "always" });
  const label = el("label", { for: always.id, class: "check" }, always,
    "Decide the same for later calls of this tool in this run");
  return answerForm(question, done, {
    fields: [label], always, buttonLabel: "Approve", testId: "approve", rejectLabel: "Reject",
    answer: () => decide(question.run_id, {
      question_id: question.question_id, approved: true, ...(always.checked && { always: true }),
    }),
  });
}

function outputForm(question, done) {
  const output = el("textarea", { rows: 3, required: true, "data-testid": "output" });
  const fields = [field(`Output of ${question.tool}`, output, "The model receives this text.")];
  return answerForm(question, done, {
    fields, buttonLabel: "Supply output", testId: "supply-output", rejectLabel: "Reject",
    answer: () => supply(question, output.value),
  });
}

/** A form for a JSON schema: an object of strings, numbers, booleans and choices. */
function inputForm(question, done) {
  const { message, schema } = question.question ?? {};
  const required = new Set(schema?.required ?? []);
  const inputs = Object.entries(schema?.properties ?? {}).map(([name, of]) =>
    schemaField(name, of, required.has(name)));
  const answer = () => {
    const given = inputs.map(({ name, read }) => [name, read()]);
    const content = Object.fromEntries(given.filter(([, value]) => value !== undefined));
    // Outputs are text; this one is that of a JSON object.
    return supply(question, JSON.stringify(content));
  };
  const fields = [el("p", { class: "text" }, message ?? ""), ...inputs.map(({ node }) => node)];
  return answerForm(question, done, {
    fields, buttonLabel: "Answer", testId: "supply-output", rejectLabel: "Decline", answer,
  });
}

const supply = (question, output) =>
  supplyOutput(question.run_id, { question_id: question.question_id, output });

function schemaField(name, schema, isRequired) {
  const title = schema.title ?? name;
  const label = isRequired ? title : `${title} (optional)`;
  if (schema.type === "boolean") {
    const input = el("input", { type: "checkbox", id: newId("field"), name });
    input.checked = schema.default === true;
    const node = el("label", { for: input.id, class: "check" }, input, title);
    return { name, node, read: () => input.checked };
  }
  const choices = schema.enum?.map((value, at) => [value, schema.enumNames?.[at] ?? value])
    ?? schema.oneOf?.map((choice) => [choice.const, choice.title ?? choice.const]);
  if (choices) {
    const options = choices.map(([, text], at) => el("option", { value: at }, String(text)));
    const input = el("select", { name, required: isRequired },
      el("option", { value: "" }, "Choose"), ...options);
    const chosen = choices.findIndex(([value]) => value === schema.default);
    if (chosen >= 0) input.value = String(chosen);
    const read = () => (input.value === "" ? undefined : choices[Number(input.value)][0]);
    return { name, node: field(label, input, schema.description), read };
  }
  const isNumber = schema.type === "number" || schema.type === "integer";
  const input = el("input", {
    name, required: isRequired, type: isNumber ? "number" : (TYPES[schema.format] ?? "text"),
    step: schema.type === "number" ? "any" : undefined, min: schema.minimum, max: schema.maximum,
    minlength: schema.minLength, maxlength: schema.maxLength, value: schema.default,
  });
  const read = () => {
    if (input.value === "") return isRequired && !isNumber ? "" : undefined;
    return isNumber ? Number(input.value) : input.value;
  };
  return { name, node: field(label, input, schema.description), read };
}

const TYPES = { email: "email", uri: "url", date: "date" };
