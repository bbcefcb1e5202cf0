// The view model of a run, from its events. Everything in this file is pure.
//
// Facts are kept by their ids, so that a fact that arrives again changes nothing. Kinds that end
// in `_delta` are parts of facts that are under way: a fact replaces its parts. A view is bounded:
// of entries that are too old it keeps their number and their sums.

import { isLate, newCall, newTool, withAttempt, withOutcome } from "./calls.js";
import { noChat, taken, withMessage } from "./messages.js";
import { isTextOf, textOfItem } from "./text.js";
import { emptySums, sumsOf } from "./view.js";

/** The number of entries that a view keeps, and of those that it has before it drops the oldest. */
export const KEPT_ENTRIES = 2_000;
export const MAX_ENTRIES = 2_500;

const MAX_STREAM_CHARS = 20_000;
const MAX_PART_CHARS = 200_000;
const MAX_STREAMS = 10;
const MAX_EMITTED = 50;

export const emptyView = Object.freeze({
  entries: [], // what the page shows, in order
  dropped: 0, // number of entries before them
  past: emptySums, // the sums of those
  keys: undefined, // a set that contains the keys of all entries, and perhaps of entries before
  partial: 0, // number of entries that are parts of a fact
  chat: noChat, // messages that a chat has accepted
  isActive: undefined, // whether the latest outermost run has not ended; undefined without one
  cursor: null, // that of the latest event
  resets: 0,
});

/** Returns the view after an event. */
export function reduce(view, event) {
  const step = Object.hasOwn(STEPS, event.kind) ? STEPS[event.kind] : ofUnknownKind;
  const next = bounded(withActivity(step(view, event), event));
  return event.cursor == null ? next : { ...next, cursor: event.cursor };
}

const ENDS = new Set(
  ["run_finished", "run_failed", "run_cancelled", "run_terminated", "run_timed_out"]);

/** Notes whether the outermost run has ended. */
function withActivity(view, event) {
  if (!isOutermost(event) || !/^(run|turn)_/.test(event.kind)) return view;
  const isActive = !ENDS.has(event.kind);
  return isActive === view.isActive ? view : { ...view, isActive };
}

function bounded(view) {
  if (view.entries.length <= MAX_ENTRIES) return view;
  const at = view.entries.length - KEPT_ENTRIES;
  const past = sumsOf(view.entries.slice(0, at), view.past);
  const kept = withEntries(view, view.entries.slice(at));
  return { ...kept, dropped: view.dropped + at, past };
}

/** Returns a view with fewer entries. */
function withEntries(view, entries) {
  const partial = entries.filter((entry) => entry.isPartial).length;
  return { ...view, entries, partial, keys: new Set(entries.map(({ key }) => key)) };
}

/** Returns the view for a reader that has connected again and may receive parts again. */
export function afterReconnect(view) {
  const entries = view.entries.map((entry) =>
    entry.isPartial && entry.mayComeAgain ? { ...entry, isStale: true } : entry);
  return { ...view, entries };
}

