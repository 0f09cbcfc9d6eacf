// The link's token stands behind #, which browsers never send to a server: this sends it in a body.

import { here } from "./here.js";

const form = document.getElementById("login");
const field = document.getElementById("token");
const message = document.getElementById("message");

async function logIn(token) {
  message.textContent = "Logging in…";
  try {
    const response = await fetch(here("/login"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const answer = await response.json();
    if (response.ok) {
      location.replace(answer.next);
      return;
    }
    message.textContent = answer.error;
  } catch {
    message.textContent = "No connection to the server. Try again in a moment.";
  }
  field.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(field.value.trim());
});

function useLink() {
  const token = location.hash.slice(1);
  if (!token) return;
  // Neither the address bar nor the history may keep it.
  history.replaceState(null, "", location.pathname);
  logIn(token);
}

addEventListener("hashchange", useLink);
useLink();
