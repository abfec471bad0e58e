// All nodes of a cluster: found by name, coloured by what is asked for, each with what it has.

import { bar } from "./bar.js";
import { Refused, readDocument } from "./server.js";

// Between two looks, in milliseconds: the server lists the nodes no more often.
const BETWEEN = 2000;
// So many tiles change in one frame, so that a cluster that changes leaves time for whoever scrolls.
const IN_A_FRAME = 100;

const by = (id) => document.getElementById(id);
const [list, contains, colour, only, count, live, key, notes] =
  ["nodes", "contains", "colour", "only", "count", "live", "key", "notes"].map(by);

let overview = { asked: [], nodes: [], notSeen: [] };
const tiles = new Map();

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function says(text, lost) {
  set(live, text);
  live.classList.toggle("lost", lost);
}

const counted = (of, one, many) => `${of} ${of === 1 ? one : many}`;
const refusals = (row) => Object.values(row.refused ?? {}).reduce((sum, pods) => sum + pods, 0);
const resource = (row, name) => row.free.find((free) => free.resource === name);
const most = (row, name) => Math.max(0, ...(resource(row, name)?.numa ?? []).map(({ free }) => free));

// What a node is in the colour that is chosen: a class and a word.
function state(row) {
  if (row.basis === "unknown") return ["unknown", "? nothing is published"];
  const about = row.basis === "approximate" ? "~ " : "";
  if (colour.value === "cpu") {
    const all = resource(row, "cpu")?.numa ?? [];
    const share = most(row, "cpu") / Math.max(1, ...all.map(({ allocatable }) => allocatable));
    const kind = share > 0.5 ? "can" : share > 0.15 ? "tight" : "cannot";
    return [kind, `${about}${most(row, "cpu")} CPUs free on one NUMA node`];
  }
  if (colour.value === "refused") {
    const pods = refusals(row);
    if (row.refused === undefined || row.refused === null) return ["unknown", "? refusals are not known"];
    return pods ? ["cannot", `✘ ${counted(pods, "refusal", "refusals")} in the last hour`] : ["can", "✔ none refused"];
  }
  const fits = row.fits.includes(Number(colour.value));
  return fits ? ["can", `${about}✔ fits`] : ["cannot", `${about}✘ does not fit`];
}

function tile(row) {
  const line = document.createElement("li");
  const link = document.createElement("a");
  link.href = `#node=${encodeURIComponent(row.node)}`;
  const part = (name) => {
    const part = document.createElement("span");
    part.className = name;
    link.append(part);
    return part;
  };
  line.append(link);
  return { line, link, name: part("name"), word: part("word"), free: part("free"), wrong: part("wrong") };
}

function draw(own, row) {
  const [kind, word] = state(row);
  const cpus = resource(row, "cpu")?.numa ?? [];
  const shown = cpus.length > 8
    ? `${cpus.reduce((sum, { free }) => sum + free, 0)} CPUs free, ${most(row, "cpu")} on one`
    : cpus.length ? `CPUs free: ${cpus.map(({ free }) => free).join(" ")}` : "";
  const wrong = [...row.conditions, ...(refusals(row) ? [counted(refusals(row), "refusal", "refusals")] : [])];
  if (own.link.className !== kind) own.link.className = kind;
  set(own.name, row.node);
  set(own.word, word);
  set(own.free, shown);
  set(own.wrong, wrong.join(", "));
}

function isWanted(row) {
  if (!row.node.toLowerCase().includes(contains.value.trim().toLowerCase())) return false;
  switch (only.value) {
    case "fits": return state(row)[0] === "can";
    case "lacks": return state(row)[0] === "cannot";
    case "refusing": return refusals(row) > 0;
    case "conditions": return row.conditions.length > 0;
    case "unknown": return row.basis === "unknown";
    default: return true;
  }
}

// What is drawn later, in the order of the nodes.
let queue = [];
let isDrawing = false;

function drawSome() {
  for (const row of queue.splice(0, IN_A_FRAME)) {
    let own = tiles.get(row.node);
    if (!own) {
      own = tile(row);
      tiles.set(row.node, own);
      list.append(own.line);
    }
    draw(own, row);
    const is = isWanted(row);
    if (own.line.hidden === is) own.line.hidden = !is;
  }
  isDrawing = queue.length > 0;
  if (isDrawing) requestAnimationFrame(drawSome);
}

function drawAll() {
  const names = new Set(overview.nodes.map((row) => row.node));
  for (const [name, { line }] of tiles) {
    if (names.has(name)) continue;
    line.remove();
    tiles.delete(name);
  }
  queue = [...overview.nodes];
  const shown = overview.nodes.filter(isWanted).length;
  set(count, `${shown} of ${overview.nodes.length}`);
  by("no-nodes").hidden = shown > 0;
  if (!isDrawing) {
    isDrawing = true;
    requestAnimationFrame(drawSome);
  }
  drawOne();
}

