import { element, symbol } from "./elements.js";
import * as format from "./format.js";
import { request, RequestFailure } from "./requests.js";
import { thumbHashDrawing } from "./thumbhash.js";

/** More than most screens show, and below the limit of the gateway for sides that requests ask for. */
const maximumLargeSide = 2048;

/** The address of a picture's thumbnail as it is stored. */
export function thumbnailPath(item) {
  return `/id/${encodeURIComponent(item.id)}`;
}

/** The address of the whole picture in a size for a screen. `source` has the sides of the source picture. */
export function largePath(item, { width, height }) {
  const scale = Math.min(1, maximumLargeSide / Math.max(width, height));
  const sides = [width, height].map((side) => Math.max(1, Math.round(side * scale)));
  return `${thumbnailPath(item)}/${sides.join("/")}`;
}

/**
 * Loads a picture into an image element.
 *
 * @param {HTMLImageElement} image
 * @param {string} path
 * @param {AbortSignal} signal ends the wait for it
 * @throws {RequestFailure} why there is none. An image element does not tell, so the gateway is asked again.
 */
export async function loadImage(image, path, signal) {
  if (!await isDecoded(image, path)) {
    signal.throwIfAborted();
    await (await request(path, { signal })).body?.cancel();
    // What failed before may have passed meanwhile.
    if (!await isDecoded(image, path)) {
      signal.throwIfAborted();
      throw new RequestFailure("corrupt_image", "The browser cannot show this format.", 200, false);
    }
  }
  signal.throwIfAborted();
}

/** Requests the picture of an image element; `false` if it cannot be shown. */
async function isDecoded(image, path) {
  image.src = path;
  return image.decode().then(() => true, () => false);
}

/** What stands for a picture where it cannot be seen. */
export function label(item) {
  const name = format.name(item.url);
  return item.author ? `${name} from ${item.author}` : name;
}

/** The label of a picture and why it cannot be seen. */
export function labelWithState(item) {
  return item.state === "failed"
    ? labelWithFailure(item, item) : `${label(item)}: ${item.state}`;
}

/** The label of a picture and the failure because of which it cannot be seen. */
export function labelWithFailure(item, { code, message }) {
  return `${label(item)}: ${format.code(code ?? "failed")}, ${format.visible(message ?? "")}`;
}

/** Width by height; a square for a picture that is not there. */
export function ratio({ thumbnail_width: width, thumbnail_height: height }) {
  return width > 0 && height > 0 ? width / height : 1;
}

/** How many times a small picture is enlarged to a side of about so many pixels; at least once. */
export function enlargementOf({ thumbnail_width: width, thumbnail_height: height }, side) {
  return Math.max(1, Math.floor(side / Math.max(1, width, height)));
}

/** The blurred picture of a ThumbHash; `null` without one. */
export function placeholder(item) {
  const drawing = item.thumb_hash ? thumbHashDrawing(item.thumb_hash) : null;
  if (drawing === null) {
    return null;
  }
  const canvas = element("canvas", {
    class: "placeholder", "aria-hidden": "true", width: drawing.width, height: drawing.height,
  });
  canvas.getContext("2d").putImageData(drawing, 0, 0);
  return canvas;
}

/** The generic picture of a failure, with its code and its sentence. */
export function failureCard({ code, message }) {
  return element(
    "span", { class: "failure" }, symbol("failed"),
    element("b", {}, format.code(code ?? "failed")),
    element("span", {}, format.visible(message ?? "")));
}

/** What is shown for a picture that is not there, and did not fail. */
export function stateCard(item) {
  return element("span", { class: "state" }, symbol("waiting"), element("b", {}, item.state));
}
