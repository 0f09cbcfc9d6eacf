// Classes found by what is typed of their names, or of other words for them.

const LIKE = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" };

// A text as it is compared: without case, accents, and spaces that make no difference.
export function folded(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (sign) => LIKE[sign])
    .replace(/\s+/g, " ")
    .trim();
}

// What `search` looks through. entries: {name, aliases}; they keep the order in which they are.
export function indexed(entries) {
  return entries.map((entry) => {
    const words = [entry.name, ...entry.aliases].map(folded);
    return { entry, words, starts: words.map((word) => ` ${word.replace(/[^\p{L}\p{N}]/gu, " ")}`) };
  });
}

// The entries that a text may mean: those that begin with it come first, then those in which a word
// does, then those that hold it; and last those that hold every part of it somewhere.
export function search(index, text) {
  const typed = folded(text);
  if (typed === "") return index.map(({ entry }) => entry);
  const parts = typed.split(" ");
  const ranks = index.map((each) => rank(each, typed, parts));
  return index
    .map(({ entry }, place) => ({ entry, place, rank: ranks[place] }))
    .filter((each) => each.rank < Infinity)
    .sort((one, other) => one.rank - other.rank || one.place - other.place)
    .map(({ entry }) => entry);
}

function rank({ words, starts }, typed, parts) {
  let best = Infinity;
  words.forEach((word, place) => {
    const other = place === 0 ? 0 : 1; // a name before the other words for it
    if (word === typed) best = Math.min(best, other);
    else if (word.startsWith(typed)) best = Math.min(best, 2 + other);
    else if (starts[place].includes(` ${typed}`)) best = Math.min(best, 4 + other);
    else if (word.includes(typed)) best = Math.min(best, 6 + other);
  });
  const scattered = parts.every((part) => words.some((word) => word.includes(part)));
  return best === Infinity && scattered ? 8 : best;
}