const STEPS = {
  run_started: (view, event) => {
    const texts = inputOf(view, event);
    const begun = texts.length === 0 || event.opaque ? note(view, event, "began") : view;
    const isNew = isOutermost(event) && !isKnown(view, { id: `${event.id}#0` });
    return texts.reduce(
      (soFar, text, index) => put(soFar, event, `${event.id}#${index}`, () =>
        ({ type: "message", role: "user", text })),
      isNew ? { ...begun, chat: taken(view.chat, texts) } : begun,
    );
  },
  // The questions of a pause, and the answers to them, are at their calls.
  run_resumed: (view, event) => (view.entries.length > 0 ? view : note(view, event, "continues")),
  run_paused: (view) => view,
  run_continued: (view, event) =>
    note(settled(view, event), event, "continues in the next execution of the workflow"),
  run_reset: (view, event) => {
    const reason = { reason: event.reason };
    const after = note(settled(view, event), event, "the workflow was reset", "warn", reason);
    return { ...after, resets: isKnown(view, event) ? view.resets : view.resets + 1 };
  },
  run_finished: (view, event) => {
    const over = settled(view, event);
    // The output of a nested run is that of its call.
    if (!isOutermost(event)) return over;
    const told = over.entries.findLast((entry) => isOfCall(over, entry, event) && tells(entry, event.output));
    if (told) return changed(over, event, told, (entry) => ({ ...entry, isAnswer: true }));
    return event.output == null ? over
      : note(over, event, "finished", "good", { output: event.output });
  },
  run_failed: (view, event) => {
    // What has failed tells the reason.
    const scope = scopeOf(view, event);
    const last = view.entries.findLast((entry) => entry.scope === scope && entry.type !== "note");
    const isTold = last?.type === "guardrail" || (last?.type === "turn" && last.state === "failed");
    return isTold ? settled(view, event)
      : end(view, event, "failed", "bad", { failure: event.failure });
  },
  run_cancelled: (view, event) => end(view, event, "was cancelled", "bad"),
  run_terminated: (view, event) =>
    end(view, event, "the workflow was terminated", "bad", { reason: event.reason }),
  run_timed_out: (view, event) => end(view, event, "the workflow has timed out", "bad"),

  turn_started: (view, event) => putTurn(settled(view, event), event, (turn) => turn),
  model_call_scheduled: (view, event) =>
    putTurn(view, event, (turn) => ({
      ...turn, model: event.model ?? "", isOpaque: event.opaque === true, scheduledAt: event.time,
      // A failed call may be made again with more of the conversation.
      ...(turn.state === "failed" ? newCall() : {}),
    })),
  model_call_answered: (view, event) =>
    putTurn(view, event, (turn) => withOutcome(turn, event, "answered", {
      incomplete: event.incomplete, endedAt: event.time,
      usage: { ...turn.usage, [event.id]: event.usage ?? {} },
    })),
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
    const fact = { output: event.output, streams: [], progress: undefined, emitted: [] };
    // The output of a call that has failed is what the model is told about it.
    const isFailed = (tool) => event.is_failure === true || tool.state === "failed";
    return putTool(view, event, (tool) => (isFailed(tool) ? { ...tool, ...fact, state: "failed" }
      : withOutcome(tool, event, "answered", { ...fact, endedAt: event.time })));
  },
  tool_failed: (view, event) => putTool(view, event, (tool) => withOutcome(tool, event, "failed", {
    streams: [], progress: undefined, endedAt: event.time,
  })),
  handoff: (view, event) => {
    const call = view.entries.findLast((entry) => entry.type === "tool" && isOfRun(entry, event)
      && isTextOf(String(entry.output ?? ""), { assistant: event.to }));
    const rest = call ? withEntries(view, view.entries.filter((entry) => entry !== call)) : view;
    return put(rest, event, event.id, (before) => ({
      type: "handoff", from: event.from, to: event.to, input: call?.arguments ?? before?.input,
    }));
  },
  guardrail_tripped: (view, event) => put(view, event, event.id, () => ({
    type: "guardrail", name: event.guardrail, stage: event.stage, tool: event.tool,
    info: event.output_info,
  })),
  tool_gated: (view, event) => !event.is_denied ? view : put(view, event, event.id, () => ({
    type: "guardrail", name: event.rule ?? "gate", stage: "gate", tool: event.tool,
    info: event.reason,
  })),
  question_asked: (view, event) => {
    const { question_id: id, waits_for: waitsFor = "approval", arguments: args } = event;
    return withQuestion(view, event, { id, waitsFor, arguments: args, askedAt: event.time });
  },
  question_decided: (view, event) => {
    const { question_id: id, decision, always, by, time } = event;
    return withQuestion(view, event, { id, decision, always, by, decidedAt: time });
  },
  compaction: (view, event) => note(view, event,
    `the conversation was shortened from ${event.items_before} items to ${event.items_after}`),

  chat_message_delta: (view, event) => {
    if (!isOutermost(event)) return view;
    const { chat_message_id: id, text, is_refused: isRefused } = event;
    return { ...view, chat: withMessage(view.chat, { id, text, isRefused: isRefused === true }) };
  },
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
    ({ type: "message", role: "assistant", text: added(before?.text, event) })),
  reasoning_delta: (view, event) => part(view, event, (before) =>
    ({ type: "reasoning", text: added(before?.text, event) })),
  tool_arguments_delta: (view, event) => part(view, event, (before) =>
    ({ ...newTool(""), arguments: added(before?.arguments, event) })),
  tool_output_delta: (view, event) => ofRunningTool(view, event, (tool) => {
    if (event.stream === "progress") {
      return { ...tool, progress: { fraction: event.fraction, text: event.delta } };
    }
    const others = tool.streams.filter(({ name }) => name !== event.stream);
    const before = tool.streams.find(({ name }) => name === event.stream)?.text ?? "";
    const stream = { name: event.stream, text: `${before}${event.delta}`.slice(-MAX_STREAM_CHARS) };
    return { ...tool, streams: [...others, stream].slice(-MAX_STREAMS) };
  }),
  emitted_delta: (view, event) => ofRunningTool(view, event, (tool) => {
    const emitted = [...tool.emitted, { name: event.name, value: event.value }];
    return { ...tool, emitted: emitted.slice(-MAX_EMITTED) };
  }),
};

