// A comment beside an answer: a field that a key opens, and that is out of the way otherwise.

const byId = (id) => document.getElementById(id);

export class Comment {
  #box = byId("comment");
  #field = byId("comment-text");
  #wrong = byId("comment-wrong");
  #leave;

  // leave: puts the keyboard back to where single keys answer; written: receives every change
  constructor({ leave, written = () => {} }) {
    this.#leave = leave;
    this.#field.addEventListener("input", () => {
      this.#complain();
      written(this.#field.value);
    });
    this.#field.addEventListener("keydown", (event) => {
      const done = event.key === "Escape" || (event.key === "Enter" && !event.shiftKey);
      if (!done || event.isComposing) return;
      event.preventDefault();
      this.#close();
      this.#leave();
    });
  }

  open() {
    this.#box.hidden = false;
    this.#field.focus();
  }

  // Another item is shown: with what was written beside it before, or with nothing.
  show(text) {
    this.#field.value = text;
    this.#close();
    this.#complain();
  }

  // What is written; null where it cannot be sent, which is said, and the field has the keyboard.
  take() {
    if (!this.#complain()) return this.#field.value.trim();
    this.open();
    return null;
  }

  #close() {
    this.#box.hidden = this.#field.value.trim() === "";
  }

  #complain() {
    const length = [...this.#field.value].length; // as the server counts, not in halves of signs
    const most = Number(this.#field.dataset.most);
    const number = (value) => value.toLocaleString("en");
    const words = `${number(length)} characters, and at most ${number(most)} can be kept: shorten it.`;
    this.#wrong.textContent = length > most ? words : "";
    this.#field.setAttribute("aria-invalid", String(length > most));
    return length > most;
  }
}
