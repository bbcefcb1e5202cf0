// The elements of the page of one run, and functions that fill them.

import {
  el, longText, named, setParts, setStatus, setText, showError, statusBadge, timeOf, whileBusy,
} from "./dom.js";
import { agentPicture, runTimeline } from "./api.js";
import { costText, durationOf, durationText, hasEnded, shortNumber } from "./format.js";
import { handoffGraph } from "./graph.js";
import { pictureBox } from "./picture.js";
import { questionList } from "./questions.js";
import { clip, textOfFailure, textOfValue, visible } from "./text.js";
import { timeline } from "./timeline.js";
import { usageTable } from "./usage.js";
import { entriesWith, isOutputShown, totalOf } from "./view.js";

/** Returns the elements of the page of a run, and functions that fill them. */
export function layout(id, signal) {
  const heading = el("h1", { tabindex: -1, class: "run-title", dir: "auto" }, "Run");
  const status = statusBadge("loading");
  const details = el("span");
  const totals = el("span");
  const about = el("p", { class: "about" }, status, details, totals);
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const connection = el("p", { class: "connection", role: "status" });
  const result = longText("pre", {
    "data-testid": "result", tabindex: 0, role: "group", "aria-label": "Output",
  });
  const resultSection = el("section", { class: "card", hidden: true }, el("h2", {}, "Output"),
    ...result.nodes);
  const callout = calloutBox();

  let answer = () => {};
  const questions = questionList({ title: "Questions", onAnswer: () => answer() });
  const toQuestions = el("button", {
    type: "button", class: "primary", "data-testid": "to-questions", onclick: questions.focus,
  });
  const banner = el("p", { class: "banner", hidden: true }, toQuestions);
  const cancel = cancelBox();
  const list = timeline();
  const loading = el("p", { class: "loading", role: "status" }, "Loading the events…");
  const noEvents = el("p", { class: "hint", hidden: true }, "Nothing has happened yet.");
  const toFailed = el("button", {
    type: "button", class: "link", "data-testid": "to-failed", hidden: true, onclick: list.focusFailed,
  });
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
  const facts = el("dl", { class: "facts" });
  const factsBox = el("details", { class: "facts-box" }, el("summary", {}, "Details"), facts);
  const events = el("section", { "aria-labelledby": "events-title" },
    el("h2", { id: "events-title" }, "Events"), loading, noEvents, ...list.nodes);
  const graph = handoffGraph();
  const usage = usageTable();
  const nothing = el("p", { class: "hint" }, "No model was called yet.");
  const side = summary(nothing, graph.node, usage.node);

  let drawnRun = "";
  return {
    nodes: [
      el("p", { class: "back" }, el("a", { href: "#/runs" }, "All runs")), heading, about, error,
      connection, callout.node, banner,
      el("div", { class: "tools" }, factsBox, pictures.run.node, pictures.agents.node, toFailed, cancel.node),
      el("div", { class: "columns" }, side, el("div", { class: "main-column" },
        events, resultSection, ...questions.nodes, chatPlace)),
    ],
    error, connection, chatPlace, graph,
    showEntries(view, run, isRead) {
      const entries = entriesWith(run, view);
      list.update({ ...view, entries });
      loading.hidden = isRead || entries.length > 0;
      noEvents.hidden = !isRead || entries.length > 0;
      const failed = entries.filter(({ type, state }) => type === "tool" && state === "failed").length;
      toFailed.hidden = failed === 0;
      setText(toFailed, failed === 1 ? "1 call has failed" : `${failed} calls have failed`);
      // An output that no event shows, for example one that is encoded.
      resultSection.hidden = !isRead || !run || isOutputShown(run, view);
      if (!resultSection.hidden) result.update(textOfValue(run.output));
    },
    /** Shows the pictures again after this number of facts. */
    showPictures(run, facts) {
      pictures.run.update(runTimeline(id), `${run?.status} ${facts}`);
      pictures.agents.node.hidden = !run?.agent;
      if (run?.agent) pictures.agents.update(agentPicture(run.agent));
    },
    showUsage(sums) {
      nothing.hidden = sums.models.length > 0;
      usage.update(sums);
      const { input, output, cost } = totalOf(sums.models);
      const parts = [input + output > 0 ? `${shortNumber(input + output)} tokens` : "", costText(cost)];
      setText(totals, parts.filter(Boolean).map((part) => ` · ${part}`).join(""));
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
      error.append(" It may have been deleted.");
      setStatus(status, "gone");
      setText(connection, "");
      loading.hidden = true;
    },
    showRun(run, state, title) {
      const drawn = JSON.stringify([run, state, title, hasEnded(run.status) || Math.round(Date.now() / 5_000)]);
      if (drawn === drawnRun) return;
      drawnRun = drawn;
      setStatus(status, state);
      setText(heading, visible(clip(title, 300)));
      const took = durationText(durationOf(run, Date.now()));
      setParts(details, [
        run.kind === "chat" ? "Chat" : "Run", ...(run.agent ? [" with ", named(run.agent)] : []),
        ...(run.started_at ? [" · started ", timeOf(run.started_at)] : []),
        run.ended_at && took ? ` · took ${took}` : "",
      ]);
      callout.update(run, state);
      showFacts(facts, run);
      cancel.node.hidden = hasEnded(run.status);
    },
  };
}

/** What people need only to find the run elsewhere. */
function showFacts(list, run) {
  const facts = [
    ["Id", run.id], ["Thread", run.thread], ["Mode", run.mode],
    ["Ended", run.ended_at && timeOf(run.ended_at)], ...Object.entries(run.labels ?? {}),
  ].filter(([, value]) => value);
  list.replaceChildren(...facts.flatMap(([name, value]) => [
    el("dt", {}, el("bdi", {}, visible(clip(name, 80)))),
    el("dd", {}, typeof value === "string" ? el("bdi", {}, visible(value)) : value),
  ]));
}

/** The reason why a run has failed or is stuck, with what to do about it. */
function calloutBox() {
  const title = el("h2");
  const text = longText("p", { class: "text", "data-testid": "failure" });
  const remedy = el("p", { class: "text remedy", dir: "auto" });
  const node = el("section", { class: "callout", "data-testid": "callout", hidden: true },
    title, ...text.nodes, remedy);
  return {
    node,
    update({ failure, problem, status }, state) {
      const isStuck = state === "stuck";
      node.hidden = !isStuck && !failure;
      node.className = isStuck ? "callout is-stuck" : "callout is-failed";
      setText(title, isStuck ? "The run is stuck" : `The run has ${wordsOfEnd(status)}`);
      text.update(isStuck ? problem.message ?? "" : failure ? textOfFailure(failure) : "");
      setText(remedy, isStuck ? problem.remedy ?? "" : "");
      remedy.hidden = remedy.textContent === "";
    },
  };
}

const wordsOfEnd = (status) => (status === "failed" ? "failed" : "not ended well");

/** Returns the box beside the events; on a narrow screen it is above them, and closed. */
function summary(...parts) {
  const box = el("details", { class: "summary" }, el("summary", {}, "Agents and usage"), ...parts);
  box.open = window.matchMedia("(min-width: 64rem)").matches;
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
