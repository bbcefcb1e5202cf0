// One run or chat, as it happens.

import { cancelRun, followEvents, getRun } from "./api.js";
import { chatForm } from "./chat.js";
import {
  announce, el, hasEnded, poll, setStatus, setText, showError, statusBadge, textOfError, timeOf,
  whileBusy, wordOf,
} from "./dom.js";
import { afterReconnect, emptyView, reduce } from "./events.js";
import { handoffGraph } from "./graph.js";
import { questionList } from "./questions.js";
import { timeline } from "./timeline.js";
import { agentsOf, currentAgent, handoffsOf, textOfFailure, textOfValue, usageOf } from "./view.js";

const REFRESH_MS = 10_000;
const QUIET_MS = 500; // events that come without such a pause are those of the past

export function runPage(main, { id, signal }) {
  const page = layout(id);
  main.append(...page.nodes);
  let view = emptyView;
  let run = null;
  let chat = null;
  let isLive = false;
  let quiet;
  let isDrawing = false;

  const draw = () => {
    isDrawing = false;
    if (signal.aborted) return;
    const { scrollHeight } = document.documentElement;
    const isAtEnd = isLive && window.innerHeight + window.scrollY >= scrollHeight - 40;
    page.timeline.update(view.entries);
    page.graph.update(handoffsOf(view), currentAgent(view));
    page.showSums(view);
    chat?.update(view.entries);
    if (isAtEnd) window.scrollTo(0, document.documentElement.scrollHeight);
  };
  const drawSoon = () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(draw);
  };

  const refresh = async () => {
    if (run && hasEnded(run.status)) return;
    try {
      const now = await getRun(id, signal);
      if (signal.aborted) return;
      if (run && run.status !== now.status) announce(`Status: ${wordOf(now.status)}`);
      run = now;
      page.showRun(run);
      page.questions.update((run.questions ?? []).map((asked) => ({ ...asked, run_id: id })));
      if (run.kind === "chat" && !chat) {
        chat = chatForm(id);
        page.chatPlace.append(chat.node);
        chat.update(view.entries);
      }
      if (hasEnded(run.status)) chat?.end();
      showError(page.error);
    } catch (error) {
      if (!signal.aborted) showError(page.error, error);
    }
  };
  let refreshTimer;
  const refreshSoon = () => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(refresh, 200);
  };

  const becomeLive = () => {
    clearTimeout(quiet);
    quiet = setTimeout(() => { isLive = true; }, QUIET_MS);
  };
  const onEvent = (event) => {
    view = reduce(view, event);
    drawSoon();
    if (event.kind.endsWith("_delta")) return;
    if (!isLive) becomeLive();
    else if (event.kind === "message") announce(`${event.agent}: ${event.text}`);
    else if (event.kind === "question_asked") announce(`${event.tool} waits for an answer.`);
    if (/^(run|question)_/.test(event.kind)) refreshSoon();
  };

  page.onCancel(async () => {
    await cancelRun(id);
    announce("The run will be cancelled.");
    refreshSoon();
  });
  page.onAnswer(refreshSoon);
  signal.addEventListener("abort", () => {
    clearTimeout(quiet);
    clearTimeout(refreshTimer);
  });

  poll(refresh, REFRESH_MS, signal);
  followEvents(id, {
    signal,
    onEvent,
    onOpen: (isAgain) => {
      setText(page.connection, "");
      becomeLive();
      // Without a position the stream begins again.
      if (isAgain) view = view.cursor === null ? emptyView : afterReconnect(view);
    },
    onWait: (error) => setText(page.connection,
      `${error ? textOfError(error) : "The connection was closed."} Connecting again…`),
  }).then(() => {
    setText(page.connection, "");
    refreshSoon();
  }, (error) => {
    setText(page.connection, `The events cannot be read: ${textOfError(error)}`);
  });
}

/** Returns the elements of the page, and functions that fill them. */
function layout(id) {
  const heading = el("h1", { tabindex: -1 }, `Run ${id}`);
  const status = statusBadge("loading");
  const about = el("p", { class: "about" }, status);
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const connection = el("p", { class: "connection", role: "status" });
  const result = el("pre", { "data-testid": "result" });
  const resultTitle = el("h2", {}, "Output");
  const resultSection = el("section", { class: "card", hidden: true }, resultTitle, result);
  const details = el("span");
  about.append(" ", details);

  let answer = () => {};
  const questions = questionList({ title: "Questions", onAnswer: () => answer() });
  const cancel = cancelBox();
  const list = timeline();
  const events = el("section", { "aria-labelledby": "events-title" },
    el("h2", { id: "events-title" }, "What happens"), list.node);
  const chatPlace = el("div");
  const graph = handoffGraph();
  const agents = el("ul");
  const usage = el("dl", { class: "usage", "data-testid": "usage" });
  const side = el("aside", { "aria-label": "Summary" },
    el("h2", {}, "Agents"), agents, graph.node, el("h2", {}, "Usage"), usage);

  let drawnRun = "";
  let drawnSums = "";
  return {
    nodes: [
      heading, about, error, connection, cancel.node, questions.node,
      el("div", { class: "columns" }, el("div", {}, events, resultSection, chatPlace), side),
    ],
    error, connection, questions, chatPlace, graph, timeline: list,
    onCancel: cancel.onCancel,
    onAnswer: (action) => { answer = action; },
    showRun(run) {
      const state = JSON.stringify(run);
      if (state === drawnRun) return;
      drawnRun = state;
      setStatus(status, run.status);
      setText(heading, `${run.kind === "chat" ? "Chat" : "Run"} ${run.id}`);
      details.replaceChildren(`with ${run.agent}, started `, timeOf(run.started_at));
      if (run.ended_at) details.append(", ended ", timeOf(run.ended_at));
      cancel.node.hidden = hasEnded(run.status);
      resultSection.hidden = run.output == null && !run.failure;
      setText(resultTitle, run.failure ? "Failure" : "Output");
      setText(result, run.failure ? textOfFailure(run.failure) : textOfValue(run.output));
    },
    showSums(view) {
      const sums = { agents: agentsOf(view), usage: usageOf(view) };
      const state = JSON.stringify(sums);
      if (state === drawnSums) return;
      drawnSums = state;
      agents.replaceChildren(...sums.agents.map(({ name, turns }) =>
        el("li", {}, `${name}: ${turns} ${turns === 1 ? "turn" : "turns"}`)));
      const { calls, input, output, cost } = sums.usage;
      const numbers = [["Model calls", calls], ["Tokens in", input], ["Tokens out", output]];
      if (cost !== undefined) numbers.push(["Cost", Number(cost.toPrecision(12))]);
      usage.replaceChildren(...numbers.map(([name, value]) =>
        el("div", {}, el("dt", {}, name), el("dd", {}, value.toLocaleString(undefined, {
          maximumFractionDigits: 6,
        })))));
    },
  };
}

/** A button to cancel, and behind it the one that does. */
function cancelBox() {
  let cancel = async () => {};
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      if (await whileBusy(form, error, () => cancel())) {
        node.open = false;
        node.querySelector("summary").focus();
      }
    },
  }, el("button", { type: "submit", class: "danger", "data-testid": "cancel-confirm" },
    "Yes, cancel it"), error);
  const node = el("details", { class: "cancel", hidden: true },
    el("summary", { "data-testid": "cancel" }, "Cancel…"), form);
  return { node, onCancel: (action) => { cancel = action; } };
}
