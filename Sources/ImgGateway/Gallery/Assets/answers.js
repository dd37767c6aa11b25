/** Tells with the event `return` that the gateway answers again, after a request without an answer. */
export const answers = new EventTarget();
let isSilent = false;

/** The gateway has answered. */
export function noteAnswer() {
  if (isSilent) {
    isSilent = false;
    answers.dispatchEvent(new Event("return"));
  }
}

/** A request got no answer. */
export function noteSilence() {
  isSilent = true;
}
