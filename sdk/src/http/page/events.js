// The view model of a run, from its events. Everything in this file is pure.
//
// Facts are kept by their ids, so that a fact that arrives again changes nothing. Kinds that end
// in `_delta` are parts of facts that are under way: a fact replaces its parts.

import { isLate, newCall, newTool, withAttempt, withOutcome } from "./calls.js";
import { textOfItem } from "./view.js";

const MAX_STREAM_CHARS = 20_000;

export const emptyView = Object.freeze({
  entries: [], // what the page shows, in order
  usage: {}, // by model call
  cursor: null, // that of the latest event
  resets: 0,
});

/** Returns the view after an event. */
export function reduce(view, event) {
  const step = Object.hasOwn(STEPS, event.kind) ? STEPS[event.kind] : ofUnknownKind;
  const next = step(view, event);
  return event.cursor == null ? next : { ...next, cursor: event.cursor };
}

/** Returns the view for a reader that has connected again and may receive parts again. */
export function afterReconnect(view) {
  const entries = view.entries.map((entry) =>
    entry.isPartial && entry.mayComeAgain ? { ...entry, isStale: true } : entry);
  return { ...view, entries };
}

const STEPS = {
  run_started: (view, event) => {
    const texts = (event.input ?? []).map(textOfItem).filter((text) => text !== "");
    const begun = texts.length === 0 || event.opaque ? note(view, event, "began") : view;
    return texts.reduce(
      (soFar, text, index) => put(soFar, event, `${event.id}#${index}`, () =>
        ({ type: "message", role: "user", text })),
      begun,
    );
  },
  run_resumed: (view, event) => note(view, event, "continues"),
  run_paused: (view, event) => note(view, event, "waits for an answer", "warn"),
  run_continued: (view, event) =>
    note(settled(view, event), event, "continues in the next execution of the workflow"),
  run_reset: (view, event) => {
    const text = because("the workflow was reset", event.reason);
    const after = note(settled(view, event), event, text, "warn");
    return { ...after, resets: isKnown(view, event) ? view.resets : view.resets + 1 };
  },
  run_finished: (view, event) => {
    const said = view.entries.findLast((entry) =>
      entry.type === "message" && entry.role === "assistant" && isOfCall(view, entry, event));
    const isSaid = event.output == null || said?.text === event.output;
    return end(view, event, "finished", "good", isSaid ? undefined : { output: event.output });
  },
  run_failed: (view, event) => end(view, event, "failed", "bad", { failure: event.failure }),
  run_cancelled: (view, event) => end(view, event, "was cancelled", "bad"),
  run_terminated: (view, event) =>
    end(view, event, because("the workflow was terminated", event.reason), "bad"),
  run_timed_out: (view, event) => end(view, event, "the workflow has timed out", "bad"),

  turn_started: (view, event) => putTurn(settled(view, event), event, (turn) => turn),
  model_call_scheduled: (view, event) =>
    putTurn(view, event, (turn) => ({
      ...turn, model: event.model ?? "", isOpaque: event.opaque === true,
      // A failed call may be made again with more of the conversation.
      ...(turn.state === "failed" ? newCall() : {}),
    })),
  model_call_answered: (view, event) => {
    const next = putTurn(view, event, (turn) => withOutcome(turn, event, "answered", {
      incomplete: event.incomplete,
    }));
    return { ...next, usage: { ...next.usage, [event.id]: event.usage ?? {} } };
  },
  model_call_failed: (view, event) =>
    putTurn(settled(view, event), event, (turn) => withOutcome(turn, event, "failed")),

  message: (view, event) => put(view, event, event.id, () =>
    ({ type: "message", role: "assistant", text: event.text })),
  reasoning: (view, event) => put(view, event, event.id, (before) =>
    ({ type: "reasoning", text: textOfItem(event.item) || before?.text || "" })),
  tool_call: (view, event) => put(view, event, event.id, (before) => ({
    ...newTool(event.name), ...(before?.isPartial ? {} : before),
    callId: event.call_id, arguments: event.arguments, isPartial: false, isStale: false,
  })),
  other_item: (view, event) => put(view, event, event.id, () =>
    ({ type: "other", title: event.item?.type ?? "item", value: event.item })),
  tool_output: (view, event) => {
    const fact = { output: event.output, streams: {}, progress: undefined, emitted: [] };
    return putTool(view, event, (tool) => withOutcome(tool, event, "answered", fact));
  },
  tool_failed: (view, event) => putTool(view, event, (tool) => withOutcome(tool, event, "failed", {
    streams: {}, progress: undefined,
  })),
  handoff: (view, event) => put(view, event, event.id, () =>
    ({ type: "handoff", from: event.from, to: event.to })),
  guardrail_tripped: (view, event) => put(view, event, event.id, () => ({
    type: "guardrail", name: event.guardrail, stage: event.stage, tool: event.tool,
    info: event.output_info,
  })),
  question_asked: (view, event) => put(view, event, event.id, (before) => ({
    type: "question", questionId: event.question_id, tool: event.tool,
    waitsFor: event.waits_for ?? "approval", decision: before?.decision, by: before?.by,
  })),
  question_decided: (view, event) => {
    const asked = view.entries.findLast((entry) =>
      entry.type === "question" && entry.questionId === event.question_id);
    return put(view, event, asked?.key ?? event.id, () => ({
      type: "question", questionId: event.question_id, tool: asked?.tool ?? "",
      waitsFor: asked?.waitsFor ?? "approval", agent: asked?.agent ?? event.agent,
      decision: event.decision, always: event.always, by: event.by,
    }));
  },
  compaction: (view, event) => note(view, event,
    `the conversation was shortened from ${event.items_before} items to ${event.items_after}`),

  attempt_delta: (view, event) => {
    const [, turn, kind, index] = /^(\d+)-(model|tool-(\d+))/.exec(event.effect) ?? [];
    if (kind === undefined) return view;
    const call = { ...event, turn: Number(turn) };
    if (kind !== "model") {
      const tool = view.entries.filter((entry) =>
        entry.type === "tool" && isOfCall(view, entry, call))[Number(index)];
      return tool ? put(view, call, tool.key, (before) => withAttempt(before, event)) : view;
    }
    return cut(putTurn(view, call, (before) => withAttempt(before, event)), call);
  },
  text_delta: (view, event) => part(view, event, (before) =>
    ({ type: "message", role: "assistant", text: `${before?.text ?? ""}${event.delta}` })),
  reasoning_delta: (view, event) => part(view, event, (before) =>
    ({ type: "reasoning", text: `${before?.text ?? ""}${event.delta}` })),
  tool_arguments_delta: (view, event) => part(view, event, (before) =>
    ({ ...newTool(""), arguments: `${before?.arguments ?? ""}${event.delta}` })),
  tool_output_delta: (view, event) => ofRunningTool(view, event, (tool) => {
    if (event.stream === "progress") {
      return { ...tool, progress: { fraction: event.fraction, text: event.delta } };
    }
    const text = `${tool.streams[event.stream] ?? ""}${event.delta}`.slice(-MAX_STREAM_CHARS);
    return { ...tool, streams: { ...tool.streams, [event.stream]: text } };
  }),
  emitted_delta: (view, event) => ofRunningTool(view, event, (tool) =>
    ({ ...tool, emitted: [...tool.emitted, { name: event.name, value: event.value }] })),
};

