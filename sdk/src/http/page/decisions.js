// The decisions that hold for later runs of the caller, each with a button to forget it.

import { forgetKept, listKept } from "./api.js";
import {
  announce, el, longText, named, newId, setParts, showError, timeOf, whileBusy,
} from "./dom.js";
import { prettyJson, visible } from "./text.js";

/** The code of a service that has no store of decisions. */
const NO_STORE = "no_decision_store";

export async function decisionsPage(main, { signal }) {
  const heading = el("h1", { tabindex: -1 }, "Decisions for later runs");
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const state = el("p", {}, "The decisions are read.");
  const list = el("ul", { "data-testid": "kept-list", "aria-label": "Decisions" });
  main.append(heading, error, state, list);

  const showState = (text) => {
    state.textContent = text;
    state.hidden = !text;
  };
  const forgotten = (item) => {
    item.remove();
    announce("The decision is forgotten.");
    showState(list.childElementCount === 0 ? NONE : "");
    // The button that had the focus is gone.
    heading.focus();
  };
  try {
    const { decisions } = await listKept(signal);
    if (signal.aborted) return;
    list.append(...decisions.map((decision) => decisionItem(decision, forgotten)));
    showState(decisions.length === 0 ? NONE : "");
  } catch (failure) {
    if (signal.aborted) return;
    const hasNone = failure.code === NO_STORE;
    showState(hasNone ? "This service keeps no decisions." : "");
    if (!hasNone) showError(error, failure);
  }
}

const NONE = "No decision of yours holds for later runs.";

function decisionItem(decision, forgotten) {
  const titleId = newId("decision");
  const title = el("h2", { id: titleId });
  setParts(title, [
    decision.approved ? "Approve " : "Reject ", named(decision.tool),
    ...(decision.place ? [" of ", named(decision.place)] : []), " for ", named(decision.agent),
  ]);
  const kept = el("p", { class: "times" }, "kept ", timeOf(decision.kept_at));
  if (decision.by) kept.append(", decided by ", el("bdi", {}, visible(decision.by)));
  const label = decision.same_arguments
    ? "Only calls with these arguments" : "Arguments of the call that was decided; others count too";
  const args = longText("pre", { "aria-label": label, tabindex: 0, role: "group" });
  args.update(visible(prettyJson(decision.arguments)));
  const message = longText("p", { class: "text" });
  message.update(decision.message ? `“${visible(decision.message)}”` : "");
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const button = el("button", {
    type: "button", "data-testid": "forget-decision", "aria-describedby": titleId,
  }, "Forget");
  const item = el("li", {}, el("article", {
    class: "card", "aria-labelledby": titleId, "data-testid": "kept-decision",
  }, title, kept, ...message.nodes, el("p", { class: "hint" }, `${label}:`), ...args.nodes,
  el("div", { class: "actions" }, button), error));
  button.addEventListener("click", async () => {
    if (await whileBusy(item, error, () => forgetKept(decision.id))) forgotten(item);
  });
  return item;
}
