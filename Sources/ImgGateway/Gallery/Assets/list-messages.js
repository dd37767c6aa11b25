import { hasFilter } from "./address.js";
import { byID, button, element } from "./elements.js";
import * as format from "./format.js";
import { title } from "./jobs.js";

/** How many pictures a list has, as far as that is known. `job` is that of the view, if it is known. */
export function summary(view, { items: { length }, isComplete }, job) {
  if (job !== undefined && !hasFilter(view)) {
    return format.counted(job.total, "picture");
  }
  const found = hasFilter(view)
    ? format.counted(length, "match", "matches") : format.counted(length, "picture");
  if (isComplete) {
    return length > 0 || hasFilter(view) ? found : "";
  }
  return length > 0 ? `at least ${found}` : "";
}

/** Messages about a list: why it has no pictures, and what to do. */
export class ListMessages {
  #actions;

  /**
   * @param {object} actions
   * @param {() => void} actions.showStore
   * @param {() => void} actions.removeFilter
   * @param {() => void} actions.startAgain
   */
  constructor(actions) {
    this.#actions = actions;
  }

  hide() {
    byID("message").hidden = true;
  }

  /** @param {import("./address.js").View} view that has no pictures */
  showEmpty(view) {
    if (hasFilter(view)) {
      this.#show(
        "Nothing matches", ["No picture here has this text in its URL and this outcome."],
        this.#filterRemoval());
    } else if (view.job) {
      this.#show("An empty list", ["This job has no URLs."]);
    } else {
      this.#show(
        "No pictures yet",
        ["Put URLs into a file, one a line, and submit it:",
          element("code", {}, "imgctl submit urls.txt")],
        button("Look again", this.#actions.startAgain));
    }
  }

  /**
   * @param {import("./requests.js").RequestFailure} error why a page of the list is not there
   * @param {import("./address.js").View} view
   */
  showFailure(error, view) {
    const isCoordinatorGone = error.status === 503;
    const advice = isCoordinatorGone
      ? ["Start it, then try again:", element("code", {}, "imgctl start")]
      : error.status === 0 ? ["Start it, then try again:", element("code", {}, "imgctl serve")] : [];
    this.#show("The pictures cannot be listed", [error.message, ...advice], this.#way(error, view));
  }

  /** @param {object} job that was on the screen and is removed */
  showRemoval(job) {
    this.#show(
      "This job is gone", [`${format.capitalized(title(job))} was removed. The store may still have its pictures.`],
      button("Show the store", this.#actions.showStore));
  }

  /** The button that leads on after a failure. */
  #way(error, view) {
    if (error.isRetryable) {
      return button("Try again", this.#actions.startAgain);
    }
    // The gateway refuses a filter, but has the list.
    return error.status === 400 && hasFilter(view)
      ? this.#filterRemoval() : button("Show the store", this.#actions.showStore);
  }

  #filterRemoval() {
    return button("Remove the filter", this.#actions.removeFilter);
  }

  #show(heading, lines, ...actions) {
    const paragraphs = lines.map((line) => element("p", {}, line));
    byID("message").replaceChildren(element("h3", {}, heading), ...paragraphs, ...actions);
    byID("message").hidden = false;
  }
}
