// The messages that a chat has accepted, and the run has taken. Everything in this file is pure.

const MAX_MESSAGES = 200;

export const noChat = Object.freeze({ messages: [], received: 0 });

/** Returns the messages after a report that the chat has accepted or refused one. */
export function withMessage(chat, { id, text, isRefused }) {
  const at = chat.messages.findLastIndex((message) => id !== "" && message.id === id);
  if (at < 0) {
    const message = { id, text, state: isRefused ? "refused" : "waiting" };
    return { ...chat, messages: [...chat.messages, message].slice(-MAX_MESSAGES) };
  }
  const before = chat.messages[at];
  const state = isRefused ? "refused" : before.state === "refused" ? "waiting" : before.state;
  return { ...chat, messages: chat.messages.with(at, { ...before, state }) };
}

/** Returns the messages after a run has begun with these texts. */
export function taken(chat, texts) {
  const rest = [...texts];
  const messages = chat.messages.map((message) => {
    // The texts of the run's input may be several messages in one.
    const at = rest.findIndex((text) => text.includes(message.text));
    if (message.state !== "waiting" || at < 0) return message;
    if (rest[at] === message.text) rest.splice(at, 1);
    return { ...message, state: "taken" };
  });
  return { messages, received: chat.received + texts.length };
}
