// Single keys that do something, and the cases in which they must not.

const SETTLE = 150; // ms in which a new item cannot be answered by a key that was meant for the last
const DOUBLE_CLICK = 350; // ms; the second half of a double click is no answer to the next item

export class Keys {
  enabled = true;
  #shownAt = 0;
  #actions = new Map(); // key -> {act, settles}

  constructor() {
    document.addEventListener("keydown", (event) => this.#pressed(event));
  }

  // Something new is to be seen.
  shown() {
    this.#shownAt = performance.now();
  }

  // Whether what is to be seen has been there for long enough to be what an event is about.
  settled(event) {
    const clicked = event.type === "click" && event.detail > 0; // 0: pressed with a key
    return performance.now() - this.#shownAt >= (clicked ? DOUBLE_CLICK : SETTLE);
  }

  // `button` and `key` both do `act`. What `settles` waits until a new item has been seen.
  bind(key, button, act, { settles = true } = {}) {
    this.#actions.set(key, { button, act, settles });
    button.addEventListener("click", (event) => {
      if (!settles || this.settled(event)) act();
    });
  }

  #pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
    if (!this.enabled || event.target.closest("input, select, textarea, dialog")) return;
    const key = letter(event);
    const action = this.#actions.get(key);
    if (!action || action.button.disabled) return;
    // Enter is a button's own; but not of one that is only pressed in and out.
    const other = event.target.closest("button:not([aria-pressed]), a, summary");
    if (key === "enter" && other) return;
    event.preventDefault();
    if (!action.settles || this.settled(event)) action.act();
  }
}

// Where the keyboard's letters are not Latin, the place of the key tells which one is meant.
function letter(event) {
  const place = /^Key([A-Z])$/.exec(event.code);
  const latin = /^[\x20-\x7e]$/.test(event.key);
  return (latin || !place ? event.key : place[1]).toLowerCase();
}
