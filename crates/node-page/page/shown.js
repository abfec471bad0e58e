// A decision: its text, its picture, and the changes that would fit as buttons that show what they come to.

import { Picture } from "./picture.js";
import { lettersIn } from "./server.js";

// Wider pictures stand below the text.
const BESIDE = 640;
// Wide ones are drawn smaller, down to this share of their width.
const LEAST = 0.85;

export const VERDICTS = {
  done: ["admitted", "admitted"],
  "some-refused": ["refused", "refused"],
  "not-decided": ["", "admitted without its claims, which are not decided here"],
  fate: ["refused", "the kubelet does not simply admit or refuse it"],
  partial: ["", "a part of the manifest was left out"],
};

export function element(name, kind, text) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

// How many letters a text has room for beside a picture, in an element that is as wide as the page.
export function lettersBeside(element) {
  const { clientWidth } = element;
  return lettersIn({ clientWidth: clientWidth > 1000 ? clientWidth - 450 : clientWidth });
}

// Shows decisions in an element, one after the other. `change` decides again under a change.
export class Shown {
  constructor(into, label, change) {
    this.change = change;
    this.verdict = element("p", "verdict");
    this.verdict.setAttribute("role", "status");
    this.fits = element("div", "fits");
    this.fits.setAttribute("role", "group");
    this.fits.setAttribute("aria-label", "Changes that would fit");
    this.text = element("pre", "text");
    this.text.tabIndex = 0;
    this.text.setAttribute("role", "group");
    this.text.setAttribute("aria-label", label);
    this.frame = element("div", "picture");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "group");
    this.frame.setAttribute("aria-label", "Picture");
    const drawn = element("div");
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", "Picture of the decision; the text says the same");
    this.picture = new Picture(drawn);
    this.frame.append(drawn);
    this.body = element("div", "decided");
    this.body.append(this.text, this.frame);
    into.append(this.verdict, this.fits, this.body);
    this.say("", "", "");
  }

  // A word and a text instead of a decision.
  say(kind, word, text) {
    this.verdict.className = `verdict ${kind}`;
    this.verdict.textContent = word;
    this.text.textContent = text;
    this.text.hidden = !text;
    this.frame.hidden = true;
    this.fits.replaceChildren();
    this.body.classList.remove("beside");
  }

  // A decision as it is, with what would fit.
  show(view) {
    this.decided = view;
    this.#draw(view);
    const buttons = view.wouldFit.flatMap(({ pod, alternatives }) =>
      alternatives.map((fit) => this.#button(view, pod, fit)));
    this.fits.replaceChildren(...(buttons.length ? [element("span", "label", "would fit"), ...buttons] : []));
  }

  #draw(view) {
    const [kind, word] = VERDICTS[view.outcome] ?? ["", ""];
    this.verdict.className = `verdict ${kind}`;
    this.verdict.textContent = view.headline ?? word;
    if (this.text.textContent !== view.text) this.text.textContent = view.text;
    this.text.hidden = false;
    this.frame.hidden = !view.picture;
    if (!view.picture) return;
    // The words are there first: a large picture takes longer to lay out.
    this.drawn = view;
    requestAnimationFrame(() => setTimeout(() => {
      if (this.drawn === view) this.#picture(view.picture.svg);
    }));
  }

  #picture(svg) {
    this.picture.draw(svg);
    const { width } = this.picture;
    this.body.classList.toggle("beside", width <= BESIDE);
    // Smaller its letters could not be read; then it is moved in its frame.
    const least = width <= BESIDE ? 0 : Math.round(width * LEAST);
    this.picture.rules.replaceSync(`@media (min-width:900.01px){svg{min-width:${least}px}}`);
  }

  #button(view, pod, fit) {
    const whose = view.wouldFit.length > 1 ? `${pod}: ` : "";
    const button = element("button", "", `${whose}${fit.change} ${fit.detail}`);
    button.type = "button";
    button.title = `→ ${fit.result}`;
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => this.#press(button, view, pod, fit));
    return button;
  }

  async #press(button, view, pod, fit) {
    const isOn = button.getAttribute("aria-pressed") === "true";
    for (const other of this.fits.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
    if (isOn) {
      this.#draw(view);
      return;
    }
    button.setAttribute("aria-pressed", "true");
    try {
      const changed = await this.change({ pod, change: fit.change, detail: fit.detail });
      if (this.decided !== view || button.getAttribute("aria-pressed") !== "true") return;
      this.#draw(changed);
      const word = this.verdict.textContent;
      this.verdict.textContent = `${word} with ${fit.change} ${fit.detail}`;
    } catch (error) {
      if (this.decided !== view) return;
      button.setAttribute("aria-pressed", "false");
      this.verdict.className = "verdict refused";
      this.verdict.textContent = error.message;
    }
  }
}
