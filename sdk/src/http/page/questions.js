// Open questions: approvals, outputs of client tools, and requests for input.

import { decide, supplyOutput } from "./api.js";
import {
  announce, el, field, longText, named, newId, setParts, showError, whileBusy,
} from "./dom.js";
import { schemaFields } from "./schema.js";
import { prettyJson, visible } from "./text.js";

/**
 * Returns a section with the open questions. `update(questions)` keeps the forms of questions that
 * are still open, with what was typed. `onAnswer` is called after an answer was accepted, and when
 * the service says that somebody else has answered.
 */
export function questionList({ title, linksToRun, onAnswer }) {
  const id = newId("questions");
  const heading = el("h2", { id, tabindex: -1 }, title);
  const list = el("ul", { class: "questions" });
  const lost = el("p", { class: "error", role: "alert", hidden: true });
  const node = el("section", { "aria-labelledby": id, hidden: true }, heading, list);
  const shown = new Map();
  const answered = new Set();
  const showLost = (question) => {
    showError(lost, question && new Error(`The question about ${visible(question.tool)} was `
      + "answered before, in another way, or is no longer open."));
  };
  return {
    nodes: [lost, node],
    /** Moves the focus to the questions. */
    focus: () => heading.focus(),
    count: () => shown.size,
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
        const done = (wasLost) => {
          answered.add(key);
          showLost(wasLost ? question : undefined);
          if (!wasLost) announce("The answer was sent.");
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
  return answerForm(question, done, {
    fields: [label], always, buttonLabel: "Approve", testId: "approve", rejectLabel: "Reject",
    answer: () => decide(question.run_id, {
      question_id: question.question_id, approved: true, ...(always.checked && { always: true }),
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
