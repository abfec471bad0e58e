// The last decisions, newest first. A decision opens as the text of the command line, with its picture.

import { Shown, VERDICTS, element, lettersBeside } from "./shown.js";
import { decide, readDocument } from "./server.js";
import { onTried, tried } from "./tried.js";

// As many as the server keeps.
const MOST = 1000;

const list = document.getElementById("list");
const contains = document.getElementById("contains");
const reason = document.getElementById("reason");
const since = document.getElementById("since");
const count = document.getElementById("count");

// Of each decision its element, which stays while the decision is listed: what a reader has opened stays open.
const known = new Map();
let newest = 0;

function keyOf(decision) {
  return `${decision.uid} ${decision.time}`;
}

async function open(details, decision) {
  const shown = new Shown(details, `The decision on ${decision.pod}`, (change) =>
    decide("", { uid: decision.uid, width: lettersBeside(details), ...change }));
  try {
    const path = `/v1/decisions/view?uid=${encodeURIComponent(decision.uid)}&width=${lettersBeside(details)}`;
    shown.show(await readDocument(path));
  } catch (error) {
    shown.say("refused", error.message, "");
  }
}

function entry(decision) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const time = element("time", "", decision.time.slice(0, 19).replace("T", " "));
  time.dateTime = decision.time;
  const kind = decision.admitted ? "admitted" : "refused";
  const outcome = element("span", kind, decision.admitted ? "admitted" : decision.reason);
  // Blanks between them are where a line may break.
  summary.append(time, " ", element("span", "pod", decision.pod), " ", outcome, " ", element("span", "message", decision.message));
  details.append(summary);
  let isRead = false;
  details.addEventListener("toggle", () => {
    if (!details.open || isRead) return;
    isRead = true;
    open(details, decision);
  });
  return details;
}

function isWanted(decision, now) {
  if (!decision.pod.toLowerCase().includes(contains.value.trim().toLowerCase())) return false;
  if (since.value && now - Date.parse(decision.time) > Number(since.value) * 1000) return false;
  switch (reason.value) {
    case "": return true;
    case "admitted": return decision.admitted;
    case "refused": return !decision.admitted;
    default: return decision.reason === reason.value;
  }
}

function filter() {
  const now = Date.now();
  let shown = 0;
  for (const { decision, details } of known.values()) {
    const is = isWanted(decision, now);
    if (details.hidden === is) details.hidden = !is;
    shown += is ? 1 : 0;
  }
  count.textContent = `${shown} of ${known.size}`;
  document.getElementById("no-decisions").hidden = shown > 0;
}

// Each reason once, those that are gone too: it may be chosen.
function learn(decision) {
  if (decision.admitted || [...reason.options].some((option) => option.value === decision.reason)) return;
  reason.append(new Option(decision.reason, decision.reason));
}

function listTried() {
  const rows = tried().map(({ fragment, pod, node, outcome, headline, time }) => {
    const line = document.createElement("li");
    const when = element("time", "", String(time).slice(0, 19).replace("T", " "));
    const [kind, word] = VERDICTS[outcome] ?? ["", String(outcome)];
    const link = element("a", "pod", pod || "a manifest");
    link.href = /^#try=[\w-]+$/.test(fragment) ? fragment : "#try";
    line.append(when, " ", link, " ", element("span", kind, headline ?? word), " ", element("span", "message", node));
    return line;
  });
  document.getElementById("tried").replaceChildren(...rows);
  document.getElementById("tried-part").hidden = rows.length === 0;
}

// Shows what was tried, and whether a daemon decides here.
export async function prepareDecisions() {
  listTried();
  const choices = await readDocument("/v1/choices");
  document.getElementById("no-daemon").hidden = choices.arguments === null;
}

// The server may be another one: everything is read again.
export function forgetDecisions() {
  newest = 0;
  for (const { details } of known.values()) details.remove();
  known.clear();
}

export async function refreshDecisions() {
  const found = await readDocument(`/v1/decisions/lines?after=${newest}`);
  if (found.newest < newest) forgetDecisions();
  newest = found.newest;
  const fresh = [];
  for (const decision of found.decisions) {
    const key = keyOf(decision);
    if (known.has(key)) continue;
    const details = entry(decision);
    known.set(key, { decision, details });
    fresh.unshift(details);
    learn(decision);
  }
  list.prepend(...fresh);
  for (const [key, { details }] of known) {
    if (known.size <= MOST) break;
    details.remove();
    known.delete(key);
  }
  filter();
}

onTried(listTried);
for (const chooser of [contains, reason, since]) chooser.addEventListener("input", filter);
document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
