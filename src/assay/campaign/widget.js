// One item at a time in a notebook. What an item holds is hostile: it becomes text, never markup.
// An answer is sent at once, and again with the same key until the kernel has said what became of
// it: the page forgets nothing that it has not heard of.

const SETTLE = 150; // ms in which a new item takes no answer that was meant for the last one
const DOUBLE_CLICK = 350; // ms; the second half of a double click is no answer to the next item
const SEND_AGAIN = 15_000; // ms without a word from the kernel
const LOOK_AGAIN = 5_000; // ms, while there is nothing for this reviewer
const RENEW = 200_000; // ms; a third of the time for which nobody else is given the items

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children); // texts become text nodes
  return made;
}

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Where the keyboard's letters are not Latin, the place of the key tells which one is meant.
function letter(event) {
  const place = /^Key([A-Z])$/.exec(event.code);
  const latin = /^[\x20-\x7e]$/.test(event.key);
  return (latin || !place ? event.key : place[1]).toLowerCase();
}

function itemNode(item) {
  const list = element("dl");
  for (const [name, value] of item.fields) {
    const [term, text] = [element("dt", "", name), element("dd", "", value || "(empty)")];
    for (const node of [term, text]) node.dir = "auto";
    text.lang = ""; // nobody knows; a reader must not take it for English
    list.append(term, text);
  }
  if (item.fields.length === 0) list.append(element("dd", "", `Item ${item.id}`));
  return list;
}

