import { parsed, request, requestJSON } from "./requests.js";

/** Pictures in a page of the list, and in one of a list that a picture is sought in. */
const pageSize = 30;
const soughtPageSize = 100;

/** The pictures of a view, page after page as they are needed. */
export class PictureList {
  #pages = [];
  #next;
  #loading = null;
  #indices = new Map();
  #cancellation = new AbortController();

  /** The pictures until now, in order. */
  items = [];

  /**
   * @param {import("./address.js").View} view
   * @param {object} options
   * @param {boolean} options.isSought whether pages are loaded until one has the open picture
   */
  constructor(view, { isSought }) {
    const fields = new URLSearchParams({ page: 1, limit: isSought ? soughtPageSize : pageSize });
    for (const key of ["job", "q", "outcome", "code"]) {
      if (view[key]) {
        fields.set(key, view[key]);
      }
    }
    this.#next = `/v2/list?${fields}`;
  }

  /** Whether `items` has all pictures. */
  get isComplete() {
    return this.#next === null;
  }

  /** The position of a picture; -1 if it is not in `items`. */
  indexOf(id) {
    return this.#indices.get(id) ?? -1;
  }

  /**
   * Loads the next page. A call during another one joins it.
   *
   * @returns {Promise<object[]>} the new pictures; none if the list was complete
   */
  loadNext() {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load() {
    if (this.isComplete) {
      return [];
    }
    const path = this.#next;
    const response = await request(path, { signal: this.#cancellation.signal });
    const page = await parsed(response);
    // A record that was stored meanwhile moves those behind it to the next page.
    const added = page.filter((item) => !this.#indices.has(item.id));
    this.#pages.push({ path, first: this.items.length, count: added.length });
    added.forEach((item) => this.#indices.set(item.id, this.#indices.size));
    this.items.push(...added);
    this.#next = nextPath(response.headers.get("Link"));
    return added;
  }

  /**
   * Asks again for the pages of some pictures, whose states may have changed.
   *
   * @param {number[]} indices
   * @returns {Promise<number[]>} the indices of the pictures that have changed
   */
  async refresh(indices) {
    const pages = this.#pages.filter(({ first, count }) =>
      indices.some((index) => index >= first && index < first + count));
    const changed = [];
    for (const { path } of pages) {
      const page = await requestJSON(path, { signal: this.#cancellation.signal });
      for (const item of page) {
        const index = this.indexOf(item.id);
        if (index >= 0 && this.items[index].state !== item.state) {
          this.items[index] = item;
          changed.push(index);
        }
      }
    }
    return changed;
  }

  /** Stops requests that are under way. */
  close() {
    this.#cancellation.abort();
  }
}

/** The path of the link with `rel="next"` (RFC 8288); `null` without one. */
function nextPath(field) {
  for (const [, target, parameters] of (field ?? "").matchAll(/<([^>]*)>([^,<]*)/g)) {
    if (/;\s*rel="?next"?/.test(parameters)) {
      const url = new URL(target, location.href);
      return url.pathname + url.search;
    }
  }
  return null;
}
