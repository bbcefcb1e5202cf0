// The chat of the AI SDK, versions 6 and 7, against the service.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import * as v6 from "ai6";
import * as v7 from "ai7";

import { replica } from "./replica.mjs";

const SERVICE = process.env.SERVICE_URL;

/** A chat without a framework: its state is plain values. */
function chatOf(ai, version, agent, { url = SERVICE, target = { url }, moves = false, id = randomUUID(), ...options } = {}) {
  const state = {
    status: "ready",
    error: undefined,
    messages: [],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: (value) => structuredClone(value),
  };
  class Chat extends ai.AbstractChat {}
  const reconnect = () => ({ api: `${target.url}/chat/${agent}/${id}/stream?v=${version}` });
  const elsewhere = ({ id: chatId, messages, trigger, messageId, body }) => ({
    api: `${target.url}/chat/${agent}?v=${version}`,
    body: { ...body, id: chatId, messages, trigger, messageId },
  });
  const transport = new ai.DefaultChatTransport({
    api: `${target.url}/chat/${agent}?v=${version}`,
    prepareReconnectToStreamRequest: reconnect,
    // Only a chat that moves to another replica has requests that are not the default ones.
    ...(moves ? { prepareSendMessagesRequest: elsewhere } : {}),
  });
  const errors = [];
  const chat = new Chat({
    id,
    state,
    transport,
    onError: (error) => void errors.push(error),
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    ...options,
  });
  return { chat, errors };
}

const parts = (chat, type) => chat.messages.at(-1).parts.filter((part) => part.type === type);
const text = (chat) => parts(chat, "text").map((part) => part.text).join("|");

async function settled(chat, errors) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (errors.length > 0) throw errors[0];
    if (chat.status === "ready") return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`the chat is ${chat.status}`);
}

for (const [version, ai] of [[6, v6], [7, v7]]) {
  test(`v${version}: a plain answer`, async () => {
    const { chat, errors } = chatOf(ai, version, "desk");
    await chat.sendMessage({ text: "hello" });
    await settled(chat, errors);
    assert.match(text(chat), /^Good day, and welcome to the desk! .* find out for you\.$/);
    assert.equal(chat.messages.at(-1).metadata.agent, "desk");
  });

  test(`v${version}: a tool and a handoff`, async () => {
    const { chat, errors } = chatOf(ai, version, "desk");
    await chat.sendMessage({ text: "What is the weather?" });
    await settled(chat, errors);
    const [call] = parts(chat, "dynamic-tool");
    assert.deepEqual([call.toolName, call.state, call.output], ["get_weather", "output-available", "Oslo: 12 degrees, clear"]);
    await chat.sendMessage({ text: "Where is my parcel?" });
    await settled(chat, errors);
    assert.match(text(chat), /on the ferry/);
    assert.equal(parts(chat, "data-agent")[0].data.name, "parcels");
  });

  for (const [name, approved, state] of [["granted", true, "output-available"], ["refused", false, "output-denied"]]) {
    test(`v${version}: an approval is ${name}, by another replica`, async () => {
      const target = { url: SERVICE };
      const { chat, errors } = chatOf(ai, version, "clerk", { target, moves: true });
      await chat.sendMessage({ text: "I want a refund." });
      await settled(chat, errors);
      const [call] = parts(chat, "dynamic-tool");
      assert.equal(call.state, "approval-requested");
      const other = await replica();
      target.url = other.url;
      await chat.addToolApprovalResponse({ id: call.approval.id, approved, reason: approved ? undefined : "not today" });
      await until(() => parts(chat, "text").length > 0 || errors.length > 0);
      await settled(chat, errors);
      await other.kill();
      assert.equal(chat.messages.length, 2, "the answer continues the same message");
      assert.equal(parts(chat, "dynamic-tool")[0].state, state);
      assert.match(text(chat), approved ? /refunded 40 euros/ : /not today/);
    });
  }

  test(`v${version}: a model that breaks half-way`, async () => {
    const { chat, errors } = chatOf(ai, version, "desk");
    await chat.sendMessage({ text: `Please break ${chat.id}.` });
    await settled(chat, errors);
    const good = /^Good day, and welcome to the desk! .* find out for you\.$/;
    assert.match(parts(chat, "text").at(-1).text, good);
    if (version === 7) {
      assert.equal(parts(chat, "text").length, 1);
    } else {
      assert.equal(parts(chat, "data-attempt").length, 1);
    }
  });

  test(`v${version}: an approval is granted after the API was killed`, async () => {
    const first = await replica();
    const target = { url: first.url };
    const { chat, errors } = chatOf(ai, version, "clerk", { target, moves: true });
    await chat.sendMessage({ text: "I want a refund." });
    await settled(chat, errors);
    await first.kill();
    const second = await replica();
    target.url = second.url;
    const [call] = parts(chat, "dynamic-tool");
    await chat.addToolApprovalResponse({ id: call.approval.id, approved: true });
    await until(() => parts(chat, "text").length > 0 || errors.length > 0);
    await settled(chat, errors);
    assert.match(text(chat), /refunded 40 euros/);
    await second.kill();
  });

  test(`v${version}: a client tool is called by the page`, async () => {
    const sendAutomaticallyWhen = ai.lastAssistantMessageIsCompleteWithToolCalls;
    const { chat, errors } = chatOf(ai, version, "browser", { sendAutomaticallyWhen });
    await chat.sendMessage({ text: "What do I see?" });
    await settled(chat, errors);
    const [call] = parts(chat, "dynamic-tool");
    assert.deepEqual([call.toolName, call.state], ["ask_page", "input-available"]);
    await chat.addToolOutput({ tool: "ask_page", toolCallId: call.toolCallId, output: "A page about lighthouses" });
    await until(() => parts(chat, "text").length > 0 || errors.length > 0);
    await settled(chat, errors);
    assert.match(text(chat), /A page about lighthouses/);
    assert.equal(chat.messages.length, 2, "the answer continues the same message");
  });

  test(`v${version}: a cancelled run aborts the message`, async () => {
    const { chat, errors } = chatOf(ai, version, "desk");
    let ended;
    const answered = chat.sendMessage({ text: "hello" }).then(() => (ended = true));
    await until(() => chat.messages.at(-1)?.parts.some((part) => part.type === "text"));
    const headers = { "content-type": "application/json" };
    const cancelled = await fetch(`${SERVICE}/runs/desk:${chat.id}/cancel`, { method: "POST", headers, body: "{}" });
    assert.equal(cancelled.status, 202);
    await answered;
    assert.ok(ended && errors.length === 0, errors.join());
    assert.doesNotMatch(text(chat), /find out for you\.$/, "the answer was not completed");
    const run = await (await fetch(`${SERVICE}/runs/desk:${chat.id}`)).json();
    assert.equal(run.status, "cancelled");
  });

  test(`v${version}: a lost connection is taken up again`, async () => {
    const id = randomUUID();
    const { chat } = chatOf(ai, version, "desk", { id });
    void chat.sendMessage({ text: "hello" });
    await until(() => chat.messages.at(-1)?.parts.some((part) => part.type === "text"));
    await chat.stop();
    const other = await replica();
    const { chat: again, errors } = chatOf(ai, version, "desk", { id, url: other.url });
    again.messages = chat.messages.slice(0, 1);
    await again.resumeStream();
    await settled(again, errors);
    assert.match(text(again), /^Good day, and welcome to the desk! .* find out for you\.$/);
    await other.kill();
  });
}

async function until(check) {
  for (let tries = 0; tries < 100; tries += 1) {
    if (check()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("the condition was not met in ten seconds");
}
