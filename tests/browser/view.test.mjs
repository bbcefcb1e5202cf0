// The view model of the page, from events: pure functions, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { messageParser } from "./page/api.js";
import { afterReconnect, emptyView, KEPT_ENTRIES, MAX_ENTRIES, reduce } from "./page/events.js";
import { clip, prettyJson, visible } from "./page/text.js";
import { currentAgent, sumsOf, totalOf } from "./page/view.js";

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
  const usage = { input_tokens: 1, output_tokens: 1, cost: "0.25" };
  const answered = (turn) => event("model_call_answered", `r/${turn}`, { turn, attempts: 1, usage });
  const { models } = sumsOf(viewOf([answered(1), answered(2)]).entries);
  assert.equal(totalOf(models).cost, 0.5);
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