function ofUnknownKind(view, event) {
  // Deltas of a later release are parts of facts that will come.
  if (String(event.kind).endsWith("_delta")) return view;
  const title = String(event.kind).replaceAll("_", " ");
  return put(view, event, event.id, () => ({ type: "other", title, value: event }));
}

/** Names the runs of one workflow, and the nested runs in them. */
function scopeOf(view, event) {
  const path = (event.path ?? []).join("/");
  return [event.workflow ?? "", event.run, path, view.resets].join("|");
}

function isOfCall(view, entry, event) {
  return entry.turn === (event.turn ?? 0) && entry.scope === scopeOf(view, event);
}

function isKnown(view, event) {
  return view.entries.some((entry) => entry.key === event.id);
}

/** Adds an entry, or replaces the one with this key. */
function put(view, event, key, change) {
  const at = view.entries.findLastIndex((entry) => entry.key === key);
  const place = {
    key, scope: scopeOf(view, event), path: event.path ?? [], agent: event.agent ?? "",
    workflow: event.workflow ?? "", run: event.run ?? "",
    turn: event.turn ?? 0, time: event.time, isOpaque: event.opaque === true,
  };
  if (at < 0) return { ...view, entries: [...view.entries, { ...place, ...change(undefined) }] };
  const { scope, path, time } = view.entries[at];
  const entry = { ...place, scope, path, time, ...change(view.entries[at]) };
  return { ...view, entries: view.entries.with(at, entry) };
}

