// Pictures from the server. What is shown of them is rebuilt from the few kinds of elements and attributes that they may
// have, in a tree of its own.

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "title", "rect", "text", "line", "path"]);
const ATTRIBUTES = new Set([
  "class", "x", "y", "width", "height", "rx", "viewBox", "font-size", "font-family", "x1", "y1", "x2", "y2", "d",
  "fill", "stroke-width",
]);
// A colour may be a name or number, and nothing that is fetched.
const COLOUR = /^[#\w]+$/;
// On a small screen letters have at least so many pixels.
const READABLE = 11;
const STYLE = /<style>([^]*?)<\/style>/;

// The one policy of the page: its text is parsed into an inert document, of which `copied` takes known parts.
const policy = window.trustedTypes?.createPolicy("topolet-picture", { createHTML: (text) => text });

function parsed(text) {
  const parser = new DOMParser();
  return parser.parseFromString(policy ? policy.createHTML(text) : text, "image/svg+xml");
}

function copied(element) {
  const copy = document.createElementNS(SVG, element.localName);
  for (const { name, value } of element.attributes) {
    if (ATTRIBUTES.has(name) && (name !== "fill" || COLOUR.test(value))) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (ELEMENTS.has(child.localName)) copy.append(copied(child));
  }
  return copy;
}

// Makes `old` like `fresh` where the two differ: most of a picture stays as it is while pods come and go.
function patch(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  after.forEach((child, at) => {
    const there = before[at];
    if (!there) old.append(child);
    else if (there.nodeName === child.nodeName) patch(there, child);
    else there.replaceWith(child);
  });
  for (const child of before.slice(after.length)) child.remove();
}

// An element that shows pictures, one after the other.
export class Picture {
  #drawn = null;
  #looks = new CSSStyleSheet();
  #size = new CSSStyleSheet();
  // How much larger its smallest letters have to be.
  #larger = 1;
  // Rules of who shows it.
  rules = new CSSStyleSheet();

  constructor(element) {
    this.shadow = element.attachShadow({ mode: "open" });
    const own = new CSSStyleSheet();
    own.replaceSync("svg{display:block;max-width:100%;height:auto;margin:0 auto}text{pointer-events:none}");
    this.shadow.adoptedStyleSheets = [own, this.#looks, this.#size, this.rules];
  }

  // Whether the picture is another one.
  draw(text) {
    if (text === this.#drawn) return false;
    this.#drawn = text;
    // A style element would be inline, which the policy of the page forbids; the same rules may be a sheet of their own.
    this.#looks.replaceSync(STYLE.exec(text)?.[1] ?? "");
    const fresh = copied(parsed(text.replace(STYLE, "")).documentElement);
    const old = this.shadow.querySelector("svg");
    if (!old) {
      const letters = [...fresh.querySelectorAll("[font-size]")].map((one) => Number.parseFloat(one.getAttribute("font-size")));
      this.#larger = READABLE / Math.min(READABLE, ...letters);
    }
    if (old) patch(old, fresh);
    else this.shadow.replaceChildren(fresh);
    // On a small screen it is moved in its frame: smaller, its letters could not be read.
    this.#size.replaceSync(`@media (max-width:900px){svg{max-width:none;width:${Math.round(this.width * this.#larger)}px}}`);
    return true;
  }

  // Nothing but a text.
  say(text) {
    this.#drawn = null;
    this.shadow.replaceChildren(text);
  }

  // The width that it would like to have.
  get width() {
    return Number(this.shadow.querySelector("svg")?.getAttribute("width") ?? 0);
  }
}
