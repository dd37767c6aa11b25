import { noteAnswer } from "./answers.js";

/** Waits between two attempts to connect: the first and the longest, in milliseconds. */
const firstWait = 1000;
const longestWait = 30_000;

/** Follows one job until it has ended. Connects again if the connection breaks. */
export class JobEvents {
  #id;
  #onJob;
  #onBreak;
  #onEnd;
  #source = null;
  #wait = firstWait;
  #timer;

  /**
   * @param {string} id the job's number
   * @param {object} listeners
   * @param {(job: object) => void} listeners.onJob is called with each new state
   * @param {() => void} listeners.onBreak is called when the gateway does not tell more, for now or for good
   * @param {() => void} listeners.onEnd is called once, when no further state follows
   */
  constructor(id, { onJob, onBreak, onEnd }) {
    this.#id = id;
    this.#onJob = onJob;
    this.#onBreak = onBreak;
    this.#onEnd = onEnd;
    this.#connect();
  }

  close() {
    clearTimeout(this.#timer);
    this.#source.close();
  }

  #connect() {
    this.#source = new EventSource(`/api/jobs/${encodeURIComponent(this.#id)}/events`);
    this.#source.addEventListener("job", (event) => {
      this.#wait = firstWait;
      noteAnswer();
      this.#onJob(JSON.parse(event.data));
    });
    this.#source.addEventListener("end", () => {
      this.close();
      this.#onEnd();
    });
    this.#source.addEventListener("error", () => this.#connectLater());
  }

  /** The browser connects again by itself after a break, but not after an answer that is an error. */
  #connectLater() {
    if (this.#source.readyState !== EventSource.CLOSED) {
      return;
    }
    this.#timer = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(longestWait, 2 * this.#wait);
    this.#onBreak();
  }
}
