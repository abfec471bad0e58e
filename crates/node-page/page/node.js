// The node: its picture, who holds what, and the same as text.

import { onPoint } from "./free.js";
import { Picture } from "./picture.js";
import { lettersIn, readDocument, readText } from "./server.js";

const POD = /^p\d+$/;

const element = document.getElementById("picture");
const picture = new Picture(element);
const table = document.getElementById("pods");
const pointed = document.getElementById("pointed");
const HINT = pointed.textContent;

let pods = [];
let chosen = null;
// Of each name of a class its colour, in the scheme of now.
let colours = new Map();
const rows = new Map();

// Lets one pod stand out; `null`: none.
function show(name) {
  const key = pods.find((pod) => pod.class === name);
  chosen = key ? name : null;
  picture.rules.replaceSync(
    key ? `rect:is(.cpu,.isolated,.reserved,.device,.memory):not(.${key.class}){opacity:.3}rect.${key.class}{stroke:#d00000;stroke-width:2.5}` : "",
  );
  for (const [of, { line }] of rows) line.classList.toggle("lit", key?.class === of);
  pointed.textContent = key ? `${key.letters} ${key.name}: ${key.holds.join(" · ")}` : HINT;
}

// What boxes are that no pod holds; what stands in a box follows it in the picture.
const KINDS = {
  cpu: (name) => `CPU ${name} is in the shared pool: no pod has it for itself`,
  isolated: (name) => `CPU ${name} is isolated from the kernel's scheduler, and no pod has it for itself`,
  reserved: (name, title) => title || `CPU ${name} is reserved for the system: no container gets it for itself`,
  memory: (name, title) => title || name,
  device: (name, title) => `${title || name}: no pod holds it`,
};

function inWords(box) {
  const kind = Object.keys(KINDS).find((kind) => box.classList?.contains(kind));
  if (!kind) return null;
  const next = box.nextElementSibling;
  return KINDS[kind](next?.localName === "text" ? next.textContent : "", box.querySelector("title")?.textContent ?? "");
}

picture.shadow.addEventListener("pointerover", (event) => {
  const name = [...(event.target.classList ?? [])].find((name) => POD.test(name));
  if ((name ?? null) !== chosen) show(name ?? null);
  if (!name) pointed.textContent = inWords(event.target) ?? HINT;
});
element.addEventListener("pointerleave", () => show(null));

// A bar lets the pods stand out that hold a part of it.
onPoint((text, holders) => {
  show(null);
  pointed.textContent = text;
  const held = new Set(pods.filter((pod) => holders.includes(pod.name)).map((pod) => pod.class));
  for (const [of, { line }] of rows) line.classList.toggle("lit", held.has(of));
  if (held.size) {
    const boxes = [...held].map((of) => `rect.${of}`).join();
    picture.rules.replaceSync(`rect:is(.cpu,.isolated,.reserved,.device,.memory):not(${boxes}){opacity:.3}`);
  }
});

function row(name) {
  const line = document.createElement("tr");
  line.dataset.pod = name;
  const key = document.createElement("span");
  key.className = "key";
  const button = document.createElement("button");
  button.type = "button";
  // A click comes after the focus, which shows the pod already.
  button.addEventListener("click", () => show(name));
  button.addEventListener("focus", () => show(name));
  line.addEventListener("pointerenter", () => show(name));
  const holds = document.createElement("td");
  for (const content of [key, button]) {
    const cell = document.createElement("td");
    cell.append(content);
    line.append(cell);
  }
  line.append(holds);
  return { line, key, button, holds };
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The colour of each class that the picture has.
function look() {
  for (const box of picture.shadow.querySelectorAll("rect")) {
    const name = [...box.classList].find((name) => POD.test(name));
    if (name && !colours.has(name)) colours.set(name, getComputedStyle(box).fill);
  }
}

function list() {
  look();
  const known = new Set(pods.map((pod) => pod.class));
  for (const [name, { line }] of rows) {
    if (!known.has(name)) {
      line.remove();
      rows.delete(name);
    }
  }
  for (const pod of pods) {
    let own = rows.get(pod.class);
    if (!own) {
      own = row(pod.class);
      rows.set(pod.class, own);
      table.append(own.line);
    }
    set(own.key, pod.letters);
    set(own.button, pod.name);
    set(own.holds, pod.holds.join(" · "));
    const colour = colours.get(pod.class) ?? "";
    if (own.colour !== colour) own.key.style.background = own.colour = colour;
  }
  document.getElementById("no-pods").hidden = pods.length > 0;
  table.parentElement.hidden = pods.length === 0;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours = new Map();
  list();
});

// Reads the node again and draws what has changed.
export async function refreshNode() {
  const found = await readDocument("/v1/picture");
  set(document.getElementById("which"), found.which);
  pods = found.pods;
  if (!found.svg) picture.say("The machine has no picture: the text below shows it.");
  else if (picture.draw(found.svg)) {
    list();
    show(chosen);
  }
  const text = document.getElementById("status-text");
  set(text, await readText("/v1/status", lettersIn(text)));
}

export async function refreshMachine() {
  set(document.getElementById("machine-text"), await readText("/v1/machine", 120));
}
