import { element } from "./elements.js";
import * as format from "./format.js";

/** The facts of a picture that are known. `info` has those that its list does not have. */
export function factList(item, info) {
  return list(facts(item, info).filter(([, value]) => value));
}

/** The EXIF tags of a source picture; `null` if it has none. */
export function tagList(exif) {
  const tags = tagsOf(exif);
  return tags.length > 0
    ? list(tags, { class: "exif", tabindex: "-1", "aria-label": "EXIF" }) : null;
}

/** Names with values: text, whose origin is unknown, or an element. */
function list(pairs, attributes = {}) {
  const shown = (value) => (typeof value === "string" ? format.visible(value) : value);
  return element("dl", attributes, ...pairs.map(([name, value]) => element(
    "div", {}, element("dt", {}, format.visible(name)), element("dd", {}, shown(value)))));
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
    ["Size", format.size(item.thumbnail_width, item.thumbnail_height)],
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
