import { byID, button, element } from "./elements.js";

/** How long a notice is shown, in milliseconds. */
const shownFor = 2000;
/** More notices than these replace the oldest ones. */
const maximumCount = 3;

/**
 * Shows a notice above the page, which stays usable. The notice is gone after two seconds, or when it
 * is closed.
 *
 * @param {string} text
 * @param {"info"|"error"} kind
 */
export function notify(text, kind = "info") {
  const notices = byID("notices");
  // An open dialog covers what is outside, and nothing there can be used.
  const place = document.querySelector("dialog[open]") ?? document.body;
  if (notices.parentElement !== place) {
    place.append(notices);
  }
  while (notices.childElementCount >= maximumCount) {
    notices.firstElementChild.remove();
  }
  const notice = element(
    "div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status" },
    element("p", {}, text));
  const close = button("×", () => notice.remove());
  close.setAttribute("aria-label", "Close the notice");
  notice.append(close);
  notices.append(notice);
  setTimeout(() => fadeOut(notice), shownFor);
}

/** Removes a notice after its transition, which may be none. */
async function fadeOut(notice) {
  notice.classList.add("leaving");
  await Promise.allSettled(notice.getAnimations().map((animation) => animation.finished));
  notice.remove();
}
