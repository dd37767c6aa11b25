import {
  currentView, fragment, hasFilter, haveSamePictures, lineOf, storeView,
} from "./address.js";
import { byID } from "./elements.js";
import { Filters } from "./filters.js";
import * as format from "./format.js";
import { Grid } from "./grid.js";
import { Jobs, title } from "./jobs.js";
import { ListMessages, summary } from "./list-messages.js";
import { notify } from "./notices.js";
import { PictureList } from "./picture-list.js";
import { Throttle } from "./throttle.js";
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
  #refreshes = new Throttle(() => this.#refresh(), refreshInterval);
  /** Is settled when the list has been searched for the open picture. */
  #search = Promise.resolve();
  #filters = new Filters((change) => this.#go({ ...this.#view, ...change, picture: "" }));
  #jobs = new Jobs({
    onChoice: (job, outcome) => this.#go({ job, outcome, code: "", q: "", picture: "" }),
    onChange: (job, hasEnded) => this.#followJob(hasEnded),
    onRemoval: (job) => this.#showRemoval(job),
  });
  #messages = new ListMessages({
    showStore: () => this.#go(storeView),
    removeFilter: () => this.#go({ ...this.#view, q: "", outcome: "", code: "" }),
    startAgain: () => this.#startAgain(),
  });
  #grid = new Grid(byID("grid"), {
    linkTo: (item) => fragment({ ...this.#view, picture: item.id }),
    onEnd: () => this.#loadNext(),
    onWaiting: () => this.#refreshes.call(),
  });
  #viewer = new Viewer({
    close: () => this.#leavePicture(),
    move: (step) => this.#move(step),
  });

  async start() {
    // The grid stays where it is when the viewer closes; the browser would move it.
    history.scrollRestoration = "manual";
    addEventListener("popstate", () => this.#apply(currentView()));
    byID("grid").addEventListener("click", (event) => this.#openPicture(event));
    byID("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byID("pictures").focus();
    });
    await this.#loadJobs();
    this.#jobs.start();
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

  async #apply(view) {
    const isSameList = haveSamePictures(view, this.#view);
    if (!isSameList && view.job && !this.#jobs.find(view.job)) {
      // It is newer than the page.
      await this.#loadJobs(view.job);
      if (fragment(currentView()) !== fragment(view)) {
        return;
      }
    }
    this.#view = view;
    if (!isSameList) {
      this.#showList();
    }
    this.#showPicture();
  }

  async #loadJobs(wanted = this.#view.job) {
    try {
      await this.#jobs.load(wanted);
    } catch {
      // The list asks the same gateway, and tells why it does not answer.
    }
  }

  // The list

  #showList() {
    this.#list?.close();
    const { picture } = this.#view;
    const isSought = Boolean(picture) && lineOf(this.#view, picture) < 0;
    this.#list = new PictureList(this.#view, { isSought });
    this.#filters.show(this.#view);
    this.#jobs.choose(this.#view.job);
    const job = this.#jobs.find(this.#view.job);
    const heading = this.#view.job ? (job ? title(job) : `job ${this.#view.job}`) : "store";
    byID("heading").textContent = format.capitalized(heading);
    byID("summary").textContent = "";
    this.#messages.hide();
    this.#grid.reset(this.#isFiltered ? -1 : (job?.total ?? -1));
    return this.#loadNext();
  }

  get #isFiltered() {
    return hasFilter(this.#view);
  }

  /** @returns {Promise<boolean>} whether the page came */
  async #loadNext() {
    const list = this.#list;
    if (list === this.#loadingList) {
      // The call that began shows what fails.
      return list.loadNext().then(() => true, () => false);
    }
    this.#setLoadingList(list);
    this.#messages.hide();
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
        this.#messages.showFailure(error, this.#view);
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
    byID("summary").textContent = summary(
      this.#view, this.#list, this.#jobs.find(this.#view.job));
    if (this.#list.isComplete && this.#list.items.length === 0) {
      this.#messages.showEmpty(this.#view);
    }
    if (this.#view.picture) {
      this.#showPicture();
    }
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
    } else {
      await this.#refreshes.call();
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

  #showRemoval(job) {
    this.#list.close();
    this.#grid.reset(-1);
    byID("summary").textContent = "";
    this.#messages.showRemoval(job);
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
      const line = lineOf(this.#view, id);
      const found = this.#viewer.load(id, {
        hasPrevious: line !== 0, hasNext: line < 0 || line + 1 < this.#lineCount,
      });
      // The neighbours of a line are known.
      this.#search = line < 0 ? this.#seek(id, found) : Promise.resolve();
    }
  }

  /** Lines of the job; infinite if it is not known. */
  get #lineCount() {
    return this.#jobs.find(this.#view.job)?.total ?? Infinity;
  }

  /**
   * Loads pages until the list has the open picture, whose neighbours are then known.
   *
   * @param {string} id
   * @param {Promise<boolean>} found is false if there is no such picture
   */
  async #seek(id, found) {
    const list = this.#list;
    let exists = true;
    found.then((isFound) => { exists = isFound; });
    const isWanted = () => exists && list === this.#list && this.#view.picture === id;
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
    const id = await this.#neighbour(picture, step);
    if (this.#view.picture !== picture) {
      return;
    }
    if (id === undefined) {
      notify(step > 0 ? "This is the last picture." : "This is the first picture.");
      return;
    }
    this.#view = { ...this.#view, picture: id };
    history.replaceState(history.state, "", fragment(this.#view));
    this.#showPicture();
  }

  /** The id of the picture beside another one; `undefined` without one. */
  async #neighbour(id, step) {
    const list = this.#list;
    const index = list.indexOf(id);
    if (index >= 0) {
      if (index + step >= list.items.length && !list.isComplete) {
        await this.#loadNext();
      }
      return list.items[index + step]?.id;
    }
    const line = lineOf(this.#view, id);
    const isThere = line >= 0 && line + step >= 0 && line + step < this.#lineCount;
    return isThere ? `${this.#view.job}-${line + step}` : undefined;
  }
}

new Gallery().start();
