// The view model of the page, from events: pure functions, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { messageParser } from "./page/api.js";
import { afterReconnect, emptyView, KEPT_ENTRIES, MAX_ENTRIES, reduce } from "./page/events.js";
import {
  addedCosts, argumentsLine, costText, durationText, shortNumber, stateOf, titleOf,
} from "./page/format.js";
import { clip, isTextOf, prettyJson, visible } from "./page/text.js";
import { currentAgent, entriesWith, isIdle, isOutputShown, sumsOf, totalOf } from "./page/view.js";

let cursor = 0;

/** An event of turn `turn`; each has a cursor of its own. */
function event(kind, id, members = {}) {
  cursor += 1;
  return {
    kind, id, run: "r", agent: "desk", turn: 1, time: "2026-01-01T00:00:00Z",
    cursor: String(cursor), ...members,
  };
}

const viewOf = (events, view = emptyView) => events.reduce(reduce, view);

const call = (turn) => [
  event("turn_started", `r/${turn}-turn`, { turn }),
  event("model_call_scheduled", `r/${turn}-model`, { turn, model: "m" }),
  event("model_call_answered", `r/${turn}-model/answered`, {
    turn, attempts: 1,
    usage: { input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } },
  }),
  event("tool_call", `r/${turn}-model/0`, { turn, call_id: `c${turn}`, name: "t", arguments: "{}" }),
  event("tool_output", `r/${turn}-tool-0`, { turn, call_id: `c${turn}`, name: "t", output: "o" }),
];

test("a run of any length has a bounded view with all of its sums", () => {
  const handoff = event("handoff", "r/h", { from: "desk", to: "parcels" });
  let view = viewOf([handoff]);
  for (let turn = 1; turn <= 5_000; turn += 1) {
    view = viewOf(call(turn), view);
    assert.ok(view.entries.length <= MAX_ENTRIES);
  }
  assert.ok(view.entries.length >= KEPT_ENTRIES);
  assert.equal(view.entries.length + view.dropped, 10_001);
  const { models, handoffs } = sumsOf(view.entries, view.past);
  const sum = {
    agent: "desk", model: "m", turns: 5_000, calls: 5_000, input: 50_000, cached: 20_000,
    output: 10_000, reasoning: 0,
  };
  assert.deepEqual(models, [sum]);
  assert.deepEqual(handoffs, [{ from: "desk", to: "parcels", count: 1 }]);
});

test("facts that arrive again change nothing", () => {
  const events = [
    event("run_started", "r/start", { input: [{ content: "hello" }] }), ...call(1),
    event("handoff", "r/h", { from: "desk", to: "parcels" }),
    event("message", "r/2-model/0", { agent: "parcels", text: "hi", item: {} }),
  ];
  const once = viewOf(events);
  const twice = viewOf(events, once);
  assert.deepEqual(twice.entries, once.entries);
  assert.deepEqual(sumsOf(twice.entries), sumsOf(once.entries));
  assert.equal(currentAgent(once), "parcels");
});

test("a later attempt replaces the parts of the earlier one, and the fact replaces all", () => {
  const part = (attempt, delta) => event("text_delta", "", { message_id: "r/1-model/0", attempt, delta });
  const attempt = (number, failure) =>
    event("attempt_delta", "", { effect: "1-model", attempt: number, failure });
  const begun = viewOf([
    event("turn_started", "r/1-turn"), event("model_call_scheduled", "r/1-model", { model: "m" }),
    part(1, "Good "), part(1, "d"),
  ]);
  const textOf = (view) => view.entries.filter(({ type }) => type === "message").map(({ text }) => text);
  assert.deepEqual(textOf(begun), ["Good d"]);
  const failed = viewOf([attempt(1, { type: "Timeout", message: "late" })], begun);
  assert.equal(failed.entries.at(-1).isCut, true);
  const again = viewOf([attempt(2), part(1, "late"), part(2, "Hello")], failed);
  assert.deepEqual(textOf(again), ["Hello"]);
  assert.deepEqual(again.entries.find(({ type }) => type === "turn").retries, [
    { attempt: 1, failure: { type: "Timeout", message: "late" } },
  ]);
  const said = viewOf([
    event("model_call_answered", "r/1-model/answered", { attempts: 2, usage: {} }),
    event("message", "r/1-model/0", { text: "Hello!", item: {} }), part(2, "too late"),
  ], again);
  assert.deepEqual(textOf(said), ["Hello!"]);
  assert.equal(said.partial, 0);
});

test("the output of a failed call does not make it an answer", () => {
  const failure = { type: "ToolError", message: "the table is locked" };
  const output = { turn: 1, call_id: "c1", name: "t", output: "An error occurred.", is_failure: true };
  const view = viewOf([
    call(1)[0],
    event("tool_failed", "r/1-tool-0/failed", { turn: 1, call_id: "c1", name: "t", attempts: 3, failure }),
    event("tool_output", "r/1-tool-0/output", output),
  ]);
  const tool = view.entries.find((entry) => entry.type === "tool");
  assert.deepEqual([tool.state, tool.failure, tool.output], ["failed", failure, "An error occurred."]);
});

