// Which view is shown, and that it is what the node is now.

import { refreshDecisions } from "./decisions.js";
import { refreshMachine, refreshNode } from "./node.js";
import { Refused, coalesced, listen, readDocument, takeToken } from "./server.js";
import { takeManifest, tryManifest } from "./try.js";

const VIEWS = ["node", "decisions", "try"];
// After a connection ends, it is tried again after so many milliseconds.
const AGAIN = 1000;

const live = document.getElementById("live");

function view() {
  const fragment = location.hash.slice(1);
  const name = fragment.split("=")[0];
  const shown = VIEWS.includes(name) ? name : "node";
  for (const other of VIEWS) {
    document.getElementById(other).hidden = other !== shown;
    const tab = document.querySelector(`nav a[href="#${other}"]`);
    if (other === shown) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  takeManifest(fragment);
}

async function refreshStatus() {
  const { problems, notes = [] } = await readDocument("/v1/status");
  const list = document.getElementById("problems");
  const lines = [...problems, ...notes].map((problem) => {
    const line = document.createElement("li");
    line.textContent = problem;
    return line;
  });
  list.replaceChildren(...lines);
  list.hidden = lines.length === 0;
}

function says(text, lost) {
  live.textContent = text;
  live.classList.toggle("lost", lost);
}

// A request for each kind of news one after the other: a page takes few of the connections that others may have.
const refresh = coalesced(async () => {
  try {
    await refreshStatus();
    await refreshNode();
    await refreshDecisions();
    says("live", false);
  } catch (error) {
    says(error instanceof Refused ? error.message : "the node does not answer", true);
  }
});

async function follow() {
  for (;;) {
    try {
      await listen(() => {
        refresh();
        refreshMachine().catch(() => {});
        tryManifest();
      }, refresh);
      says("the node has ended the connection; trying again", true);
    } catch (error) {
      says(error instanceof Refused ? error.message : "the node does not answer; trying again", true);
    }
    await new Promise((done) => setTimeout(done, AGAIN));
  }
}

takeToken();
addEventListener("hashchange", view);
view();
follow();
