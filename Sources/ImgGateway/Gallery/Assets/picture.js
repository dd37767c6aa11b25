import { element, symbol } from "./elements.js";
import * as format from "./format.js";
import { thumbHashDrawing } from "./thumbhash.js";

/** The address of a picture's thumbnail as it is stored. */
export function thumbnailPath(item) {
  return `/id/${encodeURIComponent(item.id)}`;
}

/** What stands for a picture where it cannot be seen. */
export function label(item) {
  const name = format.name(item.url);
  return item.author ? `${name} from ${item.author}` : name;
}

/** The label of a picture and why it cannot be seen. */
export function labelWithState(item) {
  const reason = item.state === "failed"
    ? `${format.code(item.code ?? "failed")}, ${item.message ?? ""}`
    : item.state;
  return `${label(item)}: ${reason}`;
}

/** Width by height; a square for a picture that is not there. */
export function ratio(item) {
  return item.width > 0 && item.height > 0 ? item.width / item.height : 1;
}

/** How many times a small picture is enlarged to a side of about so many pixels; at least once. */
export function enlargementOf({ width, height }, side) {
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
    element("span", {}, message ?? ""));
}

/** What is shown for a picture that is not there, and did not fail. */
export function stateCard(item) {
  return element("span", { class: "state" }, symbol("waiting"), element("b", {}, item.state));
}
