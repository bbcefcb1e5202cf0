// Open questions: approvals, outputs of client tools, and requests for input.

import { decide, supplyOutput } from "./api.js";
import {
  announce, el, field, longText, named, newId, setParts, setText, showError, whileBusy,
} from "./dom.js";
import { schemaFields } from "./schema.js";
import { prettyJson, visible } from "./text.js";

const MAX_SHOWN = 50;

/**
 * Returns a section with the open questions. `update(questions)` keeps the forms of questions that
 * are still open, with what was typed. `onAnswer` is called after an answer was accepted, and when
 * the service says that somebody else has answered. `focus()` moves the focus to the questions.
 */
export function questionList({ title, linksToRun, onAnswer }) {
  const id = newId("questions");
  const heading = el("h2", { id, tabindex: -1 }, title);
  const list = el("ul", { class: "questions" });
  const rest = el("p", { class: "hint", hidden: true });
  const lost = el("p", { class: "error", role: "alert", hidden: true });
  const node = el("section", { "aria-labelledby": id, hidden: true }, heading, list, rest);
  const shown = new Map();
  const answered = new Set();

  const remove = (keys, hasLostFocus = false) => {
    const { activeElement } = document;
    let hadFocus = hasLostFocus;
    for (const key of keys) {
      hadFocus ||= shown.get(key).contains(activeElement);
      shown.get(key).remove();
      shown.delete(key);
    }
    node.hidden = shown.size === 0;
    if (!hadFocus) return;
    if (node.hidden) document.querySelector("h1").focus({ preventScroll: true });
    else heading.focus();
  };
  const finish = (question, wasLost) => {
    const key = keyOf(question);
    answered.add(key);
    showError(lost, wasLost ? lostError(question) : undefined);
    if (!wasLost) announce("The answer was sent.");
    // The button that was turned off while it was busy has lost the focus.
    if (shown.has(key)) remove([key], document.activeElement === document.body);
    onAnswer?.(question);
  };
  const update = (questions) => {
    const first = questions.slice(0, MAX_SHOWN);
    rest.hidden = questions.length === first.length;
    setText(rest, `${questions.length - first.length} more questions follow these.`);
    const open = new Map(first.map((question) => [keyOf(question), question]));
    for (const key of answered) {
      if (!open.delete(key)) answered.delete(key);
    }
    for (const [key, question] of open) {
      if (shown.has(key)) continue;
      const done = (wasLost) => finish(question, wasLost);
      shown.set(key, questionItem(question, linksToRun, done));
      list.append(shown.get(key));
    }
    remove([...shown.keys()].filter((key) => !open.has(key)));
  };
  return { nodes: [lost, node], focus: () => heading.focus(), count: () => shown.size, update };
}

function lostError({ tool }) {
  return new Error(`The question about ${visible(tool)} was answered before, in another way, or is `
    + "no longer open.");
}

const keyOf = (question) => JSON.stringify([question.run_id, question.question_id]);

const KINDS = { approval: approvalForm, output: outputForm, input: inputForm };
const TITLES = { approval: "wants to call", output: "needs the output of", input: "asks during" };

function questionItem(question, linksToRun, done) {
  const titleId = newId("question");
  const kind = question.waits_for ?? "approval";
  const verb = TITLES[kind] ?? "waits for";
  const title = el("h3", { id: titleId });
  setParts(title, [named(question.agent ?? ""), ` ${verb} `, named(question.tool ?? "")]);
  const run = linksToRun
    ? el("p", {}, el("a", { href: `#/runs/${encodeURIComponent(question.run_id)}` },
      "Run ", el("bdi", {}, visible(question.run_id))))
    : undefined;
  const args = longText("pre", { "aria-label": "Arguments", tabindex: 0, role: "group" });
  args.update(question.arguments ? visible(textOf(question.arguments)) : "");
  const form = Object.hasOwn(KINDS, kind)
    ? KINDS[kind](question, done)
    : el("p", {}, `This page has no form for questions of the kind “${visible(kind)}”.`);
  const parts = question.arguments ? args.nodes : [];
  return el("li", {}, el("article", {
    class: "question", "aria-labelledby": titleId, "data-testid": "question",
    "data-question-id": question.question_id,
  }, title, run, ...parts, form));
}

const textOf = (args) =>
  typeof args === "string" ? prettyJson(args) : JSON.stringify(args, null, 2);

/** The codes of an answer that comes too late. */
const LOST = new Set(["conflict", "unknown_question"]);

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
    await send(() => decide(question.run_id, decision));
  };
  const send = async (action) => {
    let wasLost = false;
    const isSent = await whileBusy(form, error, () => action().catch((failure) => {
      wasLost = LOST.has(failure.code);
      if (!wasLost) throw failure;
    }));
    if (isSent) done(wasLost);
  };
  const form = el(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        send(answer);
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
  const written = textOf(question.arguments ?? "{}");
  const edited = el("textarea", { rows: 4, spellcheck: "false", "data-testid": "arguments" });
  edited.value = written;
  // A hosted MCP server makes the call itself, with the arguments of the model.
  const edit = question.server ? [] : [el("details", {}, el("summary", {}, "Edit the arguments"),
    field("Arguments, a JSON object", edited, "The call is made with these; the model is not told."))];
  const changed = () => (edited.value === written ? {} : { arguments: JSON.parse(edited.value) });
  return answerForm(question, done, {
    fields: [...edit, label], always, buttonLabel: "Approve", testId: "approve", rejectLabel: "Reject",
    answer: async () => decide(question.run_id, {
      question_id: question.question_id, approved: true, ...(always.checked && { always: true }), ...changed(),
    }),
  });
}

function outputForm(question, done) {
  const output = el("textarea", { rows: 3, required: true, "data-testid": "output" });
  const label = ["Output of ", named(question.tool)];
  return answerForm(question, done, {
    fields: [field(label, output, "The model receives this text.")],
    buttonLabel: "Supply output", testId: "supply-output", rejectLabel: "Reject",
    answer: () => supply(question, output.value),
  });
}

/** A form for a JSON schema: an object of strings, numbers, booleans and choices. */
function inputForm(question, done) {
  const { message, schema } = question.question ?? {};
  const inputs = schemaFields(schema);
  const answer = () => {
    const given = inputs.map(({ name, read }) => [name, read()]);
    const content = Object.fromEntries(given.filter(([, value]) => value !== undefined));
    // Outputs are text; this one is that of a JSON object.
    return supply(question, JSON.stringify(content));
  };
  const text = longText("p", { class: "text" });
  text.update(String(message ?? ""));
  const fields = [...text.nodes, ...inputs.map(({ node }) => node)];
  return answerForm(question, done, {
    fields, buttonLabel: "Answer", testId: "supply-output", rejectLabel: "Decline", answer,
  });
}

const supply = (question, output) =>
  supplyOutput(question.run_id, { question_id: question.question_id, output });
