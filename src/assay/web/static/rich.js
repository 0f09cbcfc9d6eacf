// Texts with structure: Markdown, code, JSON and conversations as elements that hold text. Nothing
// of an item is ever parsed as HTML, no address is fetched or followed, and every quantity has a
// limit: a text that was made to be slow must not stop the page.

const MOST_COPIES = 20; // addresses of a text that get a button
const DEEPEST = 30; // levels of indentation
const LONGEST = 100_000; // characters of a text that are searched for Markdown

export function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

// A text as it is, with a button behind every address, which is text itself and leads nowhere.
const ADDRESS = /https?:\/\/[^\s\p{C}<>"]{1,2000}/gu;
const AFTER = /[.,;:!?'")\]}]+$/; // what ends a sentence, and not the address in it

export function plain(text) {
  const nodes = [];
  let at = 0;
  let copies = 0;
  for (const match of text.matchAll(ADDRESS)) {
    if (copies === MOST_COPIES) break;
    const address = match[0].replace(AFTER, "");
    const end = match.index + address.length;
    nodes.push(text.slice(at, match.index), ...inert(address));
    at = end;
    copies += 1;
  }
  nodes.push(text.slice(at));
  return nodes.filter((node) => node !== "");
}

// The button has no text of its own: what is read in an item is what the item holds.
function inert(address) {
  const button = element("button", "copy");
  button.type = "button";
  button.title = "Copy the address";
  button.setAttribute("aria-label", `Copy the address ${address}`);
  const words = element("span", "address", address);
  button.addEventListener("click", async () => {
    const done = await copy(address, words);
    button.dataset.state = done ? "done" : "failed";
    const announce = document.getElementById("announce");
    if (announce) announce.textContent = done ? "The address is copied." : "It could not be copied.";
  });
  return [words, button];
}

export async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS a browser has no clipboard for pages: what is selected can be copied all the same.
    const selection = getSelection();
    selection.selectAllChildren(shown);
    return document.execCommand("copy");
  }
}

// Markdown ---------------------------------------------------------------------------------------

const INLINE = new RegExp(
  [
    "`(?<code>[^`\\n]{1,2000})`",
    "\\*\\*(?<strong>[^*\\n]{1,2000})\\*\\*",
    "\\*(?<star>[^*\\s][^*\\n]{0,2000})\\*",
    "(?<![\\p{L}\\p{N}_])_(?<under>[^_\\s][^_\\n]{0,2000})_(?![\\p{L}\\p{N}_])",
    "!?\\[(?<label>[^\\]\\n]{0,200})\\]\\((?<to>[^()\\s]{1,2000})\\)",
  ].join("|"),
  "gu",
);

function inline(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, strong, star, under, label, to } = match.groups;
    nodes.push(...plain(text.slice(at, match.index)));
    if (code !== undefined) nodes.push(element("code", "", code));
    else if (strong !== undefined) nodes.push(element("strong", "", ...inline(strong)));
    else if (to !== undefined) nodes.push(...inline(label), " (", ...plain(to), ")");
    else nodes.push(element("em", "", ...inline(star ?? under)));
    at = match.index + match[0].length;
  }
  nodes.push(...plain(text.slice(at)));
  return nodes;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const LISTED = /^\s{0,12}(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const QUOTED = /^ {0,3}> ?(.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;

export function markdown(text, depth = 0) {
  if (text.length > LONGEST) return plain(text);
  const lines = text.split(/\r\n?|\n/);
  const blocks = [];
  let at = 0;
  // The lines from here on that a test takes; each as the test returns it.
  const take = (test) => {
    const taken = [];
    for (let got; at < lines.length && (got = test(lines[at])) !== null; at += 1) taken.push(got);
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence) {
      at += 1;
      const inner = take((each) => (each.trimStart().startsWith(fence) ? null : each));
      at += 1;
      blocks.push(code(inner.join("\n")));
    } else if (heading) {
      at += 1;
      const level = element("p", "md-heading", ...inline(heading[2]));
      level.setAttribute("role", "heading"); // below the page's own
      level.setAttribute("aria-level", String(Math.min(heading[1].length + 2, 6)));
      blocks.push(level);
    } else if (RULE.test(line)) {
      at += 1;
      blocks.push(element("hr"));
    } else if (QUOTED.test(line)) {
      const quoted = take((each) => QUOTED.exec(each)?.[1] ?? null).join("\n");
      const inside = depth < 4 ? markdown(quoted, depth + 1) : plain(quoted);
      blocks.push(element("blockquote", "", ...inside));
    } else if (LISTED.test(line)) {
      blocks.push(list(take((each) => (RULE.test(each) ? null : LISTED.exec(each)))));
    } else {
      const paragraph = take((each) => (each.trim() === "" || opens(each) ? null : each));
      // A line that opens something and was not taken above is a paragraph of its own.
      if (paragraph.length === 0) paragraph.push(lines[at++]);
      blocks.push(element("p", "", ...inline(paragraph.join("\n"))));
    }
  }
  return blocks;
}

function opens(line) {
  return [FENCE, HEADING, LISTED, QUOTED, RULE].some((each) => each.test(line));
}

function list(items) {
  const ordered = items[0][1] !== undefined;
  const node = element(ordered ? "ol" : "ul");
  if (ordered) node.start = Number(items[0][1]);
  node.append(...items.map((each) => element("li", "", ...inline(each[2]))));
  return node;
}

// Code and JSON ----------------------------------------------------------------------------------

export function code(text) {
  const box = element("pre", "code", element("code", "", text));
  box.tabIndex = 0; // so that the keyboard can scroll it
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Code");
  return box;
}

// JSON with line ends and indentation put between its signs. What stands in it is not read and
// written anew: numbers, keys that are there twice, and escapes stay as they are.
export function indented(text) {
  const made = [];
  let depth = 0;
  const line = () => `\n${"  ".repeat(Math.min(depth, DEEPEST))}`;
  const signs = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu) ?? [];
  for (const [at, sign] of signs.entries()) {
    const empty = (sign === "{" && signs[at + 1] === "}") || (sign === "[" && signs[at + 1] === "]");
    if (sign === "}" || sign === "]") {
      depth -= 1;
      const before = signs[at - 1];
      made.push(before === "{" || before === "[" ? "" : line(), sign);
    } else if (sign === "{" || sign === "[") {
      depth += 1;
      made.push(sign, empty ? "" : line());
    } else if (sign === ",") {
      made.push(sign, line());
    } else {
      made.push(sign === ":" ? ": " : sign);
    }
  }
  return made.join("");
}

export function json(text) {
  const box = code(indented(text));
  box.setAttribute("aria-label", "JSON");
  return box;
}

// Conversations ----------------------------------------------------------------------------------

const SPEAKERS = { user: "user", human: "user", assistant: "assistant", gpt: "assistant" };

export function conversation(text) {
  const turns = element("ol", "turns");
  for (const turn of JSON.parse(text)) {
    const who = turn.role ?? turn.from;
    const message = element("div", "message", ...markdown(turn.content ?? turn.value));
    const side = Object.hasOwn(SPEAKERS, who) ? SPEAKERS[who] : "other";
    turns.append(element("li", `turn turn-${side}`, element("b", "speaker", who), message));
  }
  return turns;
}

// How to show the kinds that have more than one way; each can fail, and is a text then.
export const RENDERERS = {
  markdown: (text) => markdown(text),
  code: (text) => [code(text)],
  json: (text) => [json(text)],
  conversation: (text) => [conversation(text)],
};