/** Returns the texts with which a run begins. The chat's next message, if the run had no turn. */
function inputOf(view, event) {
  const texts = (event.input ?? []).map(textOfItem).filter((text) => text !== "");
  if (texts.length > 0 || event.opaque || !isOutermost(event)) return texts;
  const known = view.entries.find(({ key }) => key === `${event.id}#0`);
  const next = known ?? view.chat.messages.find(({ state }) => state === "waiting");
  return next ? [next.text] : [];
}

/** Returns whether an entry shows the output of its run. */
function tells(entry, output) {
  if (entry.type === "message") {
    return entry.role === "assistant" && (output == null || isTextOf(entry.text, output));
  }
  return entry.type === "tool" && typeof entry.output === "string" && output != null
    && isTextOf(entry.output, output);
}

const isOutermost = (event) => !event.workflow && !event.path?.length;

/** Returns a text with its next part; the fact that replaces it has the whole. */
function added(before, event) {
  return `${before ?? ""}${event.delta}`.slice(0, MAX_PART_CHARS);
}

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
  return view.keys?.has(event.id) === true;
}

const partOf = (entry) => Number(entry.isPartial === true);

/** Adds an entry, or replaces the one with this key. */
function put(view, event, key, change) {
  const keys = view.keys ?? new Set();
  const at = keys.has(key) ? view.entries.findLastIndex((entry) => entry.key === key) : -1;
  const place = {
    key, scope: scopeOf(view, event), path: event.path ?? [], agent: event.agent ?? "",
    workflow: event.workflow ?? "", run: event.run ?? "",
    turn: event.turn ?? 0, time: event.time, isOpaque: event.opaque === true,
  };
  if (at < 0) {
    const entry = { ...place, ...change(undefined) };
    const partial = view.partial + partOf(entry);
    return { ...view, entries: [...view.entries, entry], keys: keys.add(key), partial };
  }
  const before = view.entries[at];
  const { scope, path, time } = before;
  const entry = { ...place, scope, path, time, ...change(before) };
  const partial = view.partial - partOf(before) + partOf(entry);
  return { ...view, entries: view.entries.with(at, entry), partial };
}

/** Changes an entry, which keeps its place. */
function changed(view, event, entry, change) {
  const { agent, turn, isOpaque: opaque } = entry;
  return put(view, { ...event, agent, turn, opaque }, entry.key, change);
}

