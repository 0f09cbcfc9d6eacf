// The dashboard that follows the campaign, and files in and out. Without it the page still tells
// all it knows, and reloads itself.

import { here } from "./here.js";
import "./hover.js";

const EVERY = 3000; // ms between looks
const SLOWEST = 60000; // ms, when the server does not answer
const BELOW = 20000; // ms between looks at what is below the first screen, which costs more

const live = document.getElementById("live");
const fresh = document.getElementById("fresh");
const freshWords = document.getElementById("fresh-words");
const result = document.getElementById("file-result");

let wait = EVERY;
let timer = 0;
let changed = false; // since the last look below
let lookedBelow = Date.now();

async function look() {
  clearTimeout(timer);
  try {
    const response = await fetch(here("/owner/live"), {
      headers: { "If-None-Match": `"${live.dataset.version}"` },
      cache: "no-store",
    });
    if (response.status === 401 || response.status === 403) {
      tell("old", "Your token is no longer valid: reload the page and log in");
      return; // asking again would not help
    }
    if (response.status !== 304) {
      if (!response.ok) throw new Error(String(response.status));
      const version = response.headers.get("ETag").replaceAll('"', "");
      show(await response.text());
      live.dataset.version = version;
      changed = true;
    }
    if (changed && Date.now() - lookedBelow >= BELOW) await lookBelow();
    wait = EVERY;
    tell("new", "Live");
  } catch {
    wait = Math.min(2 * wait, SLOWEST);
    tell("old", "No connection: these numbers may be old");
  }
  timer = setTimeout(look, document.hidden ? 10 * wait : wait);
}

async function lookBelow() {
  changed = false;
  lookedBelow = Date.now();
  const response = await fetch(here("/owner/details"), { cache: "no-store" });
  if (!response.ok) throw new Error(String(response.status));
  renew(document.getElementById("details"), await response.text());
}

function show(html) {
  renew(live, html);
  announceStop();
}

function renew(place, html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const opened = [...place.querySelectorAll("details[open]")].map((details) => details.id);
  for (const id of opened) next.getElementById(id)?.setAttribute("open", "");
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const again = focused && selectorOf(focused);
  place.replaceChildren(...next.body.childNodes);
  if (again) place.querySelector(again)?.focus({ preventScroll: true });
}

// Where the keyboard was is where it stays, although all around it is new.
function selectorOf(element) {
  if (element.id) return `#${element.id}`;
  if (element.matches("summary")) return `#${element.parentElement.id} > summary`;
  const label = element.getAttribute("aria-label");
  return label ? `[aria-label="${CSS.escape(label)}"]` : null;
}

function announceStop() {
  const title = live.querySelector(".stop .notice-title")?.textContent ?? "";
  if (title !== "" && live.dataset.stopped === "") {
    document.getElementById("announce").textContent = title;
    document.title = `${title} · ${document.title}`;
  }
  live.dataset.stopped = title;
}

function tell(state, words) {
  fresh.hidden = false;
  fresh.dataset.state = state;
  if (freshWords.textContent !== words) freshWords.textContent = words;
}

// Files ------------------------------------------------------------------------------------------

document.getElementById("upload").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const file = document.getElementById("upload-file").files[0];
  const query = new URLSearchParams({
    format: document.getElementById("upload-format").value,
    reviewer: document.getElementById("upload-reviewer").value,
    revise: document.getElementById("upload-revise").checked ? "yes" : "",
  });
  const response = await send(form, here(`/api/import?${query}`), file, "application/octet-stream");
  if (!response) return;
  const reply = await response.json();
  const parts = [
    [reply.new, "new"],
    [reply.revised, "revised"],
    [reply.unchanged, "already recorded"],
    [reply.without_label, "without an answer"],
    [reply.skipped, "skipped"],
    [reply.spare, "spare"],
  ];
  const words = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  report("good", `Recorded (${reply.format})`, [result], words.join(", ") || "the file has no answers");
  form.reset();
  look();
});

// A form that saves a file works by itself; this way it can also say what went wrong.
document.getElementById("batch-out").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const body = new URLSearchParams(new FormData(form));
  const response = await send(form, form.action, body, "application/x-www-form-urlencoded");
  if (!response) return;
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition"))?.[1];
  const count = Number(response.headers.get("X-Assay-Count"));
  if (count === 0) {
    report("warn", "No items", [result], "no item is waiting for a label right now");
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name ?? "batch";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  report("good", `${count === 1 ? "1 item" : `${count} items`} saved`, [result], name ?? "");
});

// The link is in this page alone, and gone when it is left.
document.getElementById("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const who = document.getElementById("invite-who").value;
  const place = document.getElementById("invite-result");
  const body = JSON.stringify({ who });
  const response = await send(form, here("/api/invite"), body, "application/json", place, "No link created");
  if (!response) return;
  const reply = await response.json();
  const alone = "Only this machine can reach this server. For others, start it with --host or behind a proxy.";
  report("good", `A link for ${reply.who}, shown once`, [place], ...(reply.alone ? [alone] : []));
  const box = place.firstChild;
  const link = document.createElement("input");
  link.readOnly = true;
  link.value = reply.link;
  link.className = "invite-link";
  link.setAttribute("aria-label", `The link for ${reply.who}`);
  link.addEventListener("focus", () => link.select());
  box.append(link);
  if (reply.qr) box.append(qrCode(reply.qr, reply.who));
  form.reset();
  link.focus();
});

function qrCode({ size, path }, who) {
  const space = "http://www.w3.org/2000/svg";
  const code = document.createElementNS(space, "svg");
  code.setAttribute("viewBox", `0 0 ${size} ${size}`);
  code.setAttribute("class", "qr");
  code.setAttribute("role", "img");
  code.setAttribute("aria-label", `The link for ${who} as a QR code`);
  const dark = document.createElementNS(space, "path");
  dark.setAttribute("d", path);
  code.append(dark);
  return code;
}

async function send(form, address, body, type, place = result, failed = "Nothing was recorded") {
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const response = await fetch(address, {
      method: "POST", body, headers: { "Content-Type": type },
    });
    if (response.ok) return response;
    const { error, details, hint } = await response.json();
    report("bad", failed, [place], error, details, hint && `Hint: ${hint}`);
  } catch {
    report("bad", "No answer from the server", [place], "Try again: what is sent twice counts once.");
  } finally {
    button.disabled = false;
    button.focus({ preventScroll: true });
  }
  return null;
}

function report(tone, title, [place], ...lines) {
  const box = document.createElement("div");
  box.className = `notice notice-${tone}`;
  for (const [place, text] of [title, ...lines].entries()) {
    if (!text) continue;
    const line = document.createElement("p");
    line.className = place === 0 ? "notice-title" : "preserve";
    line.textContent = text;
    box.append(line);
  }
  place.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
timer = setTimeout(look, EVERY);
tell("new", "Live");
