import { byID, element } from "./elements.js";
import * as format from "./format.js";
import { JobEvents } from "./job-events.js";
import { notify } from "./notices.js";
import { requestJSON } from "./requests.js";

/** The pause between two looks at the jobs while the page can be seen and follows no job, in milliseconds. */
const pollInterval = 5000;

const finalStates = new Set(["finished", "cancelled", "damaged"]);

/** The choice of a job, and the progress of one: of the chosen job, else of the newest that runs. */
export class Jobs {
  #jobs = [];
  #chosen = "";
  #followed = "";
  #isPolling = false;
  #events = null;
  #onChoice;
  #onChange;
  #onRemoval;

  /**
   * @param {object} listeners
   * @param {(job: string, outcome: string) => void} listeners.onChoice the pictures of a job are wanted
   * @param {(job: object, hasEnded: boolean) => void} listeners.onChange the chosen job has changed
   * @param {(job: object) => void} listeners.onRemoval the chosen job was removed
   */
  constructor({ onChoice, onChange, onRemoval }) {
    this.#onChoice = onChoice;
    this.#onChange = onChange;
    this.#onRemoval = onRemoval;
    byID("job-show").addEventListener("click", () => onChoice(this.#followed, ""));
    byID("job-failures").addEventListener("click", () => onChoice(this.#followed, "failed"));
    byID("job-retry").addEventListener("click", () => this.#retry());
  }

  /** Looks for new and removed jobs from now on. */
  start() {
    const look = () => this.#poll();
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    setInterval(() => {
      // The events of a job tell its changes.
      if (this.#events === null) {
        this.#poll();
      }
    }, pollInterval);
  }

  async #poll() {
    if (document.hidden || this.#isPolling) {
      return;
    }
    this.#isPolling = true;
    try {
      await this.load(this.find(this.#chosen) ? this.#chosen : "");
    } catch {
      // The list asks the same gateway, and tells why it does not answer.
    }
    this.#isPolling = false;
  }

  /**
   * Loads the jobs, newest first.
   *
   * @param {string} wanted a job that may be older than those of the list; empty for none
   * @throws {import("./requests.js").RequestFailure}
   */
  async load(wanted) {
    const known = this.find(wanted);
    const { jobs } = await requestJSON("/api/jobs");
    const isListed = jobs.some((job) => String(job.job) === wanted);
    this.#jobs = wanted && !isListed ? [...jobs, ...await jobsOf(wanted)] : jobs;
    this.#fillChoice();
    this.#follow();
    if (known && !this.find(wanted) && wanted === this.#chosen) {
      this.#onRemoval(known);
    }
  }

  /** The job of a number; `undefined` if it is not known. */
  find(id) {
    return this.#jobs.find((job) => String(job.job) === id);
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
    // The same options stay: the choice may be open.
    if (!haveSameTexts(options, choice.options)) {
      choice.replaceChildren(...options);
    }
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
      onBreak: () => this.#poll(),
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
    notify(`${format.capitalized(title(job))} has ended: ${outcomeText(job)}.`);
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
    byID("job-title").textContent = `${format.capitalized(title(job))}, ${stateText(job)}`;
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
      notify(`${format.capitalized(title(job))} runs again.`);
      this.#update(job);
      this.#follow();
    } catch (error) {
      notify(error.message, "error");
    } finally {
      byID("job-retry").disabled = false;
    }
  }
}

/** The job of a number; none if it was removed. */
async function jobsOf(id) {
  try {
    return [await requestJSON(`/api/jobs/${encodeURIComponent(id)}`)];
  } catch (error) {
    if (error.status === 404) {
      return [];
    }
    throw error;
  }
}

function haveSameTexts(some, others) {
  return some.length === others.length
    && some.every(({ value, text }, i) => value === others[i].value && text === others[i].text);
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
