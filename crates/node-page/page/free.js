// What is free on each NUMA node, as bars; each says who holds the rest.

import { amount, bar } from "./bar.js";

const into = document.getElementById("free");
const rows = new Map();
// What is done where a bar is pointed at.
let point = () => {};

export function onPoint(work) {
  point = work;
}

function barOf(place, group, resource) {
  const key = `${place} ${resource}`;
  let own = rows.get(key);
  if (!own) {
    own = bar("button");
    own.made.type = "button";
    const show = () => point(own.text, own.heldBy);
    own.made.addEventListener("pointerenter", show);
    own.made.addEventListener("focus", show);
    own.made.addEventListener("click", show);
    rows.set(key, own);
    group.append(own.made);
  }
  return own;
}

const groups = new Map();

function groupOf(place) {
  let group = groups.get(place);
  if (!group) {
    group = document.createElement("div");
    group.className = "numa";
    const head = document.createElement("h4");
    head.textContent = place;
    group.append(head);
    groups.set(place, group);
    into.append(group);
  }
  return group;
}

// Draws what a status has.
export function drawFree({ room = [] }) {
  const seen = new Set();
  for (const { resource, nodes, elsewhere } of room) {
    const places = nodes.map((cell) => [`NUMA ${cell.node}`, cell]);
    if (elsewhere) places.push(["near no single NUMA node", elsewhere]);
    for (const [place, cell] of places) {
      if (!cell.allocatable) continue;
      seen.add(`${place} ${resource}`);
      const own = barOf(place, groupOf(place), resource);
      own.fill(resource, cell);
      own.heldBy = cell.heldBy ?? [];
      const held = own.heldBy.length ? `held by ${own.heldBy.join(", ")}` : "no pod holds any";
      own.text = `${resource} on ${place}: ${amount(resource, cell.free)} of ${amount(resource, cell.allocatable)} free; ${held}`;
    }
  }
  for (const [key, { made }] of rows) {
    if (seen.has(key)) continue;
    made.remove();
    rows.delete(key);
  }
  for (const [place, group] of groups) {
    if (group.children.length > 1) continue;
    group.remove();
    groups.delete(place);
  }
  document.getElementById("no-free").hidden = rows.size > 0;
}
