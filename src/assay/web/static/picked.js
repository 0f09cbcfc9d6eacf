// Several classes of one item: what is chosen of them, until it is sent together.
//
// Where each has a button, the button is pressed while its class is chosen; of many, those that are
// chosen stand above the list. Nothing is sent before somebody says so.

import { element } from "./rich.js";

const byId = (id) => document.getElementById(id);

export class Picked {
  #names = new Set();
  #order; // the classes as the vocabulary has them: a set is written in one way
  #buttons;
  #send;
  #changed;
  #announce;

  // buttons: those of all answers; send: receives an answer and its name; changed: receives the
  // classes that are chosen now; announce: says something aloud
  constructor({ buttons, send, changed = () => {}, announce = () => {} }) {
    this.#order = JSON.parse(byId("picked").dataset.names);
    this.#buttons = new Map();
    for (const button of buttons) {
      if (this.takes(button.dataset.answer)) this.#buttons.set(button.dataset.answer, button);
    }
    [this.#send, this.#changed, this.#announce] = [send, changed, announce];
    byId("picked-list").addEventListener("click", (event) => {
      const name = event.target.closest("[data-name]")?.dataset.name;
      if (name !== undefined) this.toggle(name);
    });
    this.#render();
  }

  // Whether an answer is a class, of which there may be several.
  takes(answer) {
    return this.#order.includes(answer);
  }

  has(name) {
    return this.#names.has(name);
  }

  toggle(name) {
    if (!this.#names.delete(name)) this.#names.add(name);
    this.#announce(`${name} ${this.has(name) ? "chosen" : "not chosen"}`);
    this.#render();
    this.#changed([...this.#names]);
  }

  // Another item is shown, of which so much was chosen before.
  show(names) {
    this.#names = new Set(names);
    this.#render();
  }

  send() {
    const names = this.#order.filter((name) => this.#names.has(name));
    if (names.length === 0) {
      this.#announce("No class is chosen. Choose one or more, or none of these.");
      return;
    }
    this.#send(names.join("|"), names.join(", "));
  }

  disable(yes) {
    byId("send").disabled = yes;
  }

  #render() {
    const names = this.#order.filter((name) => this.#names.has(name));
    for (const [name, button] of this.#buttons) {
      button.setAttribute("aria-pressed", String(this.has(name)));
    }
    const chips = this.#buttons.size > 0 ? [] : names.map(chip);
    byId("picked-list").replaceChildren(...chips);
    const words = names.length === 1 ? "1 class chosen" : `${names.length} classes chosen`;
    byId("picked-count").textContent = names.length > 0 ? words : "Choose all that it has";
    byId("send").classList.toggle("button-primary", names.length > 0);
  }
}

function chip(name) {
  const node = element("button", "chip", element("span", "", name), " ", element("span", "chip-x", "×"));
  node.type = "button";
  node.dataset.name = name;
  node.firstChild.dir = "auto";
  node.setAttribute("aria-label", `Take back ${name}`);
  return node;
}