function note(view, event, text, tone = "plain", detail = undefined) {
  return put(view, event, event.id, () => ({ type: "note", text, tone, ...detail }));
}

function end(view, event, text, tone, detail) {
  return note(settled(view, event), event, text, tone, detail);
}

/** Removes parts that no fact can replace any more: those of the event's run and runs in it. */
function settled(view, event) {
  const path = event.path ?? [];
  const isOver = (entry) =>
    entry.isPartial && entry.workflow === (event.workflow ?? "") &&
    (!event.run || (entry.run === event.run && path.every((call, at) => entry.path[at] === call)));
  if (view.partial === 0 || !view.entries.some(isOver)) return view;
  return withEntries(view, view.entries.filter((entry) => !isOver(entry)));
}

function putTurn(view, event, change) {
  const key = `turn|${scopeOf(view, event)}|${event.turn ?? 0}`;
  return put(view, event, key, (before) =>
    change(before ?? { type: "turn", model: "", usage: {}, within: within(view, event), ...newCall() }));
}

/** Returns the agent with which a nested run has begun, and the kind of call that it is. */
function within(view, event) {
  const call = event.path?.at(-1);
  if (call === undefined) return undefined;
  const scope = scopeOf(view, event);
  const first = view.entries.find((entry) => entry.type === "turn" && entry.scope === scope);
  return { isTool: /^\d+-tool-\d+$/.test(call), agent: first?.within?.agent ?? event.agent ?? "" };
}

const isOfRun = (entry, event) =>
  entry.workflow === (event.workflow ?? "") && entry.run === event.run
  && entry.path.join("/") === (event.path ?? []).join("/");

/** Returns the tool call of an event; of a run that was resumed, one that an earlier run has made. */
function findTool(view, event) {
  const isCall = (entry) => entry.type === "tool" && entry.callId === event.call_id;
  return view.entries.findLast((entry) => isCall(entry) && isOfRun(entry, event))
    ?? view.entries.findLast((entry) =>
      isCall(entry) && entry.state === "running" && entry.questions.length > 0);
}

/** Adds a question or its answer to the call that it is about; without a call it is an entry. */
function withQuestion(view, event, question) {
  const isAbout = (entry) => entry.questions?.some(({ id }) => id === question.id)
    && entry.workflow === (event.workflow ?? "");
  const callId = callIdOf(question.id);
  const place = view.entries.findLast(isAbout) ?? view.entries.findLast((entry) =>
    entry.type === "tool" && entry.callId === callId && entry.run === event.run
    && entry.workflow === (event.workflow ?? ""));
  const add = (questions) => {
    const at = questions.findIndex(({ id }) => id === question.id);
    return at < 0 ? [...questions, question]
      : questions.with(at, { ...questions[at], ...question });
  };
  if (place) {
    return changed(view, event, place, (entry) => ({ ...entry, questions: add(entry.questions) }));
  }
  return put(view, event, event.id, () =>
    ({ type: "question", name: event.tool ?? "", questions: [question] }));
}

/** Returns the id of the call that a question is about. */
function callIdOf(questionId) {
  const last = questionId.split("/").at(-1).replace(/#\d+$/, "");
  return last.replaceAll("~2", "#").replaceAll("~1", "/").replaceAll("~0", "~");
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
  const fresh = { streams: [], progress: undefined, emitted: [], attempt: event.attempt };
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
  if (view.partial === 0) return view;
  const turn = findTurn(view, event);
  const isEarlier = (entry) => entry.isPartial && isLate(turn, entry.attempt)
    && isOfCall(view, entry, event);
  if (!view.entries.some(isEarlier)) return view;
  return withEntries(view, view.entries.flatMap((entry) => {
    if (!isEarlier(entry)) return [entry];
    return entry.attempt < turn.attempt ? [] : [{ ...entry, isCut: true }];
  }));
}
