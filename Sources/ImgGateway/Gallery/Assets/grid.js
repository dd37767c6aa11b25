import { Cell } from "./cell.js";
import { ratio } from "./picture.js";
import { Rows } from "./rows.js";

/** Cells this far outside the window are made ahead, in pixels. */
const margin = 400;
/** The list goes on when the end of the rows is this near to the window, in pixels. */
const endMargin = 800;
/** The space between two pictures, in pixels. */
const gap = 8;
/** The wanted height of a row in pixels, and that in a narrow window. */
const rowHeight = 180;
const narrowRowHeight = 120;
const narrowWidth = 600;

/**
 * The pictures of a list in rows. It has elements for those in the window and near to it only, so a long
 * list is as fast as a short one.
 */
export class Grid {
  #container;
  #linkTo;
  #onEnd;
  #onWaiting;
  #delay;
  #rows;
  #cells = new Map();
  #items = [];
  #isComplete = true;
  #count = -1;
  #isScheduled = false;
  #width;

  /**
   * @param {HTMLElement} container
   * @param {object} options
   * @param {(item: object) => string} options.linkTo the address of an open picture
   * @param {() => void} options.onEnd is called when more pictures are needed
   * @param {() => void} options.onWaiting is called when a picture comes near the window that waited when it was listed
   */
  constructor(container, { linkTo, onEnd, onWaiting }) {
    this.#container = container;
    this.#linkTo = linkTo;
    this.#onEnd = onEnd;
    this.#onWaiting = onWaiting;
    this.#delay = Number(container.dataset.delay) * 1000;
    this.#width = container.clientWidth;
    this.#rows = this.#newRows();
    addEventListener("scroll", () => this.#schedule(), { passive: true });
    new ResizeObserver(() => this.#resize()).observe(container);
    container.addEventListener("keydown", (event) => this.#moveFocus(event));
  }

  /**
   * Starts with another list, from its top.
   *
   * @param {number} count pictures of the whole list; -1 if unknown
   */
  reset(count) {
    this.#cells.forEach((cell) => cell.remove());
    this.#cells.clear();
    this.#items = [];
    this.#isComplete = true;
    this.#count = count;
    this.#rows = this.#newRows();
    this.#container.style.height = "0";
    scrollTo(0, 0);
  }

  /** Adds pictures behind the others. */
  append(items, isComplete) {
    this.#items.push(...items);
    this.#isComplete = isComplete;
    this.#fillRows(items);
    this.#render();
  }

  /** Replaces a picture. Its cell keeps its place. */
  replace(index, item) {
    this.#items[index] = item;
    this.#cells.get(index)?.show(item, 0);
  }

  /** The indices of the cells that exist, of pictures that may change. */
  get pendingIndices() {
    return [...this.#cells.keys()].filter((index) => this.#items[index].state !== "done");
  }

  /** Scrolls as little as needed to have a picture in the window. */
  reveal(index) {
    const box = this.#rows.boxes[index];
    if (box === undefined) {
      return;
    }
    const { top, bottom } = this.#window();
    if (box.top < top) {
      scrollBy(0, box.top - top);
    } else if (box.top + box.height > bottom) {
      scrollBy(0, box.top + box.height - bottom);
    }
    this.#scrolled();
  }

  /** Gives a picture in the window the focus. */
  focus(index) {
    this.#cells.get(index)?.focus();
  }

  #newRows() {
    const width = this.#width;
    return new Rows({ width, gap, rowHeight: width < narrowWidth ? narrowRowHeight : rowHeight });
  }

  #fillRows(items) {
    items.forEach((item) => this.#rows.add(ratio(item)));
    if (this.#isComplete) {
      this.#rows.finish();
    }
    this.#container.style.height = `${this.#rows.height}px`;
  }

  /** The heights of the grid that can be seen, between the bars of the page. */
  #window() {
    const { top } = this.#container.getBoundingClientRect();
    const { scrollPaddingTop, scrollPaddingBottom } = getComputedStyle(document.documentElement);
    return {
      top: parseFloat(scrollPaddingTop) - top,
      bottom: innerHeight - parseFloat(scrollPaddingBottom) - top,
    };
  }

  #schedule() {
    if (this.#isScheduled) {
      return;
    }
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#scrolled();
    });
  }

  #scrolled() {
    if (this.#render().some((index) => this.#items[index].state === "waiting")) {
      this.#onWaiting();
    }
  }

  /**
   * Makes the cells in and near the window, and removes the others.
   *
   * @returns {number[]} the indices of those that were made
   */
  #render() {
    const { top, bottom } = this.#window();
    const [first, end] = this.#rows.indices(top - margin, bottom + margin);
    for (const [index, cell] of this.#cells) {
      // One with the focus stays, or the focus would be lost.
      if ((index < first || index >= end) && !cell.hasFocus) {
        cell.remove();
        this.#cells.delete(index);
      }
    }
    const made = [];
    let next = [...this.#cells].find(([index]) => index >= end)?.[1].element ?? null;
    for (let index = end - 1; index >= first; index -= 1) {
      const cell = this.#cells.get(index) ?? this.#newCell(index);
      if (cell.element.parentNode === null) {
        this.#container.insertBefore(cell.element, next);
        made.push(index);
      }
      next = cell.element;
    }
    if (!this.#isComplete && this.#rows.height - bottom < endMargin) {
      this.#onEnd();
    }
    return made;
  }

  #newCell(index) {
    const item = this.#items[index];
    const cell = new Cell(item, {
      href: this.#linkTo(item), position: index + 1, delay: this.#delay,
      count: this.#isComplete ? this.#items.length : this.#count, box: this.#rows.boxes[index],
    });
    this.#cells.set(index, cell);
    return cell;
  }

  /** Makes new rows of another width. The first picture in the window stays where it is. */
  #resize() {
    const width = this.#container.clientWidth;
    if (width === this.#width) {
      return;
    }
    this.#width = width;
    const { top } = this.#window();
    const [anchor] = this.#rows.indices(top, top);
    const offset = top - (this.#rows.boxes[anchor]?.top ?? top);
    this.#rows = this.#newRows();
    this.#fillRows(this.#items);
    for (const [index, cell] of this.#cells) {
      const box = this.#rows.boxes[index];
      if (box === undefined) {
        cell.remove();
        this.#cells.delete(index);
      } else {
        cell.place(box);
      }
    }
    if (top > 0 && this.#rows.boxes[anchor] !== undefined) {
      scrollBy(0, this.#rows.boxes[anchor].top + offset - this.#window().top);
    }
    this.#render();
  }

  /** Arrow keys, Home and End move between pictures. */
  #moveFocus(event) {
    const from = [...this.#cells].find(([, cell]) => cell.hasFocus)?.[0];
    if (from === undefined || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const to = this.#target(event.key, from);
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    this.reveal(to);
    this.focus(to);
  }

  #target(key, from) {
    const { boxes } = this.#rows;
    switch (key) {
      case "ArrowLeft": return Math.max(0, from - 1);
      case "ArrowRight": return Math.min(boxes.length - 1, from + 1);
      case "Home": return 0;
      case "End": return boxes.length - 1;
      case "ArrowUp": return this.#nearest(from, boxes[from].top - gap);
      case "ArrowDown":
        return this.#nearest(from, boxes[from].top + boxes[from].height + gap);
      default: return undefined;
    }
  }

  /** The picture of the row at a height that is nearest in the horizontal. */
  #nearest(from, height) {
    const { boxes } = this.#rows;
    const middle = ({ left, width }) => left + width / 2;
    const [first, end] = this.#rows.indices(height, height);
    let [nearest, distance] = [undefined, Infinity];
    for (let index = first; index < end; index += 1) {
      const current = Math.abs(middle(boxes[index]) - middle(boxes[from]));
      if (current < distance) {
        [nearest, distance] = [index, current];
      }
    }
    return nearest;
  }
}
