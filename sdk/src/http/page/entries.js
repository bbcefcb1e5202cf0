// The elements of each type of entry: a function makes them, and `update(entry)` fills them.

import { el, longText, named, setParts, setText, timeOf } from "./dom.js";
import { durationText, shortNumber } from "./format.js";
import { prettyJson, textOfFailure, textOfValue, visible } from "./text.js";
import { valueNode } from "./value.js";

const TIME = { timeStyle: "medium" };
/** A text of at most so many characters and lines is shown without being opened. */
const SHORT = { chars: 300, lines: 8 };
const LINE = 100;

export const MAKERS = {
  turn: () => {
    const title = el("h3");
    const about = el("p", { class: "meta" });
    const retries = retryList();
    const failure = el("p", { class: "error", dir: "auto" });
    return {
      node: el("li", { "data-testid": "turn" },
        el("div", { class: "turn-head" }, title, about), retries.node, failure),
      update(entry) {
        const agent = named(entry.agent || "Agent");
        const expert = entry.within?.isTool ? entry.within.agent : undefined;
        setParts(title, [
          ...(expert !== undefined && expert === entry.agent ? ["Expert agent "] : []), agent,
          `, turn ${entry.turn}`,
          ...(expert && expert !== entry.agent ? [" (in expert agent ", named(expert), ")"] : []),
        ]);
        setParts(about, joined(aboutTurn(entry)));
        retries.update(entry);
        showFailure(failure, entry, "The model call has failed");
      },
    };
  },
  message: () => {
    const who = el("p", { class: "who" });
    const text = longText("p", { class: "text" });
    const value = el("div", { hidden: true });
    const json = disclosure("JSON", { isClosed: true });
    const node = el("li", { "data-testid": "message" }, who, ...text.nodes, value, json.node);
    return {
      node,
      update(entry) {
        node.dataset.role = entry.role;
        node.dataset.partial = String(entry.isPartial === true);
        const state = entry.isCut ? " (cut off)" : entry.isPartial ? " (writing)" : "";
        setParts(who, [entry.role === "user" ? "User" : named(entry.agent || "Agent"),
          entry.isAnswer ? " · answer" : "", state]);
        const typed = entry.role === "user" || entry.isPartial ? undefined : valueNode(entry.text);
        value.hidden = typed === undefined;
        value.replaceChildren(...(typed ? [typed] : []));
        text.content.hidden = typed !== undefined;
        text.update(typed ? "" : entry.text, entry.isPartial);
        json.update(typed ? visible(prettyJson(entry.text)) : undefined);
      },
    };
  },
  reasoning: () => {
    const details = disclosure("Reasoning", { name: "p", className: "text" });
    return {
      node: el("li", {}, details.node),
      update: (entry) => details.update(entry.text || "The model has not shown its reasoning."),
    };
  },
  tool: () => {
    const title = el("p", { class: "title" });
    const args = disclosure("Arguments");
    const output = disclosure("Output");
    const progress = el("progress", { max: 1, "aria-label": "Progress", hidden: true });
    const live = el("pre", { class: "live", dir: "auto", hidden: true });
    const retries = retryList();
    const questions = questionBlocks();
    const failure = el("p", { class: "error", dir: "auto" });
    const parts = [
      title, args.node, questions.node, retries.node, progress, live, failure, output.node,
    ];
    const node = el("li", { "data-testid": "tool-call" }, ...parts);
    return {
      node,
      update(entry) {
        node.dataset.state = entry.isPartial ? "partial" : entry.state;
        setParts(title, ["Tool ", entry.name ? named(entry.name) : "", " · ", ...stateOfCall(entry)]);
        const hasArguments = !["", "{}"].includes((entry.arguments ?? "").trim());
        const isEdited = entry.questions.some(({ decision }) => decision?.kind === "approve_with");
        args.title(isEdited ? "Arguments that the model wrote" : "Arguments");
        args.update(hasArguments ? visible(prettyJson(entry.arguments)) : undefined);
        output.title(entry.state === "failed" ? "What the model was told" : "Output");
        output.update(entry.output === undefined ? undefined : textOfValue(entry.output));
        progress.hidden = entry.progress?.fraction === undefined;
        if (!progress.hidden) progress.value = entry.progress.fraction;
        const text = liveText(entry);
        live.hidden = text === "";
        setText(live, text);
        retries.update(entry);
        // The title tells what is still open.
        questions.update(entry.questions.filter(({ decision }) => decision));
        showFailure(failure, entry, "The call has failed");
      },
    };
  },
  handoff: () => {
    const text = el("p", { class: "title" });
    const input = disclosure("Input of the handoff");
    return {
      node: el("li", { "data-testid": "handoff" }, text, input.node),
      update(entry) {
        setParts(text, [named(entry.from), " hands off to ", named(entry.to)]);
        const hasInput = !["", "{}"].includes((entry.input ?? "").trim());
        input.update(hasInput ? visible(prettyJson(entry.input)) : undefined);
      },
    };
  },
  guardrail: () => {
    const text = el("p");
    const details = disclosure("Details");
    return {
      node: el("li", {}, text, details.node),
      update(entry) {
        const stage = String(entry.stage ?? "").replaceAll("_", " ");
        const place = entry.tool ? [stage, " of ", named(entry.tool)] : [stage];
        const verb = /^(input|output)$/.test(entry.stage ?? "") ? "has stopped the run" : "has tripped";
        setParts(text, ["Guardrail ", named(entry.name), ` ${verb} (`, ...place, ")"]);
        details.update(entry.info == null ? undefined : textOfValue(entry.info));
      },
    };
  },
  question: () => {
    const title = el("p", { class: "title" });
    const questions = questionBlocks();
    return {
      node: el("li", {}, title, questions.node),
      update(entry) {
        setParts(title, [entry.name ? named(entry.name) : "A call of an earlier execution"]);
        questions.update(entry.questions);
      },
    };
  },
  note: () => {
    const text = el("p");
    const why = longText("p", { class: "text" });
    const details = disclosure("Output");
    return {
      node: el("li", { "data-testid": "note" }, text, ...why.nodes, details.node),
      update(entry) {
        const isOfWorkflow = entry.text.startsWith("the ");
        const who = isOfWorkflow ? [] : [entry.agent ? named(entry.agent) : "The run", " "];
        setParts(text, [...who, isOfWorkflow ? `T${entry.text.slice(1)}` : entry.text,
          entry.isAbove ? "; the reason is at the top of the page" : ""]);
        why.update(entry.failure ? textOfFailure(entry.failure) : entry.reason ?? "");
        details.update(entry.output === undefined ? undefined : textOfValue(entry.output));
      },
    };
  },
  other: () => {
    const details = disclosure("Item");
    return {
      node: el("li", {}, details.node),
      update(entry) {
        details.title(named(entry.title).name);
        details.update(textOfValue(entry.value));
      },
    };
  },
};

