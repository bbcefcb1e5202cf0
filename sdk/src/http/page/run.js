// One run or chat, as it happens.

import { ApiError, cancelRun, followEvents, getRun } from "./api.js";
import { chatForm } from "./chat.js";
import { announce, poll, setText, showError, textOfError } from "./dom.js";
import { afterReconnect, emptyView, reduce } from "./events.js";
import { hasEnded, ownTitle, stateOf, titleOf, wordOf } from "./format.js";
import { layout } from "./run_layout.js";
import { clip, visible } from "./text.js";
import { currentAgent, firstWords, isIdle, sumsOf } from "./view.js";

const REFRESH_MS = 10_000;
const QUIET_MS = 500; // events that come without such a pause are those of the past

export function runPage(main, { id, signal, setTitle }) {
  const page = layout(id, signal);
  main.append(...page.nodes);
  let view = emptyView;
  let run = null;
  let isMissing = false;
  let chat = null;
  let isLive = false;
  let quiet;
  let isDrawing = false;
  let facts = 0;

  const draw = () => {
    isDrawing = false;
    if (signal.aborted) return;
    const isAtEnd = isFollowed() && hasEndInSight();
    page.showEntries(view, run, isLive);
    showState();
    const sums = sumsOf(view.entries, view.past);
    const isOpen = run === null || !hasEnded(run.status);
    page.graph.update(sums.handoffs, isOpen ? currentAgent(view) : "");
    page.showUsage(sums);
    chat?.update(view.chat);
    if (isAtEnd) scrollToEnd();
  };
  // The events of a chat tell whether it works on a message.
  const showState = () => {
    if (!run) return;
    const now = { ...run, is_idle: isLive ? isIdle(view) : run.is_idle };
    const title = titleOf({ ...run, title: ownTitle(run) ?? firstWords(view) });
    page.showRun(now, stateOf(now), title);
    setTitle(visible(clip(title, 80)));
  };
  const isFollowed = () => isLive && run !== null && !hasEnded(run.status);
  const drawSoon = () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(draw);
  };

  const refresh = async () => {
    if (isMissing || (run && hasEnded(run.status))) return;
    try {
      const now = await getRun(id, signal);
      if (signal.aborted) return;
      if (run && run.status !== now.status) announce(`Status: ${wordOf(now.status)}`);
      const isAtEnd = isFollowed() && hasEndInSight();
      run = now;
      showState();
      page.showPictures(run, facts);
      page.showQuestions((run.questions ?? []).map((asked) => ({ ...asked, run_id: id })));
      if (run.kind === "chat" && !chat) {
        chat = chatForm(id);
        page.chatPlace.append(chat.node);
        chat.focus();
      }
      if (hasEnded(run.status)) chat?.end();
      showError(page.error);
      drawSoon();
      if (isAtEnd) scrollToEnd();
    } catch (error) {
      if (signal.aborted) return;
      isMissing = error.status === 404;
      if (isMissing) page.showMissing(error);
      // A lost connection is shown by the reader of the events.
      else if (!(error instanceof TypeError)) showError(page.error, error);
    }
  };
  let refreshTimer;
  const refreshSoon = () => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(refresh, 200);
  };

  const becomeLive = () => {
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      isLive = true;
      drawSoon();
      // One who opens a chat wants to read its end.
      if (run?.kind === "chat" && !hasEnded(run.status) && window.scrollY === 0) scrollToEnd();
    }, QUIET_MS);
  };
  const onEvent = (event) => {
    view = reduce(view, event);
    drawSoon();
    if (event.kind.endsWith("_delta")) return;
    facts += 1;
    if (!isLive) becomeLive();
    else say(event);
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
    onOpen: (continues) => {
      setText(page.connection, "");
      becomeLive();
      view = continues ? afterReconnect(view) : emptyView;
    },
    onWait: (error) => {
      const isRefused = error instanceof ApiError;
      const reason = isRefused ? textOfError(error) : "The connection to the service is lost.";
      setText(page.connection, `${reason} Connecting again…`);
    },
  }).then(() => {
    setText(page.connection, "");
    isLive = true;
    drawSoon();
    refreshSoon();
  }, (error) => {
    isLive = true;
    drawSoon();
    if (error.status === 404) page.showMissing(error);
    else setText(page.connection, `The events cannot be read: ${textOfError(error)}`);
  });
}

/** Lets screen readers say a fact that has just happened. */
function say(event) {
  if (event.kind === "message") announce(`${event.agent}: ${event.text}`);
  else if (event.kind === "question_asked") announce(`${event.tool} waits for an answer.`);
  else if (event.kind === "handoff") announce(`${event.from} hands off to ${event.to}.`);
  else if (event.kind === "run_failed") announce("The run has failed.");
}

function hasEndInSight() {
  return window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 40;
}

function scrollToEnd() {
  window.scrollTo(0, document.documentElement.scrollHeight);
}
