// Worlds for the mocked service: 200 runs, 50 questions, a run of 60 turns, 12 agents, a chat.

const HOUR = 3_600_000;
const SUBJECTS = [
  "Refund for order A-17: the kettle arrived broken", "Kitchen of Ada", "Summarize the incident of Monday night",
  "Which invoices are overdue?", "Translate the manual into Norwegian", "Plan the move of the archive to Bergen",
  "Compare the offers of three suppliers for winter tyres and say which one is best for a fleet of forty cars",
  "Write release notes for 2.4", "Find the parcel 4711", "Check the contract with the harbour",
];
const AGENTS = ["triage", "clerk", "payout", "desk", "researcher"];
const TOOLS = ["issue_refund", "send_mail", "delete_file", "order_parts", "run_command"];

const iso = (ms) => new Date(ms).toISOString();

/** Two hundred runs, newest first, of all states. */
export function runs(now = Date.now(), count = 200) {
  return Array.from({ length: count }, (_, at) => {
    const started = now - at * HOUR / 6 - 40_000;
    const base = {
      id: `run-${at}`, kind: at % 9 === 4 ? "chat" : "run", mode: "temporal", agent: AGENTS[at % AGENTS.length],
      title: SUBJECTS[at % SUBJECTS.length], started_at: iso(started), execution: `x-${at}`,
      labels: at % 7 === 3 ? { customer: "Harbour Ltd", case: `C-${at}` } : {},
    };
    const ended = (status, seconds) => ({ ...base, status, ended_at: iso(started + seconds * 1000) });
    if (base.kind === "chat") return { ...base, status: "running", is_idle: true };
    if (at < 50 && at % 5 !== 2) return { ...base, status: "waiting" };
    if (at === 2) return { ...base, status: "running" };
    if (at === 7) {
      return { ...base, status: "running", problem: {
        kind: "replay", message: "turn 4, agent `assessor`: the history has a handoff to agent `payout`, which "
          + "the agent no longer has", remedy: "Deploy the version of the agents before, or one with the handoff." } };
    }
    if (at === 12) return { ...base, status: "queued" };
    if (at % 11 === 5) return ended("failed", 3 + at);
    if (at % 23 === 9) return ended("cancelled", 61);
    return ended("completed", 1.6 + at * 7.3);
  });
}

export function usageOf(rows) {
  return Object.fromEntries(rows.map(({ id }, at) => [id, {
    requests: 3, input_tokens: 900 + at * 311, output_tokens: 100 + at * 17, total_tokens: 1000 + at * 328,
    cost: { USD: 1_300_000 + at * 2_750_000 },
  }]));
}

/** Fifty questions of the runs that wait. */
export function questions(rows, count = 50) {
  const waiting = rows.filter(({ status }) => status === "waiting");
  return Array.from({ length: count }, (_, at) => ({
    run_id: waiting[at % waiting.length].id, question_id: `call_${at}`, agent: AGENTS[at % AGENTS.length],
    tool: at % 10 === 9 ? "ask_page" : TOOLS[at % TOOLS.length],
    arguments: JSON.stringify(at % 10 === 9 ? { question: "Which title does the page have?" }
      : { order: `A-${17 + at}`, amount: 40 + at, reason: "The kettle arrived broken, and the box was open." }),
    waits_for: at % 10 === 9 ? "output" : "approval",
    ...(at % 8 === 3 && { expires_at: Date.now() + 540_000 }),
  }));
}

/** Makes the events of a run: `event(kind, members)`. */
function recorder(run, start) {
  const events = [];
  let time = start;
  return {
    events,
    wait: (ms) => { time += ms; },
    add(kind, id, members = {}) {
      time += members.after ?? 120;
      events.push({
        version: "1.2", kind, id: `${run}/${id}`, run, time: iso(time), cursor: String(events.length + 1), ...members,
      });
    },
  };
}

function turn(record, number, agent, members = {}) {
  const place = { agent, turn: number, ...members };
  record.add("turn_started", `${members.path ?? ""}${number}`, place);
  record.add("model_call_scheduled", `${members.path ?? ""}${number}-model`, { ...place, model: "gpt-5-mini" });
  record.add("model_call_answered", `${members.path ?? ""}${number}-model/answered`, {
    ...place, attempts: 1, after: 1400,
    usage: { requests: 1, input_tokens: 800 + number * 40, output_tokens: 60, cost: { USD: 420_000 } },
  });
}

