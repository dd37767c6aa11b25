import { byID, button, element } from "./elements.js";
import * as format from "./format.js";
import {
  enlargementOf, failureCard, label, largePath, loadImage, placeholder, stateCard, thumbnailPath,
} from "./picture.js";
import { requestJSON } from "./requests.js";

/** A picture is enlarged this many times at most, but a tiny one until it can be seen. */
const maximumEnlargement = 2;
const tinySide = 256;

/** One picture in its full size, with its facts. */
export class Viewer {
  #dialog = byID("viewer");
  #stage = byID("viewer-stage");
  #facts = byID("viewer-facts");
  #cancellation = new AbortController();
  #navigation;

  /**
   * @param {object} navigation
   * @param {() => void} navigation.close the person wants to leave
   * @param {(step: number) => void} navigation.move the next (1) or the previous (-1) picture
   */
  constructor(navigation) {
    this.#navigation = navigation;
    byID("viewer-previous").addEventListener("click", () => navigation.move(-1));
    byID("viewer-next").addEventListener("click", () => navigation.move(1));
    byID("viewer-close").addEventListener("click", () => navigation.close());
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      navigation.close();
    });
    this.#dialog.addEventListener("close", () => this.#handleClose());
    this.#dialog.addEventListener("keydown", (event) => this.#handleKey(event));
    // Beside the dialog.
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) {
        navigation.close();
      }
    });
  }

  /** The id of the picture that is shown; empty for none. */
  get id() {
    return this.#dialog.dataset.id ?? "";
  }

  /**
   * Shows a picture. One that is already there gets its neighbours only.
   *
   * @param {object} item
   * @param {object} neighbours
   * @param {boolean} neighbours.hasPrevious
   * @param {boolean} neighbours.hasNext
   */
  show(item, { hasPrevious, hasNext }) {
    this.showNeighbours({ hasPrevious, hasNext });
    if (this.id === item.id) {
      return;
    }
    this.#start(item.id, format.name(item.url));
    this.#showPicture(item);
    this.#showFacts(item, {});
    this.#loadFacts(item);
  }

  /** Offers the neighbours that the picture has. */
  showNeighbours({ hasPrevious, hasNext }) {
    byID("viewer-previous").disabled = !hasPrevious;
    byID("viewer-next").disabled = !hasNext;
  }

  /** Shows a picture that the list does not have yet. A step from it waits for the list. */
  async load(id) {
    this.#start(id, "");
    const { signal } = this.#cancellation;
    this.showNeighbours({ hasPrevious: true, hasNext: true });
    this.#facts.replaceChildren();
    this.#stage.replaceChildren(element("span", { class: "spinner" }));
    try {
      const item = await requestJSON(`${thumbnailPath({ id })}/info`, { signal });
      byID("viewer-title").textContent = format.name(item.url);
      this.#showPicture(item);
      this.#showFacts(item, item);
    } catch (error) {
      if (error.name !== "AbortError") {
        byID("viewer-title").textContent = "No picture";
        this.#stage.replaceChildren(failureCard(error));
      }
    }
  }

  close() {
    this.#cancellation.abort();
    delete this.#dialog.dataset.id;
    this.#dialog.close();
  }

  /** The browser also closes a dialog by itself, for example on a second Escape. */
  #handleClose() {
    // The event comes later, when the next picture may be open.
    if (!this.#dialog.open) {
      this.#stage.replaceChildren();
      this.#navigation.close();
    }
  }

  #start(id, title) {
    this.#cancellation.abort();
    this.#cancellation = new AbortController();
    this.#dialog.dataset.id = id;
    byID("viewer-title").textContent = title;
    if (!this.#dialog.open) {
      this.#dialog.showModal();
    }
    this.#facts.scrollTop = 0;
  }

  #showPicture(item) {
    if (item.state !== "done") {
      this.#stage.replaceChildren(item.state === "failed" ? failureCard(item) : stateCard(item));
      return;
    }
    const image = element("img", { alt: label(item) });
    const frame = element("span", { class: "frame" });
    if (item.width > 0 && item.height > 0) {
      const enlargement = Math.max(maximumEnlargement, enlargementOf(item, tinySide));
      frame.classList.toggle("enlarged", enlargement > maximumEnlargement);
      frame.style.setProperty("--width", `${item.width * enlargement}px`);
      frame.style.setProperty("--ratio", item.width / item.height);
    }
    const blurred = placeholder(item);
    frame.append(...(blurred === null ? [] : [blurred]), image);
    this.#stage.replaceChildren(frame);
    this.#loadThumbnail(item, image, blurred);
  }

  async #loadThumbnail(item, image, blurred) {
    try {
      await loadImage(image, thumbnailPath(item), this.#cancellation.signal);
      blurred?.remove();
    } catch (error) {
      if (error.name !== "AbortError") {
        this.#stage.replaceChildren(failureCard(error));
      }
    }
  }

  async #loadFacts(item) {
    try {
      const { signal } = this.#cancellation;
      this.#showFacts(item, await requestJSON(`${thumbnailPath(item)}/info`, { signal }));
    } catch {
      // The facts of the list are shown; the stage tells why a picture is gone.
    }
  }

  #showFacts(item, info) {
    const list = element("dl");
    for (const [name, value] of facts(item, info)) {
      if (value) {
        list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
      }
    }
    this.#facts.replaceChildren(list);
    if (item.state !== "done") {
      return;
    }
    this.#facts.append(
      element("p", {}, element("a", { href: thumbnailPath(item), download: "" }, "Download")));
    if (info.source?.width > item.width) {
      this.#facts.append(work("Show large", () => this.#showLarge(item, info.source)));
    }
    this.#facts.append(work("Show EXIF", () => this.#exif(item)));
  }

  /** Replaces the thumbnail with the whole picture, for which its origin may be asked. */
  async #showLarge(item, source) {
    const image = element("img", { alt: label(item) });
    await loadImage(image, largePath(item, source), this.#cancellation.signal);
    const { naturalWidth, naturalHeight } = image;
    const frame = element("span", { class: "frame" }, image);
    frame.style.setProperty("--width", `${naturalWidth}px`);
    frame.style.setProperty("--ratio", naturalWidth / naturalHeight);
    this.#stage.replaceChildren(frame);
    return element(
      "p", { role: "status", tabindex: "-1" }, `Shown with ${format.size(naturalWidth, naturalHeight)} pixels.`);
  }

  /** The tags of the source picture. */
  async #exif(item) {
    const { signal } = this.#cancellation;
    const info = await requestJSON(`${thumbnailPath(item)}/info?exif`, { signal });
    const tags = tagsOf(info.exif ?? {});
    if (tags.length === 0) {
      return element("p", { role: "status", tabindex: "-1" }, "No EXIF.");
    }
    const list = element("dl", { class: "exif", tabindex: "-1", "aria-label": "EXIF" });
    for (const [name, value] of tags) {
      list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    }
    return list;
  }

  #handleKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key === "ArrowLeft" && !byID("viewer-previous").disabled) {
      this.#navigation.move(-1);
    } else if (event.key === "ArrowRight" && !byID("viewer-next").disabled) {
      this.#navigation.move(1);
    }
  }
}

