/**
 * Makes an element. Strings become text nodes and are never parsed: the gallery shows URLs and
 * messages of unknown origins.
 *
 * @param {string} name
 * @param {Object<string, string>} attributes
 * @param {...(Node|string)} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    made.setAttribute(attribute, value);
  }
  made.append(...children);
  return made;
}

/** The element of the page with this id. */
export function byID(id) {
  return document.getElementById(id);
}

/** A copy of a drawing of the page: `failed` or `waiting`. */
export function symbol(name) {
  return byID(`symbol-${name}`).content.cloneNode(true);
}

/** A button that performs an action. */
export function button(text, action) {
  const made = element("button", { type: "button" }, text);
  made.addEventListener("click", action);
  return made;
}
