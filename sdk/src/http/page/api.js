// Requests to the service, and its stream of events. All addresses are relative to the page.

const TOKEN_KEY = "token";
const SILENCE_MS = 60_000; // a stream that is silent for longer is opened again
const MAX_WAIT_MS = 15_000;
const MAX_QUESTION_PAGES = 10;
const RUNS_PER_PAGE = 100;

/** Sends `token-needed` when the service asks for a token. */
export const access = new EventTarget();

let token = read();

function read() {
  try {
    return sessionStorage.getItem(TOKEN_KEY) ?? "";
  } catch {
    return "";
  }
}

export function hasToken() {
  return token !== "";
}

export function setToken(value) {
  token = value;
  try {
    if (value) sessionStorage.setItem(TOKEN_KEY, value);
    else sessionStorage.removeItem(TOKEN_KEY);
  } catch {
    // Storage is turned off: the token is kept until the page is closed.
  }
}

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

async function send(path, { method = "GET", body, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const json = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(path, { method, headers, body: json, signal, cache: "no-store" });
  if (response.ok) return response;
  const error = (await response.json().catch(() => null))?.error;
  if (response.status === 401) access.dispatchEvent(new Event("token-needed"));
  const message = error?.message ?? `The service answered with status ${response.status}.`;
  throw new ApiError(response.status, error?.code ?? "", message);
}

async function json(path, options) {
  const response = await send(path, options);
  const text = await response.text();
  return text === "" ? {} : JSON.parse(text);
}

const pathOf = (id, rest = "") => `runs/${encodeURIComponent(id)}${rest}`;
const post = (path, body) => json(path, { method: "POST", body });

export const listAgents = (signal) => json("agents", { signal });

/** Returns the open questions of all runs, as far as the service can read them. */
export async function listQuestions(signal) {
  const questions = [];
  let [after, complete, reason] = ["", true, undefined];
  for (let page = 0; page < MAX_QUESTION_PAGES; page += 1) {
    const query = after ? `?${new URLSearchParams({ after })}` : "";
    const answer = await json(`questions${query}`, { signal });
    questions.push(...answer.questions);
    after = answer.next ?? "";
    if (answer.complete === false) [complete, reason] = [false, reason ?? answer.reason];
    if (!after) return { questions, complete, reason };
  }
  return { questions, complete: false, reason: "the page shows no more at once." };
}

export const getRun = (id, signal) => json(pathOf(id), { signal });

export const agentPicture = (name) => `agents/${encodeURIComponent(name)}/picture.svg`;
export const runTimeline = (id) => pathOf(id, "/timeline.svg");

/** Returns a picture as an image in memory. */
export async function getPicture(path, signal) {
  const response = await send(path, { signal, accept: "image/svg+xml" });
  return new Blob([await response.text()], { type: "image/svg+xml" });
}

export function listRuns({ status, agent, title, after, isOpen }, signal) {
  const query = new URLSearchParams({ limit: String(RUNS_PER_PAGE) });
  if (isOpen) query.set("open", "true");
  for (const [name, value] of Object.entries({ status, agent, title, after })) {
    if (value) query.set(name, value);
  }
  return json(`runs?${query}`, { signal });
}

/** Returns the tokens and the cost of a run up to now. */
export const runUsage = (id, signal) => json(pathOf(id, "/usage"), { signal });

export const startRun = (agent, input, toolsets) => post("runs", { agent, input, toolsets });
export const startChat = (agent, toolsets) => post("runs", { agent, chat: true, toolsets });
export const sendMessage = (id, message) => post(pathOf(id, "/messages"), message);
export const decide = (id, decision) => post(pathOf(id, "/decisions"), decision);
export const supplyOutput = (id, output) => post(pathOf(id, "/outputs"), output);
export const listKept = (signal) => json("kept-decisions", { signal });
export const forgetKept = (id) =>
  json(`kept-decisions/${encodeURIComponent(id)}`, { method: "DELETE" });
export const cancelRun = (id) => post(pathOf(id, "/cancel"), {});

/**
 * Reads the events of a run until its end. After a lost connection it continues after the latest
 * event, or from the beginning if the service does not know that event any more.
 * `onOpen(continues)` is called for each connection, `onWait(error)` before the next one.
 */
export async function followEvents(id, { signal, onEvent, onOpen, onWait }) {
  let last = "";
  let failures = 0;
  while (!signal.aborted) {
    let lost;
    const from = last;
    try {
      const query = from ? `?${new URLSearchParams({ from })}` : "";
      const path = pathOf(id, `/events${query}`);
      for await (const message of messages(path, signal, () => onOpen(from !== ""))) {
        failures = 0;
        if (message.event === "end") return;
        if (message.event === "error") throw streamError(message.data);
        if (message.id !== undefined) last = message.id;
        // Other events end the connection; the next one continues.
        if (message.event === "message" && message.data) onEvent(JSON.parse(message.data));
      }
    } catch (error) {
      if (signal.aborted) return;
      const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (isRefused && !(error.status === 400 && from !== "")) throw error;
      if (isRefused) last = "";
      lost = error;
    }
    failures += 1;
    onWait(lost);
    await pauseOffline(Math.min(500 * 2 ** failures, MAX_WAIT_MS), signal);
  }
}

/** The status of an error that ends a stream, by its code. */
const STREAM_STATUS = { not_found: 404, invalid_request: 400 };

function streamError(data) {
  const { code = "", message = "The events cannot be read." } = JSON.parse(data).error ?? {};
  const status = Object.hasOwn(STREAM_STATUS, code) ? STREAM_STATUS[code] : 502;
  return new ApiError(status, code, message);
}

/** Waits; returns early if the signal aborts, or if the machine has a network again. */
async function pauseOffline(ms, signal) {
  const isOnline = new AbortController();
  const wake = () => isOnline.abort();
  window.addEventListener("online", wake);
  await pause(ms, AbortSignal.any([signal, isOnline.signal]));
  window.removeEventListener("online", wake);
}

/** Yields the messages of one connection. */
async function* messages(path, signal, onOpen) {
  const connection = new AbortController();
  const stop = () => connection.abort();
  signal.addEventListener("abort", stop);
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const accept = "text/event-stream";
    const response = await send(path, { signal: connection.signal, accept });
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = messageParser();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      yield* parse(value);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    connection.abort();
  }
}

/** Returns a function from a chunk of a stream of server-sent events to its complete messages. */
export function messageParser() {
  let rest = "";
  let message = { event: "message", data: [] };
  return (chunk) => {
    const complete = [];
    rest += chunk;
    // A carriage return at the end may be the first half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (message.data.length > 0 || message.event !== "message") {
          complete.push({ ...message, data: message.data.join("\n") });
        }
        message = { event: "message", data: [] };
        continue;
      }
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
      if (name === "data") message.data.push(value);
      else if (name === "event" || name === "id") message[name] = value;
    }
    return complete;
  };
}

/** Waits; returns early if the signal aborts. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
