// Open questions: approvals, outputs of client tools, and requests for input.

import { decide, getRun, supplyOutput } from "./api.js";
import {
  announce, el, field, longText, named, newId, setParts, setText, showError, textOfError, whileBusy,
} from "./dom.js";
import { argumentsLine, durationText } from "./format.js";
import { schemaFields } from "./schema.js";
import { clip, prettyJson, visible } from "./text.js";

const MAX_SHOWN = 500;

/**
 * Returns the open questions, each as a line that opens. `update(questions)` keeps the forms of
 * questions that are still open, with what was typed. `onAnswer` is called after an answer was
 * accepted, and when the service says that somebody else has answered. `focus()` moves the focus to
 * the questions, `name(titles)` tells the titles of their runs. With `isFolded` the lines are closed
 * at first, and at most one is open.
 */
export function questionList({ title, linksToRun, isFolded = false, onAnswer }) {
  const id = newId("questions");
  const heading = isFolded ? undefined : el("h2", { id, tabindex: -1 }, title);
  const list = el("ul", { class: "questions", "aria-label": title, tabindex: -1 });
  const rest = el("p", { class: "hint", hidden: true });
  const lost = el("p", { class: "error", role: "alert", hidden: true });
  const node = el("section", { "aria-label": title, hidden: true }, heading, list, rest);
  const shown = new Map();
  const answered = new Set();
  let titles = new Map();

  const focus = () => (heading ?? list).focus();
  const remove = (keys, hasLostFocus = false) => {
    const { activeElement } = document;
    let hadFocus = hasLostFocus;
    let next;
    for (const key of keys) {
      const item = shown.get(key);
      if (hasLostFocus || item.node.contains(activeElement)) {
        hadFocus = true;
        next = item.node.nextElementSibling ?? item.node.previousElementSibling;
      }
      item.node.remove();
      shown.delete(key);
    }
    node.hidden = shown.size === 0;
    if (!hadFocus) return;
    if (node.hidden) document.querySelector("h1").focus({ preventScroll: true });
    else if (next?.isConnected) next.querySelector("summary").focus();
    else focus();
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
      if (!shown.has(key)) {
        const done = (wasLost) => finish(question, wasLost);
        shown.set(key, questionItem(question, { linksToRun, group: isFolded ? id : undefined, done }));
        list.append(shown.get(key).node);
      }
      shown.get(key).name(titles.get(question.run_id));
    }
    remove([...shown.keys()].filter((key) => !open.has(key)));
  };
  const name = (known) => {
    titles = known;
    for (const item of shown.values()) item.name(titles.get(item.runId));
  };
  return { nodes: [lost, node], focus, count: () => shown.size, update, name };
}

function lostError({ tool }) {
  return new Error(`The question about ${visible(tool)} was answered before, in another way, or is `
    + "no longer open.");
}

const keyOf = (question) => JSON.stringify([question.run_id, question.question_id]);

const KINDS = { approval: approvalForm, output: outputForm, input: inputForm };
const TITLES = { approval: "wants to call", output: "needs the output of", input: "asks during" };
const WORDS = { output: "Output", input: "Input" };

/** Returns a line that opens; its form is made when it does. */
function questionItem(question, { linksToRun, group, done }) {
  const kind = question.waits_for ?? "approval";
  const expires = expiryOf(question);
  const line = el("summary", {}, kind === "approval" ? undefined
    : el("span", { class: "kind" }, WORDS[kind] ?? visible(kind)),
    el("span", { class: "line" }, el("bdi", { class: "name" }, visible(clip(question.tool ?? "", 80))),
      el("bdi", { class: "args" }, visible(clip(summaryOf(question), 200)))),
    expires ? el("span", { class: "expiry" }, expires) : undefined);
  const title = el("p", { class: "title" });
  setParts(title, [named(question.agent ?? ""), ` ${TITLES[kind] ?? "waits for"} `, named(question.tool ?? "")]);
  const run = el("a", { href: `#/runs/${encodeURIComponent(question.run_id)}`, dir: "auto" }, "Open the run");
  const box = el("details", {
    class: "question", name: group, "data-testid": "question",
    "data-question-id": question.question_id, "data-run-id": question.run_id,
  }, line);
  const body = el("div", { class: "question-body" }, title,
    linksToRun ? el("p", { class: "hint" }, "in ", run) : undefined);
  const build = async () => {
    if (body.isConnected || !box.open) return;
    box.append(body);
    if (!question.is_cut) return body.append(...questionParts(question, kind, done));
    // Nobody decides about a part of a call.
    const state = el("p", { class: "hint", role: "status" }, "Loading the whole call…");
    body.append(state);
    try {
      const { questions } = await getRun(question.run_id);
      const whole = questions?.find(({ question_id: id }) => id === question.question_id);
      if (!whole) return done(true);
      state.remove();
      body.append(...questionParts({ ...whole, run_id: question.run_id }, kind, done));
    } catch (error) {
      setText(state, `The whole call cannot be read: ${textOfError(error)} Open the run to decide.`);
    }
  };
  box.open = group === undefined;
  box.addEventListener("toggle", build);
  build();
  return {
    node: el("li", {}, box),
    runId: question.run_id,
    name(known) {
      const text = question.title ?? known;
      if (text) setText(run, visible(clip(text, 120)));
    },
  };
}

/** Returns the arguments of a call, and the form to answer its question. */
function questionParts(question, kind, done) {
  const args = longText("pre", { "aria-label": "Arguments", tabindex: 0, role: "group" });
  args.update(question.arguments ? visible(textOf(question.arguments)) : "");
  const form = Object.hasOwn(KINDS, kind)
    ? KINDS[kind](question, done)
    : el("p", {}, `This page has no form for questions of the kind “${visible(kind)}”.`);
  return [...(question.arguments ? args.nodes : []), form];
}

/** Returns what a line says beside the name of the tool. */
function summaryOf({ waits_for: kind, question, arguments: args }) {
  return kind === "input" && question?.message ? String(question.message) : argumentsLine(args ?? "");
}

function expiryOf({ expires_at: at }) {
  if (!Number.isFinite(at)) return undefined;
  const left = at - Date.now();
  return left > 0 ? `${durationText(left, 1)} left` : "expires";
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
    field(`Reason, if you ${rejectLabel.toLowerCase()} (optional)`, reason),
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "primary", "data-testid": testId }, buttonLabel),
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
