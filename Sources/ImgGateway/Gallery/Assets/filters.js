import { byID, element } from "./elements.js";
import { failureCodes } from "./failure-codes.js";

/** A search starts when no key was pressed for this long, in milliseconds. */
const typingPause = 300;

/** The longest text that the gateway searches for, in bytes of UTF-8. */
const maximumByteCount = 128;

/** The controls in the head of the page: which pictures are shown. */
export class Filters {
  #timer = null;
  #onChange;

  /** @param {(change: Partial<import("./address.js").View>) => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    const codes = [...failureCodes].map(([code, meaning]) =>
      element("option", { value: code }, meaning));
    byID("outcome").append(element("optgroup", { label: "Failure code" }, ...codes));
    byID("collection").addEventListener("change", (event) => {
      onChange({ job: event.target.value, outcome: "", code: "" });
    });
    byID("outcome").addEventListener("change", (event) => {
      onChange(outcomeFields(event.target.value));
    });
    byID("search").addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#search(), typingPause);
    });
    byID("filters").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#search();
    });
  }

  #search() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#showLength()) {
      this.#onChange({ q: searchText() });
    }
  }

  /** Tells whether the text is too long. @returns {boolean} whether it can be searched for */
  #showLength() {
    const isShort = new TextEncoder().encode(searchText()).length <= maximumByteCount;
    byID("search").setAttribute("aria-invalid", String(!isShort));
    byID("search-error").textContent = isShort
      ? "" : `Too long: ${maximumByteCount} bytes at most. Shorten the text.`;
    return isShort;
  }

  /** Shows the filter of a view. The store has no failures to choose from. */
  show(view) {
    byID("outcome").disabled = view.job === "";
    byID("outcome").value = view.code || view.outcome;
    // A text that is being typed stays, and so does a space at its end, which a word may follow.
    if (this.#timer === null && searchText() !== view.q) {
      byID("search").value = view.q;
      this.#showLength();
    }
  }
}

function searchText() {
  return byID("search").value.trim();
}

function outcomeFields(value) {
  return failureCodes.has(value)
    ? { outcome: "failed", code: value }
    : { outcome: value, code: "" };
}
