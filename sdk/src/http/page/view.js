// What the page derives from a view model: sums, agents, handoffs. Everything in this file is pure.

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
    if (numberOf(usage.cost) !== undefined) sum.cost = (sum.cost ?? 0) + numberOf(usage.cost);
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
    if (row.cost !== undefined) total.cost = (total.cost ?? 0) + row.cost;
  }
  return total;
}

/** Returns a number that may be written as a string; `undefined` for all other values. */
export function numberOf(value) {
  if (value === "" || !["number", "string"].includes(typeof value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** Returns the agent that has the conversation, outside of nested runs. */
export function currentAgent(view) {
  const latest = view.entries.findLast(({ type, path }) =>
    (type === "turn" || type === "handoff") && path.length === 0);
  return latest?.to ?? latest?.agent ?? "";
}
