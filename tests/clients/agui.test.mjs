// HttpAgent of @ag-ui/client, which verifies each event, against the service.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { HttpAgent } from "@ag-ui/client";

import { replica } from "./replica.mjs";

const SERVICE = process.env.SERVICE_URL;

function agentOf(name, { url = SERVICE, threadId = randomUUID() } = {}) {
  return new HttpAgent({ url: `${url}/agui/${name}`, threadId });
}

function say(agent, content) {
  agent.addMessage({ id: randomUUID(), role: "user", content });
}

/** Runs the agent; returns its events. */
async function run(agent, parameters = {}) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return events;
}

const types = (events) => events.map((event) => event.type);
const last = (events) => events.at(-1);
const texts = (agent) => agent.messages.filter((message) => message.role === "assistant" && message.content);
const text = (agent) => texts(agent).at(-1)?.content;

test("a greeting is answered in many deltas", async () => {
  const agent = agentOf("desk");
  say(agent, "hello");
  const begun = Date.now();
  const events = await run(agent);
  const deltas = types(events).filter((type) => type === "TEXT_MESSAGE_CONTENT");
  assert.ok(deltas.length >= 10, `${deltas.length} deltas`);
  assert.ok(Date.now() - begun > 1000);
  assert.match(text(agent), /^Good day, and welcome to the desk! .* find out for you\.$/);
  assert.equal(last(events).type, "RUN_FINISHED");
  assert.deepEqual(last(events).outcome, { type: "success" });
  assert.ok(last(events).usage[0].inputTokens > 0);
});

test("a tool call has its arguments and its result", async () => {
  const agent = agentOf("desk");
  say(agent, "What is the weather?");
  const events = await run(agent);
  const start = events.find((event) => event.type === "TOOL_CALL_START");
  assert.equal(start.toolCallName, "get_weather");
  const result = events.find((event) => event.type === "TOOL_CALL_RESULT");
  assert.equal(result.toolCallId, start.toolCallId);
  assert.equal(result.content, "Oslo: 12 degrees, clear");
  assert.match(text(agent), /12 degrees/);
});

test("a handoff changes the step", async () => {
  const agent = agentOf("desk");
  say(agent, "Where is my parcel?");
  const events = await run(agent);
  const steps = events.filter((event) => event.type === "STEP_STARTED").map((event) => event.stepName);
  assert.deepEqual(steps, ["desk", "parcels"]);
  assert.equal(agent.state.agent, "parcels");
  assert.match(text(agent), /on the ferry/);
});

for (const [name, payload, expected] of [
  ["granted", { approved: true }, /refunded 40 euros/],
  ["granted with other arguments", { approved: true, editedArgs: { order: "A-17", amount: 30 } }, /refunded 30 euros/],
  ["refused", { approved: false, reason: "not today" }, /not today/],
]) {
  test(`an approval is ${name}`, async () => {
    const agent = agentOf("clerk");
    say(agent, "I want a refund.");
    const asked = await run(agent);
    assert.equal(last(asked).outcome.type, "interrupt");
    const [interrupt] = agent.pendingInterrupts;
    assert.equal(interrupt.reason, "tool_call");
    const resume = [{ interruptId: interrupt.id, status: "resolved", payload }];
    const events = await run(agent, { resume });
    assert.ok(!types(events).includes("TOOL_CALL_START"), "the call is not announced again");
    const result = events.find((event) => event.type === "TOOL_CALL_RESULT");
    assert.equal(result.toolCallId, interrupt.toolCallId);
    assert.match(result.content, expected);
    assert.match(text(agent), expected);
    assert.deepEqual(last(events).outcome, { type: "success" });
  });
}

test("an answer that is no decision is refused", async () => {
  const agent = agentOf("clerk");
  say(agent, "I want a refund.");
  await run(agent);
  const [interrupt] = agent.pendingInterrupts;
  for (const [payload, expected] of [[{ editedArgs: {} }, /editedArgs/], [{ yes: 1 }, /approved/], [undefined, /approved/]]) {
    const resume = [{ interruptId: interrupt.id, status: "resolved", payload }];
    const body = { threadId: agent.threadId, runId: randomUUID(), messages: [], tools: [], context: [], resume };
    const response = await post(`agui/clerk`, body);
    assert.equal(response.status, 400);
    assert.match((await response.json()).error.message, expected);
  }
});

