import { element } from "./elements.js";
import { label, placeholder } from "./picture.js";
import { RequestFailure } from "./requests.js";

/**
 * Waits for a picture while the gateway loads it.
 *
 * @param {string} path of the picture
 * @param {AbortSignal} signal ends the wait, and with it the load
 * @param {(preview: {number: number, url: string, width: number, height: number}) => void} onPreview is called with
 *   what the picture looks like until now, each time nearer to it
 * @throws {RequestFailure} why there is none. If the gateway does not tell, a request for the picture does.
 */
export async function followLoad(path, signal, onPreview) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const source = new EventSource(`${path}/events`);
    const end = (settle, value) => {
      source.close();
      settle(value);
    };
    signal.addEventListener("abort", () => end(reject, signal.reason), { once: true });
    source.addEventListener("error", () => end(resolve));
    source.addEventListener("phase", (event) => {
      const { phase, preview, error } = JSON.parse(event.data);
      if (phase === "success") {
        end(resolve);
      } else if (phase === "failure") {
        end(reject, new RequestFailure(error.code, error.message, 200, error.retryable));
      } else if (preview) {
        onPreview({ ...preview, url: `data:${preview.type};base64,${preview.data}` });
      }
    });
  });
}

/** A picture that arrives: its ThumbHash, above it the newest preview, at last the picture alone. */
export class LayeredFrame {
  #item;
  #number = 0;
  #isFinished = false;

  element = element("span", { class: "frame" });

  constructor(item) {
    this.#item = item;
    const blurred = placeholder(item);
    this.element.append(...(blurred === null ? [] : [blurred]));
  }

  /**
   * Shows a preview once it is decoded, so that no empty picture is seen.
   *
   * @returns {Promise<boolean>} `false` if it cannot be shown, or something newer is there
   */
  async show({ number, url }) {
    const image = element("img", { alt: label(this.#item), src: url, "data-preview": number });
    const isDecoded = await image.decode().then(() => true, () => false);
    if (!isDecoded || this.#isFinished || number < this.#number) {
      return false;
    }
    this.#number = number;
    this.#fit(image);
    this.element.querySelector("img")?.remove();
    this.element.append(image);
    return true;
  }

  /** Shows the picture, which is decoded. */
  finish(image) {
    this.#isFinished = true;
    this.#fit(image);
    this.element.replaceChildren(image);
  }

  #fit({ naturalWidth, naturalHeight }) {
    this.element.style.setProperty("--width", `${naturalWidth}px`);
    this.element.style.setProperty("--ratio", naturalWidth / naturalHeight);
  }
}