const TOOL_STATES = { running: "called", answered: "answered", failed: "failed" };
const QUESTIONS = { approval: "an approval", output: "its output", input: "an input" };
const DECISIONS = {
  approve: "Approved", approve_with: "Approved", reject: "Rejected", supply_output: "Output supplied",
};

const joined = (parts) => parts.flatMap((part, at) => (at === 0 ? [part] : [" · ", part]));

function aboutTurn(entry) {
  const took = durationText(Date.parse(entry.endedAt ?? "") - Date.parse(entry.scheduledAt ?? ""));
  const tokens = Object.values(entry.usage).reduce((sum, usage) =>
    sum + (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0), 0);
  return [
    entry.within && !entry.within.isTool ? "nested run" : "",
    entry.model ? named(entry.model) : "", took, tokens > 0 ? `${shortNumber(tokens)} tokens` : "",
    entry.isOpaque ? "content is encoded" : "",
  ].filter(Boolean).concat(entry.incomplete ? [el("span", {}, "cut short: ",
    el("bdi", {}, visible(entry.incomplete)))] : []);
}

/** Returns the state of a call, and how long it has taken without the wait for a person. */
function stateOfCall(entry) {
  if (entry.isPartial) return ["writing the call"];
  const open = entry.questions.find(({ decision }) => !decision);
  if (entry.state === "running" && open) {
    return [`waits for ${QUESTIONS[open.waitsFor] ?? "an answer"}`];
  }
  const from = entry.questions.map(({ decidedAt }) => decidedAt).filter(Boolean).at(-1) ?? entry.time;
  const took = durationText(Date.parse(entry.endedAt ?? "") - Date.parse(from ?? ""));
  return [TOOL_STATES[entry.state], took && entry.output !== undefined ? ` in ${took}` : ""];
}

