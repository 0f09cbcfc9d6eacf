// One class out of many: a box to type in, and a list that it filters (the combobox of ARIA).
//
// The classes come once, with the page, in the order of the vocabulary. Nothing of an item has a
// part in what is listed or where: only what this reviewer typed, and chose before.

import { element } from "./rich.js";
import { indexed, search } from "./search.js";

const PART = 100; // options that are made at a time
const RECENT = 5; // classes that were chosen last
// Beside the item there is room for the list; otherwise it opens when asked for.
const BESIDE = window.matchMedia("(min-width: 60.01rem) and (min-height: 34rem)");
const FINGERS = window.matchMedia("(pointer: coarse)");

const byId = (id) => document.getElementById(id);

export class Chooser {
  #root = byId("classes");
  #box = byId("class-text");
  #button = byId("class-open");
  #list = byId("class-list");
  #index;
  #classes;
  #others;
  #place;
  #recent;
  #choose;
  #leave;
  #settled;
  #several;
  #entries = []; // all that is listed: {title, entry}
  #options = []; // those of them that there are elements of: {node, entry}
  #active = -1;
  #opened = false;

  // place: where this browser keeps what was chosen last; others: buttons of other answers;
  // choose: receives an answer and its name; leave: puts the keyboard to where single keys answer;
  // settled: tells of an event whether what is seen has been there long enough to be meant;
  // several: what is chosen so far, where an item may have several classes
  constructor({ place, others, choose, leave, settled, several = null }) {
    const entries = JSON.parse(this.#root.dataset.classes).map(([name, aliases, guideline]) => {
      return { answer: name, name, aliases, guideline, isClass: true };
    });
    this.#several = several;
    this.#index = indexed(entries);
    this.#classes = new Map(entries.map((entry) => [entry.name, entry]));
    this.#list.ariaMultiSelectable = String(several !== null);
    this.#others = indexed(others.map((button) => {
      const name = button.querySelector("span").textContent;
      return { answer: button.dataset.answer, name, aliases: [], guideline: "" };
    }));
    this.#place = `assay classes ${JSON.stringify(place)}`;
    this.#recent = this.#remembered();
    [this.#choose, this.#leave, this.#settled] = [choose, leave, settled];
    this.#box.addEventListener("input", () => this.#fill());
    this.#box.addEventListener("focus", () => this.#show(true));
    this.#root.addEventListener("focusout", (event) => {
      const next = event.relatedTarget;
      // What sends several classes must not move away under the finger that presses it.
      const within = this.#root.contains(next) || byId("picked")?.contains(next);
      if (next && !within) this.#show(false);
    });
    this.#root.addEventListener("keydown", (event) => this.#pressed(event));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    this.#list.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // A press on the list must not take the keyboard from the box.
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
    BESIDE.addEventListener("change", () => this.#render());
    for (const sign of ["resize", "scroll"]) {
      window.visualViewport?.addEventListener(sign, () => this.#fit());
    }
    this.#fill();
    this.#render();
  }

  // Whether the keyboard is here, and stays for the next item. On a screen for fingers it does not:
  // its keyboard would hide what is to be read.
  get keeps() {
    return document.activeElement === this.#box && !FINGERS.matches;
  }

  toggle() {
    if (this.#opened) {
      this.#close();
      return;
    }
    this.#show(true);
    if (FINGERS.matches) this.#list.focus({ preventScroll: true });
    else this.#box.focus({ preventScroll: true });
  }

  // Another item is shown, or none.
  shown(there) {
    this.#box.disabled = !there;
    this.#button.disabled = !there;
    this.#box.value = "";
    if (!this.keeps) this.#show(false);
    this.#fill();
  }

  #pressed(event) {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      event.preventDefault();
      this.#show(true);
      this.#activate(Math.min(Math.max(this.#active + step, 0), this.#entries.length - 1));
    } else if (event.key === "Enter" && event.target !== this.#button) {
      event.preventDefault();
      if (event.repeat || !this.#settled(event)) return;
      if (this.#active >= 0) this.#take(this.#active);
      else if (this.#box.value.trim() === "") this.#several?.send(); // all that was chosen
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (this.#box.value === "") this.#close();
      this.#box.value = "";
      this.#fill();
    }
  }

  #clicked(event) {
    const node = event.target.closest("[role=option]");
    const at = this.#options.findIndex((option) => option.node === node);
    if (at >= 0 && this.#settled(event)) this.#take(at);
  }

  #scrolled() {
    const left = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight;
    if (left < 2 * this.#list.clientHeight) this.#more();
  }

  #take(at) {
    const { answer, name, isClass } = this.#options[at].entry;
    if (isClass) this.#remember(name);
    if (isClass && this.#several) {
      const top = this.#list.scrollTop;
      const typed = this.#box.value !== "";
      this.#several.toggle(name);
      this.#box.value = "";
      this.#fill();
      if (!typed) this.#list.scrollTop = top;
      return;
    }
    this.#choose(answer, name);
  }

  #close() {
    this.#show(false);
    this.#leave();
  }

  // What is listed ------------------------------------------------------------------------------

  // Only what is near is made into elements: a thousand of them would take longer than a key.
  #fill() {
    const typed = this.#box.value.trim();
    const matches = search(this.#index, typed);
    const others = search(this.#others, typed);
    const recent = this.#recent.map((name) => this.#classes.get(name)).filter(Boolean);
    // Where nothing is found, other answers are what is left to say.
    const left = matches.length > 0 || others.length > 0 ? others : search(this.#others, "");
    const groups = [
      { title: "Recently used", entries: typed === "" ? recent : [] },
      { title: typed === "" ? "All classes" : "", entries: matches },
      { title: "Or", entries: left },
    ];
    this.#entries = groups.flatMap(({ title, entries }) => entries.map((entry) => ({ title, entry })));
    this.#options = [];
    this.#list.replaceChildren();
    this.#list.scrollTop = 0;
    this.#more();
    this.#tell(typed, matches.length);
    this.#activate(typed === "" ? -1 : 0);
  }

  #more() {
    const from = this.#options.length;
    for (const [step, { title, entry }] of this.#entries.slice(from, from + PART).entries()) {
      const before = this.#entries[from + step - 1];
      if (!before || before.title !== title) this.#list.append(groupNode(title));
      const node = optionNode(entry, entry.isClass && this.#several?.has(entry.name));
      node.id = `class-${from + step}`;
      node.setAttribute("aria-posinset", String(from + step + 1));
      node.setAttribute("aria-setsize", String(this.#entries.length));
      this.#options.push({ node, entry });
      this.#list.lastElementChild.append(node);
    }
  }

  #tell(typed, matching) {
    const all = number(this.#index.length);
    const of = typed === "" ? `${all} classes` : `${number(matching)} of ${all} classes`;
    byId("class-count").textContent = matching > 0 ? of : "No class has this name or a similar one";
  }

  #activate(at) {
    this.#options[this.#active]?.node.setAttribute("aria-selected", "false");
    while (at >= this.#options.length && this.#options.length < this.#entries.length) this.#more();
    this.#active = at < this.#options.length ? at : -1;
    const option = this.#options[this.#active];
    option?.node.setAttribute("aria-selected", "true");
    if (option) {
      this.#box.setAttribute("aria-activedescendant", option.node.id);
      this.#list.setAttribute("aria-activedescendant", option.node.id);
      option.node.scrollIntoView({ block: "nearest" });
    } else {
      this.#box.removeAttribute("aria-activedescendant");
      this.#list.removeAttribute("aria-activedescendant");
    }
  }

  // Whether it can be seen ----------------------------------------------------------------------

  #show(opened) {
    if (this.#opened === opened) return;
    this.#opened = opened;
    this.#render();
  }

  #render() {
    const seen = this.#opened || BESIDE.matches;
    this.#box.setAttribute("aria-expanded", String(seen));
    this.#button.setAttribute("aria-expanded", String(seen));
    this.#button.textContent = this.#opened ? "Close" : "List";
    this.#list.hidden = !seen;
    document.body.classList.toggle("choosing", this.#opened && !BESIDE.matches);
    this.#fit();
  }

  // What a keyboard on the screen leaves of it is all there is for the item and the list.
  #fit() {
    const seen = window.visualViewport;
    if (!seen || !document.body.classList.contains("choosing")) return;
    document.body.style.setProperty("--seen-height", `${seen.height}px`);
    document.body.style.setProperty("--seen-top", `${seen.offsetTop}px`);
  }

  // What was chosen last ------------------------------------------------------------------------

  #remember(name) {
    this.#recent = [name, ...this.#recent.filter((other) => other !== name)].slice(0, RECENT);
    try {
      localStorage.setItem(this.#place, JSON.stringify(this.#recent));
    } catch {
      // It is known until the page is closed.
    }
  }

  #remembered() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.#place));
      return Array.isArray(kept) ? kept.slice(0, RECENT) : [];
    } catch {
      return [];
    }
  }
}

function groupNode(title) {
  const group = element("div", "class-group");
  group.role = "group";
  if (title === "") return group;
  const heading = element("p", "class-title", title);
  heading.setAttribute("aria-hidden", "true");
  group.setAttribute("aria-label", title);
  group.append(heading);
  return group;
}

function optionNode({ name, aliases, guideline }, chosen) {
  const node = element("div", chosen ? "class-option chosen" : "class-option");
  node.role = "option";
  node.setAttribute("aria-selected", "false");
  const first = element("span", "class-name", name);
  const words = element("span", "class-words", aliases.join(", "));
  const line = element("span", "class-line", guideline.trim());
  for (const part of [first, words, line]) part.dir = "auto";
  node.append(element("span", "class-first", first, ...(aliases.length > 0 ? [" ", words] : [])));
  if (guideline) node.append(line);
  const label = [chosen ? `${name}, chosen` : name, firstLine(guideline)];
  node.setAttribute("aria-label", label.filter(Boolean).join(": "));
  return node;
}

function firstLine(text) {
  return text.trim().split("\n", 1)[0];
}

function number(value) {
  return value.toLocaleString("en");
}
