// The last decisions, newest first. A decision opens as the text of the command line.

import { lettersIn, readDocument, readText } from "./server.js";

const list = document.getElementById("list");
const contains = document.getElementById("contains");
const outcome = document.getElementById("outcome");
const count = document.getElementById("count");

// Of each decision its element, which stays while the decision is listed: what a reader has opened stays open.
const known = new Map();

function keyOf(decision) {
  return `${decision.uid} ${decision.time}`;
}

function reasonOf(decision) {
  return decision.kubelet?.reason ?? decision.refusal?.reason ?? "admitted";
}

function span(kind, text) {
  const span = document.createElement("span");
  span.className = kind;
  span.textContent = text;
  return span;
}

function entry(decision) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const time = document.createElement("time");
  time.dateTime = decision.time;
  time.textContent = decision.time;
  const kind = decision.admitted ? "admitted" : "refused";
  summary.append(time, span("pod", decision.pod), span(kind, reasonOf(decision)));
  const text = document.createElement("pre");
  text.tabIndex = 0;
  text.setAttribute("aria-label", `The decision on ${decision.pod}`);
  details.append(summary, text);
  details.addEventListener("toggle", async () => {
    if (!details.open || text.textContent) return;
    try {
      const path = `/v1/decisions?uid=${encodeURIComponent(decision.uid)}`;
      text.textContent = await readText(path, lettersIn(text));
    } catch (error) {
      text.textContent = error.message;
    }
  });
  return details;
}

function filter() {
  const wanted = contains.value.trim().toLowerCase();
  let shown = 0;
  for (const { decision, details } of known.values()) {
    const said = `${decision.time} ${decision.pod} ${reasonOf(decision)} ${decision.refusal?.message ?? ""}`;
    const fits = said.toLowerCase().includes(wanted)
      && (!outcome.value || decision.admitted === (outcome.value === "admitted"));
    details.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  count.textContent = `${shown} of ${known.size}`;
}

export async function refreshDecisions() {
  const found = (await readDocument("/v1/decisions")).decisions;
  const keys = new Set(found.map(keyOf));
  for (const [key, { details }] of known) {
    if (!keys.has(key)) {
      details.remove();
      known.delete(key);
    }
  }
  for (const decision of found) {
    const key = keyOf(decision);
    if (known.has(key)) continue;
    const details = entry(decision);
    known.set(key, { decision, details });
    list.prepend(details);
  }
  filter();
}

contains.addEventListener("input", filter);
outcome.addEventListener("change", filter);
document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