/**
 * A button, and in its place the result of its work: an element that takes the focus, or why there is none.
 *
 * @param {string} name of the button
 * @param {() => Promise<HTMLElement>} action
 */
function work(name, action) {
  const place = element("div", { class: "work" });
  const start = async (event) => {
    event.target.disabled = true;
    try {
      const result = await action();
      place.replaceChildren(result);
      result.focus();
    } catch (error) {
      if (error.name === "AbortError") {
        return;
      }
      place.replaceChildren(element("p", { role: "status" }, error.message));
      if (error.isRetryable) {
        place.append(button("Try again", start));
      }
    }
  };
  place.append(button(name, start));
  return place;
}

/** The names and the values of facts; an empty value is left out. */
function facts(item, info) {
  const source = info.source ?? {};
  const failure = item.state === "failed" ? item : {};
  return [
    ["URL", address(item.url)],
    ["Failure", failure.code ?? ""],
    ["Reason", failure.message ?? ""],
    ["Retry", "code" in failure ? (item.retryable ? "may succeed later" : "would fail again") : ""],
    ["Size", format.size(item.width, item.height)],
    ["Format", item.state === "done" ? format.format(item.type) : ""],
    ["Bytes", item.byte_count > 0 ? format.bytes(item.byte_count) : ""],
    ["Source", [
      format.format(source.type), format.size(source.width, source.height),
      source.byte_count > 0 ? format.bytes(source.byte_count) : "",
    ].filter(Boolean).join(", ")],
    ["Host", item.author ?? ""],
    ["From", item.state === "done" ? (item.from_cache ? "the store" : "the network") : ""],
    ["Stored", format.time(item.stored_at)],
    ["Expires", format.time(item.expires_at)],
  ];
}

/** A URL as a link where a browser can open it safely, else as text. */
function address(url) {
  if (!/^https?:\/\//i.test(url)) {
    return format.shortened(url);
  }
  return element(
    "a", { href: url, target: "_blank", rel: "noopener noreferrer" }, format.shortened(url));
}

/** The tags of all directories by name, with values as text. */
function tagsOf(exif) {
  return Object.entries(exif).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? tagsOf(value)
      : [[name, Array.isArray(value) ? value.join(", ") : String(value)]]);
}
