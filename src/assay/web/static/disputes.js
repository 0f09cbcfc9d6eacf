// Disputes, one after the other, with the keyboard.

import { Chooser } from "./classes.js";
import { Comment } from "./comment.js";
import { here } from "./here.js";
import { itemNode } from "./item.js";
import { Keys } from "./keys.js";
import { Picked } from "./picked.js";
import { randomKey } from "./random_key.js";

const keys = new Keys();
const disputes = document.getElementById("disputes");
const buttons = [...document.querySelectorAll(".ruling")];
const later = document.getElementById("later");
const again = document.getElementById("again");
const ruled = document.getElementById("ruled");
const write = document.getElementById("comment-open");
const comment = new Comment({ leave: () => current().focus() });
const trouble = document.getElementById("trouble");
const { campaignId, person } = disputes.dataset;
const picked = document.getElementById("picked") && new Picked({ buttons, send: decide });
const chooser = document.getElementById("classes") && new Chooser({
  place: [campaignId, person],
  others: buttons,
  choose: decide,
  several: picked,
  leave: () => current().focus(),
  settled: (event) => keys.settled(event),
});

let last = null; // the case that was decided before: it can be shown again and decided otherwise
let deciding = false; // a ruling is on its way
let waiting = null; // a ruling that may not have arrived, with its key

function queue() {
  const { count, at } = document.getElementById("queue").dataset;
  return { count: Number(count), at: Number(at) };
}

function current() {
  return document.getElementById("case");
}

function itemOf(node) {
  return node.dataset.item ? JSON.parse(node.dataset.item) : null;
}

// What there is to decide has changed: fill it in, and let the keyboard and the reader be there.
function arrive({ focus = true } = {}) {
  const item = itemOf(current());
  if (item) document.getElementById("item").replaceChildren(itemNode(item));
  document.getElementById("rulings").hidden = !item;
  for (const button of [...buttons, write]) button.disabled = !item;
  picked?.disable(!item);
  if (focus) picked?.show([]);
  chooser?.shown(Boolean(item));
  later.disabled = !item || queue().count < 2;
  again.disabled = last === null;
  keys.shown();
  if (focus) {
    comment.show("");
    if (!chooser?.keeps) current().focus();
    window.scrollTo(0, 0);
  }
}

async function load(at) {
  const response = await fetch(here(`/owner/disputes?at=${at}&part=case`), { cache: "no-store" });
  if (!response.ok) throw new Error(String(response.status));
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of ["queue", "case"]) {
    document.getElementById(id).replaceWith(next.getElementById(id));
  }
  arrive();
}

async function decide(answer, called) {
  const item = itemOf(current());
  if (!item || deciding) return;
  const written = comment.take();
  if (written === null) return;
  if (waiting?.item !== item.id || waiting.answer !== answer || waiting.comment !== written) {
    waiting = { item: item.id, answer, comment: written, key: randomKey() };
  }
  busy(true);
  try {
    const response = await fetch(here("/api/ruling"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(waiting),
    });
    const reply = await response.json();
    const receipt = reply.receipt;
    if (!response.ok || (receipt.status !== "saved" && receipt.status !== "again")) {
      stay(reply.error ?? receipt.message);
      return;
    }
    trouble.hidden = true;
    ruled.hidden = false;
    ruled.textContent = `Saved: item ${shortened(item.id)} is decided: ${called}.`;
    waiting = null;
    deciding = false;
    if (disputes.dataset.back) {
      location.assign(disputes.dataset.back);
      return;
    }
    last = current().cloneNode(true);
    await load(queue().at);
  } catch {
    stay("No answer from the server: the ruling may not be saved. Press the same key again; what is sent twice counts once.");
  }
}

function stay(words) {
  trouble.hidden = false;
  trouble.textContent = words;
  busy(false);
}

function busy(yes) {
  for (const button of [...buttons, write, later, again]) button.disabled = yes;
  deciding = yes;
  if (!yes) arrive({ focus: false });
}

async function goOn() {
  const { count, at } = queue();
  try {
    await load(at < count ? at + 1 : 1);
  } catch {
    stay("No answer from the server.");
  }
}

function goBack() {
  current().replaceWith(last);
  last = null;
  document.getElementById("queue").textContent = "The last item again: change the decision, or continue";
  arrive();
  later.disabled = false;
}

function shortened(text) {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

for (const button of buttons) {
  const { answer, called } = button.dataset;
  keys.bind(button.dataset.key, button, () => (picked?.takes(answer) ? picked.toggle(answer) : decide(answer, called)));
}
if (picked) keys.bind("enter", document.getElementById("send"), () => picked.send());
if (chooser) keys.bind("t", document.getElementById("class-open"), () => chooser.toggle(), { settles: false });
keys.bind("w", write, () => comment.open(), { settles: false });
keys.bind("s", later, goOn);
keys.bind("u", again, goBack);
disputes.dataset.ready = "yes";
arrive({ focus: false });
