// What the page derives from a view model: sums, names, texts. Everything in this file is pure.

/** Returns the sums over all model calls; `cost` is absent if no call has one. */
export function usageOf(view) {
  const sum = { calls: 0, input: 0, output: 0 };
  for (const usage of Object.values(view.usage)) {
    sum.calls += 1;
    sum.input += usage.input_tokens ?? 0;
    sum.output += usage.output_tokens ?? 0;
    const cost = usage.cost == null ? NaN : Number(usage.cost);
    if (!Number.isNaN(cost)) sum.cost = (sum.cost ?? 0) + cost;
  }
  return sum;
}

/** Returns the agents in the order in which they appear, with the number of their turns. */
export function agentsOf(view) {
  const turns = new Map();
  for (const { type, agent } of view.entries) {
    if (type === "turn" && agent) turns.set(agent, (turns.get(agent) ?? 0) + 1);
  }
  return [...turns].map(([name, count]) => ({ name, turns: count }));
}

/** Returns the handoffs from agent to agent, with their number, in order of the first one. */
export function handoffsOf(view) {
  const edges = new Map();
  for (const { type, from, to } of view.entries) {
    if (type !== "handoff") continue;
    const key = JSON.stringify([from, to]);
    edges.set(key, { from, to, count: (edges.get(key)?.count ?? 0) + 1 });
  }
  return [...edges.values()];
}

/** Returns the agent that has the conversation, outside of nested runs. */
export function currentAgent(view) {
  const latest = view.entries.findLast(({ type, path }) =>
    (type === "turn" || type === "handoff") && path.length === 0);
  return latest?.to ?? latest?.agent ?? "";
}

/** Returns the text of a message or of a reasoning item. */
export function textOfItem(item) {
  const parts = [item?.content, item?.summary].flatMap((content) =>
    Array.isArray(content) ? content : content == null ? [] : [content]);
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      return part?.text ?? part?.refusal ?? (part?.type ? `[${part.type}]` : "");
    })
    .filter((text) => text !== "")
    .join("\n");
}

/** Returns a failure with its causes, as one sentence. */
export function textOfFailure(failure) {
  const texts = [];
  for (let at = failure; at; at = at.cause) {
    const name = at.type ?? at.kind;
    texts.push([name, at.message].filter(Boolean).join(": "));
  }
  return texts.join(", because of ") || "unknown failure";
}

/** Returns a value as text: a string as it is, the text of content parts, other values as JSON. */
export function textOfValue(value) {
  if (typeof value === "string") return value;
  const isText = (part) => typeof part?.text === "string";
  if (Array.isArray(value) && value.length > 0 && value.every(isText)) {
    return value.map((part) => part.text).join("\n");
  }
  return JSON.stringify(value, null, 2) ?? "";
}

/** Returns JSON text with line breaks; other text unchanged. */
export function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
