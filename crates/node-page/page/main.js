// Which view is shown, and that it is what the node is now.

import { forgetDecisions, prepareDecisions, refreshDecisions } from "./decisions.js";
import { drawFree } from "./free.js";
import { refreshMachine, refreshNode } from "./node.js";
import { prepareQuestion } from "./questions.js";
import { Refused, coalesced, listen, readDocument, takeToken } from "./server.js";
import { prepareDesk } from "./simulate.js";
import { prepareTrial, takeTrial } from "./try.js";

// Views of questions, each with its name in the address.
const QUESTIONS = ["configuration", "upgrade", "repack", "find-max"];
const VIEWS = ["node", "decisions", "try", "simulate", ...QUESTIONS];
// After a connection ends, it is tried again after so many milliseconds.
const AGAIN = 1000;
// Between two looks at the node, in milliseconds, while much happens there.
const BETWEEN = 400;

const live = document.getElementById("live");
let shown = null;

async function refreshStatus() {
  const status = await readDocument("/v1/status");
  const { problems, notes = [] } = status;
  if (shown === "node") drawFree(status);
  list("problems", problems);
  list("notes", notes);
  known.hidden = notes.length === 0;
}

function list(id, texts) {
  const into = document.getElementById(id);
  const lines = texts.map((text) => {
    const line = document.createElement("li");
    line.textContent = text;
    return line;
  });
  into.replaceChildren(...lines);
  into.hidden = lines.length === 0;
}

// On a small screen what is known of the node leaves the room to the view, until it is asked for.
const known = document.getElementById("known");
const small = matchMedia("(max-width: 900px)");
function makeRoom() {
  known.open = !small.matches;
}
small.addEventListener("change", makeRoom);
makeRoom();

function says(text, lost) {
  if (live.textContent !== text) live.textContent = text;
  live.classList.toggle("lost", lost);
}

// What a view needs when it is opened or the server is there again, and when something has happened.
const opened = {
  node: refreshMachine, decisions: prepareDecisions, try: prepareTrial, simulate: prepareDesk,
  ...Object.fromEntries(QUESTIONS.map((view) => [view, () => prepareQuestion(view)])),
};

// A request for each kind of news one after the other: a page takes few of the connections that others may have.
const refresh = coalesced(async () => {
  try {
    // Who the node is stands above every view.
    if (shown === "node" || !document.getElementById("which").textContent) await refreshNode();
    if (shown === "decisions") await refreshDecisions();
    await refreshStatus();
    says("live", false);
  } catch (error) {
    says(error instanceof Refused ? error.message : "the node does not answer", true);
  }
}, BETWEEN);

function open() {
  // What is wrong with the server is said beside the views.
  opened[shown]?.().catch(() => {});
}

function view() {
  takeToken();
  const fragment = location.hash.slice(1);
  const name = fragment.split("=")[0];
  const before = shown;
  shown = VIEWS.includes(name) ? name : "node";
  for (const other of VIEWS) {
    document.getElementById(other).hidden = other !== shown;
    const tab = document.querySelector(`nav a[href="#${other}"]`);
    if (other === shown) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  takeTrial(fragment);
  if (before && before !== shown) {
    open();
    refresh();
  }
}

// A hidden page closes its connection: a browser has few of them for all pages of a server together.
let isLeft = false;
let stream = new AbortController();

function leave() {
  stream.abort();
}

async function seen() {
  while (isLeft || document.hidden) {
    await new Promise((done) => {
      addEventListener("pageshow", done, { once: true });
      document.addEventListener("visibilitychange", done, { once: true });
    });
  }
}

addEventListener("pagehide", () => {
  isLeft = true;
  leave();
});
addEventListener("pageshow", () => { isLeft = false; });
document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); });

async function follow() {
  for (;;) {
    await seen();
    stream = new AbortController();
    try {
      await listen(() => {
        forgetDecisions();
        refresh();
        open();
      }, refresh, stream.signal);
      says("the node has ended the connection; trying again", true);
    } catch (error) {
      if (stream.signal.aborted) continue;
      says(error instanceof Refused ? error.message : "the node does not answer; trying again", true);
    }
    await new Promise((done) => setTimeout(done, AGAIN));
  }
}

addEventListener("hashchange", view);
view();
follow();
