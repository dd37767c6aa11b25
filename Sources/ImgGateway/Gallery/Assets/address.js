/**
 * What the page shows, as the fragment of its URL tells it. So each view has an address of its own.
 *
 * @typedef {object} View
 * @property {string} job the number of a job; empty for the store
 * @property {string} q a part of a URL; empty for all
 * @property {string} outcome `done`, `failed` or empty
 * @property {string} code a failure code, or empty
 * @property {string} picture the id of the picture that is open, or empty
 */
const keys = ["job", "q", "outcome", "code", "picture"];

/** @type {View} */
export const storeView = Object.fromEntries(keys.map((key) => [key, ""]));

/** @returns {View} that of the current fragment */
export function currentView() {
  const fields = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(keys.map((key) => [key, fields.get(key) ?? ""]));
}

/** The fragment of a view. That of the store without a filter is `#`. */
export function fragment(view) {
  const fields = keys.filter((key) => view[key]).map((key) => [key, view[key]]);
  return `#${new URLSearchParams(fields)}`;
}

/** Whether two views have the same pictures. */
export function haveSamePictures(one, other) {
  return keys.every((key) => key === "picture" || one[key] === other[key]);
}

/** Whether a view has some of the pictures of a job or of the store only. */
export function hasFilter(view) {
  return Boolean(view.q || view.outcome || view.code);
}

/**
 * The line of a job that a picture is of, in a view of all pictures of this job; -1 in other views. The list
 * of such a view has the lines in their order.
 */
export function lineOf(view, picture) {
  const [job, index] = picture.split("-");
  return view.job && job === view.job && !hasFilter(view) && /^\d+$/.test(index)
    ? Number(index) : -1;
}
