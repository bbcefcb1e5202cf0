// The elements of each type of entry: a function makes them, and `update(entry)` fills them.

import { el, longText, named, setParts, setText, timeOf } from "./dom.js";
import { prettyJson, textOfFailure, textOfValue, visible } from "./text.js";

const TIME = { timeStyle: "medium" };
/** A text of at most so many characters and lines is shown without being opened. */
const SHORT = { chars: 300, lines: 8 };

export const MAKERS = {
  turn: () => {
    const title = el("h3");
    const retries = retryList();
    const failure = el("p", { class: "error", dir: "auto" });
    return {
      node: el("li", { "data-testid": "turn" }, title, retries.node, failure),
      update(entry) {
        const parts = [named(entry.agent || "Agent"), `, turn ${entry.turn}`];
        if (entry.path.length > 0) parts.push(" (within ", named(entry.path.join(" › ")), ")");
        if (entry.model) parts.push(" · ", named(entry.model));
        if (entry.isOpaque) parts.push(" · content is encoded");
        if (entry.incomplete) parts.push(" · cut short: ", named(entry.incomplete));
        if (entry.time) parts.push(" · ", timeOf(entry.time, TIME));
        setParts(title, parts);
        retries.update(entry);
        showFailure(failure, entry, "The model call has failed");
      },
    };
  },
  message: () => {
    const who = el("p", { class: "who" });
    const text = longText("p", { class: "text" });
    const node = el("li", { "data-testid": "message" }, who, ...text.nodes);
    return {
      node,
      update(entry) {
        node.dataset.role = entry.role;
        node.dataset.partial = String(entry.isPartial === true);
        const state = entry.isCut ? " (cut off)" : entry.isPartial ? " (writing)" : "";
        setParts(who, [entry.role === "user" ? "User" : named(entry.agent || "Agent"), state]);
        text.update(entry.text, entry.isPartial);
      },
    };
  },
  reasoning: () => {
    const details = disclosure("Reasoning", "p", "text");
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
    const failure = el("p", { class: "error", dir: "auto" });
    const parts = [title, args.node, retries.node, progress, live, failure, output.node];
    const node = el("li", { "data-testid": "tool-call" }, ...parts);
    return {
      node,
      update(entry) {
        node.dataset.state = entry.isPartial ? "partial" : entry.state;
        const state = entry.isPartial ? "writing the call" : TOOL_STATES[entry.state];
        setParts(title, ["Tool ", entry.name ? named(entry.name) : "", ` · ${state}`]);
        const hasArguments = !["", "{}"].includes((entry.arguments ?? "").trim());
        args.update(hasArguments ? visible(prettyJson(entry.arguments)) : undefined);
        output.update(entry.output === undefined ? undefined : textOfValue(entry.output));
        progress.hidden = entry.progress?.fraction === undefined;
        if (!progress.hidden) progress.value = entry.progress.fraction;
        const text = liveText(entry);
        live.hidden = text === "";
        setText(live, text);
        retries.update(entry);
        showFailure(failure, entry, "The call has failed");
      },
    };
  },
  handoff: () => simple((entry) => [named(entry.from), " hands off to ", named(entry.to)]),
  guardrail: () => {
    const text = el("p");
    const details = disclosure("Details");
    return {
      node: el("li", {}, text, details.node),
      update(entry) {
        const stage = String(entry.stage ?? "").replaceAll("_", " ");
        const place = entry.tool ? [stage, " of ", named(entry.tool)] : [stage];
        setParts(text, ["Guardrail ", named(entry.name), " has tripped (", ...place, ")"]);
        details.update(entry.info == null ? undefined : textOfValue(entry.info));
      },
    };
  },
  question: () => {
    const text = el("p");
    const message = longText("p", { class: "text" });
    return {
      node: el("li", { "data-testid": "question-entry" }, text, ...message.nodes),
      update(entry) {
        const kind = QUESTIONS[entry.waitsFor] ?? "Question";
        const parts = [`${kind} for `, entry.tool ? named(entry.tool) : "a call"];
        const decision = entry.decision?.kind;
        parts.push(": ", decision ? DECISIONS[decision] ?? named(decision) : "open");
        if (decision && entry.by) parts.push(" by ", named(entry.by));
        if (decision && entry.always) parts.push(", also for later calls");
        setParts(text, parts);
        message.update(entry.decision?.message ?? "");
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
        setParts(text, [...who, isOfWorkflow ? `T${entry.text.slice(1)}` : entry.text]);
        why.update(entry.failure ? textOfFailure(entry.failure) : entry.reason ?? "");
        details.update(entry.output === undefined ? undefined : textOfValue(entry.output));
      },
    };
  },
  other: () => {
    const details = disclosure("Item");
    const title = details.node.firstElementChild;
    return {
      node: el("li", {}, details.node),
      update(entry) {
        setParts(title, [named(entry.title)]);
        details.update(textOfValue(entry.value));
      },
    };
  },
};

const TOOL_STATES = { running: "called", answered: "answered", failed: "failed" };
const QUESTIONS = { approval: "Approval", output: "Output", input: "Input" };
const DECISIONS = {
  approve: "approved", approve_with: "approved with other arguments", reject: "rejected", supply_output: "the output was supplied",
};

function simple(partsOf) {
  const text = el("p");
  return { node: el("li", {}, text), update: (entry) => setParts(text, partsOf(entry)) };
}

/** Returns a text that can be opened, and is open if it is short; hidden while it is undefined. */
function disclosure(title, name = "pre", className = undefined) {
  // What scrolls can have the focus.
  const keys = name === "pre" ? { tabindex: 0, role: "group", "aria-label": title } : {};
  const text = longText(name, { class: className, ...keys });
  const node = el("details", {}, el("summary", {}, title), ...text.nodes);
  let isNew = true;
  return {
    node,
    update(value) {
      node.hidden = value === undefined;
      text.update(value ?? "");
      if (!isNew || value === undefined) return;
      isNew = false;
      node.open = value.length <= SHORT.chars && value.split("\n").length <= SHORT.lines;
    },
  };
}

function liveText(entry) {
  const streams = entry.streams.map(({ name, text }) => `${visible(name)}: ${text}`);
  const values = entry.emitted.map(({ name, value }) => `${visible(name)} = ${textOfValue(value)}`);
  return [entry.progress?.text, ...streams, ...values].filter(Boolean).join("\n");
}

function showFailure(node, entry, title) {
  node.hidden = entry.state !== "failed" || !entry.failure;
  setText(node, node.hidden ? "" : `${title}: ${textOfFailure(entry.failure)}`);
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
