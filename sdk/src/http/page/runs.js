// The first screen: the runs in a table with filters, and the open questions of all runs beside it.

import { listAgents, listQuestions, listRuns } from "./api.js";
import { el, field, poll, setText, showError } from "./dom.js";
import { hasEnded, stateOf, titleOf } from "./format.js";
import { questionList } from "./questions.js";
import { runTable } from "./run_table.js";

const REFRESH_MS = 5_000;
const TYPING_MS = 300;
const WIDE = "(min-width: 64rem)";

const STATES = [
  ["", "All"], ["open", "Not ended"], ["waiting", "Waiting for an answer"], ["running", "Running"],
  ["idle", "Idle chats"], ["queued", "Queued"], ["stuck", "Stuck"], ["completed", "Completed"],
  ["failed", "Failed"], ["cancelled", "Cancelled"], ["terminated", "Terminated"],
  ["timed_out", "Timed out"],
];
/** States that the page derives: the service is asked for the runs that have not ended. */
const DERIVED = new Set(["open", "idle", "stuck"]);

/** `query` is that of the address, for example `status=failed&agent=desk`. */
export function runsPage(main, { signal, query }) {
  const given = new URLSearchParams(query);
  const wanted = { state: given.get("status") ?? "", agent: given.get("agent") ?? "",
    title: given.get("title") ?? "" };
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const loading = el("p", { class: "loading", role: "status" }, "Loading the runs…");
  const none = el("div", { class: "empty", hidden: true });
  const table = runTable(signal);
  const more = pager(() => {
    heading.focus();
    refresh();
  });
  let hasRuns = false;

  const refresh = async () => {
    const asked = { ...wanted, after: more.position() };
    const isSame = () => JSON.stringify(asked) === JSON.stringify({ ...wanted, after: more.position() });
    const runs = listRuns(forService(asked), signal).then((answer) => {
      if (signal.aborted || !isSame()) return;
      loading.hidden = true;
      const found = answer.runs.filter((run) => matches(run, asked));
      hasRuns ||= answer.runs.length > 0;
      filters.addAgents(answer.runs.map(({ agent }) => agent));
      table.update(found);
      questions.name(new Map(answer.runs.map((run) => [run.id, titleOf(run)])));
      more.update(answer.next);
      showNone(found.length === 0);
    });
    const open = listQuestions(signal).then((answer) => {
      if (!signal.aborted) inbox.update(answer);
    });
    const ends = await Promise.allSettled([runs, open]);
    if (signal.aborted) return;
    const failure = ends.find(({ status }) => status === "rejected")?.reason;
    if (failure) loading.hidden = true;
    showError(error, failure);
  };
  const showNone = (isEmpty) => {
    none.hidden = !isEmpty;
    inbox.node.hidden = isEmpty && !hasRuns && questions.count() === 0;
    filters.node.hidden = isEmpty && !hasRuns && isFiltered() === false && !more.position();
    if (!isEmpty) return;
    none.replaceChildren(...(isFiltered() || more.position() ? NO_MATCH() : FIRST_STEPS()));
  };
  const isFiltered = () => Object.values(wanted).some((value) => value !== "");

  const filters = filterBar(wanted, () => {
    history.replaceState(null, "", addressOf(wanted));
    more.restart();
    refresh();
  });
  const questions = questionList({ title: "Questions", linksToRun: true, isFolded: true, onAnswer: refresh });
  const inbox = inboxOf(questions);
  const heading = el("h1", { tabindex: -1 }, "Runs");
  main.append(
    heading,
    el("p", { class: "lede" }, "What the agents of this service do. Open a run to see each step, "
      + "answer the questions that agents ask, or ", el("a", { href: "#/new" }, "start a run or a chat"), "."),
    error,
    el("div", { class: "list-columns" }, inbox.node,
      el("section", { class: "list-main", "aria-label": "Runs" },
        filters.node, loading, table.node, none, more.node)),
  );
  poll(refresh, REFRESH_MS, signal);
  listAgents(signal).then(({ agents, specs }) =>
    filters.addAgents([...agents, ...(specs ?? [])].map(({ name }) => name)), () => {});
}

function addressOf({ state, agent, title }) {
  const query = new URLSearchParams();
  if (state) query.set("status", state);
  if (agent) query.set("agent", agent);
  if (title) query.set("title", title);
  return query.size > 0 ? `#/runs?${query}` : "#/runs";
}

