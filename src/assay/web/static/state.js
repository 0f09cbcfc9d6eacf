// What the page says of answers that are not saved, may not be, or were not taken.

// "Saved" is said only when nothing waits: an answer leaves the outbox when the server has it.
export function savedState(sender, outbox, loaded) {
  const waiting = outbox.waiting().length;
  const kept = outbox.durable ? "wait in this browser" : "wait in this page: do not close it";
  const count = waiting === 1 ? "1 answer" : `${waiting} answers`;
  const each = waiting === 1 ? kept.replace("wait", "waits") : kept;
  if (sender.state === "stopped") {
    return shape("trouble", waiting ? `${count} ${each}` : "Not connected");
  }
  if (sender.state === "pausing") {
    const seconds = Math.max(0, Math.ceil((sender.until - Date.now()) / 1000));
    const words = waiting ? `${count} ${each}: ${sender.why}` : capital(sender.why);
    return shape("trouble", words, `, trying again in ${seconds} s`);
  }
  if (waiting > 0) return shape("busy", outbox.durable ? "Saving…" : `${count} ${each}`);
  return loaded ? shape("saved", "All answers saved") : shape("busy", "Loading…");
}

function shape(state, words, until = "") {
  return { state, words, until, sign: { saved: "✓", busy: "↻", trouble: "!" }[state] };
}

function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Answers that the server refused, until a person has dismissed each.
export function showAside(section, outbox, onDismiss) {
  const entries = outbox.aside();
  const keys = entries.map((entry) => entry.key).join(" ");
  // A button that is put in place of another while somebody presses it is never clicked.
  if (section.dataset.keys === keys) return;
  section.dataset.keys = keys;
  section.hidden = entries.length === 0;
  const count = entries.length === 1 ? "1 answer was" : `${entries.length} answers were`;
  section.querySelector(".notice-title").textContent = `${count} not taken`;
  section.querySelector("ul").replaceChildren(
    ...entries.map((entry) => {
      const line = document.createElement("li");
      const words = document.createElement("span");
      const comment = entry.comment ? `, with the comment “${entry.comment}”` : "";
      const given = document.querySelector(`.answer[data-answer="${CSS.escape(entry.answer)}"]`);
      const called = given?.dataset.called ?? entry.answer;
      words.textContent = `Item ${entry.item}, “${called}”${comment}: ${entry.message}`;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button button-quiet";
      button.textContent = "Dismiss";
      button.setAttribute("aria-label", `Dismiss the answer to item ${entry.item}`);
      button.addEventListener("click", () => {
        outbox.dismiss(entry.key);
        onDismiss();
      });
      line.append(words, button);
      return line;
    }),
  );
}

// The server knows this browser no longer, or as somebody else; nothing is sent until it does.
export function showStopped(section, sender, waiting) {
  const stopped = sender.state === "stopped";
  section.hidden = !stopped;
  if (!stopped) return;
  const out = sender.why === "logged out";
  const [title, words] = section.querySelectorAll("p");
  title.textContent = out ? "You are logged out" : "The server refuses what this page sends";
  const kept = waiting
    ? "Your answers stay in this browser and are sent when you are back."
    : "All your answers are saved.";
  words.textContent = out
    ? `Your link was revoked or has run out. ${kept} Log in with a new link of the same name.`
    : `It says: ${sender.why}. ${kept}`;
}