/** Returns the questions about a call: who has decided, when, and with which arguments. */
function questionBlocks() {
  const node = el("div", { hidden: true });
  let shown = [];
  return {
    node,
    update(questions) {
      node.hidden = questions.length === 0;
      while (shown.length > questions.length) shown.pop().node.remove();
      questions.forEach((question, at) => {
        if (!shown[at]) {
          shown.push(questionBlock());
          node.append(shown[at].node);
        }
        shown[at].update(question);
      });
    },
  };
}

function questionBlock() {
  const text = el("p");
  const message = longText("p", { class: "text" });
  const args = disclosure("Arguments that were used");
  const node = el("div", { class: "decided", "data-testid": "question-entry" },
    text, ...message.nodes, args.node);
  return {
    node,
    update({ waitsFor, decision, always, by, askedAt, decidedAt }) {
      const kind = decision?.kind;
      node.dataset.decision = kind ?? "open";
      const waited = durationText(Date.parse(decidedAt ?? "") - Date.parse(askedAt ?? ""));
      setParts(text, kind === undefined ? [`Waits for ${QUESTIONS[waitsFor] ?? "an answer"}`] : [
        DECISIONS[kind] ?? named(kind), ...(by ? [" by ", named(by)] : []),
        kind === "approve_with" ? " with other arguments" : "",
        always ? ", also for later calls" : "", waited ? ` after ${waited}` : "",
      ]);
      message.update(decision?.message ?? "");
      args.update(kind === "approve_with" ? prettyArguments(decision.arguments) : undefined);
    },
  };
}

const prettyArguments = (value) => visible(prettyJson(JSON.stringify(value ?? {})));

/** Returns a text that can be opened, and is open if it is short; hidden while it is undefined. */
function disclosure(title, { name = "pre", className, isClosed = false } = {}) {
  // What scrolls can have the focus.
  const keys = name === "pre" ? { tabindex: 0, role: "group", "aria-label": title } : {};
  const text = longText(name, { class: className, ...keys });
  const summary = el("summary", {}, title);
  const box = el("details", {}, summary, ...text.nodes);
  const label = el("span", {}, `${title}:`);
  const line = el("code", { dir: "auto" });
  const short = el("p", { class: "short", hidden: true }, label, " ", line);
  const node = el("div", {}, short, box);
  let isNew = !isClosed;
  return {
    node,
    title(words) {
      setText(summary, words);
      setText(label, `${words}:`);
    },
    update(value) {
      node.hidden = value === undefined;
      // What fits in a line has nothing to open.
      const isLine = !isClosed && value !== undefined && value.length <= LINE && !value.includes("\n");
      short.hidden = !isLine;
      box.hidden = isLine;
      setText(line, isLine ? value : "");
      text.update(isLine ? "" : value ?? "");
      if (!isNew || value === undefined || isLine) return;
      isNew = false;
      box.open = value.length <= SHORT.chars && value.split("\n").length <= SHORT.lines;
    },
  };
}

function liveText(entry) {
  const streams = entry.streams.map(({ name, text }) => `${visible(name)}: ${text}`);
  const values = entry.emitted.map(({ name, value }) => `${visible(name)} = ${textOfValue(value)}`);
  return [entry.progress?.text, ...streams, ...values].filter(Boolean).join("\n");
}

function showFailure(node, entry, title) {
  node.hidden = entry.state !== "failed" || !(entry.failure || entry.isAbove);
  const reason = entry.isAbove ? "; the reason is at the top of the page."
    : `: ${textOfFailure(entry.failure)}`;
  setText(node, node.hidden ? "" : `${title}${reason}`);
}

function retryList() {
  const node = el("ul", { class: "retries", "data-testid": "retries", "aria-label": "Retries" });
  let drawn;
  return {
    node,
    update({ retries }) {
      node.hidden = retries.length === 0;
      if (retries === drawn) return;
      drawn = retries;
      node.replaceChildren(...retries.map(({ attempt, failure, nextAt }) => {
        const why = el("bdi", {}, textOfFailure(failure));
        const item = el("li", {}, `Attempt ${attempt} failed: `, why);
        if (nextAt) item.append("; next attempt at ", timeOf(nextAt, TIME));
        return item;
      }));
    },
  };
}
