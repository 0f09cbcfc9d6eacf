// One item at a time: what is shown, what a key or button does to it, and what the page says of it.

import { Chooser } from "./classes.js";
import { Comment } from "./comment.js";
import { Goal } from "./goal.js";
import { itemNode } from "./item.js";
import { Keys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Picked } from "./picked.js";
import { Sender } from "./sender.js";
import { savedState, showAside, showStopped } from "./state.js";

const QUEUED = 3; // the item that is shown and two more, so that the next appears at once
const READ_ALOUD = 300; // characters of an item that a screen reader reads at once
const LOOK_AGAIN = 4_000; // ms, while there is nothing for this reviewer
const VIEWS = ["item", "view-loading", "view-offline", "view-wait", "view-done"];

const byId = (id) => document.getElementById(id);
const { campaign, campaignId, person, lease, budget } = byId("review").dataset;

const outbox = new Outbox(campaign, campaignId, person);
const goal = new Goal(campaignId, person);
const keys = new Keys();
const sender = new Sender({
  outbox,
  introduction: { campaign, campaign_id: campaignId, reviewer: person },
  wanted: QUEUED,
  onTurn: takeTurn,
  onChange: render,
});

const drafts = new Map(); // item -> what is written beside it and was not sent yet
const comment = new Comment({
  leave: () => byId("item").focus({ preventScroll: true }),
  written: (text) => drafts.set(queue[0]?.item.id, text),
});

const buttons = [...document.querySelectorAll("[data-answer]")];
const picks = new Map(); // item -> the classes that are chosen of it, and were not sent yet
const picked = byId("picked") && new Picked({
  buttons,
  send: answer,
  changed: (names) => picks.set(queue[0]?.item.id, names),
  announce,
});
const chooser = byId("classes") && new Chooser({
  place: [campaignId, person],
  others: buttons,
  choose: answer,
  several: picked,
  leave: () => byId("item").focus({ preventScroll: true }),
  settled: (event) => keys.settled(event),
});

let queue = []; // {item, node}; the first is shown
let given = []; // what undo takes back: {key, card}
let turn = null; // the server's last word
let shown = null; // the card or view on the screen
let trouble = false;
let reachedBefore = null; // the goal for today, when it was last looked at
let tall = false; // an item was not short
let timer = 0;
let seen = performance.now(); // when somebody last did something at this page
let renewed = 0; // when the server last heard that the queued items are still wanted
let away = false; // nobody was here: the queued items may have been given to others meanwhile
const acted = new Map(); // item -> when something was last said of it, here or in another tab

// What people do --------------------------------------------------------------------------------

function answer(word) {
  const [card] = queue;
  if (!card) return;
  const written = word === "skip" ? "" : comment.take();
  if (written === null) return;
  const entry = outbox.put(card.item.id, word, written); // before anything else
  given.push({ key: entry.key, card, written, names: picks.get(card.item.id) });
  if (word !== "skip") drafts.delete(card.item.id);
  if (word !== "skip") picks.delete(card.item.id);
  acted.set(card.item.id, performance.now());
  queue.shift();
  render();
  sender.wake();
}

function undo() {
  const last = given.pop();
  if (!last) return;
  if (!outbox.drop(last.key)) outbox.put(last.card.item.id, "withdrawn");
  if (last.written) drafts.set(last.card.item.id, last.written);
  if (last.names) picks.set(last.card.item.id, last.names);
  queue = [{ ...last.card, again: true }, ...without(queue, last.card.item.id)];
  announce("Your answer is taken back. The item is shown again.");
  render();
  sender.wake();
}

for (const button of buttons) {
  const word = button.dataset.answer;
  keys.bind(button.dataset.key, button, () => (picked?.takes(word) ? picked.toggle(word) : answer(word)));
}
if (picked) keys.bind("enter", byId("send"), () => picked.send());
if (chooser) keys.bind("t", byId("class-open"), () => chooser.toggle(), { settles: false });
keys.bind("u", byId("undo"), undo);
keys.bind("w", byId("comment-open"), () => comment.open(), { settles: false });
keys.bind("?", byId("help-open"), () => byId("help").showModal(), { settles: false });
keys.bind("g", byId("goal-open"), () => {
  byId("help").showModal();
  byId("goal-number").focus();
}, { settles: false });
byId("goal-number").addEventListener("input", (event) => {
  goal.set(Math.trunc(Number(event.target.value)));
  renderProgress();
});
byId("keys-on").addEventListener("change", (event) => {
  keys.enabled = event.target.checked;
});
byId("resume").addEventListener("click", () => sender.wake({ now: true }));

// What the server says --------------------------------------------------------------------------

function takeTurn(news, started) {
  turn = news;
  // While the answer was on its way, people went on: what they answered since is not shown again.
  const fresh = news.items.filter((item) => !(acted.get(item.id) > started));
  const known = new Map(queue.map((card) => [card.item.id, card]));
  const cards = fresh.map((item) => known.get(item.id) ?? { item, node: itemNode(item) });
  const [now] = queue;
  const listed = now && cards.some((card) => card.item.id === now.item.id);
  const stays = now && (now.again || (news.state !== "done" && !away));
  const keep = listed || (stays && !outbox.isAside(now.item.id, "withdrawn"));
  renewed = started;
  away = false;
  queue = keep ? [now, ...without(cards, now.item.id)].slice(0, QUEUED) : cards;
  render();
  const pause = queue.length === 0 && news.state === "wait" ? LOOK_AGAIN : (1000 * lease) / 3;
  clearTimeout(timer);
  timer = setTimeout(lookAgain, pause);
}

