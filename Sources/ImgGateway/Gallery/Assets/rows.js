/** The narrowest and the widest picture that keep their shape; others are cropped in the grid. */
const narrowestRatio = 0.5;
const widestRatio = 2.5;

/**
 * @typedef {object} Box in pixels, from the top left of the grid
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 */

/**
 * Rows of pictures that fill a width. Each row is as high as its pictures allow.
 *
 * A row is there once it is full, so it never changes. The last row need not be full.
 */
export class Rows {
  #width;
  #rowHeight;
  #gap;
  /** Pictures of the row that is not full: their ratios. */
  #open = [];

  /** Of each picture in a row. @type {Box[]} */
  boxes = [];
  /** The height of all rows with their gaps. */
  height = 0;

  constructor({ width, rowHeight, gap }) {
    this.#width = width;
    this.#rowHeight = rowHeight;
    this.#gap = gap;
  }

  /** Adds a picture, which gets a box when its row is full. */
  add(ratio) {
    const added = Math.min(widestRatio, Math.max(narrowestRatio, ratio));
    const heightBefore = this.#heightOf(this.#open);
    const height = this.#heightOf([...this.#open, added]);
    if (height > this.#rowHeight) {
      this.#open.push(added);
    } else if (heightBefore / this.#rowHeight < this.#rowHeight / height) {
      // Without it, the row is nearer to the wanted height.
      this.#closeRow(heightBefore);
      this.add(ratio);
    } else {
      this.#open.push(added);
      this.#closeRow(height);
    }
  }

  /** Makes a row of the pictures that have none yet. */
  finish() {
    if (this.#open.length > 0) {
      this.#closeRow(Math.min(this.#rowHeight, this.#heightOf(this.#open)));
    }
  }

  /** The pictures whose boxes touch a range of heights: `[first, end)`. */
  indices(top, bottom) {
    const { boxes } = this;
    const first = partition(boxes.length, (i) => boxes[i].top + boxes[i].height >= top);
    const end = partition(boxes.length, (i) => boxes[i].top > bottom);
    return [first, Math.max(first, end)];
  }

  /** The height of a row of pictures that fills the width; infinite without pictures. */
  #heightOf(ratios) {
    const sum = ratios.reduce((total, ratio) => total + ratio, 0);
    return sum > 0 ? (this.#width - this.#gap * (ratios.length - 1)) / sum : Infinity;
  }

  #closeRow(exactHeight) {
    const height = Math.round(exactHeight);
    let x = 0;
    for (const ratio of this.#open) {
      const left = Math.round(x);
      const right = Math.round(x + ratio * exactHeight);
      this.boxes.push({ left, top: this.height, width: right - left, height });
      x += ratio * exactHeight + this.#gap;
    }
    this.height += height + this.#gap;
    this.#open = [];
  }
}

/** The first index that fulfils a condition that, once true, stays true; `count` without one. */
function partition(count, isFulfilled) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isFulfilled(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
