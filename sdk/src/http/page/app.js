// The frame of the page: the route in the hash of its address, and the access token.

import { access, hasToken, setToken } from "./api.js";
import { newPage } from "./chat.js";
import { decisionsPage } from "./decisions.js";
import { announce, el } from "./dom.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";

const NAME = document.title;
const main = document.getElementById("main");
const tokenBox = document.getElementById("access");
const tokenForm = document.getElementById("token-form");
const tokenInput = document.getElementById("token");
const tokenState = document.getElementById("token-state");

let current = new AbortController();

/** Returns the route of an address: `#/runs?<filters>`, `#/runs/<id>`, `#/new` or `#/decisions`. */
function routeOf(hash) {
  const [, name, id, query] = /^#\/([a-z]*)(?:\/([^?]+))?(?:\?(.*))?$/.exec(hash) ?? [];
  if (name === "new" && !id) return { title: "New run or chat", nav: "new", show: newPage };
  if (name === "decisions" && !id) {
    return { title: "Decisions for later runs", nav: "decisions", show: decisionsPage };
  }
  if (name === "runs" && id) {
    const decoded = decode(id);
    return { title: "Run", nav: "", show: runPage, id: decoded };
  }
  return { title: "Runs", nav: "runs", show: runsPage, query };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function show({ takesFocus }) {
  current.abort();
  current = new AbortController();
  const route = routeOf(location.hash);
  setTitle(route.title);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${route.nav}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.replaceChildren();
  window.scrollTo(0, 0);
  const { id, query } = route;
  route.show(main, { id, query, signal: current.signal, setTitle });
  if (takesFocus) main.querySelector("h1")?.focus();
}

function setTitle(title) {
  document.title = `${title} · ${NAME}`;
}

function showTokenState(text) {
  const state = hasToken() ? "A token is set for this tab." : "No token is set.";
  tokenState.textContent = text ?? state;
}

window.addEventListener("hashchange", () => show({ takesFocus: true }));

// The hash is the route, so the link to skip the header cannot use one.
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  (main.querySelector("h1") ?? main).focus();
});

access.addEventListener("token-needed", () => {
  if (current.signal.aborted) return;
  current.abort();
  const text = hasToken() ? "The service has refused the token." : "The service needs a token.";
  main.replaceChildren(el("h1", { tabindex: -1 }, "No access"), el("p", {}, text),
    el("p", {}, "Put the token of the service into the field above."));
  showTokenState(text);
  announce(text);
  tokenBox.open = true;
  tokenInput.focus();
});

tokenForm.addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(tokenInput.value.trim());
  tokenInput.value = "";
  tokenBox.open = false;
  showTokenState();
  show({ takesFocus: true });
});

document.getElementById("forget").addEventListener("click", () => {
  setToken("");
  showTokenState();
  show({ takesFocus: false });
});

showTokenState();
show({ takesFocus: false });