// Also renews the leases of the queued items. A page that nobody sees, or that was left open,
// lets them run out: others would wait for its items for ever.
function lookAgain() {
  const used = queue.length === 0 || seen > renewed;
  if (used && document.visibilityState === "visible") sender.wake();
  else away = true;
}

function somebodyIsHere() {
  const back = away && seen <= renewed;
  seen = performance.now();
  if (back) sender.wake();
}

for (const sign of ["keydown", "pointerdown", "pointermove", "touchstart", "wheel", "scroll"]) {
  window.addEventListener(sign, somebodyIsHere, { capture: true, passive: true });
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible") return;
  seen = performance.now();
  sender.wake({ now: true });
});
window.addEventListener("online", () => {
  if (sender.state !== "idle") sender.wake({ now: true });
});
window.addEventListener("beforeunload", (event) => {
  if (outbox.waiting().length > 0) event.preventDefault();
});
outbox.onOtherTab((entry) => {
  acted.set(entry.item, performance.now());
  if (entry.answer !== "withdrawn") queue = without(queue, entry.item);
  if (queue.length === 0) sender.wake();
}, render);

function without(cards, id) {
  return cards.filter((card) => card.item.id !== id);
}

// What is seen ----------------------------------------------------------------------------------

function render() {
  const [card] = queue;
  const now = card ?? viewWithoutItem();
  if (now !== shown) show(now, card);
  for (const button of buttons) button.disabled = !card;
  picked?.disable(!card);
  byId("comment-open").disabled = !card;
  byId("undo").disabled = given.length === 0;
  renderProgress();
  renderSaved();
  showAside(byId("aside"), outbox, render);
  showStopped(byId("stopped"), sender, outbox.waiting().length);
}

function viewWithoutItem() {
  if (sender.state === "pausing" || sender.state === "stopped") return "view-offline";
  if (turn === null || (turn.items.length > 0 && sender.state === "sending")) return "view-loading";
  if (turn.state === "done") return "view-done";
  return turn.state === "wait" ? "view-wait" : "view-loading";
}

function show(now, card) {
  const first = shown === null;
  shown = now;
  const id = card ? "item" : now;
  for (const view of VIEWS) byId(view).hidden = view !== id;
  comment.show(drafts.get(card?.item.id) ?? "");
  picked?.show(picks.get(card?.item.id) ?? []);
  chooser?.shown(Boolean(card));
  if (card) {
    fitFrame();
    byId("item-name").textContent = `Item ${card.item.id}`;
    byId("item-body").replaceChildren(card.node);
    byId("item").scrollTop = 0;
    window.scrollTo(0, 0); // on a low screen it is the page that scrolls
    keys.shown();
  }
  if (chooser?.keeps) announce(byId("item").innerText.slice(0, READ_ALOUD));
  else if (!first || card) byId(id).focus({ preventScroll: true });
}

// Beside a list of classes there is no room to save. Where all items are short, the answers are right
// below them. From the first item that is not, they are at the end of the screen, and stay there.
function fitFrame() {
  tall ||= chooser || queue.some(({ node }) => !node.classList.contains("fields-short"));
  byId("review").classList.toggle("compact", !tall);
}

// Whether the item goes on below what is seen of it.
function lookBelow() {
  const frame = byId("item");
  byId("more").hidden = frame.scrollHeight - frame.clientHeight - frame.scrollTop <= 1;
}

function renderProgress() {
  if (turn === null) return;
  const most = budget ? ` of at most ${number(budget)}` : "";
  byId("progress").textContent = `You ${number(turn.yours)} · team ${number(turn.team)}${most}`;
  if (budget) byId("bar").value = turn.team;
  renderGoal();
}

function renderGoal() {
  const done = goal.done(turn.yours);
  const wanted = goal.wanted;
  byId("today").hidden = wanted === 0;
  byId("today-words").textContent = `Today ${number(done)} of ${number(wanted)}${done >= wanted ? ": your goal" : ""}`;
  byId("today-bar").max = Math.max(wanted, 1);
  byId("today-bar").value = Math.min(done, wanted);
  if (document.activeElement !== byId("goal-number")) byId("goal-number").value = wanted || "";
  const reached = wanted > 0 && done >= wanted;
  if (reached && reachedBefore === false) announce(`Your goal for today, ${number(wanted)}, is reached.`);
  reachedBefore = reached;
}

function number(value) {
  return Number(value).toLocaleString("en");
}

function renderSaved() {
  const now = savedState(sender, outbox, turn !== null);
  byId("saved").dataset.state = now.state;
  byId("saved-sign").textContent = now.sign;
  byId("saved-words").textContent = now.words;
  byId("saved-until").textContent = now.until;
  // Every answer said aloud as saved would talk over the items; trouble and its end are news.
  if (now.state !== "busy" && trouble !== (now.state === "trouble")) {
    trouble = !trouble;
    announce(now.words);
  }
}

function announce(words) {
  byId("announce").textContent = words;
}

byId("item").addEventListener("scroll", lookBelow, { passive: true });
const sizes = new ResizeObserver(lookBelow);
for (const id of ["item", "item-body"]) sizes.observe(byId(id));
byId("more").addEventListener("click", () => {
  byId("item").scrollBy(0, 0.8 * byId("item").clientHeight);
  byId("item").focus({ preventScroll: true });
});
setInterval(() => {
  if (sender.state === "pausing") renderSaved(); // the seconds until the next attempt
}, 1000);
// Beside the item there is room for them; below it they open when asked for.
if (window.matchMedia("(min-width: 60.01rem)").matches) byId("guidelines")?.setAttribute("open", "");
sender.wake();
