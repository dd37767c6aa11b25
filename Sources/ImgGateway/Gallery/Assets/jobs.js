import { byID, element } from "./elements.js";
import * as format from "./format.js";
import { JobEvents } from "./job-events.js";
import { notify } from "./notices.js";
import { requestJSON } from "./requests.js";

const finalStates = new Set(["finished", "cancelled", "damaged"]);

/** The choice of a job, and the progress of one: of the chosen job, else of the newest that runs. */
export class Jobs {
  #jobs = [];
  #chosen = "";
  #followed = "";
  #events = null;
  #onChoice;
  #onChange;

  /**
   * @param {object} listeners
   * @param {(job: string, outcome: string) => void} listeners.onChoice the pictures of a job are wanted
   * @param {(job: object, hasEnded: boolean) => void} listeners.onChange the chosen job has changed
   */
  constructor({ onChoice, onChange }) {
    this.#onChoice = onChoice;
    this.#onChange = onChange;
    byID("job-show").addEventListener("click", () => onChoice(this.#followed, ""));
    byID("job-failures").addEventListener("click", () => onChoice(this.#followed, "failed"));
    byID("job-retry").addEventListener("click", () => this.#retry());
  }

  /** Loads the jobs, newest first. */
  async load() {
    this.#jobs = (await requestJSON("/api/jobs")).jobs;
    this.#fillChoice();
    this.#follow();
  }

  /** The job of a number; `undefined` if it is not known. */
  find(id) {
    return this.#jobs.find((job) => String(job.job) === id);
  }

  get isEmpty() {
    return this.#jobs.length === 0;
  }

  /**
   * Chooses the job to follow.
   *
   * @param {string} id empty for the store
   */
  choose(id) {
    this.#chosen = id;
    this.#fillChoice();
    this.#follow();
  }

  #fillChoice() {
    const known = this.#jobs.map((job) => [String(job.job), title(job)]);
    if (this.#chosen && !this.find(this.#chosen)) {
      known.unshift([this.#chosen, `job ${this.#chosen}`]);
    }
    const options = [["", "the store"], ...known].map(([value, text]) =>
      element("option", { value }, text));
    const choice = byID("collection");
    choice.replaceChildren(...options);
    choice.value = this.#chosen;
  }

  #follow() {
    const running = this.#jobs.find((job) => !finalStates.has(job.state));
    const job = this.find(this.#chosen) ?? (this.#chosen ? undefined : running);
    const id = job === undefined ? "" : String(job.job);
    if (job !== undefined) {
      this.#show(job);
    }
    byID("job").hidden = job === undefined;
    if (id === this.#followed && this.#events !== null) {
      return;
    }
    this.#events?.close();
    this.#events = null;
    this.#followed = id;
    if (job !== undefined && !finalStates.has(job.state)) {
      this.#connect(id);
    }
  }

  #connect(id) {
    this.#events = new JobEvents(id, {
      onJob: (job) => this.#update(job),
      onEnd: () => {
        this.#events = null;
        this.#announceEnd(this.find(id));
      },
    });
  }

  #update(job) {
    this.#jobs = this.#jobs.map((other) => (other.job === job.job ? job : other));
    this.#show(job);
    if (String(job.job) === this.#chosen) {
      this.#onChange(job, false);
    }
  }

  #announceEnd(job) {
    if (job === undefined) {
      // It was removed meanwhile.
      this.#follow();
      return;
    }
    notify(`${capitalized(title(job))} has ended: ${outcomeText(job)}.`);
    this.#fillChoice();
    if (String(job.job) === this.#chosen) {
      this.#onChange(job, true);
    } else {
      this.#follow();
    }
  }

  #show(job) {
    const fraction = job.total > 0 ? (job.total - job.queued - job.running) / job.total : 1;
    const percent = Math.floor(100 * fraction);
    const ring = byID("job-ring");
    ring.dataset.fraction = fraction.toFixed(4);
    ring.style.setProperty("--done", share(job.done, job));
    ring.style.setProperty("--failed", share(job.failed, job));
    ring.setAttribute("aria-valuenow", percent);
    ring.setAttribute("aria-valuetext", `${percent} %, ${outcomeText(job)}`);
    byID("job-title").textContent = `${capitalized(title(job))}, ${stateText(job)}`;
    byID("job-counts").textContent = job.wait?.detail ?? outcomeText(job);
    const isFinal = finalStates.has(job.state);
    byID("job-show").hidden = String(job.job) === this.#chosen;
    byID("job-failures").hidden = job.failed === 0;
    byID("job-retry").hidden = !isFinal || job.retryable === 0;
  }

  async #retry() {
    const id = this.#followed;
    byID("job-retry").disabled = true;
    try {
      const job = await requestJSON(
        `/api/jobs/${encodeURIComponent(id)}/retry`,
        { method: "POST", headers: { "X-Requested-With": "imgctl" } });
      notify(`${capitalized(title(job))} runs again.`);
      this.#update(job);
      this.#follow();
    } catch (error) {
      notify(error.message, "error");
    } finally {
      byID("job-retry").disabled = false;
    }
  }
}

/** Such as `job 3, holiday`. */
export function title(job) {
  return job.name ? `job ${job.job}, ${format.shortened(job.name)}` : `job ${job.job}`;
}

function stateText(job) {
  const percent = Math.floor((100 * (job.done + job.failed + job.cancelled)) / (job.total || 1));
  return finalStates.has(job.state) ? job.state : `${job.state}, ${percent} %`;
}

function outcomeText(job) {
  return [
    `${format.count(job.done)} of ${format.counted(job.total, "picture")}`,
    job.failed > 0 ? `${format.count(job.failed)} failed` : "",
    job.from_cache > 0 ? `${format.count(job.from_cache)} from the store` : "",
  ].filter(Boolean).join(", ");
}

/** A part of the pictures of a job; 0 if it has none. */
function share(count, job) {
  return job.total > 0 ? count / job.total : 0;
}

function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
