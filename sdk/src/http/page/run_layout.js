// The elements of the page of one run, and functions that fill them.

import {
  el, hasEnded, longText, named, setParts, setStatus, setText, showError, statusBadge, timeOf,
  whileBusy,
} from "./dom.js";
import { agentPicture, runTimeline } from "./api.js";
import { handoffGraph } from "./graph.js";
import { pictureBox } from "./picture.js";
import { questionList } from "./questions.js";
import { textOfFailure, textOfValue } from "./text.js";
import { timeline } from "./timeline.js";
import { usageTable } from "./usage.js";

/** Returns the elements of the page of a run, and functions that fill them. */
export function layout(id, signal) {
  const heading = el("h1", { tabindex: -1 });
  setParts(heading, ["Run ", named(id)]);
  const status = statusBadge("loading");
  const details = el("span");
  const about = el("p", { class: "about" }, status, " ", details);
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const connection = el("p", { class: "connection", role: "status" });
  const result = longText("pre", {
    "data-testid": "result", tabindex: 0, role: "group", "aria-label": "Result",
  });
  const resultTitle = el("h2", {}, "Output");
  const resultSection = el("section", { class: "card", hidden: true },
    resultTitle, ...result.nodes);

  let answer = () => {};
  const questions = questionList({ title: "Questions", onAnswer: () => answer() });
  const toQuestions = el("button", {
    type: "button", class: "primary", "data-testid": "to-questions", onclick: questions.focus,
  });
  const banner = el("p", { class: "banner", hidden: true }, toQuestions);
  const cancel = cancelBox();
  const list = timeline();
  const chatPlace = el("div");
  const pictures = {
    run: pictureBox({
      title: "Timeline", alt: "The calls and waits of the run, by agent; the events name them.",
      testid: "timeline-picture", signal,
    }),
    agents: pictureBox({
      title: "Agents", alt: "The agents that the run can reach, with their tools and handoffs.",
      testid: "agents-picture", signal,
    }),
  };
  const events = el("section", { "aria-labelledby": "events-title" },
    el("h2", { id: "events-title" }, "Events"), ...list.nodes);
  const graph = handoffGraph();
  const usage = usageTable();
  const nothing = el("p", { class: "hint" }, "No agent has begun yet.");
  const side = summary(nothing, graph.node, usage.node);

  let drawnRun = "";
  return {
    nodes: [
      heading, about, error, connection, banner, cancel.node,
      pictures.run.node, pictures.agents.node,
      el("div", { class: "columns" }, side, el("div", { class: "main-column" },
        events, ...questions.nodes, resultSection, chatPlace)),
    ],
    error, connection, chatPlace, graph, timeline: list,
    /** Shows the pictures again after this number of facts. */
    showPictures(run, facts) {
      pictures.run.update(runTimeline(id), `${run?.status} ${facts}`);
      pictures.agents.node.hidden = !run?.agent;
      if (run?.agent) pictures.agents.update(agentPicture(run.agent));
    },
    showUsage(sums, run) {
      nothing.hidden = sums.models.length > 0;
      usage.update(sums, run);
    },
    onCancel: cancel.onCancel,
    onAnswer: (action) => { answer = action; },
    showQuestions(open) {
      questions.update(open);
      const count = questions.count();
      banner.hidden = count === 0;
      setText(toQuestions, count === 1 ? "A question waits for an answer"
        : `${count} questions wait for answers`);
    },
    showMissing(reason) {
      showError(error, reason);
      error.append(" It may have been deleted. ", el("a", { href: "#/runs" }, "All runs"));
      setStatus(status, "gone");
      setText(connection, "");
    },
    showRun(run) {
      const state = JSON.stringify(run);
      if (state === drawnRun) return;
      drawnRun = state;
      setStatus(status, run.status);
      setParts(heading, [run.kind === "chat" ? "Chat " : "Run ", named(run.id)]);
      setParts(details, [
        ...(run.agent ? ["with ", named(run.agent), ", "] : []),
        ...(run.started_at ? ["started ", timeOf(run.started_at)] : []),
        ...(run.ended_at ? [", ended ", timeOf(run.ended_at)] : []),
      ]);
      cancel.node.hidden = hasEnded(run.status);
      resultSection.hidden = run.output == null && !run.failure;
      setText(resultTitle, run.failure ? "Failure" : "Output");
      result.update(run.failure ? textOfFailure(run.failure) : textOfValue(run.output ?? ""));
    },
  };
}

/** Returns the box beside the events; on a narrow screen it is above them, and closed. */
function summary(...parts) {
  const box = el("details", { class: "summary" }, el("summary", {}, "Agents and usage"), ...parts);
  box.open = window.matchMedia("(min-width: 700px)").matches;
  return el("aside", { "aria-label": "Agents and usage" }, box);
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
