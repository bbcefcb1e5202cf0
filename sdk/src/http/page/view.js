// What the page derives from a view model: sums, agents, handoffs. Everything in this file is pure.

import { addedCosts, ownTitle } from "./format.js";
import { isTextOf, textOfFailure, textOfItem } from "./text.js";

/** The sums of the entries that a view model no longer has. */
export const emptySums = Object.freeze({ models: [], handoffs: [], agents: [] });

/** Returns the sums over entries, added to those of the entries before. */
export function sumsOf(entries, before = emptySums) {
  const models = new Map(before.models.map((row) => [keyOf(row.agent, row.model), row]));
  const handoffs = new Map(before.handoffs.map((edge) => [keyOf(edge.from, edge.to), edge]));
  const agents = new Set(before.agents);
  for (const entry of entries) {
    if (entry.agent) agents.add(entry.agent);
    if (entry.type === "turn") {
      const key = keyOf(entry.agent, entry.model);
      models.set(key, withTurn(models.get(key) ?? emptyRow(entry), entry));
    } else if (entry.type === "handoff") {
      const key = keyOf(entry.from, entry.to);
      const count = (handoffs.get(key)?.count ?? 0) + 1;
      handoffs.set(key, { from: entry.from, to: entry.to, count });
    }
  }
  return { models: [...models.values()], handoffs: [...handoffs.values()], agents: [...agents] };
}

const keyOf = (...names) => JSON.stringify(names);

function emptyRow({ agent, model }) {
  return { agent, model, turns: 0, calls: 0, input: 0, cached: 0, output: 0, reasoning: 0 };
}

function withTurn(row, turn) {
  const sum = { ...row, turns: row.turns + 1 };
  for (const usage of Object.values(turn.usage)) {
    sum.calls += 1;
    sum.input += usage.input_tokens ?? 0;
    sum.cached += usage.input_tokens_details?.cached_tokens ?? 0;
    sum.output += usage.output_tokens ?? 0;
    sum.reasoning += usage.output_tokens_details?.reasoning_tokens ?? 0;
    if (usage.cost) sum.cost = addedCosts(sum.cost, usage.cost);
  }
  return sum;
}

/** Returns one row for all rows of the usage; `cost` is absent if no call has one. */
export function totalOf(rows) {
  const total = emptyRow({});
  for (const row of rows) {
    for (const name of ["turns", "calls", "input", "cached", "output", "reasoning"]) {
      total[name] += row[name];
    }
    if (row.cost) total.cost = addedCosts(total.cost, row.cost);
  }
  return total;
}

/** Returns the agent that has the conversation, outside of nested runs. */
export function currentAgent(view) {
  const latest = view.entries.findLast(({ type, path }) =>
    (type === "turn" || type === "handoff") && path.length === 0);
  return latest?.to ?? latest?.agent ?? "";
}

/** Returns whether a chat waits for a message: it answers none, and none is on the way. */
export function isIdle(view) {
  return view.isActive !== true && view.chat.messages.every(({ state }) => state !== "waiting");
}

/**
 * Returns the entries to show beside the page's own words about a run: with its input, which has
 * no event if the run had no turn, and without the failure that stands above them.
 */
export function entriesWith(run, { entries, dropped }) {
  const isOfUser = ({ type, role, path }) => type === "message" && role === "user" && path.length === 0;
  const input = run?.input ?? (run && /^(failed|queued)$/.test(run.status) ? ownTitle(run) : undefined);
  const begins = input && run.kind === "run" && dropped === 0 && !entries.some(isOfUser);
  const message = run?.failure?.message;
  const isAbove = ({ failure, path }) => failure && message && path.length === 0
    && textOfFailure(failure).includes(message);
  const rest = entries.filter((entry) => !(begins && entry.type === "note" && entry.text === "began"))
    .map((entry) => (isAbove(entry) && entry.type !== "tool" ? aboveOf(entry) : entry));
  return begins ? [inputEntry(input), ...rest] : rest;
}

const above = new WeakMap();

/** Returns always the same entry, so that it is drawn once. */
function aboveOf(entry) {
  if (!above.has(entry)) above.set(entry, { ...entry, failure: undefined, isAbove: true });
  return above.get(entry);
}

const inputs = new Map();

function inputEntry(input) {
  const texts = typeof input === "string" ? [input] : [input].flat().map(textOfItem);
  const text = texts.join("\n");
  if (!inputs.has(text)) {
    inputs.clear();
    inputs.set(text, { key: "input", type: "message", role: "user", text, path: [], agent: "" });
  }
  return inputs.get(text);
}

/** Returns whether the entries show the output of a run. */
export function isOutputShown({ output }, { entries }) {
  return output == null || entries.some((entry) =>
    entry.isAnswer || (entry.type === "note" && entry.output !== undefined)
    || (entry.type === "message" && entry.role === "assistant" && isTextOf(entry.text, output)));
}

/** Returns the first line of the first message, for a run without a title. */
export function firstWords({ entries, dropped }) {
  const first = entries.find(({ type, role }) => type === "message" && role === "user");
  return dropped === 0 ? first?.text.trim().split("\n")[0] : undefined;
}
