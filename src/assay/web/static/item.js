// An item as a person sees it. What it holds is hostile: it becomes text, and never markup.

import { here } from "./here.js";
import { RENDERERS, element, markdown, plain } from "./rich.js";

const SHORT = 160; // characters; so little is shown large

// Guidelines are the owner's Markdown; until a script is there, their text stands as it is.
const guidelines = document.getElementById("guidelines-text");
if (guidelines) {
  guidelines.replaceChildren(...markdown(guidelines.textContent));
  guidelines.classList.remove("preserve");
}

export function itemNode(item) {
  const list = element("dl", "fields");
  const length = item.fields.reduce((sum, field) => sum + field.value.length, 0);
  const lines = item.fields.every(({ kind, value }) => kind === "text" && !value.includes("\n"));
  if (lines && length <= SHORT && item.fields.length <= 2) list.classList.add("fields-short");
  for (const field of item.fields) list.append(fieldNode(field));
  return list;
}

function fieldNode({ name, kind, value, address }) {
  const term = element("dt", "", element("span", "field-name", name));
  term.dir = "auto";
  const text = element("dd");
  text.dir = "auto";
  text.lang = ""; // nobody knows; a reader must not take it for English
  const rich = richNodes(kind, value);
  if (rich) {
    term.append(switchNode(name, text, rich, value));
    text.classList.add("rich");
    text.append(...rich);
  } else {
    text.append(...valueNodes(name, kind, value, address));
  }
  return element("div", `field field-${kind}`, term, text);
}

// Whatever a rendering makes of a text, the text itself is one key away.
function switchNode(name, text, rich, value) {
  const button = element("button", "switch", "as text");
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-label", `Show ${name} as text`);
  button.addEventListener("click", () => {
    const raw = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", String(raw));
    text.classList.toggle("rich", !raw);
    text.replaceChildren(...(raw ? plain(value) : rich));
  });
  return button;
}

function richNodes(kind, value) {
  if (!Object.hasOwn(RENDERERS, kind) || value.trim() === "") return null;
  try {
    return RENDERERS[kind](value);
  } catch {
    return null; // it is not what the server took it for
  }
}

function valueNodes(name, kind, value, address) {
  if (kind === "image" && isHere(address)) {
    const what = value.startsWith("data:") ? "an image in the item itself" : value;
    return [imageNode(name, address), element("span", "muted small", what)];
  }
  const elsewhere = kind === "link" || kind === "image" ? safeAddress(value) : null;
  if (kind === "link" && elsewhere) return [linkNode(elsewhere, value)];
  if (kind === "image" && elsewhere) return [imageNode(name, elsewhere), linkNode(elsewhere, value)];
  if (value !== "") return plain(value);
  return [element("span", "muted", "(empty)")];
}

// An image that this server has, or that the value is.
function isHere(address) {
  return /^(?:\/image\?|data:image\/(?:png|jpeg|gif|webp);base64,)/.test(address ?? "");
}

// The server has looked at it already; what follows a link in a browser is looked at twice.
function safeAddress(value) {
  try {
    const url = new URL(value);
    return url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

function linkNode(address, value) {
  const link = element("a", "", value);
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.referrerPolicy = "no-referrer";
  return link;
}

function imageNode(name, address) {
  const image = element("img");
  image.referrerPolicy = "no-referrer";
  image.decoding = "async";
  image.alt = `Image in column ${name}`;
  image.src = address.startsWith("/") ? here(address) : address; // begins to load now, also for an item that is not shown yet
  return image;
}
