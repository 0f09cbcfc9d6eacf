// Labelled items: the one that is chosen stands beside the table, on a phone below its row.

import { here } from "./here.js";
import { itemNode } from "./item.js";

const panel = document.getElementById("panel");
const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("tr[data-item]")];
const narrow = matchMedia("(max-width: 60rem)");
const home = panel.parentElement;

let chosen = null; // the row

function choose(row, { focus = true } = {}) {
  chosen?.removeAttribute("aria-current");
  chosen = row;
  row.setAttribute("aria-current", "true");
  const item = JSON.parse(row.dataset.item);
  byId("panel-title").textContent = `Item ${item.id}`;
  const score = item.score ? `, score ${item.score}` : "";
  byId("panel-facts").textContent =
    `Predicted ${item.predicted}${score}; ${item.who} said ${item.answer}. ${item.stratum}; represents ${item.weight}.`;
  byId("panel-item").replaceChildren(itemNode(item));
  byId("panel-comment").textContent = item.comment && `Comment: ${item.comment}`;
  byId("tags").value = item.tags.join(", ");
  byId("tagged").textContent = "";
  byId("second-look").href = here(`/owner/disputes?${new URLSearchParams({ item: item.key })}`);
  panel.hidden = false;
  place();
  if (focus) row.querySelector(".open").focus({ preventScroll: true });
  if (focus) row.scrollIntoView({ block: "nearest" });
}

function place() {
  byId("below")?.remove();
  if (!narrow.matches || !chosen) {
    home.append(panel);
    return;
  }
  const line = document.createElement("tr");
  line.id = "below";
  line.append(document.createElement("td"));
  line.firstChild.colSpan = chosen.children.length;
  line.firstChild.append(panel);
  chosen.after(line);
}

function move(by) {
  const at = rows.indexOf(chosen) + by;
  if (at >= 0 && at < rows.length) choose(rows[at]);
}

for (const row of rows) row.addEventListener("click", () => choose(row));
narrow.addEventListener("change", place);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape" && chosen) chosen.querySelector(".open").focus();
    return;
  }
  const steps = { j: 1, k: -1 };
  if (event.key in steps) move(steps[event.key]);
  else if (event.key === "t" && chosen) byId("tags").focus();
  else return;
  event.preventDefault();
});

byId("tagging").addEventListener("submit", async (event) => {
  event.preventDefault();
  const [row, item] = [chosen, JSON.parse(chosen.dataset.item)];
  const tags = byId("tags").value.split(",");
  try {
    const response = await fetch(here("/api/tags"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ item: item.key, tags }),
    });
    const reply = await response.json();
    if (!response.ok) throw new Error(reply.error);
    row.dataset.item = JSON.stringify({ ...item, tags: reply.tags });
    row.querySelector(".tags").textContent = reply.tags.join(", ");
    byId("tagged").textContent = "Saved.";
    row.querySelector(".open").focus();
  } catch (error) {
    byId("tagged").textContent = `Not saved: ${error.message}`;
  }
});

const asked = rows.find((row) => `#${row.id}` === location.hash);
if (asked) choose(asked);
else if (!narrow.matches) choose(rows[0], { focus: false });
