// Pictures that the service draws: requested with the token, and shown as images, which run nothing.

import { getPicture, hasToken } from "./api.js";
import { el, setText, textOfError } from "./dom.js";

/**
 * Returns a box that loads its picture when a person opens it, and shows it as wide as the page or
 * in its own size. `update(path, state)` loads it again if it is open and the state is another.
 */
export function pictureBox({ title, alt, testid, isOpen = false, signal }) {
  const image = el("img", { alt, hidden: true, "data-testid": testid });
  const note = el("p", { class: "hint", role: "status" });
  const link = el("a", { target: "_blank", rel: "noreferrer", hidden: true }, "Open in a tab");
  const frame = el("div", {
    class: "picture-frame", tabindex: 0, role: "group", "aria-label": title,
  }, image);
  const size = el("button", { type: "button", hidden: true, onclick: () => {
    const isWhole = frame.classList.toggle("is-whole");
    setText(size, isWhole ? "Fit to the page" : "Full size");
  } }, "Full size");
  const box = el("details", { class: "picture" }, el("summary", {}, title), note, frame,
    el("div", { class: "actions" }, size, link));
  let wanted = { path: "", state: "" };
  let shown = "";
  let address = "";

  const forget = () => {
    if (address) URL.revokeObjectURL(address);
    address = "";
  };
  const load = async () => {
    const key = JSON.stringify(wanted);
    if (!box.open || !wanted.path || key === shown) return;
    shown = key;
    if (!address) setText(note, "Loading…");
    try {
      const blob = await getPicture(wanted.path, signal);
      if (signal.aborted || key !== shown) return;
      forget();
      address = URL.createObjectURL(blob);
      image.src = address;
      image.hidden = false;
      await image.decode().catch(() => {});
      size.hidden = image.naturalWidth <= frame.clientWidth;
      setText(note, "");
      // A link sends no token.
      link.hidden = hasToken();
      link.href = wanted.path;
    } catch (error) {
      if (signal.aborted || key !== shown) return;
      shown = "";
      if (!address) setText(note, textOfError(error));
    }
  };
  box.open = isOpen;
  box.addEventListener("toggle", load);
  signal.addEventListener("abort", forget);
  return {
    node: box,
    update(path, state = "") {
      wanted = { path, state };
      return load();
    },
  };
}
