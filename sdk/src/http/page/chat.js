// Starting runs and chats, and talking in a chat.

import { agentPicture, listAgents, sendMessage, startChat, startRun } from "./api.js";
import { announce, el, field, newId, setText, showError, whileBusy } from "./dom.js";
import { pictureBox } from "./picture.js";
import { clip, visible } from "./text.js";

/** Messages that were typed and not sent, by run: they stay when the page shows something else. */
const drafts = new Map();
/** The chat that was started last: its message field gets the focus. */
let startedChat;

/** Shows the page that starts a run or a chat. */
export function newPage(main, { signal }) {
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const select = el("select", { "data-testid": "agent-select", required: true });
  const description = el("p", { class: "hint", id: "agent-description" });
  const input = el("textarea", { rows: 4, "data-testid": "run-input" });
  const picture = pictureBox({
    title: "Picture of the agent", testid: "agents-picture", signal,
    alt: "The agent and the agents that it can reach, with their tools and handoffs.",
  });
  const descriptions = new Map();
  const toolsets = toolsetFields();
  const open = async (start) => {
    if (!select.reportValidity()) return;
    await whileBusy(form, error, async () => {
      const { id } = await start();
      if (!signal.aborted) location.hash = `#/runs/${encodeURIComponent(id)}`;
    });
  };
  const chatButton = el("button", {
    type: "button", "data-testid": "new-chat", onclick: () => open(async () => {
      const chat = await startChat(select.value, toolsets.read());
      startedChat = chat.id;
      return chat;
    }),
  }, "Start a chat");
  const form = el(
    "form",
    {
      class: "card",
      onsubmit: (event) => {
        event.preventDefault();
        open(() => startRun(select.value, input.value, toolsets.read()));
      },
    },
    field("Agent", select),
    description,
    field("Input of the run", input, "A chat begins without input."),
    toolsets.node,
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "primary", "data-testid": "start-run" }, "Start a run"),
      chatButton),
    error,
  );
  select.setAttribute("aria-describedby", description.id);
  const describe = () => {
    setText(description, descriptions.get(select.value) ?? "");
    if (select.value) picture.update(agentPicture(select.value));
  };
  select.addEventListener("change", describe);
  main.append(el("h1", { tabindex: -1 }, "New run or chat"),
    el("p", { class: "lede" }, "A run is one task that ends with an answer. A chat stays open for messages."),
    form, picture.node);

  listAgents(signal).then(({ agents, toolsets: names }) => {
    toolsets.offer(names ?? []);
    for (const agent of agents) descriptions.set(agent.name, agent.description ?? "");
    select.append(...agents.map(({ name }) => el("option", { value: name }, name)));
    describe();
    if (agents.length === 0) throw new Error("The service has no agents.");
  }).catch((failure) => {
    if (!signal.aborted) showError(error, failure);
  });
}

/** The toolsets and devices that a run may select; hidden if the service permits none. */
function toolsetFields() {
  const boxes = el("div");
  const others = el("input", {
    type: "text", autocomplete: "off", spellcheck: "false", "data-testid": "other-toolsets",
  });
  const othersField = el("div", { hidden: true });
  const node = el("fieldset", { "data-testid": "toolsets", hidden: true },
    el("legend", {}, "Toolsets and devices (optional)"), boxes, othersField);
  const words = () => others.value.split(/[\s,]+/).filter(Boolean);
  const chosen = () => [...boxes.querySelectorAll("input:checked")].map(({ value }) => value);
  return {
    node,
    /** Names, and prefixes of names that end in `*`. */
    offer(names) {
      node.hidden = names.length === 0;
      const prefixes = names.filter((name) => name.endsWith("*"));
      boxes.replaceChildren(...names.filter((name) => !name.endsWith("*")).map((name) => {
        const box = el("input", { type: "checkbox", id: newId("toolset"), value: name });
        return el("label", { for: box.id, class: "check" }, box, el("bdi", {}, visible(name)));
      }));
      othersField.hidden = prefixes.length === 0;
      if (prefixes.length === 0) return;
      const hint = prefixes.includes("*") ? "Names, separated by spaces."
        : `Names that begin with ${prefixes.map((prefix) => visible(prefix.slice(0, -1))).join(" or ")}, separated by spaces.`;
      othersField.replaceChildren(field("Others, by name", others, hint));
    },
    read() {
      const names = [...new Set([...chosen(), ...words()])];
      return node.hidden || names.length === 0 ? undefined : names;
    },
  };
}

/**
 * Returns the form to talk in a chat. `update(chat)` shows the messages that the run has not taken
 * yet, of those that this page has sent and those that the chat has accepted; `end()` removes the
 * form.
 */
export function chatForm(runId) {
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const input = el("textarea", { rows: 2, required: true, "data-testid": "chat-input" });
  input.value = drafts.get(runId) ?? "";
  const waiting = el("ul", { class: "waiting", "aria-label": "Messages on the way" });
  let sent = [];
  let draft = { text: "", id: "" };
  let latest = { messages: [], received: 0 };

  const send = async () => {
    const text = input.value.trim();
    if (!text) return;
    // The same text that is sent again after an error has the same id, so that it counts once.
    if (draft.text !== text) draft = { text, id: randomId() };
    const message = { ...draft, after: latest.received };
    const isSent = await whileBusy(form, error, () => sendMessage(runId, draft));
    if (isSent) {
      sent.push(message);
      draft = { text: "", id: "" };
      input.value = "";
      drafts.delete(runId);
      announce("The message was sent.");
      update(latest);
    }
    input.focus();
  };
  const form = el(
    "form",
    {
      class: "chat-form",
      onsubmit: (event) => {
        event.preventDefault();
        send();
      },
    },
    waiting,
    field("Message", input, "Enter sends; Shift and Enter begin a new line."),
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "primary", "data-testid": "send" }, "Send")),
    error,
  );
  input.addEventListener("input", () => drafts.set(runId, input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });

  const update = (chat) => {
    latest = chat;
    // A service that does not report accepted messages reports the runs that take them.
    sent = sent.filter(({ id, after }) =>
      chat.received <= after && !chat.messages.some((message) => message.id === id));
    const open = chat.messages.filter(({ state }) => state !== "taken");
    const items = [...open, ...sent].map(({ text, state }) => el("li", { dir: "auto" },
      `${clip(text, 2_000)}${state === "refused" ? " (refused)" : ""}`));
    waiting.replaceChildren(...items);
  };
  const focus = () => {
    if (startedChat !== runId) return;
    startedChat = undefined;
    input.focus();
  };
  return { node: form, update, focus, end: () => { form.hidden = true; } };
}

/** `crypto.randomUUID` is missing on pages without TLS. */
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
