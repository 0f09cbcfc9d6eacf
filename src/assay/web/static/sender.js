// Takes answers from the outbox to the server, again and again until it has acknowledged them, and
// brings back what to show next.

import { here } from "./here.js";

const PAUSES = [1, 2, 4, 8]; // seconds between attempts
const TOGETHER = 20; // answers in one request
const PATIENCE = 20_000; // ms; an answer that did arrive is known by its key when it is sent again

export class Sender {
  // "idle", "sending", "pausing" (until `until`, because of `why`), or "stopped" (because of `why`)
  state = "idle";
  why = "";
  until = 0;

  #outbox;
  #introduction;
  #wanted;
  #onTurn;
  #onChange;
  #failures = 0;
  #together = TOGETHER;
  #again = false;
  #timer = 0;

  // introduction: who this page thinks it speaks for; the server refuses when that is not so
  constructor({ outbox, introduction, wanted, onTurn, onChange }) {
    this.#outbox = outbox;
    this.#introduction = introduction;
    this.#wanted = wanted;
    this.#onTurn = onTurn;
    this.#onChange = onChange;
  }

  // There is something to send or to ask for. A pause is waited for, unless `now`.
  wake({ now = false } = {}) {
    if (this.state === "sending") {
      this.#again = true;
    } else if (now || this.state === "idle") {
      clearTimeout(this.#timer);
      this.#run();
    }
  }

  async #run() {
    this.#enter("sending");
    do {
      this.#again = false;
      // One tab at a time, where the browser can see to that; the keys make doubles harmless.
      const lock = `assay ${JSON.stringify(this.#introduction)}`;
      if (navigator.locks) await navigator.locks.request(lock, () => this.#exchange());
      else await this.#exchange();
    } while (this.state === "sending" && (this.#again || this.#outbox.waiting().length > 0));
    if (this.state === "sending") this.#enter("idle");
  }

  async #exchange() {
    const started = performance.now();
    const batch = this.#outbox.waiting().slice(0, this.#together);
    this.#outbox.markSent(batch);
    let response;
    let body;
    try {
      response = await fetch(here("/api/review"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          ...this.#introduction,
          submits: batch.map(({ turn, sent, ...label }) => label), // these two are for the outbox
          want: this.#wanted,
        }),
        redirect: "error",
        signal: AbortSignal.timeout(PATIENCE),
      });
      body = await response.json();
    } catch {
      this.#pause("no connection");
      return;
    }
    if (response.ok && Array.isArray(body.receipts) && Array.isArray(body.items)) {
      this.#failures = 0;
      this.#take(batch, body.receipts);
      this.#onTurn(body, started);
    } else {
      this.#refused(response.status, batch, String(body.error ?? "the server gave no reason"));
    }
  }

  #take(batch, receipts) {
    const sent = new Map(batch.map((entry) => [entry.key, entry]));
    for (const { key, status, message } of receipts) {
      const entry = sent.get(key);
      if (!entry) continue;
      if (status === "saved" || status === "again") {
        this.#outbox.acknowledge(key);
      } else {
        this.#outbox.setAside(entry, message || status);
      }
      sent.delete(key);
    }
    if (sent.size > 0) this.#pause("the server has not said whether it has them");
    if (this.#outbox.waiting().length === 0) this.#together = TOGETHER;
  }

  #refused(status, batch, message) {
    if (status === 401) {
      this.#enter("stopped", "logged out");
    } else if (status === 403 || status === 409) {
      this.#enter("stopped", message);
    } else if ((status === 413 || status === 422) && batch.length > 0) {
      // One bad answer must not keep the others back: they go one by one until it is found.
      if (batch.length === 1) this.#outbox.setAside(batch[0], message);
      this.#together = 1;
      this.#onChange();
    } else {
      this.#pause(message);
    }
  }

  #pause(why) {
    const seconds = PAUSES[Math.min(this.#failures, PAUSES.length - 1)];
    this.#failures += 1;
    this.until = Date.now() + 1000 * seconds;
    this.#timer = setTimeout(() => this.wake({ now: true }), 1000 * seconds);
    this.#enter("pausing", why);
  }

  #enter(state, why = "") {
    this.state = state;
    this.why = why;
    this.#onChange();
  }
}