function render({ model, el }) {
  const words = model.get("words");
  let queue = []; // the first is shown
  let given = []; // what undo takes back: {key, item}
  let waiting = []; // submits without a receipt, oldest first
  let refused = []; // what was not taken, in words
  let turn = null; // the kernel's last word
  let number = 0; // of the last message that was sent
  let sent = null; // {number, at} of the message that waits for its reply
  let heard = 0; // when the kernel last said something
  let shown = null;
  let shownAt = 0;
  let error = "";
  let pause = 0; // after an error nothing is sent before this moment
  const tried = new Set(); // keys that were sent, whatever became of them
  const acted = new Map(); // item -> number of the last message before something was said of it

  const question = element("p", "assay-question", words.question);
  question.dir = "auto";
  const item = element("div", "assay-item");
  item.tabIndex = 0; // a long text is scrolled with the keyboard
  item.setAttribute("aria-live", "polite");
  const buttons = element("div", "assay-buttons");
  const foot = element("p", "assay-foot");
  const trouble = element("p", "assay-foot assay-trouble");
  trouble.setAttribute("role", "status");
  const root = element("div", "assay-label", question, item, buttons, foot, trouble);
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `Label as ${words.reviewer}`);
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab: "c" is no copy of the cell here
  const actions = new Map(); // key -> {button, act}

  function bind(key, label, act) {
    const button = element("button", "", label, element("kbd", "", key));
    button.type = "button";
    button.addEventListener("click", (event) => {
      const wait = event.detail > 0 ? DOUBLE_CLICK : SETTLE; // 0: pressed with a key
      if (performance.now() - shownAt >= wait) act();
      // A button that was clicked must not stay the one that Enter presses, nor keep the keys.
      if (event.detail > 0 || button.disabled) root.focus({ preventScroll: true });
    });
    actions.set(key, { button, act });
    buttons.append(button);
    return button;
  }

  const answers = [
    bind("y", words.yes, () => answer("yes")),
    bind("n", words.no, () => answer("no")),
    bind("c", "Cannot judge", () => answer("cannot judge")),
    bind("s", "Skip", () => answer("skip")),
  ];
  const undoButton = bind("u", "Undo", undo);

  function answer(word) {
    const [now] = queue;
    if (!now) return;
    const entry = { key: randomKey(), item: now.id, answer: word };
    waiting.push(entry);
    given.push({ key: entry.key, item: now });
    acted.set(now.id, number);
    queue = queue.slice(1);
    draw();
    send();
  }

  function undo() {
    const last = given.pop();
    if (!last) return;
    const entry = waiting.find(({ key }) => key === last.key);
    if (entry && !tried.has(entry.key)) waiting = waiting.filter(({ key }) => key !== last.key);
    else waiting.push({ key: randomKey(), item: last.item.id, answer: "withdrawn" });
    acted.set(last.item.id, number);
    queue = [{ ...last.item, again: true }, ...queue.filter(({ id }) => id !== last.item.id)];
    draw();
    send();
  }

  // One message at a time; what is answered meanwhile goes with the next.
  function send() {
    const now = performance.now();
    if (now < pause || (sent && now - sent.at < SEND_AGAIN)) return;
    number += 1;
    const submits = waiting.slice(0, 100);
    for (const { key } of submits) tried.add(key);
    sent = { number, at: now };
    model.send({ turn: number, submits });
  }

  function take(news) {
    if (sent === null || news?.turn !== sent.number) return; // another view's, or too late
    const before = sent.number;
    sent = null;
    heard = performance.now();
    error = news.error ?? "";
    if (error) {
      pause = heard + SEND_AGAIN;
      return draw();
    }
    for (const receipt of news.receipts) settle(receipt);
    turn = news;
    // What was answered while the message was on its way is not shown again.
    const fresh = news.items.filter(({ id }) => !(acted.get(id) >= before));
    const [now] = queue;
    const stays = now && (now.again || fresh.some(({ id }) => id === now.id));
    queue = stays ? [now, ...fresh.filter(({ id }) => id !== now.id)] : fresh;
    draw();
    if (waiting.length > 0) send();
  }

  function settle({ key, status, message }) {
    const entry = waiting.find((each) => each.key === key);
    if (!entry) return;
    waiting = waiting.filter((each) => each !== entry);
    if (status === "saved" || status === "again") return;
    refused.push(`Item ${entry.item}, “${entry.answer}” was not taken: ${message}`);
    given = given.filter((each) => each.key !== key);
    // What cannot be taken back is not asked again.
    if (entry.answer === "withdrawn" && queue[0]?.again) queue = queue.filter(({ id }) => id !== entry.item);
  }

  function state() {
    if (turn === null) return "Waiting for the kernel …";
    if (turn.state === "done") return "Done: no more labels are needed.";
    if (turn.state === "wait") return "Nothing for you just now: others have the items.";
    return "Waiting for the next item …";
  }

  function draw() {
    const [now] = queue;
    const view = now ?? state();
    if (view !== shown) {
      shown = view;
      shownAt = performance.now();
      item.replaceChildren(now ? itemNode(now) : element("p", "", view));
      item.scrollTop = 0;
    }
    for (const button of answers) button.disabled = !now;
    undoButton.disabled = given.length === 0;
    const most = turn?.budget ? ` of at most ${turn.budget.toLocaleString("en")}` : "";
    const counts = turn
      ? `You ${turn.yours.toLocaleString("en")} · team ${turn.team.toLocaleString("en")}${most} · `
      : "";
    const late = sent && performance.now() - sent.at > 3000;
    const slow = late ? ": the kernel is busy or was stopped" : "";
    foot.textContent =
      waiting.length > 0 ? `${counts}${waiting.length} not saved yet${slow}` : `${counts}all saved`;
    trouble.textContent = error || refused.at(-1) || "";
    trouble.hidden = !trouble.textContent;
  }

  function pressed(event) {
    event.stopPropagation(); // a notebook has keys of its own
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
    const action = actions.get(letter(event));
    if (!action || action.button.disabled) return;
    event.preventDefault();
    if (performance.now() - shownAt >= SETTLE) action.act();
  }

  // Somebody is back after a while: the queued items may have been given to others.
  function back() {
    if (turn && performance.now() - heard > RENEW) send();
  }

  root.addEventListener("keydown", pressed);
  root.addEventListener("pointerenter", back);
  root.addEventListener("focusin", back);
  model.on("msg:custom", take);
  const timer = setInterval(() => {
    const seen = document.visibilityState === "visible";
    const idle = queue.length === 0 && turn?.state !== "done";
    if (sent || waiting.length > 0) send(); // again, where nothing was heard for long
    else if (seen && idle && performance.now() - heard > LOOK_AGAIN) send();
    draw();
  }, 1000);
  el.append(root);
  draw();
  send();
  return () => {
    clearInterval(timer);
    model.off("msg:custom", take);
  };
}

export default { render };
