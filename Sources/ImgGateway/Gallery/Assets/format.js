import { failureCodes } from "./failure-codes.js";

// Values as text for people.

const integer = new Intl.NumberFormat("en");
const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const instant = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** The longest URL that is shown whole; data: URLs are longer. */
const longestURL = 400;

const formatNames = new Map([
  ["image/avif", "AVIF"], ["image/bmp", "BMP"], ["image/gif", "GIF"], ["image/heic", "HEIC"],
  ["image/heif", "HEIF"], ["image/jp2", "JPEG 2000"], ["image/jpeg", "JPEG"],
  ["image/jxl", "JPEG XL"], ["image/png", "PNG"], ["image/svg+xml", "SVG"],
  ["image/tiff", "TIFF"], ["image/vnd.microsoft.icon", "ICO"], ["image/webp", "WebP"],
  ["image/x-portable-anymap", "PNM"],
]);

/** Such as `1,204`. */
export function count(number) {
  return integer.format(number);
}

/** A number with its noun, such as `1 picture` or `1,204 pictures`. */
export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** Such as `12.4 KiB`; units are powers of 1,024, as those of `imgctl status` are. */
export function bytes(number) {
  if (number < 1024) {
    return counted(number, "byte");
  }
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = number / 1024;
  while (value >= 1023.95 && units.length > 1) {
    value /= 1024;
    units.shift();
  }
  return `${decimal.format(value)} ${units[0]}`;
}

/** Such as `256 × 171`; empty if a side is unknown. */
export function size(width, height) {
  return width > 0 && height > 0 ? `${count(width)} × ${count(height)}` : "";
}

/** A time in RFC 3339 in the zone of the browser; empty without one. */
export function time(text) {
  const date = new Date(text ?? NaN);
  return Number.isNaN(date.getTime()) ? "" : instant.format(date);
}

/** The name of a media type, such as `WebP`. */
export function format(type) {
  return formatNames.get(type) ?? type ?? "";
}

/**
 * The control characters of C0 and C1, and those that change the direction of text (UAX 9): with them, a
 * text of an unknown origin looks like another one.
 */
const controls = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** A text with its control characters as escapes, such as `\u{202E}`. */
export function visible(text) {
  return text.replace(controls, (character) => {
    const digits = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\\u{${digits}}`;
  });
}

/** A URL or a name as text, shortened if it is longer than a page shows. */
export function shortened(text) {
  return visible(text.length <= longestURL ? text : `${text.slice(0, longestURL)}…`);
}

/** A text with a capital letter at its start. */
export function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What people call a picture: the last part of its URL's path, or the host. */
export function name(url) {
  const [path] = url.split(/[?#]/, 1);
  if (path.startsWith("data:")) {
    return "data: URL";
  }
  const last = path.split("/").filter(Boolean).at(-1) ?? url;
  try {
    return shortened(decodeURIComponent(last));
  } catch {
    // An escape that is no UTF-8 is shown as it is.
    return shortened(last);
  }
}

/** What a failure code means in a few words, such as `Error of the origin`. */
export function code(text) {
  return failureCodes.get(text) ?? text.replaceAll("_", " ");
}
