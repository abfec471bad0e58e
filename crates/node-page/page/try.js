// A manifest that is tried, under one configuration or two: the decisions are there while it is typed. A link has it all in
// its fragment.

import { commandBox } from "./command.js";
import { fillExamples } from "./examples.js";
import { LONGEST_LINK, decoded, encoded } from "./link.js";
import { tooLong } from "./server.js";
import { Side } from "./side.js";
import { forget, remember } from "./tried.js";

const manifest = document.getElementById("manifest");
const bench = document.getElementById("bench");
const into = document.getElementById("sides");
const compare = document.getElementById("compare");
const link = document.getElementById("link");
const note = document.getElementById("link-note");

const example = document.getElementById("example");
const wide = document.getElementById("wide");

const sides = [new Side(into, "Configuration", tryManifest)];
const command = commandBox();
document.getElementById("source").append(command.box);

function linkTo(text) {
  const is = text.length <= LONGEST_LINK;
  const all = { manifest: text, sides: sides.map((side) => side.chosen) };
  const letters = is ? encoded(all) : null;
  const isFile = all.sides.some((side) => side.machine?.startsWith("file:"));
  note.textContent = letters === null ? "(the manifest is too long for a link)" : isFile ? "(without the node file)" : "";
  link.hash = letters && text ? `try=${letters}` : "try";
  command.show({ verb: "explain", own: sides[0].choices?.arguments ?? null, chosen: sides[0].chosen, manifest: text });
  command.box.hidden = !text.trim();
}

// Asks about what is there now.
export async function tryManifest() {
  const text = manifest.value;
  linkTo(text);
  const why = tooLong("manifest", text);
  if (why) {
    for (const side of sides) side.refuse(why);
    return;
  }
  const [view] = await Promise.all(sides.map((side) => side.try(text)));
  if (!view) return;
  const { node, outcome, headline, picture } = view;
  if (link.hash === "#try") forget();
  else remember({ fragment: link.hash, pod: picture?.pod ?? "", node, outcome, headline });
}

async function other(chosen) {
  if (sides.length === 1) {
    sides.push(new Side(into, "The other configuration", tryManifest));
    compare.setAttribute("aria-pressed", "true");
    bench.classList.add("two");
  }
  await sides[1].choose(chosen);
}

function alone() {
  if (sides.length === 1) return;
  sides.pop().root.remove();
  compare.setAttribute("aria-pressed", "false");
  bench.classList.remove("two");
}

// One thing after the other: a link may come while it is still asked what there is to choose from.
let last = Promise.resolve();
function inTurn(work) {
  last = last.then(work, work);
  return last;
}

// The trial of a fragment that has one.
export function takeTrial(fragment) {
  return inTurn(() => take(fragment));
}

async function take(fragment) {
  const letters = fragment.startsWith("try=") ? fragment.slice(4) : "";
  if (!letters) return;
  let trial;
  try {
    trial = decoded(letters);
    if (typeof trial.manifest !== "string") throw new Error("no manifest");
  } catch {
    sides[0].refuse("The link is damaged: copy it again.");
    return;
  }
  manifest.value = trial.manifest;
  const [first, second] = Array.isArray(trial.sides) ? trial.sides : [];
  try {
    await sides[0].choose(first ?? {});
    if (second) await other(second);
    else alone();
  } catch (error) {
    sides[0].refuse(error.message);
    return;
  }
  tryManifest();
}

// Learns what there is to choose from, again where the server has been another one.
export function prepareTrial() {
  return inTurn(async () => {
    for (const side of sides) await side.choose();
    fillExamples(example, manifest, sides[0].choices.examples, tryManifest);
    // What is said of a link stays where there is nothing to decide on.
    if (manifest.value) tryManifest();
  });
}

compare.addEventListener("click", () => inTurn(async () => {
  // Two equal ones would show nothing.
  const { policies = [], configured = {} } = sides[0].choices ?? {};
  const now = sides[0].chosen.policy ?? configured.policy;
  const policy = policies.find((policy) => policy !== now && policy !== "none");
  if (sides.length === 1) await other({ ...sides[0].chosen, ...(policy && { policy }) }).catch((error) => sides[1]?.refuse(error.message));
  else alone();
  tryManifest();
}));
wide.addEventListener("click", () => {
  const is = bench.classList.toggle("wide");
  wide.setAttribute("aria-pressed", String(is));
});
manifest.addEventListener("input", tryManifest);
manifest.addEventListener("dragover", (event) => {
  event.preventDefault();
  manifest.classList.add("over");
});
manifest.addEventListener("dragleave", () => manifest.classList.remove("over"));
manifest.addEventListener("drop", async (event) => {
  const [file] = event.dataTransfer.files;
  manifest.classList.remove("over");
  if (!file) return;
  event.preventDefault();
  manifest.value = await file.text();
  tryManifest();
});