test("a request that is sent again is the same run", async () => {
  const agent = agentOf("clerk");
  say(agent, "I want a refund.");
  const runId = randomUUID();
  await run(agent, { runId });
  const body = { threadId: agent.threadId, runId, messages: agent.messages, tools: [], context: [] };
  const again = await events(await post("agui/clerk", body));
  assert.equal(last(again).outcome.interrupts.length, 1);
  const [interrupt] = agent.pendingInterrupts;
  const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
  const second = randomUUID();
  const first = await run(agent, { runId: second, resume });
  const repeated = await events(await post("agui/clerk", { ...body, runId: second, resume }));
  const results = (list) => list.filter((event) => event.type === "TOOL_CALL_RESULT").length;
  assert.deepEqual([results(first), results(repeated)], [1, 1]);
  assert.deepEqual(last(repeated).outcome, { type: "success" });
});

test("an approval is granted after the API was killed", async () => {
  const first = await replica();
  const agent = agentOf("clerk", { url: first.url });
  say(agent, "I want a refund.");
  await run(agent);
  await first.kill();
  const second = await replica();
  agent.url = `${second.url}/agui/clerk`;
  const [interrupt] = agent.pendingInterrupts;
  const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
  await run(agent, { resume });
  assert.match(text(agent), /refunded 40 euros/);
  await second.kill();
});

test("a frontend tool is called by the frontend", async () => {
  const tools = [{ name: "ask_page", description: "Asks the page.", parameters: { type: "object", properties: {} } }];
  const agent = agentOf("browser");
  say(agent, "What do I see?");
  const asked = await run(agent, { tools });
  const { outcome } = last(asked);
  assert.equal(outcome.type, "success");
  const [toolCallId] = outcome.pendingToolCallIds;
  agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content: "A page about lighthouses" });
  const events = await run(agent, { tools });
  assert.match(text(agent), /A page about lighthouses/);
  assert.deepEqual(last(events).outcome, { type: "success" });
});

test("a frontend tool that the agent does not know is refused", async () => {
  const agent = agentOf("desk");
  const tools = [{ name: "paint", description: "", parameters: {} }];
  const body = { threadId: agent.threadId, runId: randomUUID(), messages: [{ id: "1", role: "user", content: "hi" }], tools, context: [] };
  assert.equal((await post("agui/desk", body)).status, 400);
  assert.equal((await post("agui/nobody", { ...body, tools: [] })).status, 404);
});

test("a model that breaks half-way leaves the good text alone", async () => {
  const agent = agentOf("desk");
  say(agent, `Please break ${agent.threadId}.`);
  const events = await run(agent);
  assert.ok(events.some((event) => event.type === "CUSTOM" && event.name === "temporal.attempt"), types(events).join());
  assert.equal(texts(agent).length, 1);
  assert.match(text(agent), /^Good day, and welcome to the desk! .* find out for you\.$/);
});

test("a cancelled run says so", async () => {
  const agent = agentOf("desk");
  say(agent, "hello");
  const running = run(agent);
  await until(async () => (await fetch(`${SERVICE}/runs/desk:${agent.threadId}`)).ok);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal((await post(`runs/desk:${agent.threadId}/cancel`, {})).status, 202);
  const events = await running;
  assert.deepEqual(last(events).outcome, { type: "cancelled" });
});

test("a lost connection is taken up again", async () => {
  const agent = agentOf("desk");
  const body = { threadId: agent.threadId, runId: randomUUID(), tools: [], context: [] };
  const messages = [{ id: "1", role: "user", content: "hello" }];
  const lost = new AbortController();
  const response = await post("agui/desk", { ...body, messages }, lost.signal);
  await response.body.getReader().read();
  lost.abort();
  const found = await events(await fetch(`${SERVICE}/agui/desk/${agent.threadId}`));
  assert.equal(found[0].type, "RUN_STARTED");
  const content = found.filter((event) => event.type === "TEXT_MESSAGE_CONTENT").map((event) => event.delta);
  assert.match(content.join(""), /^Good day, and welcome to the desk! .* find out for you\.$/);
  assert.equal(last(found).type, "RUN_FINISHED");
});

test("a second message continues the conversation", async () => {
  const agent = agentOf("desk");
  say(agent, "hello");
  await run(agent);
  say(agent, "What is the weather?");
  await run(agent);
  assert.equal(texts(agent).length, 2);
  assert.match(text(agent), /12 degrees/);
});

function post(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return fetch(`${SERVICE}/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

async function events(response) {
  assert.equal(response.status, 200);
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
}

async function until(check) {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("the condition was not met in ten seconds");
}
