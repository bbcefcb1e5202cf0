// The entries of a view model as a list. An entry that changes keeps its elements, so that focus
// and opened details stay.

import { el, setText, timeOf } from "./dom.js";
import { prettyJson, textOfFailure, textOfValue } from "./view.js";

/** Returns a list; `update(entries)` shows them. */
export function timeline() {
  const list = el("ol", { class: "timeline" });
  const shown = new Map();
  return {
    node: list,
    update(entries) {
      const keys = new Set(entries.map((entry) => entry.key));
      for (const [key, item] of shown) {
        if (keys.has(key)) continue;
        item.node.remove();
        shown.delete(key);
      }
      let before = null;
      for (const entry of entries) {
        let item = shown.get(entry.key);
        if (!item || item.type !== entry.type) {
          item?.node.remove();
          item = { type: entry.type, ...MAKERS[entry.type]() };
          shown.set(entry.key, item);
        }
        if (item.entry !== entry) {
          item.entry = entry;
          item.node.className = classesOf(entry);
          item.update(entry);
        }
        const next = before ? before.nextElementSibling : list.firstElementChild;
        if (next !== item.node) list.insertBefore(item.node, next);
        before = item.node;
      }
    },
  };
}

function classesOf(entry) {
  const classes = ["entry", `entry-${entry.type}`, `depth-${Math.min(entry.path.length, 3)}`];
  if (entry.role) classes.push(`role-${entry.role}`);
  if (entry.tone) classes.push(`tone-${entry.tone}`);
  if (entry.isPartial) classes.push("partial");
  if (entry.isCut) classes.push("cut");
  return classes.join(" ");
}

const MAKERS = {
  turn: () => {
    const title = el("h3");
    const retries = retryList();
    const failure = el("p", { class: "error" });
    return {
      node: el("li", {}, title, retries.node, failure),
      update(entry) {
        const within = entry.path.length > 0 ? ` (within ${entry.path.join(" › ")})` : "";
        const texts = [`${entry.agent || "Agent"}, turn ${entry.turn}${within}`, entry.model];
        if (entry.isOpaque) texts.push("content is encoded");
        if (entry.incomplete) texts.push(`cut short: ${entry.incomplete}`);
        setText(title, texts.filter(Boolean).join(" · "));
        retries.update(entry);
        showFailure(failure, entry, "The model call has failed");
      },
    };
  },
  message: () => {
    const who = el("p", { class: "who" });
    const text = el("p", { class: "text" });
    const node = el("li", { "data-testid": "message" }, who, text);
    return {
      node,
      update(entry) {
        node.dataset.role = entry.role;
        node.dataset.partial = String(entry.isPartial === true);
        const state = entry.isCut ? " (cut off)" : entry.isPartial ? " (writing)" : "";
        setText(who, `${entry.role === "user" ? "User" : entry.agent || "Agent"}${state}`);
        setText(text, entry.text);
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
    const title = el("h4");
    const args = disclosure("Arguments");
    const output = disclosure("Output");
    const progress = el("progress", { max: 1, "aria-label": "Progress", hidden: true });
    const live = el("pre", { class: "live", hidden: true });
    const retries = retryList();
    const failure = el("p", { class: "error" });
    const parts = [title, args.node, retries.node, progress, live, failure, output.node];
    const node = el("li", { "data-testid": "tool-call" }, ...parts);
    return {
      node,
      update(entry) {
        const state = entry.isPartial ? "writing the call" : TOOL_STATES[entry.state];
        node.dataset.state = entry.state;
        setText(title, `Tool ${entry.name} · ${state}`.replace("  ", " "));
        args.update(entry.arguments ? prettyJson(entry.arguments) : undefined);
        const isAnswered = entry.output !== undefined;
        output.update(isAnswered ? textOfValue(entry.output) : undefined);
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
  handoff: () => simple((entry) => `${entry.from} hands off to ${entry.to}`),
  guardrail: () => {
    const text = el("p");
    const details = disclosure("Details");
    return {
      node: el("li", {}, text, details.node),
      update(entry) {
        const place = [entry.stage, entry.tool].filter(Boolean).join(" of ").replaceAll("_", " ");
        setText(text, `Guardrail ${entry.name} has tripped (${place})`);
        details.update(entry.info == null ? undefined : textOfValue(entry.info));
      },
    };
  },
  question: () => simple((entry) => {
    const asked = `${QUESTIONS[entry.waitsFor] ?? "Question"} for ${entry.tool || "a call"}`;
    if (!entry.decision) return `${asked}: open`;
    const { kind, message } = entry.decision;
    const by = entry.by ? ` by ${entry.by}` : "";
    const always = entry.always ? ", also for later calls" : "";
    return `${asked}: ${DECISIONS[kind] ?? kind}${by}${always}${message ? `: ${message}` : ""}`;
  }),
  note: () => {
    const text = el("p");
    const details = disclosure("Output");
    return {
      node: el("li", {}, text, details.node),
      update(entry) {
        const why = entry.failure ? `: ${textOfFailure(entry.failure)}` : "";
        const who = entry.text.startsWith("the ") ? "" : `${entry.agent || "The run"} `;
        setText(text, `${who}${entry.text}${why}`);
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
        setText(title, entry.title);
        details.update(textOfValue(entry.value));
      },
    };
  },
};

const TOOL_STATES = { running: "called", answered: "answered", failed: "failed" };
const QUESTIONS = { approval: "Approval", output: "Output", input: "Input" };
const DECISIONS = {
  approve: "approved", reject: "rejected", supply_output: "the output was supplied",
};

function simple(textOf) {
  const text = el("p");
  return { node: el("li", {}, text), update: (entry) => setText(text, textOf(entry)) };
}

/** Returns a collapsed text, which is hidden while it is undefined. */
function disclosure(title, name = "pre", className = "") {
  const content = el(name, { class: className || undefined });
  const node = el("details", {}, el("summary", {}, title), content);
  return {
    node,
    update(text) {
      node.hidden = text === undefined;
      setText(content, text ?? "");
    },
  };
}

function liveText(entry) {
  const streams = Object.entries(entry.streams).map(([name, text]) => `${name}: ${text}`);
  const values = entry.emitted.map(({ name, value }) => `${name} = ${textOfValue(value)}`);
  return [entry.progress?.text, ...streams, ...values].filter(Boolean).join("\n");
}

function showFailure(node, entry, title) {
  node.hidden = entry.state !== "failed" || !entry.failure;
  setText(node, node.hidden ? "" : `${title}: ${textOfFailure(entry.failure)}`);
}

function retryList() {
  const node = el("ul", { class: "retries", "data-testid": "retries" });
  let drawn;
  return {
    node,
    update({ retries }) {
      node.hidden = retries.length === 0;
      if (retries === drawn) return;
      drawn = retries;
      node.replaceChildren(...retries.map(({ attempt, failure, nextAt }) => {
        const item = el("li", {}, `Attempt ${attempt} failed: ${textOfFailure(failure)}`);
        if (nextAt) item.append("; next attempt at ", timeOf(nextAt));
        return item;
      }));
    },
  };
}