// The node of the address.
function drawOne() {
  const name = location.hash.startsWith("#node=") ? decodeURIComponent(location.hash.slice(6)) : "";
  const row = overview.nodes.find((row) => row.node === name);
  by("one").hidden = !row;
  if (!row) return;
  set(by("one-head"), row.node);
  const known = { exact: "by its agent, as its kubelet decides", approximate: "by amounts that are published, which is not the kubelet's answer", unknown: "nothing is published of it" };
  const refused = Object.entries(row.refused ?? {}).map(([reason, pods]) => `${pods} ${reason}`);
  const words = [
    `Known ${known[row.basis]}`,
    row.conditions.length ? `conditions: ${row.conditions.join(", ")}` : "no condition",
    row.refused ? `refused in the last hour: ${refused.join(", ") || "none"}` : "refusals are not known",
  ];
  set(by("one-words"), `${words.join("; ")}.`);
  const fits = row.fits.map((at) => overview.asked[at]?.asks).filter(Boolean);
  set(by("one-fits"), overview.asked.length ? `Of what was asked for in the last day fits: ${fits.join("; ") || "none"}.` : "");
  set(by("one-command"), `kubectl topolet node ${row.node}`);
  const text = JSON.stringify(row.free);
  if (by("one-free").shown === text) return;
  by("one-free").shown = text;
  const groups = new Map();
  for (const { resource, numa, elsewhere } of row.free) {
    for (const cell of numa) {
      const group = groups.get(cell.node) ?? [];
      groups.set(cell.node, [...group, [resource, cell]]);
    }
    if (elsewhere) groups.set(null, [...(groups.get(null) ?? []), [resource, { free: elsewhere, allocatable: elsewhere }]]);
  }
  by("one-free").replaceChildren(...[...groups].map(([numa, cells]) => {
    const group = document.createElement("div");
    group.className = "numa";
    const head = document.createElement("h4");
    head.textContent = numa === null ? "near no single NUMA node" : `NUMA ${numa}`;
    group.append(head, ...cells.map(([resource, cell]) => {
      const own = bar("div");
      own.fill(resource, cell);
      return own.made;
    }));
    return group;
  }));
}

// What nodes can be coloured by; the largest of what was asked for, which stands first, unless another was chosen.
function choose() {
  const options = [
    ...overview.asked.map(({ asks, pods, fitsNodes }, at) => [String(at), `${asks} (${counted(pods, "pod", "pods")}, fits ${counted(fitsNodes, "node", "nodes")})`]),
    ["cpu", "free CPUs"], ["refused", "refusals of the last hour"],
  ];
  const was = colour.selectedOptions[0]?.dataset.asks ?? "";
  const before = colour.value;
  const text = JSON.stringify(options);
  if (colour.shown === text) return;
  colour.shown = text;
  colour.replaceChildren(...options.map(([value, name]) => {
    const option = new Option(name, value);
    option.dataset.asks = overview.asked[value]?.asks ?? value;
    return option;
  }));
  const same = [...colour.options].find((option) => option.dataset.asks === was);
  colour.value = same?.value ?? (before && !was ? before : colour.options[0].value);
}

function explain() {
  const what = { cpu: "by the most free CPUs on one NUMA node: more than half, more than 15 %, less", refused: "by refusals of the last hour: none, some" };
  set(key, `Coloured ${what[colour.value] ?? "by whether one more pod of this kind fits"}; each node has it as a word too. A node opens what it has.`);
}

async function look() {
  try {
    overview = await readDocument("/v1/nodes");
    choose();
    explain();
    by("filter").hidden = false;
    notes.replaceChildren(...overview.notSeen.map((gap) => {
      const line = document.createElement("li");
      line.textContent = `not seen: ${gap}`;
      return line;
    }));
    notes.hidden = overview.notSeen.length === 0;
    drawAll();
    says("live", false);
  } catch (error) {
    says(error instanceof Refused ? error.message : "the server does not answer; trying again", true);
  }
}

async function follow() {
  for (;;) {
    if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
    await look();
    await new Promise((done) => setTimeout(done, BETWEEN));
  }
}

for (const chooser of [contains, colour, only]) {
  chooser.addEventListener("input", () => {
    explain();
    drawAll();
  });
}
by("filter").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => {
  drawOne();
  if (location.hash.startsWith("#node=")) by("one").scrollIntoView({ block: "nearest" });
});
follow();
