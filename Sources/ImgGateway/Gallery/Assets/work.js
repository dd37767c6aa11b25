import { button, element } from "./elements.js";

/**
 * A button, and in its place the result of its work: an element that takes the focus, or why there is none.
 *
 * @param {string} name of the button
 * @param {() => Promise<HTMLElement>} action
 */
export function work(name, action) {
  const place = element("div", { class: "work" });
  const start = async (event) => {
    event.target.disabled = true;
    try {
      const result = await action();
      place.replaceChildren(result);
      result.focus();
    } catch (error) {
      if (error.name === "AbortError") {
        return;
      }
      place.replaceChildren(element("p", { role: "status" }, error.message));
      if (error.isRetryable) {
        place.append(button("Try again", start));
      }
    }
  };
  place.append(button(name, start));
  return place;
}
