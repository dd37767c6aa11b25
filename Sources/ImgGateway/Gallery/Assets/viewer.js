import { byID, button, element } from "./elements.js";
import { factList, tagList } from "./facts.js";
import * as format from "./format.js";
import {
  enlargementOf, failureCard, label, largePath, loadImage, placeholder, stateCard, thumbnailPath,
} from "./picture.js";
import { followLoad, LayeredFrame } from "./previews.js";
import { requestJSON } from "./requests.js";
import { work } from "./work.js";

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

  /**
   * Shows a picture that the list does not have.
   *
   * @param {string} id
   * @param {object} neighbours as those of `show`
   * @returns {Promise<boolean>} `false` if there is no such picture, which then has no neighbours
   */
  async load(id, neighbours) {
    this.#start(id, "");
    const { signal } = this.#cancellation;
    this.showNeighbours(neighbours);
    this.#facts.replaceChildren();
    this.#stage.replaceChildren(element("span", { class: "spinner" }));
    try {
      const item = await requestJSON(`${thumbnailPath({ id })}/info`, { signal });
      byID("viewer-title").textContent = format.name(item.url);
      this.#showPicture(item);
      this.#showFacts(item, item);
    } catch (error) {
      if (error.name === "AbortError") {
        return true;
      }
      byID("viewer-title").textContent = "No picture";
      this.#showFailure(error, () => this.load(id, neighbours));
      if (error.isRetryable) {
        return true;
      }
      this.showNeighbours({ hasPrevious: false, hasNext: false });
      return false;
    }
    return true;
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
    const { thumbnail_width: width, thumbnail_height: height } = item;
    if (width > 0 && height > 0) {
      const enlargement = Math.max(maximumEnlargement, enlargementOf(item, tinySide));
      frame.classList.toggle("enlarged", enlargement > maximumEnlargement);
      frame.style.setProperty("--width", `${width * enlargement}px`);
      frame.style.setProperty("--ratio", width / height);
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
        this.#showFailure(error, () => this.#showPicture(item));
      }
    }
  }

  /** Shows why there is no picture, with a button if it may be there later. */
  #showFailure(error, action) {
    const card = failureCard(error);
    if (error.isRetryable) {
      card.append(button("Try again", () => {
        // The focus stays in the dialog, which handles the arrow keys.
        this.#stage.focus();
        action();
      }));
    }
    this.#stage.replaceChildren(card);
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
    this.#facts.replaceChildren(factList(item, info));
    if (item.state === "waiting") {
      this.#facts.append(work("Load now", () => this.#showWhole(item, thumbnailPath(item))));
    }
    if (item.state !== "done") {
      return;
    }
    this.#facts.append(
      element("p", {}, element("a", { href: thumbnailPath(item), download: "" }, "Download")));
    if (info.source?.width > item.thumbnail_width) {
      this.#facts.append(work("Show large", () => this.#showWhole(item, largePath(item, info.source))));
    }
    this.#facts.append(work("Show EXIF", () => this.#exif(item)));
  }

  /**
   * Replaces what is shown with a picture, for which its origin may be asked. While it arrives, its previews are there,
   * above its ThumbHash.
   */
  async #showWhole(item, path) {
    const { signal } = this.#cancellation;
    const before = [...this.#stage.childNodes];
    const frame = new LayeredFrame(item);
    const image = element("img", { alt: label(item) });
    try {
      await followLoad(path, signal, async (preview) => {
        if (await frame.show(preview) && !signal.aborted) {
          this.#stage.replaceChildren(frame.element);
        }
      });
      await loadImage(image, path, signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#stage.replaceChildren(...before);
      }
      throw error;
    }
    frame.finish(image);
    this.#stage.replaceChildren(frame.element);
    const { naturalWidth, naturalHeight } = image;
    return element(
      "p", { role: "status", tabindex: "-1" }, `Shown with ${format.size(naturalWidth, naturalHeight)} pixels.`);
  }

  /** The tags of the source picture. */
  async #exif(item) {
    const { signal } = this.#cancellation;
    const info = await requestJSON(`${thumbnailPath(item)}/info?exif`, { signal });
    return tagList(info.exif ?? {})
      ?? element("p", { role: "status", tabindex: "-1" }, "No EXIF.");
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
