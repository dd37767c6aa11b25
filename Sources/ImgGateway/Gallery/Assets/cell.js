import { element } from "./elements.js";
import * as format from "./format.js";
import {
  enlargementOf, failureCard, label, labelWithFailure, labelWithState, stateCard,
} from "./picture.js";
import { Thumbnail } from "./thumbnail.js";

/** A thumbnail with shorter sides is shown in its own size, or enlarged by a whole number, in pixels. */
const smallSide = 64;

/** One picture of the grid: a link that opens it. */
export class Cell {
  #thumbnail = null;
  #link;

  /**
   * @param {object} item
   * @param {object} options
   * @param {string} options.href the address of the open picture
   * @param {number} options.position from 1
   * @param {number} options.count of the whole list; -1 if unknown
   * @param {number} options.delay before the picture is requested, in milliseconds
   * @param {import("./rows.js").Box} options.box
   */
  constructor(item, { href, position, count, delay, box }) {
    this.#link = element("a", { href });
    this.element = element(
      "li", { class: "cell", "aria-posinset": position, "aria-setsize": count }, this.#link);
    this.place(box);
    this.show(item, delay);
  }

  /** Moves it. */
  place({ left, top, width, height }) {
    const { style } = this.element;
    style.transform = `translate(${left}px, ${top}px)`;
    style.width = `${width}px`;
    style.height = `${height}px`;
  }

  /** Replaces what it shows. */
  show(item, delay) {
    this.#thumbnail?.close();
    this.#thumbnail = null;
    this.element.dataset.id = item.id;
    this.element.dataset.state = item.state;
    const { thumbnail_width: width, thumbnail_height: height } = item;
    const isSmall = width > 0 && Math.max(width, height) < smallSide;
    this.element.classList.toggle("small", isSmall);
    if (isSmall) {
      const enlargement = enlargementOf(item, smallSide);
      this.element.style.setProperty("--width", `${width * enlargement}px`);
      this.element.style.setProperty("--height", `${height * enlargement}px`);
    }
    this.#link.title = format.shortened(item.url);
    if (item.state === "done") {
      this.#thumbnail = new Thumbnail(item, {
        delay,
        onFailure: (failure) => this.#link.setAttribute(
          "aria-label", failure === null ? label(item) : labelWithFailure(item, failure)),
      });
      this.#link.setAttribute("aria-label", label(item));
      this.#link.replaceChildren(this.#thumbnail.element);
    } else {
      const card = item.state === "failed" ? failureCard(item) : stateCard(item);
      this.#link.setAttribute("aria-label", labelWithState(item));
      this.#link.replaceChildren(card, element("span", { class: "name" }, format.name(item.url)));
    }
  }

  get hasFocus() {
    return this.#link === document.activeElement;
  }

  focus() {
    this.#link.focus({ preventScroll: true });
  }

  /** Takes it out of the page, with its request. */
  remove() {
    this.#thumbnail?.close();
    this.element.remove();
  }
}
