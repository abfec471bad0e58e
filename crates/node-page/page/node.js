// The node: its picture, who holds what, and the same as text.

import { lettersIn, readDocument, readText } from "./server.js";

const SVG = "http://www.w3.org/2000/svg";
// What of a picture is shown. Everything else in it is left out.
const ELEMENTS = new Set(["svg", "title", "rect", "text"]);
const ATTRIBUTES = new Set([
  "class", "x", "y", "width", "height", "rx", "viewBox", "font-size", "font-family",
]);
const STYLE = /<style>([^]*?)<\/style>/;
const POD = /^p\d+$/;

const picture = document.getElementById("picture");
const shadow = picture.attachShadow({ mode: "open" });
const looks = new CSSStyleSheet();
const light = new CSSStyleSheet();
const own = new CSSStyleSheet();
own.replaceSync("svg{display:block;max-width:100%;height:auto;margin:0 auto}text{pointer-events:none}");
shadow.adoptedStyleSheets = [own, looks, light];

let pods = [];
let chosen = null;

// The one policy of the page: its text is parsed into an inert document, of which `copied` takes known parts.
const policy = window.trustedTypes?.createPolicy("topolet-picture", { createHTML: (text) => text });

function parsed(text) {
  const parser = new DOMParser();
  return parser.parseFromString(policy ? policy.createHTML(text) : text, "image/svg+xml");
}

function copied(element) {
  const copy = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) {
    if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (ELEMENTS.has(child.localName)) copy.append(copied(child));
  }
  return copy;
}

function draw(text) {
  if (!text) {
    shadow.replaceChildren("The machine has no picture: the text below shows it.");
    return;
  }
  // A style element would be inline, which the policy of the page forbids; the same rules may be a sheet of their own.
  const style = STYLE.exec(text);
  looks.replaceSync(style?.[1] ?? "");
  shadow.replaceChildren(copied(parsed(text.replace(STYLE, "")).documentElement));
}

// Lets one pod stand out; `null`: none.
function show(name) {
  chosen = name;
  const key = pods.find((pod) => pod.class === name);
  light.replaceSync(
    key ? `rect:is(.cpu,.isolated,.reserved,.device,.memory):not(.${key.class}){opacity:.3}rect.${key.class}{stroke:#d00000;stroke-width:2.5}` : "",
  );
  for (const row of document.querySelectorAll("#pods tr")) {
    row.classList.toggle("lit", row.dataset.pod === key?.class);
  }
  if (key) {
    document.getElementById("pointed").textContent = `${key.letters} ${key.name}: ${key.holds.join(" · ")}`;
  }
}

shadow.addEventListener("pointerover", (event) => {
  const name = [...(event.target.classList ?? [])].find((name) => POD.test(name));
  if ((name ?? null) !== chosen) show(name ?? null);
});
picture.addEventListener("pointerleave", () => show(null));

function row(pod) {
  const line = document.createElement("tr");
  line.dataset.pod = pod.class;
  const key = document.createElement("span");
  key.className = "key";
  key.textContent = pod.letters;
  const box = shadow.querySelector(`rect.${pod.class}`);
  if (box) key.style.background = getComputedStyle(box).fill;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = pod.name;
  button.addEventListener("click", () => show(chosen === pod.class ? null : pod.class));
  line.addEventListener("pointerenter", () => show(pod.class));
  button.addEventListener("focus", () => show(pod.class));
  for (const content of [key, button, pod.holds.join(" · ")]) {
    const cell = document.createElement("td");
    cell.append(content);
    line.append(cell);
  }
  return line;
}

// Reads the node again and draws what has changed.
let drawn = null;
export async function refreshNode() {
  const found = await readDocument("/v1/picture");
  const text = document.getElementById("status-text");
  document.getElementById("which").textContent = found.which;
  if (found.svg !== drawn) {
    drawn = found.svg;
    pods = found.pods;
    draw(found.svg);
    const focused = document.activeElement?.closest?.("#pods tr")?.dataset.pod;
    const rows = pods.map(row);
    document.getElementById("pods").replaceChildren(...rows);
    document.getElementById("no-pods").hidden = rows.length > 0;
    rows.find((line) => line.dataset.pod === focused)?.querySelector("button").focus();
    show(pods.some((pod) => pod.class === chosen) ? chosen : null);
  }
  text.textContent = await readText("/v1/status", lettersIn(text));
}

export async function refreshMachine() {
  const text = document.getElementById("machine-text");
  text.textContent = await readText("/v1/machine", 120);
}
