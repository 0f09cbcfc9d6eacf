// A new campaign: a file, what its columns are for, what it will take, and go.

import { itemNode } from "./item.js";
import { copy, element } from "./rich.js";

const PAUSE = 400; // ms after the last change until the server is asked again
const NONE = "(none)";

const form = document.getElementById("campaign");
const state = document.getElementById("file-state");
const trouble = document.getElementById("trouble");
const forecast = document.getElementById("forecast");
const cautions = document.getElementById("cautions");
const columns = document.getElementById("columns");
const drop = document.getElementById("drop");
const file = document.getElementById("file");
const field = (name) => document.getElementById(name);

let found = null; // what the server proposes
let asked = 0; // changes so far: only a forecast of the last one counts
let busy = false; // the server makes a forecast
let timer = 0;

async function ask(path, body, type = "application/json") {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": type }, body });
  const answer = await response.json();
  if (response.ok) return answer;
  throw new Error([answer.error, answer.details, answer.hint].filter(Boolean).join("\n"));
}

function say(place, kind, words) {
  place.className = kind ? `notice notice-${kind} preserve` : "";
  place.textContent = words;
}

// The file --------------------------------------------------------------------------------------

async function open(words, request, then = () => {}) {
  form.hidden = true;
  say(state, "", words);
  try {
    found = await request();
  } catch (error) {
    say(state, "bad", error.message);
    return;
  }
  say(state, "", `${found.short}: ${found.columns.length} columns`);
  fill();
  then();
}

function take(chosen) {
  if (!chosen) return;
  const address = `/api/new/file?${new URLSearchParams({ name: chosen.name })}`;
  open(`Reading ${chosen.name} …`, () => ask(address, chosen, "application/octet-stream"));
}

file.addEventListener("change", () => take(file.files[0]));
for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", over);
    if (name === "drop") take(event.dataTransfer.files[0]);
  });
}
document.getElementById("by-path").addEventListener("submit", (event) => {
  event.preventDefault();
  const path = field("path").value.trim();
  openPath(path, field("table").value.trim());
});

function openPath(path, table, then) {
  open(`Reading ${path} …`, () => ask("/api/new/look", JSON.stringify({ path, table })), then);
}

// The form --------------------------------------------------------------------------------------

function fill() {
  for (const name of ["id", "score", "predicted"]) {
    const options = [NONE, ...found.columns.map((column) => column.name)].map((word) => new Option(word));
    field(name).replaceChildren(...options);
    field(name).value = found[name] ?? NONE;
  }
  field("positive").value = found.positive ?? "";
  field("threshold").value = found.threshold ?? "";
  field("name").value = nameOf(found.path);
  columns.replaceChildren(...found.columns.map(row));
  form.hidden = false;
  change();
  field("question").focus();
}

const nameOf = (path) => path.split(/[\\/]/).pop().split(".")[0];

function row(column) {
  const box = element("input");
  box.type = "checkbox";
  box.value = column.name;
  box.checked = found.show.includes(column.name);
  box.setAttribute("aria-label", `Reviewers see ${column.name}`);
  const label = element("label", "check", box);
  if (found.truth.includes(column.name)) label.append(element("span", "muted small", "may hold the answer"));
  const name = element("th", "", column.name);
  name.scope = "row";
  const line = element("tr", "", name, element("td", "example", column.examples.join(" · ")));
  line.append(element("td", "", label));
  return line;
}

const shown = () => [...columns.querySelectorAll("input:checked")].map((box) => box.value);

function wanted() {
  const given = { path: found.path, table: found.table, replaces: before?.name, show: shown() };
  for (const name of ["id", "score", "predicted", "metric"]) {
    const value = field(name).value;
    if (value !== NONE) given[name] = value;
  }
  for (const name of ["question", "name"]) given[name] = field(name).value.trim() || null;
  if (given.predicted) given.positive = field("positive").value.trim() || null;
  else given.threshold = number("threshold");
  given.within = number("within");
  return given;
}

// "5%", "0.05" and "0,05" are the same number.
function number(name) {
  const text = field(name).value.trim().replace(",", ".");
  if (text === "") return null;
  const value = Number(text.replace(/ ?%$/, "")) / (text.endsWith("%") ? 100 : 1);
  if (Number.isNaN(value)) throw new Error(`${text} is not a number, such as 0.05 or 5%`);
  return value;
}

function change() {
  const predicted = field("predicted").value !== NONE;
  field("positive-box").hidden = !predicted;
  field("threshold-box").hidden = predicted;
  field("show-warning").hidden = shown().length > 0;
  field("preview-question").textContent = field("question").value || found.question || "Is it positive?";
  const fields = shown().map((name) => ({ name, kind: "text", value: found.first[name] }));
  field("preview").replaceChildren(itemNode({ fields }));
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE);
}

// One forecast at a time: another is asked for when it is there, if something has changed since.
async function look() {
  const turn = ++asked;
  if (busy) return;
  busy = true;
  forecast.textContent = "Working out how many labels this takes …";
  say(trouble, "", "");
  try {
    const answer = await ask("/api/new/forecast", JSON.stringify(wanted()));
    if (turn !== asked) return;
    field("command").textContent = answer.command;
    field("python").textContent = answer.python;
    forecast.textContent = answer.trouble ? "" : words(answer);
    cautions.replaceChildren(...(answer.cautions ?? []).map((each) => element("li", "", each)));
    if (answer.trouble) say(trouble, "warn", answer.trouble);
  } catch (error) {
    if (turn !== asked) return;
    forecast.textContent = "";
    say(trouble, "warn", error.message);
  } finally {
    busy = false;
    if (turn !== asked) look();
  }
}

function words({ items, labels, random }) {
  const [all, ours, others] = [items, labels, random].map((each) => each?.toLocaleString("en"));
  if (!labels) return `${all} items; how many labels it takes is known after the first 20.`;
  return `About ${ours} labels of ${all} items; random sampling would need about ${others}.`;
}

form.addEventListener("input", change);

// A campaign that nobody has answered yet: its own columns and goal instead of those proposed.
const before = JSON.parse(document.getElementById("before")?.dataset.campaign ?? "null");
if (before) {
  field("start").textContent = "Save";
  openPath(before.path, before.table, () => {
    for (const name of ["id", "score", "predicted"]) field(name).value = before[name] ?? NONE;
    for (const name of ["positive", "threshold", "metric", "within", "question", "name"]) field(name).value = before[name] ?? "";
    for (const box of columns.querySelectorAll("input")) box.checked = before.show.includes(box.value);
    change();
  });
}
for (const button of document.querySelectorAll(".copy-typed")) {
  button.addEventListener("click", async () => {
    const typed = field(button.dataset.of);
    const done = await copy(typed.textContent, typed);
    field("copied").textContent = done ? "Copied." : "It could not be copied: it is selected, press Ctrl+C.";
  });
}
take(file.files[0]); // chosen before this script was there
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = field("start");
  button.disabled = true;
  try {
    const { next } = await ask("/api/new/start", JSON.stringify(wanted()));
    location.assign(`${next}review`);
  } catch (error) {
    say(trouble, "bad", error.message);
    button.disabled = false;
  }
});