function tool(record, number, agent, name, { args, output, failure, path, index = 0, edited, by }) {
  const place = { agent, turn: number, path, call_id: `${path ?? ""}c${number}-${index}`, name };
  const key = `${path ?? ""}${number}-tool-${index}`;
  record.add("tool_call", `${path ?? ""}${number}-model/${index}`, { ...place, arguments: JSON.stringify(args ?? {}) });
  if (by) {
    const question = { agent, turn: number, question_id: place.call_id, tool: name };
    record.add("question_asked", `${key}-question`, { ...question, arguments: JSON.stringify(args) });
    record.add("run_paused", `${key}-paused`, { agent, turn: number });
    const decision = edited ? { kind: "approve_with", arguments: edited } : { kind: "approve" };
    record.add("question_decided", `${key}-decision`, { agent, turn: number, question_id: place.call_id, decision, by, after: 185_000 });
    record.add("run_resumed", `${key}-resumed`, { agent, turn: number });
  }
  if (failure) record.add("tool_failed", `${key}/failed`, { ...place, attempts: 3, failure, after: 3200 });
  if (output !== undefined) record.add("tool_output", `${key}/output`, { ...place, output, attempts: failure ? 0 : 1 });
}

/** A run of sixty turns: a failed call, an expert agent, an approval with other arguments, handoffs. */
export function longRun(now = Date.now()) {
  const record = recorder("long", now - 600_000);
  record.add("run_started", "started", { agent: "triage", turn: 1, input: [{ role: "user",
    content: "Compare the offers of three suppliers for winter tyres, and say which one is best.\nAsk Ada before you order." }] });
  let agent = "triage";
  for (let number = 1; number < 60; number += 1) {
    turn(record, number, agent);
    if (number % 15 === 0) {
      const to = agent === "triage" ? "buyer" : "triage";
      const call = { agent, turn: number, call_id: `h${number}`, name: `transfer_to_${to}` };
      record.add("tool_call", `${number}-model/0`, { ...call, arguments: "{}" });
      record.add("tool_output", `${number}-call/output`, { ...call, output: `{"assistant": "${to}"}` });
      record.add("handoff", `${number}/handoff`, { agent, turn: number, from: agent, to });
      agent = to;
    } else if (number === 3) {
      tool(record, number, agent, "find_policy", {
        args: { customer: "Ada" }, output: "An error occurred while running the tool. Please try again.",
        failure: { type: "ToolError", message: "registry-3.internal: table policies is locked" },
      });
    } else if (number === 7) {
      const call = { agent, turn: number, call_id: "expert", name: "ask_expert" };
      record.add("tool_call", `${number}-model/0`, { ...call, arguments: '{"input":"Which tyres are quiet?"}' });
      record.add("run_started", "7-tool-0/started", { agent: "expert", turn: 1, path: ["7-tool-0"], input: [{ role: "user", content: "Which tyres are quiet?" }] });
      turn(record, 1, "expert", { path: ["7-tool-0"] });
      record.add("message", "7-tool-0/1-model/0", { agent: "expert", turn: 1, path: ["7-tool-0"], text: "Those of the second supplier." });
      record.add("tool_output", "7-tool-0/output", { ...call, output: "Those of the second supplier." });
    } else if (number === 58) {
      tool(record, number, agent, "order_parts", {
        args: { supplier: "North", pieces: 160, express: true }, edited: { supplier: "North", pieces: 40, express: false },
        by: "ada", output: "ordered 40 pieces from North",
      });
    } else {
      tool(record, number, agent, "read_offer", { args: { supplier: number % 3, page: number }, output: `Page ${number}: 84.50 euros, in stock.` });
    }
  }
  turn(record, 60, agent);
  const answer = { supplier: "North", pieces: 40, price: { each: 84.5, total: 3380 }, reasons: ["quiet", "in stock", "cheapest with delivery"], ordered: true };
  record.add("message", "60-model/0", { agent, turn: 60, text: JSON.stringify(answer) });
  record.add("run_finished", "ended", { agent, turn: 60, output: answer });
  return { events: record.events, output: answer };
}

/** A chat: a message that a guardrail has stopped, then one with an answer. */
export function guardedChat(now = Date.now()) {
  const first = recorder("one", now - 90_000);
  first.add("chat_message_delta", "message-1", { run: "", chat_message_id: "m1", text: "My card is 4000 1234 5678 9010" });
  first.add("run_started", "started", { agent: "desk", turn: 1 });
  first.add("guardrail_tripped", "guardrail-1", { agent: "desk", turn: 1, guardrail: "no_cards", stage: "input", output_info: { found: "a card number" } });
  first.add("run_failed", "ended", { agent: "desk", turn: 1, failure: { type: "InputGuardrailTripped", message: "guardrail no_cards has tripped" } });
  const second = recorder("two", now - 60_000);
  second.add("chat_message_delta", "message-2", { run: "", chat_message_id: "m2", text: "My policy is HH-0007." });
  second.add("run_started", "started", { agent: "desk", turn: 1, input: [{ role: "user", content: "My policy is HH-0007." }] });
  turn(second, 1, "desk");
  second.add("message", "1-model/0", { agent: "desk", turn: 1, text: "Thank you. Policy HH-0007 covers the kettle." });
  second.add("run_finished", "ended", { agent: "desk", turn: 1, output: "Thank you. Policy HH-0007 covers the kettle." });
  return [...first.events, ...second.events].map((event, at) => ({ ...event, cursor: String(at + 1) }));
}

