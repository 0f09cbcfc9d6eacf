// An item as a person sees it. What it holds is hostile: it becomes text, and never markup.

export function itemNode(item) {
  const list = document.createElement("dl");
  list.className = "fields";
  for (const { name, kind, value } of item.fields) {
    const field = document.createElement("div");
    field.className = `field field-${kind}`;
    const term = document.createElement("dt");
    term.dir = "auto";
    term.textContent = name;
    const text = document.createElement("dd");
    text.dir = "auto";
    text.lang = ""; // nobody knows; a reader must not take it for English
    text.append(...valueNodes(name, kind, value));
    field.append(term, text);
    list.append(field);
  }
  return list;
}

function valueNodes(name, kind, value) {
  const address = kind === "text" ? null : safeAddress(value);
  if (kind === "link" && address) return [linkNode(address, value)];
  if (kind === "image" && address) return [imageNode(name, address), linkNode(address, value)];
  if (value !== "") return [document.createTextNode(value)];
  const empty = document.createElement("span");
  empty.className = "muted";
  empty.textContent = "(empty)";
  return [empty];
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
  const link = document.createElement("a");
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.referrerPolicy = "no-referrer";
  link.textContent = value;
  return link;
}

function imageNode(name, address) {
  const image = document.createElement("img");
  image.referrerPolicy = "no-referrer";
  image.decoding = "async";
  image.alt = `Image in column ${name}`;
  image.src = address; // begins to load now, also for an item that is not shown yet
  return image;
}
