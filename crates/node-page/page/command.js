// What a page shows, as a command for a shell.

const PLAIN = /^[\w./:=,@%+-]+$/;
// Options of Kubernetes that are on only with a gate.
const ALPHA = ["align-by-socket", "distribute-cpus-across-cores"];

function quoted(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function file(name, text) {
  // No line of the text is the last one.
  let end = "EOF";
  while (text.split("\n").includes(end)) end += "F";
  return `cat > ${name} <<'${end}'\n${text.replace(/\n?$/, "\n")}${end}\n`;
}

// The words without some options, each of which has a value.
function without(words, options) {
  const left = [];
  for (let at = 0; at < words.length; at++) {
    const name = options.find((option) => words[at] === option || words[at].startsWith(`${option}=`));
    if (!name) left.push(words[at]);
    else if (words[at] === name) at += 1;
  }
  return left;
}

// `own` are the words that name the node that is shown; `null`: a daemon serves it. Throws where no command does the same.
export function command({ verb, own, chosen = {}, manifest = "", more = [] }) {
  const files = [];
  const { machine, policy, scope, placement, kubelet, given, cpuOptions, topologyOptions } = chosen;
  const rules = [policy, scope, placement, kubelet, given, cpuOptions, topologyOptions];
  if (manifest) files.push(file("pods.yaml", manifest));
  if (!machine && !own) {
    if (rules.some((rule) => rule !== undefined)) throw new Error("No command decides by other rules on a node that is served.");
    return `${files.join("")}topolet apply --dry-run -f pods.yaml`;
  }
  let words = own && !machine ? [...own] : ["-m", machine.startsWith("file:") ? `./${machine.slice(5)}` : machine];
  const replaced = [];
  const add = (options, ...value) => {
    words = without(words, options);
    replaced.push(...value);
  };
  if (given) {
    files.push(file("kubelet.yaml", given));
    add(["-c", "--config", "--kubelet-flags", "--base", "--policy", "--scope"], "-c", "kubelet.yaml");
  }
  if (policy) add(["--policy"], "--policy", policy);
  if (scope) add(["--scope"], "--scope", scope);
  if (kubelet) add(["--kubelet"], verb.startsWith("upgrade") ? "--from" : "--kubelet", kubelet);
  const flags = [];
  for (const [name, options] of [["cpu-manager", cpuOptions], ["topology-manager", topologyOptions]]) {
    if (options === undefined) continue;
    const on = options.split(",").filter(Boolean);
    if (!on.length) throw new Error("No command switches options of a configuration off: change them in its file.");
    flags.push(`--${name}-policy-options=${on.map((option) => `${option}=true`).join(",")}`);
    if (on.some((option) => ALPHA.includes(option))) flags.push("--feature-gates=CPUManagerPolicyAlphaOptions=true");
  }
  if (flags.length) {
    const hasConfig = given || (!machine && words.some((word) => /^(-c|--config)/.test(word)));
    if (machine && !machine.startsWith("file:") && !hasConfig) replaced.push("-c", "pinned");
    replaced.push(`--kubelet-flags=${flags.join(" ")}`);
  }
  if (placement) {
    const text = `apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\nplacement: {strategy: ${placement}}\n`;
    files.push(file("topolet.yaml", text));
    add(["--topolet-config", "--for"], "--topolet-config", "topolet.yaml");
  }
  const pods = manifest ? ["-f", "pods.yaml"] : [];
  const all = [...verb.split(" "), ...words, ...replaced, ...more, ...pods].map(quoted);
  return `${files.join("")}topolet ${all.join(" ")}`;
}

// An element that shows a command, and copies it.
export function commandBox() {
  const box = document.createElement("details");
  box.className = "command";
  const summary = document.createElement("summary");
  summary.textContent = "As a command";
  const text = document.createElement("pre");
  text.tabIndex = 0;
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", "The same as a command");
  const copy = document.createElement("button");
  copy.type = "button";
  copy.textContent = "Copy";
  const note = document.createElement("span");
  note.setAttribute("role", "status");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      note.textContent = " copied";
    } catch {
      getSelection().selectAllChildren(text);
      note.textContent = " selected: the browser lets no page copy here";
    }
  });
  box.append(summary, text, copy, note);
  const show = (asked) => {
    note.textContent = "";
    try {
      text.textContent = command(asked);
      copy.disabled = false;
    } catch (error) {
      text.textContent = error.message;
      copy.disabled = true;
    }
  };
  return { box, show };
}