/** A run in which a reception hands off to eleven departments, and back. */
export function twelveAgents(now = Date.now()) {
  const record = recorder("twelve", now - 120_000);
  record.add("run_started", "started", { agent: "reception", turn: 1, input: [{ role: "user", content: "Ask all departments." }] });
  let number = 0;
  const hand = (from, to) => {
    number += 1;
    turn(record, number, from);
    record.add("handoff", `${number}/handoff`, { agent: from, turn: number, from, to });
  };
  for (let department = 1; department <= 11; department += 1) {
    hand("reception", `department ${department}`);
    if (department < 11) hand(`department ${department}`, "reception");
  }
  turn(record, number + 1, "department 11");
  record.add("message", `${number + 1}-model/0`, { agent: "department 11", turn: number + 1, text: "All have answered." });
  record.add("run_finished", "ended", { agent: "department 11", turn: number + 1, output: "All have answered." });
  return record.events;
}

/** A run whose input guardrail has stopped it, and one with a failed model call. */
export function failures(now = Date.now()) {
  const guarded = recorder("guarded", now - 30_000);
  guarded.add("run_started", "started", { agent: "desk", turn: 1 });
  guarded.add("guardrail_tripped", "guardrail-1", { agent: "desk", turn: 1, guardrail: "no_cards", stage: "input" });
  guarded.add("run_failed", "ended", { agent: "desk", turn: 1, failure: { type: "AgentsWorkflowError", message: "guardrail no_cards has tripped" } });
  const refused = recorder("refused", now - 30_000);
  const failure = { type: "ModelError", message: "bad request (400): The requested model gpt-9 does not exist." };
  refused.add("run_started", "started", { agent: "desk", turn: 1, input: [{ role: "user", content: "Hello" }] });
  refused.add("turn_started", "1", { agent: "desk", turn: 1 });
  refused.add("model_call_scheduled", "1-model", { agent: "desk", turn: 1, model: "gpt-9" });
  refused.add("model_call_failed", "1-model/failed", { agent: "desk", turn: 1, attempts: 1, failure });
  refused.add("run_failed", "ended", { agent: "desk", turn: 1, failure: { type: "AgentsWorkflowError", message: "the model call failed", cause: failure } });
  return { guarded: guarded.events, refused: refused.events };
}

const PICTURE = (width, height, text) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="${width}" height="${height}" fill="#f6f8fa"/><text x="20" y="40" font-size="20">${text}</text>
<rect x="20" y="60" width="${width - 40}" height="20" fill="#54aeff"/></svg>`;

/** Everything at once. */
export function wholeWorld(now = Date.now()) {
  const rows = runs(now);
  const base = (id, members) => ({ id, kind: "run", mode: "temporal", agent: "triage", status: "completed",
    started_at: iso(now - 600_000), ended_at: iso(now - 10_000), execution: `x-${id}`, ...members });
  const { events: long, output } = longRun(now);
  const { guarded, refused } = failures(now);
  const open = { ended_at: undefined, status: "running" };
  const details = {
    long: base("long", { title: "Compare the offers of three suppliers for winter tyres, and say which one is best.", output, labels: { customer: "Harbour Ltd" } }),
    guarded: base("guarded", { agent: "desk", status: "failed", title: "My card is 4000 1234", input: "My card is 4000 1234 5678 9010", failure: { message: "guardrail no_cards has tripped" } }),
    refused: base("refused", { agent: "desk", status: "failed", title: "Hello", failure: { message: "bad request (400): The requested model gpt-9 does not exist." } }),
    twelve: base("twelve", { agent: "reception", title: "Ask all departments.", output: "All have answered." }),
    chat: base("chat", { kind: "chat", agent: "desk", title: "My card is 4000 1234 5678 9010", ...open, questions: [] }),
    stuck: { ...rows[7], id: "stuck", questions: [] },
  };
  return {
    runs: rows, questions: questions(rows), usage: usageOf(rows), details,
    agents: { agents: AGENTS.map((name) => ({ name })), toolsets: ["weather", "maps", "dev-*"] },
    events: { long, guarded, refused, twelve: twelveAgents(now), chat: guardedChat(now) },
    pictures: { timeline: PICTURE(1442, 300, "Timeline"), agents: PICTURE(1800, 900, "Agents") },
  };
}