function forService({ state, agent, title, after }) {
  const status = DERIVED.has(state) ? "" : state;
  return { status, agent, title, after, isOpen: DERIVED.has(state) };
}

/** A service that does not know a filter ignores it, so the page filters as well. */
function matches(run, { state, agent, title }) {
  const isState = state === "" || state === stateOf(run)
    || (state === run.status && stateOf(run) !== "idle")
    || (state === "open" && !hasEnded(run.status));
  const isTitle = titleOf(run).toLowerCase().includes(title.toLowerCase());
  return isState && (agent === "" || run.agent === agent) && isTitle;
}

const NO_MATCH = () => [el("p", {}, "No run on this page matches the filters. ",
  el("a", { href: "#/runs" }, "Show all runs"))];

const FIRST_STEPS = () => [
  el("h2", {}, "No agent has run yet"),
  el("p", {}, "A run is one task for an agent: it calls models and tools, may ask people, and ends "
    + "with an answer. A chat is a conversation that stays open. Both survive crashes and restarts, "
    + "and appear here while they happen."),
  el("p", {}, el("a", { href: "#/new", class: "button primary" }, "Start a run or a chat")),
];

/** The filters, in a form whose fields change `wanted`. */
function filterBar(wanted, onChange) {
  const known = new Set();
  const state = el("select", { "data-testid": "filter-state" },
    ...STATES.map(([value, text]) => el("option", { value }, text)));
  const agent = el("select", { "data-testid": "filter-agent" }, el("option", { value: "" }, "All"));
  const title = el("input", {
    type: "search", placeholder: "Part of the title", "data-testid": "filter-title",
  });
  const addAgents = (names) => {
    for (const name of names.filter((name) => name && !known.has(name))) {
      known.add(name);
      agent.append(el("option", { value: name }, name));
    }
  };
  addAgents([wanted.agent]);
  state.value = STATES.some(([value]) => value === wanted.state) ? wanted.state : "";
  wanted.state = state.value;
  [agent.value, title.value] = [wanted.agent, wanted.title];
  const read = () => {
    Object.assign(wanted, { state: state.value, agent: agent.value, title: title.value.trim() });
    onChange();
  };
  let timer;
  title.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(read, TYPING_MS);
  });
  state.addEventListener("change", read);
  agent.addEventListener("change", read);
  const node = el("form", { class: "filters", role: "search", "aria-label": "Filter the runs",
    onsubmit: (event) => event.preventDefault() },
  field("Title", title), field("Status", state), field("Agent", agent));
  return { node, addAgents };
}

/** The buttons to other pages of the list. */
function pager(onTurn) {
  let [position, next] = ["", ""];
  const turnTo = (place) => {
    position = place;
    onTurn();
  };
  const older = el("button", { type: "button", hidden: true, onclick: () => turnTo(next) }, "Older runs");
  const newest = el("button", { type: "button", hidden: true, onclick: () => turnTo("") }, "Newest runs");
  return {
    node: el("div", { class: "actions" }, newest, older),
    position: () => position,
    restart: () => { position = ""; },
    update(following) {
      next = following ?? "";
      older.hidden = !next;
      newest.hidden = !position;
    },
  };
}

/** The questions beside the table; on a narrow screen they are one line above it. */
function inboxOf(questions) {
  const count = el("span", { class: "count", hidden: true });
  const state = el("p", { class: "hint" });
  const partial = el("p", { class: "warning", role: "status", hidden: true });
  const box = el("details", { class: "inbox" },
    el("summary", {}, el("h2", {}, "Questions"), " ", count), state, partial, ...questions.nodes);
  box.open = window.matchMedia(WIDE).matches;
  return {
    node: el("aside", { "aria-label": "Questions", "data-testid": "inbox" }, box),
    update({ questions: open, complete, reason }) {
      questions.update(open);
      const number = questions.count();
      count.hidden = number === 0;
      setText(count, String(number));
      setText(state, number > 0 ? "" : complete === false ? "" : "No question waits for an answer.");
      state.hidden = state.textContent === "";
      partial.hidden = complete !== false;
      setText(partial, complete === false
        ? `There may be more questions: ${reason || "some runs could not be read."}` : "");
      box.classList.toggle("is-empty", number === 0 && complete !== false);
    },
  };
}
