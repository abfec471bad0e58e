// One configuration on which a manifest is tried: the machine, the rules, and the decision.

import { Shown, element } from "./shown.js";
import { decide, lettersIn, readDocument } from "./server.js";

const RULES = ["policy", "scope", "placement"];
const SWITCHES = { cpuOptions: "CPU", topologyOptions: "topology" };

function option(value, text) {
  return new Option(text, value);
}

function fill(select, values, configured) {
  const was = select.value;
  select.replaceChildren(option("", `as configured: ${configured}`), ...values.map((name) => option(name, name)));
  select.value = values.includes(was) ? was : "";
}

export class Side {
  #asked = null;
  #part = {};
  // Options that have been switched; those of the configuration until then.
  #options = {};

  // `changed` is called when anything else is wanted.
  constructor(into, name, changed) {
    this.changed = changed;
    this.name = name;
    const copy = document.getElementById("side").content.cloneNode(true);
    this.root = copy.querySelector(".side");
    copy.querySelector("legend").textContent = name;
    for (const part of copy.querySelectorAll("[data-part]")) this.#part[part.dataset.part] = part;
    into.append(copy);
    this.shown = new Shown(this.#part.outcome, `The decision of ${name.toLowerCase()}`, (change) =>
      decide(this.manifest, { ...this.parameters(), ...change }));
    this.#part.machine.addEventListener("change", () => this.#otherMachine());
    for (const rule of [...RULES, "kubelet"]) this.#part[rule].addEventListener("change", changed);
    this.#part.given.addEventListener("input", () => {
      this.#say();
      this.changed();
    });
    this.#part.file.addEventListener("change", () => this.#send(this.#part.file.files[0]));
    const over = (event) => {
      if ([...event.dataTransfer.types].includes("Files")) event.preventDefault();
    };
    this.root.addEventListener("dragover", over);
    this.root.addEventListener("drop", (event) => {
      over(event);
      this.#send(event.dataTransfer.files[0]);
    });
  }

  // What is chosen, for a link and for the server.
  get chosen() {
    const chosen = {};
    for (const name of ["machine", "kubelet", ...RULES]) if (this.#part[name].value) chosen[name] = this.#part[name].value;
    if (this.#part.given.value.trim()) chosen.given = this.#part.given.value;
    for (const [name, options] of Object.entries(this.#options)) chosen[name] = options.join(",");
    return chosen;
  }

  // Learns what there is to choose from. Throws where the server does not say.
  async choose(chosen) {
    const { machine } = this.#part;
    if (!machine.options.length) this.#machines(await readDocument("/v1/choices"));
    if (chosen?.machine && ![...machine.options].some((known) => known.value === chosen.machine)) {
      machine.append(option(chosen.machine, chosen.machine));
    }
    machine.value = chosen?.machine ?? machine.value;
    await this.#rules();
    if (!chosen) return;
    for (const rule of [...RULES, "kubelet"]) this.#part[rule].value = chosen[rule] ?? "";
    this.#part.given.value = typeof chosen.given === "string" ? chosen.given : "";
    this.#options = {};
    for (const name of Object.keys(SWITCHES)) {
      if (typeof chosen[name] === "string") this.#options[name] = chosen[name].split(",").filter(Boolean);
    }
    this.#switches();
  }

  #machines({ machines, nodeFiles }) {
    const built = document.createElement("optgroup");
    built.label = "built in, empty";
    built.append(...machines.map((name) => option(name, name)));
    this.#part.machine.append(option("", "this node"), built);
    this.#part["file-label"].hidden = !nodeFiles;
  }

  async #rules() {
    const machine = encodeURIComponent(this.#part.machine.value);
    const choices = await readDocument(`/v1/choices?machine=${machine}`);
    const { configured } = choices;
    fill(this.#part.policy, choices.policies, configured.policy);
    fill(this.#part.scope, choices.scopes, configured.scope);
    fill(this.#part.placement, choices.placements, configured.placement);
    if (!this.#part.kubelet.options.length) {
      this.#part.kubelet.append(option("", "as it is"), ...choices.kubelets.map((name) => option(name, name)));
    }
    this.choices = choices;
    this.#switches();
  }

  #switches() {
    const { choices } = this;
    const boxes = Object.entries(SWITCHES).flatMap(([kind, name]) =>
      choices[kind].map((word) => {
        const on = this.#options[kind] ?? choices.configured[kind];
        const label = element("label", "switch", ` ${name} ${word}`);
        const box = document.createElement("input");
        box.type = "checkbox";
        box.checked = on.includes(word);
        box.addEventListener("change", () => {
          const now = this.#options[kind] ?? choices.configured[kind];
          const others = now.filter((other) => other !== word);
          this.#options[kind] = box.checked ? [...others, word].sort() : others;
          this.#say();
          this.changed();
        });
        label.prepend(box);
        return label;
      }));
    this.#part.options.replaceChildren(...boxes);
    this.#say();
  }

  // Which options are on, and whose configuration it is, beside their heads.
  #say() {
    this.#part.of.textContent = this.#part.given.value.trim() ? "as given" : "the machine's own";
    const on = Object.keys(SWITCHES).flatMap((kind) => this.#options[kind] ?? this.choices.configured[kind]);
    this.#part.on.textContent = on.join(", ") || "none";
  }

  async #otherMachine() {
    this.#options = {};
    try {
      await this.#rules();
    } catch (error) {
      this.refuse(error.message);
      return;
    }
    this.changed();
  }

  // A node file becomes a machine to choose.
  async #send(file) {
    if (!file) return;
    try {
      const path = `/v1/node-files?name=${encodeURIComponent(file.name)}`;
      const { machine } = await readDocument(path, { method: "POST", body: await file.arrayBuffer() });
      const { options } = this.#part.machine;
      if (![...options].some((known) => known.value === machine)) this.#part.machine.append(option(machine, file.name));
      this.#part.machine.value = machine;
      await this.#otherMachine();
    } catch (error) {
      this.shown.say("refused", "not read", error.message);
    }
  }

  // Says why nothing is decided.
  refuse(why) {
    this.#asked?.abort();
    this.shown.say("refused", "not decided", why);
  }

  parameters() {
    return { ...this.chosen, width: lettersIn(this.#part.outcome) };
  }

  // Asks about the manifest as it is now; an earlier question that has no answer yet is given up.
  async try(manifest) {
    this.manifest = manifest;
    this.#asked?.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    if (!manifest.trim()) {
      this.shown.say("", "", "");
      return null;
    }
    try {
      const view = await decide(manifest, this.parameters(), signal);
      if (!signal.aborted) this.shown.show(view);
      return signal.aborted ? null : view;
    } catch (error) {
      if (!signal.aborted) this.shown.say("refused", "not decided", error.message);
    }
    return null;
  }
}