test("parts that come again after a lost connection are not doubled", () => {
  const part = (delta) => event("text_delta", "", {
    message_id: "r/1-model/0", attempt: 1, delta, cursor: "same",
  });
  const begun = viewOf([
    event("turn_started", "r/1-turn"), event("model_call_scheduled", "r/1-model", { cursor: "same" }),
    part("Good "), part("day"),
  ]);
  const again = viewOf([part("Good "), part("day")], afterReconnect(begun));
  assert.equal(again.entries.at(-1).text, "Good day");
});

test("a message of a chat waits until a run takes it, or the chat refuses it", () => {
  const message = (id, text, refused) =>
    event("chat_message_delta", `message/${id}`, { chat_message_id: id, text, is_refused: refused });
  const states = (view) => view.chat.messages.map(({ state }) => state);
  const sent = viewOf([message("a", "hello"), message("b", "hello"), message("c", "bye")]);
  assert.deepEqual(states(sent), ["waiting", "waiting", "waiting"]);
  const begun = viewOf([event("run_started", "r/s", { input: [{ content: "hello" }] })], sent);
  assert.deepEqual(states(begun), ["taken", "waiting", "waiting"]);
  // The next execution reports what waits again.
  const refused = viewOf([message("b", "hello"), message("c", "", true)], begun);
  assert.deepEqual(states(refused), ["taken", "waiting", "refused"]);
});

test("kinds of a later release are shown, and their parts are not", () => {
  const view = viewOf([event("applause", "r/x", { volume: 9 }), event("applause_delta", "")]);
  assert.deepEqual(view.entries.map(({ type, title }) => [type, title]), [["other", "applause"]]);
});

test("a cost is shown if an event carries one", () => {
  const usage = { input_tokens: 1, output_tokens: 1, cost: { USD: 250_000_000 } };
  const answered = (turn) => event("model_call_answered", `r/${turn}`, { turn, attempts: 1, usage });
  const { models } = sumsOf(viewOf([answered(1), answered(2)]).entries);
  assert.deepEqual(totalOf(models).cost, { USD: 500_000_000 });
  assert.equal(totalOf(sumsOf(viewOf(call(1)).entries).models).cost, undefined);
});

test("a stream of server-sent events may be cut anywhere", () => {
  const stream = "id: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: comment\n\nevent: end\ndata: {}\n\n";
  const whole = messageParser()(stream);
  assert.deepEqual(whole, [
    { event: "message", id: "1", data: '{"a":\n1}' }, { event: "end", data: "{}" },
  ]);
  const parse = messageParser();
  assert.deepEqual([...stream].flatMap((char) => parse(char)), whole);
});

test("texts from outside look like what they are", () => {
  assert.equal(visible("a\u202eb\u0000"), "a\\u202eb\\u0000");
  assert.equal(clip("ab😀", 3), "ab…");
  assert.equal(prettyJson('{"a":12345678901234567890}'), '{"a":12345678901234567890}');
  assert.equal(prettyJson('{"a":1}'), '{ "a": 1 }');
  assert.equal(prettyJson(`{"a":"${"x".repeat(60)}"}`), `{\n  "a": "${"x".repeat(60)}"\n}`);
});

test("a call that has failed stays so, with what the model is told", () => {
  const failure = { type: "ToolError", message: "table policies is locked" };
  const view = viewOf([
    ...call(1).slice(0, 4), event("tool_failed", "r/1-tool-0/failed", { call_id: "c1", attempts: 2, failure }),
    event("tool_output", "r/1-tool-0/output", { call_id: "c1", output: "An error occurred." }),
  ]);
  const { state, failure: shown, output } = view.entries.at(-1);
  assert.deepEqual({ state, shown, output }, { state: "failed", shown: failure, output: "An error occurred." });
});

test("the output of a call without attempts may be about its failure", () => {
  const view = viewOf([...call(1).slice(0, 4),
    event("tool_output", "r/1-tool-0/output", { call_id: "c1", output: "city is missing", is_failure: true })]);
  assert.deepEqual([view.entries.at(-1).state, view.entries.at(-1).output], ["failed", "city is missing"]);
});

