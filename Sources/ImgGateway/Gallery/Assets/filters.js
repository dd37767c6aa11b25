import { byID, element } from "./elements.js";
import { failureCodes } from "./failure-codes.js";

/** A search starts when no key was pressed for this long, in milliseconds. */
const typingPause = 300;

/** The controls in the head of the page: which pictures are shown. */
export class Filters {
  #timer;

  /** @param {(change: Partial<import("./address.js").View>) => void} onChange */
  constructor(onChange) {
    const codes = [...failureCodes].map(([code, meaning]) =>
      element("option", { value: code }, meaning));
    byID("outcome").append(element("optgroup", { label: "Failure code" }, ...codes));
    byID("collection").addEventListener("change", (event) => {
      onChange({ job: event.target.value, outcome: "", code: "" });
    });
    byID("outcome").addEventListener("change", (event) => {
      onChange(outcomeFields(event.target.value));
    });
    byID("search").addEventListener("input", (event) => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => onChange({ q: event.target.value.trim() }), typingPause);
    });
    byID("filters").addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(this.#timer);
      onChange({ q: byID("search").value.trim() });
    });
  }

  /** Shows the filter of a view. The store has no failures to choose from. */
  show(view) {
    byID("outcome").disabled = view.job === "";
    byID("outcome").value = view.code || view.outcome;
    if (document.activeElement !== byID("search")) {
      byID("search").value = view.q;
    }
  }
}

function outcomeFields(value) {
  return failureCodes.has(value)
    ? { outcome: "failed", code: value }
    : { outcome: value, code: "" };
}
