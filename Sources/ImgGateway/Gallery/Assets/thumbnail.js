import { answers } from "./answers.js";
import { element } from "./elements.js";
import { failureCard, label, loadImage, placeholder, thumbnailPath } from "./picture.js";

/** As many as are scrolled back to without a delay: the browser has them. */
const rememberedCount = 5000;
const shownBefore = new Set();

/** The pause before the second attempt, in milliseconds. Each further one is twice as long. */
const firstPause = 1000;
/** After so many attempts a picture waits for the gateway, or for the person to come back. */
const maximumAttempts = 6;

/**
 * One thumbnail above its placeholder, in elements of its own: a picture that arrives late has no other
 * place to appear in.
 */
export class Thumbnail {
  #item;
  #placeholder;
  #image = null;
  #timer;
  #attempts = 0;
  /** Whether the last attempt has failed and no other one is under way. */
  #isPaused = false;
  #onFailure;
  #cancellation = new AbortController();

  /** What to show: it has the size of the element around it. */
  element = element("span", { class: "thumbnail" });

  /**
   * @param {object} item
   * @param {object} options
   * @param {number} options.delay how long to wait before the request, in milliseconds
   * @param {(failure: ?object) => void} options.onFailure is called with why the picture is not there, and
   *   with `null` when it is
   */
  constructor(item, { delay, onFailure }) {
    this.#item = item;
    this.#onFailure = onFailure;
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
    this.#isPaused = false;
    const image = element("img", { alt: label(this.#item), decoding: "async" });
    this.#image = image;
    image.classList.toggle("fades", !shownBefore.has(this.#item.id));
    try {
      await loadImage(image, thumbnailPath(this.#item), this.#cancellation.signal);
    } catch (error) {
      if (error.name !== "AbortError") {
        this.#fail(error);
      }
      return;
    }
    if (this.#attempts > 0) {
      this.#onFailure(null);
    }
    remember(this.#item.id);
    this.element.replaceChildren(
      ...(this.#placeholder === null ? [] : [this.#placeholder]), image);
    // It would be seen through transparent pixels.
    await Promise.allSettled(image.getAnimations().map((animation) => animation.finished));
    this.#placeholder?.remove();
  }

  /** Tries again at once when the gateway answers again, or the person comes back to the window. */
  #retryOnReturn() {
    const { signal } = this.#cancellation;
    const retry = () => {
      if (this.#isPaused) {
        clearTimeout(this.#timer);
        this.#attempts = 1;
        this.#load();
      }
    };
    answers.addEventListener("return", retry, { signal });
    addEventListener("focus", retry, { signal });
  }

  /** Tries again later what may succeed then. Other failures are shown in place of the picture. */
  #fail(error) {
    this.#onFailure(error);
    if (!error.isRetryable) {
      this.element.replaceChildren(failureCard(error));
      return;
    }
    if (this.#attempts === 0) {
      this.#retryOnReturn();
    }
    this.#attempts += 1;
    this.#isPaused = true;
    if (this.#attempts < maximumAttempts) {
      this.#timer = setTimeout(() => this.#load(), firstPause * 2 ** (this.#attempts - 1));
    } else {
      this.element.replaceChildren(failureCard(error));
    }
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