test("a handoff replaces the call that made it", () => {
  const made = { call_id: "h", name: "pass_on", turn: 1 };
  const events = [
    event("turn_started", "r/1-turn"), event("tool_call", "r/1-model/0", { ...made, arguments: '{"why":"parcel"}' }),
    event("tool_output", "r/1-call/output", { ...made, output: '{"assistant": "parcels"}' }),
    event("handoff", "r/1/handoff", { from: "desk", to: "parcels" }),
  ];
  const once = viewOf(events);
  assert.deepEqual(once.entries.map(({ type }) => type), ["turn", "handoff"]);
  assert.equal(once.entries[1].input, '{"why":"parcel"}');
  assert.deepEqual(viewOf(events, once).entries, once.entries);
  // A tool of the same name that hands nothing off is a tool.
  assert.equal(viewOf(events.slice(0, 2)).entries[1].type, "tool");
});

test("a question and its answer are at the call, before the output", () => {
  const args = { amount: 12 };
  const events = [
    ...call(1).slice(0, 4),
    event("question_asked", "r/1-question-1", { question_id: "c1", tool: "t", arguments: "{}" }),
    event("run_paused", "r/1-paused-1"),
    event("question_decided", "r/1-decision-1",
      { question_id: "c1", decision: { kind: "approve_with", arguments: args }, by: "ada" }),
    event("run_resumed", "r/1-resumed-1"), ...call(1).slice(4),
  ];
  const view = viewOf(events);
  assert.deepEqual(view.entries.map(({ type }) => type), ["turn", "tool"]);
  const [{ id, waitsFor, decision, by }] = view.entries[1].questions;
  assert.deepEqual({ id, waitsFor, decision, by },
    { id: "c1", waitsFor: "approval", decision: { kind: "approve_with", arguments: args }, by: "ada" });
  assert.deepEqual(viewOf(events, view).entries, view.entries);
  // The id of a question may name its place, and its number.
  const nested = viewOf([...call(1).slice(0, 4),
    event("question_asked", "r/q", { question_id: "1-tool-0/c1#2", tool: "t" })]);
  assert.equal(nested.entries.at(-1).questions[0].id, "1-tool-0/c1#2");
  // Without its call it stands alone.
  const alone = viewOf([event("question_asked", "r/q", { question_id: "x", tool: "hosted" })]);
  assert.deepEqual(alone.entries.map(({ type, name }) => [type, name]), [["question", "hosted"]]);
});

test("the decision about a call of an earlier run is at that call, and so is its output", () => {
  const later = (kind, id, members) => event(kind, id, { run: "s", ...members });
  const view = viewOf([
    ...call(1).slice(0, 4), event("question_asked", "r/q", { question_id: "c1", tool: "t", arguments: "{}" }),
    later("question_decided", "s/d", { question_id: "c1", decision: { kind: "approve" } }),
    later("run_resumed", "s/resumed"), later("tool_output", "s/1-tool-0/output", { call_id: "c1", name: "t", output: "o" }),
  ]);
  assert.deepEqual(view.entries.map(({ type, state }) => [type, state]), [["turn", "answered"], ["tool", "answered"]]);
});

test("a message that a guardrail stops is taken by its run", () => {
  const message = (id, text) => event("chat_message_delta", `message/${id}`, { run: "", chat_message_id: id, text });
  const stopped = viewOf([
    message("a", "my card"), event("run_started", "one/started", { run: "one" }),
    event("guardrail_tripped", "one/g", { run: "one", guardrail: "no_cards", stage: "input" }),
    event("run_failed", "one/ended", { run: "one", failure: { message: "no_cards has tripped" } }),
  ]);
  assert.deepEqual(stopped.entries.map(({ type, text }) => [type, text]),
    [["message", "my card"], ["guardrail", undefined]]);
  assert.deepEqual(stopped.chat.messages.map(({ state }) => state), ["taken"]);
  assert.equal(isIdle(stopped), true);
  const next = viewOf([message("b", "hello")], stopped);
  assert.equal(isIdle(next), false);
  // The same fact again takes no later message.
  const again = viewOf([event("run_started", "one/started", { run: "one" })], next);
  assert.deepEqual(again.chat.messages.map(({ state }) => state), ["taken", "waiting"]);
});

test("a chat is idle before its first message and after each answer", () => {
  assert.equal(isIdle(emptyView), true);
  const begun = viewOf([event("run_started", "r/started", { input: [{ content: "hi" }] }), ...call(1)]);
  assert.equal(isIdle(begun), false);
  // The end of an expert is not that of the run.
  const nested = viewOf([event("run_finished", "r/1-tool-0/ended", { path: ["1-tool-0"], output: "x" })], begun);
  assert.equal(isIdle(nested), false);
  assert.equal(isIdle(viewOf([event("run_finished", "r/ended", { output: "o" })], begun)), true);
});