function note(view, event, text, tone = "plain", detail = undefined) {
  return put(view, event, event.id, () => ({ type: "note", text, tone, ...detail }));
}

function end(view, event, text, tone, detail) {
  return note(settled(view, event), event, text, tone, detail);
}

function because(text, reason) {
  return reason ? `${text}: ${reason}` : text;
}

/** Removes parts that no fact can replace any more: those of the event's run and runs in it. */
function settled(view, event) {
  const path = event.path ?? [];
  const isOver = (entry) =>
    entry.isPartial && entry.workflow === (event.workflow ?? "") &&
    (!event.run || (entry.run === event.run && path.every((call, at) => entry.path[at] === call)));
  if (!view.entries.some(isOver)) return view;
  return { ...view, entries: view.entries.filter((entry) => !isOver(entry)) };
}

function putTurn(view, event, change) {
  const key = `turn|${scopeOf(view, event)}|${event.turn ?? 0}`;
  return put(view, event, key, (before) =>
    change(before ?? { type: "turn", model: "", ...newCall() }));
}

function findTool(view, event) {
  return view.entries.findLast((entry) =>
    entry.type === "tool" && entry.callId === event.call_id &&
    entry.workflow === (event.workflow ?? "") && entry.run === event.run &&
    entry.path.join("/") === (event.path ?? []).join("/"));
}

/** Changes the tool call of an event; a call that this history does not show is added. */
function putTool(view, event, change) {
  const tool = findTool(view, event);
  return put(view, event, tool?.key ?? event.id, (before) => ({
    ...change(before ?? { ...newTool(event.name ?? ""), callId: event.call_id }),
    ...(tool ? { agent: tool.agent, turn: tool.turn } : {}),
  }));
}

function ofRunningTool(view, event, change) {
  const tool = findTool(view, event);
  if (tool?.state !== "running" || isLate(tool, event.attempt)) return view;
  const fresh = { streams: {}, progress: undefined, emitted: [], attempt: event.attempt };
  return put(view, { ...event, turn: tool.turn, agent: tool.agent }, tool.key, (before) =>
    change(event.attempt > before.attempt ? { ...before, ...fresh } : before));
}

function findTurn(view, event) {
  return view.entries.findLast((entry) => entry.type === "turn" && isOfCall(view, entry, event));
}

/** Adds a part of a fact that is under way. */
function part(view, event, change) {
  const begun = putTurn(view, event, (turn) => withAttempt(turn, { attempt: event.attempt }));
  const turn = findTurn(begun, event);
  if (turn.state !== "running" || isLate(turn, event.attempt)) return view;
  const known = cut(begun, event);
  const entry = known.entries.findLast(({ key }) => key === event.message_id);
  if (entry && !entry.isPartial) return view;
  const mayComeAgain = (event.cursor ?? null) === view.cursor;
  return put(known, event, event.message_id, (before) => ({
    ...change(before?.isStale ? undefined : before),
    attempt: event.attempt, isPartial: true, mayComeAgain,
  }));
}

/** Removes the parts of earlier attempts of a model call, and marks those of a failed one. */
function cut(view, event) {
  const turn = findTurn(view, event);
  const entries = view.entries.flatMap((entry) => {
    if (!entry.isPartial || !isOfCall(view, entry, event)) return [entry];
    if (entry.attempt < turn.attempt) return [];
    return isLate(turn, entry.attempt) ? [{ ...entry, isCut: true }] : [entry];
  });
  return { ...view, entries };
}
