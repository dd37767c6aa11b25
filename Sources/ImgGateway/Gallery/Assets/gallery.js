import { currentView, fragment, haveSamePictures, storeView } from "./address.js";
import { byID, button, element } from "./elements.js";
import { Filters } from "./filters.js";
import * as format from "./format.js";
import { Grid } from "./grid.js";
import { Jobs, title } from "./jobs.js";
import { notify } from "./notices.js";
import { PictureList } from "./picture-list.js";
import { Viewer } from "./viewer.js";

/** The least time between two looks at the pictures of a running job, in milliseconds. */
const refreshInterval = 1000;

/** A picture is sought in so many pages of the list at most. */
const maximumSoughtPages = 1000;

/** The page: connects the address, the list, the grid and the open picture. */
class Gallery {
  #view = currentView();
  #list = null;
  /** The list of which a page is loading; `null` for none. */
  #loadingList = null;
  /** The picture by which the viewer was opened, which is then still where it was. */
  #openedIndex = -1;
  #isRefreshing = false;
  /** Is settled when the list has been searched for the open picture. */
  #search = Promise.resolve();
  #filters = new Filters((change) => this.#go({ ...this.#view, ...change, picture: "" }));
  #jobs = new Jobs({
    onChoice: (job, outcome) => this.#go({ job, outcome, code: "", q: "", picture: "" }),
    onChange: (job, hasEnded) => this.#followJob(hasEnded),
  });
  #grid = new Grid(byID("grid"), {
    linkTo: (item) => fragment({ ...this.#view, picture: item.id }),
    onEnd: () => this.#loadNext(),
  });
  #viewer = new Viewer({
    close: () => this.#leavePicture(),
    move: (step) => this.#move(step),
  });

  async start() {
    // The grid stays where it is when the viewer closes; the browser would move it.
    history.scrollRestoration = "manual";
    addEventListener("popstate", () => this.#apply(currentView()));
    addEventListener("focus", () => this.#loadJobs());
    byID("grid").addEventListener("click", (event) => this.#openPicture(event));
    byID("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byID("pictures").focus();
    });
    await this.#loadJobs();
    this.#showList();
    this.#showPicture();
  }

  /** Shows another view, which the back button leaves. */
  #go(view) {
    if (fragment(view) !== fragment(this.#view)) {
      history.pushState(null, "", fragment(view));
      this.#apply(view);
    }
  }

  #apply(view) {
    const isSameList = haveSamePictures(view, this.#view);
    this.#view = view;
    if (!isSameList) {
      this.#showList();
    }
    this.#showPicture();
  }

  async #loadJobs() {
    try {
      await this.#jobs.load();
    } catch {
      // The list asks the same gateway, and tells why it does not answer.
    }
  }

  // The list

  #showList() {
    this.#list?.close();
    this.#list = new PictureList(this.#view);
    this.#filters.show(this.#view);
    this.#jobs.choose(this.#view.job);
    const job = this.#jobs.find(this.#view.job);
    const heading = this.#view.job ? (job ? title(job) : `job ${this.#view.job}`) : "store";
    byID("heading").textContent = heading.charAt(0).toUpperCase() + heading.slice(1);
    byID("summary").textContent = "";
    byID("message").hidden = true;
    this.#grid.reset(this.#isFiltered ? -1 : (job?.total ?? -1));
    return this.#loadNext();
  }

  get #isFiltered() {
    return Boolean(this.#view.q || this.#view.outcome || this.#view.code);
  }

  /** @returns {Promise<boolean>} whether the page came */
  async #loadNext() {
    const list = this.#list;
    if (list === this.#loadingList) {
      // The call that began shows what fails.
      return list.loadNext().then(() => true, () => false);
    }
    this.#setLoadingList(list);
    byID("message").hidden = true;
    try {
      const items = await list.loadNext();
      if (list === this.#list) {
        this.#setLoadingList(null);
        this.#showItems(items);
      }
      return true;
    } catch (error) {
      if (list === this.#list) {
        this.#setLoadingList(null);
        this.#showError(error);
      }
      return false;
    }
  }

  #setLoadingList(list) {
    this.#loadingList = list;
    byID("more").hidden = list === null;
    byID("pictures").setAttribute("aria-busy", String(list !== null));
  }

  #showItems(items) {
    this.#grid.append(items, this.#list.isComplete);
    byID("summary").textContent = this.#summary();
    if (this.#list.isComplete && this.#list.items.length === 0) {
      this.#showEmpty();
    }
    if (this.#view.picture) {
      this.#showPicture();
    }
  }

  #summary() {
    const { items: { length }, isComplete } = this.#list;
    const job = this.#jobs.find(this.#view.job);
    if (job && !this.#isFiltered) {
      return format.counted(job.total, "picture");
    }
    const found = this.#isFiltered
      ? format.counted(length, "match", "matches") : format.counted(length, "picture");
    if (isComplete) {
      return length > 0 || this.#isFiltered ? found : "";
    }
    return length > 0 ? `at least ${found}` : "";
  }

  #showEmpty() {
    if (this.#isFiltered) {
      this.#showMessage(
        "Nothing matches", ["No picture here has this text in its URL and this outcome."],
        button("Remove the filter", () =>
          this.#go({ ...this.#view, q: "", outcome: "", code: "" })));
    } else if (this.#view.job) {
      this.#showMessage("An empty list", ["This job has no URLs."]);
    } else {
      this.#showMessage(
        "No pictures yet",
        ["Put URLs into a file, one a line, and submit it:",
          element("code", {}, "imgctl submit urls.txt")],
        button("Look again", () => this.#startAgain()));
    }
  }

  #showError(error) {
    const isCoordinatorGone = error.status === 503;
    const advice = isCoordinatorGone
      ? ["Start it, then try again:", element("code", {}, "imgctl start")]
      : error.status === 0 ? ["Start it, then try again:", element("code", {}, "imgctl serve")] : [];
    const action = error.isRetryable
      ? button("Try again", () => this.#startAgain())
      : button("Show the store", () => this.#go(storeView));
    this.#showMessage("The pictures cannot be listed", [error.message, ...advice], action);
  }

  #showMessage(heading, lines, ...actions) {
    const paragraphs = lines.map((line) => element("p", {}, line));
    byID("message").replaceChildren(element("h3", {}, heading), ...paragraphs, ...actions);
    byID("message").hidden = false;
  }

  /** Continues a list that broke off, or looks whether there is one now. */
  async #startAgain() {
    await this.#loadJobs();
    await (this.#list.items.length > 0 ? this.#loadNext() : this.#showList());
  }

  /** Looks for outcomes of the pictures in the window. A list with a filter may also have new ones. */
  async #followJob(hasEnded) {
    if (hasEnded && this.#isFiltered && scrollY === 0) {
      await this.#showList();
    } else if (hasEnded || !this.#isRefreshing) {
      this.#isRefreshing = true;
      await this.#refresh();
      setTimeout(() => { this.#isRefreshing = false; }, refreshInterval);
    }
  }

  async #refresh() {
    const list = this.#list;
    try {
      const changed = await list.refresh(this.#grid.pendingIndices);
      if (list === this.#list) {
        changed.forEach((index) => this.#grid.replace(index, list.items[index]));
      }
    } catch {
      // The next change of the job asks again.
    }
  }

  // The open picture

  #openPicture(event) {
    const cell = event.target.closest(".cell");
    const isPlainClick = event.button === 0
      && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (cell === null || !isPlainClick) {
      return;
    }
    event.preventDefault();
    this.#openedIndex = this.#list.indexOf(cell.dataset.id);
    this.#view = { ...this.#view, picture: cell.dataset.id };
    history.pushState({ isAboveGrid: true }, "", fragment(this.#view));
    this.#showPicture();
  }

  /** Opens the picture of the view, or closes the viewer. */
  #showPicture() {
    const id = this.#view.picture;
    if (!id) {
      this.#closeViewer();
      return;
    }
    const index = this.#list.indexOf(id);
    if (index >= 0) {
      const { items, isComplete } = this.#list;
      this.#viewer.show(items[index], {
        hasPrevious: index > 0, hasNext: index + 1 < items.length || !isComplete,
      });
    } else if (this.#viewer.id !== id) {
      this.#viewer.load(id);
      this.#search = this.#seek(id);
    }
  }

  /** Loads pages until the list has the open picture, whose neighbours are then known. */
  async #seek(id) {
    const list = this.#list;
    const isWanted = () => list === this.#list && this.#view.picture === id;
    let isGoingOn = true;
    for (let count = 0; isGoingOn && count < maximumSoughtPages; count += 1) {
      isGoingOn = await this.#loadNext()
        && isWanted() && list.indexOf(id) < 0 && !list.isComplete;
    }
    if (isWanted() && list.indexOf(id) < 0) {
      this.#viewer.showNeighbours({ hasPrevious: false, hasNext: false });
    }
  }

  /** The person closes the viewer: as the back button does, if that leads to the grid. */
  #leavePicture() {
    if (!this.#view.picture) {
      return;
    }
    if (history.state?.isAboveGrid) {
      history.back();
    } else {
      const view = { ...this.#view, picture: "" };
      history.replaceState(null, "", fragment(view));
      this.#apply(view);
    }
  }

  #closeViewer() {
    if (!this.#viewer.id) {
      return;
    }
    const index = this.#list.indexOf(this.#viewer.id);
    this.#viewer.close();
    if (index >= 0) {
      if (index !== this.#openedIndex) {
        this.#grid.reveal(index);
      }
      this.#grid.focus(index);
    }
  }

  async #move(step) {
    const { picture } = this.#view;
    await this.#search;
    if (this.#list.indexOf(picture) < 0) {
      return;
    }
    const index = this.#list.indexOf(picture) + step;
    if (index >= this.#list.items.length && !this.#list.isComplete) {
      await this.#loadNext();
    }
    const item = this.#list.items[index];
    if (item === undefined || this.#view.picture !== picture) {
      notify(step > 0 ? "This is the last picture." : "This is the first picture.");
      return;
    }
    this.#view = { ...this.#view, picture: item.id };
    history.replaceState(history.state, "", fragment(this.#view));
    this.#showPicture();
  }
}

new Gallery().start();