test("an answer is shown once, whatever its form", () => {
  const said = (text, output) => viewOf([
    event("turn_started", "r/1-turn"), event("message", "r/1-model/0", { text }), event("run_finished", "r/ended", { output }),
  ]);
  const typed = said('{"b": 1, "a": [2]}', { a: [2], b: 1 });
  assert.deepEqual(typed.entries.map(({ type, isAnswer }) => [type, isAnswer]), [["turn", undefined], ["message", true]]);
  assert.equal(said("done", "done").entries.at(-1).isAnswer, true);
  const nested = event("run_finished", "r/1-tool-0/ended", { path: ["1-tool-0"], output: "done" });
  assert.equal(viewOf([nested]).entries.length, 0);
  assert.equal(said("long", null).entries.at(-1).isAnswer, true);
  const other = said("thinking", "done");
  assert.deepEqual(other.entries.at(-1).output, "done");
  assert.equal(isOutputShown({ output: "done" }, other), true);
  assert.equal(isOutputShown({ output: "done" }, viewOf(call(1))), false);
  assert.equal(viewOf([...call(1), event("run_finished", "r/ended", { output: "o" })]).entries.at(-1).isAnswer, true);
});

test("the reason of a failure is shown once, and a run without a turn has its input", () => {
  const failure = { type: "ModelError", message: "bad request" };
  const view = viewOf([
    event("run_started", "r/started", { input: [{ content: "hi" }] }), event("turn_started", "r/1-turn"),
    event("model_call_failed", "r/1-model/failed", { attempts: 1, failure }),
    event("run_failed", "r/ended", { failure: { message: "the call failed", cause: failure } }),
  ]);
  assert.deepEqual(view.entries.map(({ type }) => type), ["message", "turn"]);
  const run = { kind: "run", status: "failed", failure: { message: "bad request" }, input: "hi" };
  const [, turn] = entriesWith(run, view);
  assert.deepEqual([turn.failure, turn.isAbove], [undefined, true]);
  assert.equal(entriesWith(run, view)[1], turn, "an entry that is drawn once stays the same");
  assert.equal(entriesWith({ ...run, failure: undefined }, view)[1].failure, failure);
  const begun = viewOf([event("run_started", "r/started")]);
  const [input] = entriesWith(run, begun);
  assert.deepEqual([input.type, input.role, input.text], ["message", "user", "hi"]);
  assert.equal(entriesWith(run, begun).length, 1);
  assert.equal(entriesWith({ ...run, input: [{ role: "user", content: "one" }] }, begun)[0].text, "one");
});

test("a nested run names its expert agent, and not the id of its call", () => {
  const turn = (number, agent) => event("turn_started", `r/1-tool-0/${number}`, { turn: number, agent, path: ["1-tool-0"] });
  const guardrail = event("turn_started", "r/g/1", { agent: "judge", path: ["input-guardrail-0"] });
  const { entries } = viewOf([turn(1, "helper"), turn(2, "second"), guardrail]);
  assert.deepEqual(entries.map(({ within }) => within), [
    { isTool: true, agent: "helper" }, { isTool: true, agent: "helper" }, { isTool: false, agent: "judge" },
  ]);
});

test("durations, numbers, costs and arguments are short", () => {
  assert.deepEqual([13, 1_640, 9_960, 61_000, 3_600_000, 90_061_000].map((ms) => durationText(ms)),
    ["13 ms", "1.6 s", "10 s", "1 min 1 s", "1 h", "1 d 1 h"]);
  assert.equal(durationText(536_000, 1), "8 min");
  assert.equal(durationText(NaN), "");
  assert.equal(shortNumber(999), "999");
  assert.deepEqual([1_300_000, 26_000_000, 2_500_000_000].map((USD) => costText({ USD })), ["$0.0013", "$0.03", "$2.50"]);
  assert.equal(costText(addedCosts({ USD: 1e9 }, { EUR: 2e9, USD: 1e9 })), "$2.00 + €2.00");
  assert.deepEqual([costText({ tokens: 5e8 }), costText(undefined), costText({})], ["0.50 tokens", "", ""]);
  assert.equal(argumentsLine('{"order":"A-17","amount":40,"tags":["a"]}'), 'order: A-17, amount: 40, tags: ["a"]');
  assert.deepEqual(["[1]", "no json", ""].map(argumentsLine), ["[1]", "no json", ""]);
  assert.equal(isTextOf('{"a":12345678901234567890}', { a: 12345678901234567000 }), false);
});

test("the state of a run is true, and its title is a name", () => {
  const problem = { message: "no worker" };
  assert.equal(stateOf({ kind: "chat", status: "running", is_idle: true }), "idle");
  assert.equal(stateOf({ kind: "chat", status: "waiting", is_idle: true }), "waiting");
  assert.equal(stateOf({ kind: "run", status: "running", problem }), "stuck");
  assert.equal(stateOf({ kind: "run", status: "completed", problem }), "completed");
  assert.equal(titleOf({ kind: "chat", agent: "desk" }), "Chat with desk");
  assert.equal(titleOf({ kind: "run", title: "Kitchen of Ada" }), "Kitchen of Ada");
});
