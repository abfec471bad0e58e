// Scenarios: run with progress, their charts, and two runs beside each other.

import { Picture } from "./picture.js";
import { element } from "./shown.js";
import { readDocument, readText, tooLong } from "./server.js";

// How often a run is looked at, in milliseconds.
const LOOK = 150;

const by = (id) => document.getElementById(id);
const [scenarios, text, run, cancel, progress, far, failure] =
  ["scenarios", "scenario", "run", "cancel", "progress", "far", "failure"].map(by);
const [shownRun, otherRun, results] = ["shown-run", "other-run", "results"].map(by);

// The scenario that the text began as.
let base = "";
// What came of runs, by number.
const done = new Map();
let running = null;

// Whether scenarios run here is asked once.
let isPrepared = false;
export async function prepareDesk() {
  if (isPrepared) return;
  const { scenarios: names } = await readDocument("/v1/choices");
  isPrepared = true;
  by("no-simulations").hidden = Boolean(names);
  by("desk").hidden = !names;
  if (!names) return;
  scenarios.replaceChildren(...names.map((name) => new Option(name, name)), new Option("one of your own", ""));
  await load();
}

async function load() {
  if (!scenarios.value) return;
  base = scenarios.value;
  text.value = await readText(`/v1/scenarios/${encodeURIComponent(scenarios.value)}`);
}

function say(state, done, all) {
  const is = state === "running";
  run.disabled = is;
  cancel.disabled = !is;
  progress.hidden = !is;
  progress.max = all || 1;
  progress.value = done;
  far.textContent = is && all ? `${done} of ${all} pods` : state;
}

function fail(message) {
  failure.hidden = !message;
  failure.textContent = message;
}

async function start() {
  const name = scenarios.value || `${base}, changed`;
  const why = tooLong("scenario", text.value);
  fail(why ?? "");
  if (why) return;
  say("running", 0, 0);
  try {
    let found = await readDocument("/v1/simulations", { method: "POST", body: text.value });
    running = found.number;
    while (found.state === "running") {
      say(found.state, found.done, found.all);
      await new Promise((later) => setTimeout(later, LOOK));
      found = await readDocument(`/v1/simulations/${running}`);
    }
    say(found.state, found.done, found.all);
    if (found.state === "failed") fail(found.message);
    if (found.state === "done") keep(found, name);
  } catch (error) {
    say("failed", 0, 0);
    fail(error.message);
  }
  running = null;
}

function keep(found, name) {
  const label = `${found.number}: ${name}`;
  done.set(String(found.number), { ...found, label });
  for (const select of [shownRun, otherRun]) {
    const was = select.value;
    const options = [...done].map(([number, { label }]) => new Option(label, number)).reverse();
    select.replaceChildren(...(select === otherRun ? [new Option("none", "")] : []), ...options);
    select.value = was;
  }
  // The newest, and beside it what was shown, if anything is.
  if (otherRun.value) otherRun.value = shownRun.dataset.was ?? otherRun.value;
  shownRun.value = String(found.number);
  if (!otherRun.value) otherRun.value = "";
  by("runs").hidden = false;
  draw();
}

function result({ label, text, charts }) {
  const whole = element("article", "result");
  const head = element("h3", "", `Run ${label}`);
  const frame = element("div", "picture");
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", `Charts of run ${label}; the tables say the same`);
  new Picture(frame).draw(charts);
  const details = document.createElement("details");
  const tables = element("pre", "", text);
  tables.tabIndex = 0;
  tables.setAttribute("role", "region");
  tables.setAttribute("aria-label", `Tables of run ${label}`);
  details.open = true;
  details.append(element("summary", "", "Tables"), tables);
  whole.append(head, frame, details);
  return whole;
}

function draw() {
  shownRun.dataset.was = shownRun.value;
  const wanted = [shownRun.value, otherRun.value].filter((number) => done.has(number));
  for (const wide of [results, by("desk")]) wide.classList.toggle("two", wanted.length === 2);
  results.replaceChildren(...wanted.map((number) => result(done.get(number))));
}

scenarios.addEventListener("change", () => load().catch((error) => fail(error.message)));
text.addEventListener("input", () => { scenarios.value = ""; });
run.addEventListener("click", start);
cancel.addEventListener("click", () => {
  if (running) readDocument(`/v1/simulations/${running}`, { method: "DELETE" }).catch((error) => fail(error.message));
});
for (const select of [shownRun, otherRun]) select.addEventListener("change", draw);
