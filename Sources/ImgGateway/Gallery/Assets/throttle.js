/** Performs an action at each call, with a pause behind it. Calls until its end perform it once more. */
export class Throttle {
  #action;
  #pause;
  #isBusy = false;
  #isCalled = false;

  /**
   * @param {() => Promise<void>} action throws no error
   * @param {number} pause in milliseconds
   */
  constructor(action, pause) {
    this.#action = action;
    this.#pause = pause;
  }

  async call() {
    if (this.#isBusy) {
      this.#isCalled = true;
      return;
    }
    this.#isBusy = true;
    this.#isCalled = false;
    await this.#action();
    setTimeout(() => {
      this.#isBusy = false;
      if (this.#isCalled) {
        this.call();
      }
    }, this.#pause);
  }
}
