import { element } from "./elements.js";
import { failureCard, label, loadImage, placeholder, thumbnailPath } from "./picture.js";

/** As many as are scrolled back to without a delay: the browser has them. */
const rememberedCount = 5000;
const shownBefore = new Set();

/**
 * One thumbnail above its placeholder, in elements of its own: a picture that arrives late has no other
 * place to appear in.
 */
export class Thumbnail {
  #item;
  #placeholder;
  #image = null;
  #timer;
  #cancellation = new AbortController();

  /** What to show: it has the size of the element around it. */
  element = element("span", { class: "thumbnail" });

  /**
   * @param {object} item
   * @param {number} delay how long to wait before the request, in milliseconds
   */
  constructor(item, delay) {
    this.#item = item;
    this.#placeholder = placeholder(item);
    this.element.append(...(this.#placeholder === null ? [] : [this.#placeholder]));
    this.#timer = setTimeout(() => this.#load(), shownBefore.has(item.id) ? 0 : delay);
  }

  /** Ends it. A request that is under way is cancelled. */
  close() {
    clearTimeout(this.#timer);
    this.#cancellation.abort();
    this.#image?.removeAttribute("src");
  }

  async #load() {
    const image = element("img", { alt: label(this.#item), decoding: "async" });
    this.#image = image;
    image.classList.toggle("fades", !shownBefore.has(this.#item.id));
    try {
      await loadImage(image, thumbnailPath(this.#item), this.#cancellation.signal);
    } catch (error) {
      if (error.name !== "AbortError") {
        this.element.replaceChildren(failureCard(error));
      }
      return;
    }
    remember(this.#item.id);
    this.element.append(image);
    // It would be seen through transparent pixels.
    await Promise.allSettled(image.getAnimations().map((animation) => animation.finished));
    this.#placeholder?.remove();
  }
}

/** Remembers a picture, in the place of the oldest one if there are too many. */
function remember(id) {
  shownBefore.delete(id);
  shownBefore.add(id);
  if (shownBefore.size > rememberedCount) {
    shownBefore.delete(shownBefore.values().next().value);
  }
}
