// Answers that the server has not acknowledged yet, kept in this browser.
//
// Every answer has a place of its own in localStorage: two tabs that write at once cannot overwrite
// each other's, as they would in one shared list.

import { randomKey } from "./random_key.js";

export class Outbox {
  #waiting;
  #aside;
  #memory = new Map(); // for a browser that keeps nothing, or has no room left
  #lastTurn = 0;

  // owner: texts that tell whose answers these are, and to which campaign. Its name alone would not
  // do: the same address may serve another campaign of the same name tomorrow.
  constructor(...owner) {
    const whose = `assay ${JSON.stringify(owner)}`;
    this.#waiting = `${whose} waiting `;
    this.#aside = `${whose} aside `;
  }

  // Whether all that waits would survive if this page were closed.
  get durable() {
    return this.#memory.size === 0;
  }

  // The answers to send, in the order in which they were given.
  waiting() {
    return this.#list(this.#waiting);
  }

  // The answers that the server did not take, which a person should know of.
  aside() {
    return this.#list(this.#aside);
  }

  isAside(item, answer) {
    return this.aside().some((entry) => entry.item === item && entry.answer === answer);
  }

  put(item, answer, comment = "") {
    // Not the time alone: a clock that is set back must not let a withdrawal overtake its answer.
    const last = Math.max(this.#lastTurn, ...this.waiting().map((entry) => entry.turn));
    this.#lastTurn = Math.max(Date.now(), last + 1);
    const entry = { key: randomKey(), item, answer, comment, turn: this.#lastTurn, sent: false };
    this.#write(this.#waiting, entry);
    return entry;
  }

  // Marked before they leave: from then on nobody knows whether the server has them.
  markSent(entries) {
    for (const entry of entries) {
      if (!entry.sent && this.#read(this.#waiting + entry.key)) {
        this.#write(this.#waiting, { ...entry, sent: true });
      }
    }
  }

  // Forget an answer that has never left this browser; tell whether it could be done.
  drop(key) {
    const entry = this.#read(this.#waiting + key);
    if (!entry || entry.sent) return false;
    this.#remove(this.#waiting + key);
    return true;
  }

  acknowledge(key) {
    this.#remove(this.#waiting + key);
  }

  // Kept before it is taken from the queue, so that it is never in neither place.
  setAside(entry, message) {
    this.#write(this.#aside, { ...entry, message });
    this.#remove(this.#waiting + entry.key);
  }

  dismiss(key) {
    this.#remove(this.#aside + key);
  }

  // Call back with what another tab has put here, and after anything else that it did.
  onOtherTab(put, changed) {
    window.addEventListener("storage", (event) => {
      if (event.key?.startsWith(this.#waiting) && event.newValue && !event.oldValue) {
        const entry = parsed(event.newValue);
        if (entry) put(entry);
      }
      changed();
    });
  }

  #list(prefix) {
    const names = new Set(this.#memory.keys());
    try {
      for (let i = 0; i < localStorage.length; i += 1) names.add(localStorage.key(i));
    } catch {
      // What is in memory is all there is.
    }
    return [...names]
      .filter((name) => name.startsWith(prefix))
      .map((name) => this.#read(name))
      .filter((entry) => entry !== null)
      .sort((one, other) => one.turn - other.turn);
  }

  #read(name) {
    if (this.#memory.has(name)) return this.#memory.get(name);
    try {
      return parsed(localStorage.getItem(name));
    } catch {
      return null;
    }
  }

  #write(prefix, entry) {
    try {
      localStorage.setItem(prefix + entry.key, JSON.stringify(entry));
    } catch {
      this.#memory.set(prefix + entry.key, entry);
    }
  }

  #remove(name) {
    this.#memory.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // It was in memory only.
    }
  }
}

function parsed(text) {
  try {
    const entry = JSON.parse(text);
    return entry && typeof entry.key === "string" && typeof entry.turn === "number" ? entry : null;
  } catch {
    return null;
  }
}
