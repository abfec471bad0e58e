// Configurations, upgrades, moves of pods, and how many of a pod fit: each asked as by the command of the same name.

import { commandBox } from "./command.js";
import { fillExamples } from "./examples.js";
import { lettersIn, readDocument, tooLong } from "./server.js";

// How long nobody types before it is asked, in milliseconds.
const STILL = 300;

// What each view asks for, and what its answers come to.
const QUESTIONS = {
  "config-check": {
    verb: "config check", fields: ["machine", "kubelet", "given"],
    words: { done: "nothing harmful was found in it", "something-wrong": "something is wrong with it" },
  },
  "upgrade-check": {
    verb: "upgrade check", fields: ["machine", "kubelet", "to", "given", "manifest"],
    words: { done: "nothing that is written or runs is decided otherwise", "something-wrong": "something is decided otherwise" },
  },
  repack: {
    verb: "repack", fields: ["machine", "kubelet", "given", "manifest"], needs: "manifest",
    words: { done: "it fits, at once or after the moves below", "some-refused": "no moves were found after which it fits" },
  },
  "find-max": {
    verb: "simulate --find-max", fields: ["machine", "kubelet", "given", "manifest"], needs: "manifest",
    words: { "something-wrong": "no kubelet starts as the node is configured" },
  },
};
const GOOD = "done";

class Question {
  #part = {};
  #asked = null;
  #wait = 0;

  constructor(into, kind) {
    this.kind = kind;
    this.question = QUESTIONS[kind];
    const copy = document.getElementById("question").content.cloneNode(true);
    for (const part of copy.querySelectorAll("[data-part]")) this.#part[part.dataset.part] = part;
    for (const field of copy.querySelectorAll("[data-field]")) {
      field.hidden = !this.question.fields.includes(field.dataset.field);
    }
    const { verdict, text, commands } = this.#part;
    this.command = commandBox();
    commands.append(this.command.box);
    text.hidden = true;
    verdict.textContent = "";
    // Where a configuration is what is asked about, it has room; elsewhere it leaves that to the answer.
    this.#part.configuration.open = this.question.fields.every((field) => field !== "manifest");
    this.#part.given.addEventListener("input", () => {
      this.#part.of.textContent = this.#part.given.value.trim() ? "as given" : "the machine's own";
    });
    for (const name of ["given", "manifest"]) this.#part[name].addEventListener("input", () => this.soon());
    for (const name of ["kubelet", "to"]) this.#part[name].addEventListener("change", () => this.ask());
    this.#part.machine.addEventListener("change", () => this.prepare().then(() => this.ask(), (error) => this.say("refused", error.message)));
    into.append(copy);
  }

  // Learns what there is to choose from, and asks.
  async prepare() {
    const { machine, kubelet, to, example, manifest } = this.#part;
    const choices = await readDocument(`/v1/choices?machine=${encodeURIComponent(machine.value)}`);
    this.own = choices.arguments ?? null;
    if (!machine.options.length) {
      machine.append(new Option("this node", ""), ...choices.machines.map((name) => new Option(name, name)));
      kubelet.append(new Option("as it is", ""), ...choices.kubelets.map((name) => new Option(name, name)));
      to.append(...choices.kubelets.map((name) => new Option(name, name)));
      to.value = choices.kubelets.at(-1) ?? "";
    }
    fillExamples(example, manifest, choices.examples, () => this.ask());
    return this.own !== null;
  }

  soon() {
    clearTimeout(this.#wait);
    this.#wait = setTimeout(() => this.ask(), STILL);
  }

  say(kind, word, text = "") {
    const { verdict, text: shown } = this.#part;
    verdict.className = `verdict ${kind}`;
    verdict.textContent = word;
    shown.textContent = text;
    shown.hidden = !text;
  }

  get chosen() {
    const value = (name) => this.question.fields.includes(name) ? this.#part[name].value : "";
    const chosen = {};
    for (const name of ["machine", "kubelet", "given"]) if (value(name).trim()) chosen[name] = value(name);
    return { chosen, to: value("to"), manifest: value("manifest") };
  }

  async ask() {
    clearTimeout(this.#wait);
    this.#asked?.abort();
    const { chosen, to, manifest } = this.chosen;
    const more = to ? ["--to", to] : [];
    this.command.show({ verb: this.question.verb, own: this.own, chosen, manifest: manifest.trim() ? manifest : "", more });
    if (this.question.needs && !manifest.trim()) return this.say("", "");
    const why = tooLong("text", (chosen.given ?? "") + manifest);
    if (why) return this.say("refused", why);
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    const given = new Blob([chosen.given ?? ""]);
    const query = new URLSearchParams({ width: lettersIn(this.#part.answer), ...(to && { to }) });
    for (const name of ["machine", "kubelet"]) if (chosen[name]) query.set(name, chosen[name]);
    if (given.size) query.set("configuration", given.size);
    this.#part.answer.setAttribute("aria-busy", "true");
    try {
      const body = new Blob([given, manifest]);
      const { outcome, headline, text } = await readDocument(`/v1/questions/${this.kind}?${query}`, { method: "POST", body, signal });
      if (!signal.aborted) this.say(outcome === GOOD ? "admitted" : "refused", headline ?? this.question.words[outcome] ?? outcome, text);
    } catch (error) {
      if (!signal.aborted) this.say("refused", "not answered", error.message);
    }
    if (!signal.aborted) this.#part.answer.removeAttribute("aria-busy");
  }
}

const known = new Map();

// Opens the view of a question.
export async function prepareQuestion(view) {
  const into = document.querySelector(`#${view} [data-question]`);
  let question = known.get(view);
  if (!question) {
    question = new Question(into, into.dataset.question);
    known.set(view, question);
  }
  const answers = await question.prepare();
  into.hidden = !answers;
  document.querySelector(`#${view} .no-questions`).hidden = answers;
  if (answers) question.ask();
}

