// A manifest that is tried: the decision is there while it is typed. A link has it in its fragment, which no browser sends.

import { explain, lettersIn } from "./server.js";

const VERDICTS = {
  done: ["admitted", "admitted"],
  "some-refused": ["refused", "refused"],
  partial: ["", "a part of the manifest was left out"],
};
// Longer links are cut or refused by programs that people paste them into.
const LONGEST_LINK = 32 * 1024;

const manifest = document.getElementById("manifest");
const verdict = document.getElementById("verdict");
const explanation = document.getElementById("explanation");
const link = document.getElementById("link");

let asked = null;

function tell(kind, word, text) {
  verdict.className = kind;
  verdict.textContent = word;
  explanation.textContent = text;
}

// Asks about what is there now; an earlier question that has no answer yet is given up.
export async function tryManifest() {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  linkTo(manifest.value);
  if (!manifest.value.trim()) {
    tell("", "", "");
    return;
  }
  try {
    const { text, outcome } = await explain(manifest.value, lettersIn(explanation), signal);
    if (!signal.aborted) tell(...(VERDICTS[outcome] ?? ["", ""]), text);
  } catch (error) {
    if (!signal.aborted) tell("refused", "not decided", error.message);
  }
}

function linkTo(text) {
  const bytes = new TextEncoder().encode(text);
  const fits = bytes.length <= LONGEST_LINK;
  document.getElementById("link-note").textContent = fits ? "" : "(the manifest is too long for a link)";
  let binary = "";
  if (fits) for (const byte of bytes) binary += String.fromCharCode(byte);
  const encoded = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  link.hash = encoded ? `try=${encoded}` : "try";
}

// The manifest of a fragment that has one.
export function takeManifest(fragment) {
  const encoded = fragment.startsWith("try=") ? fragment.slice(4) : "";
  if (!encoded) return;
  try {
    const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    manifest.value = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    tell("refused", "the link is damaged", "Its manifest cannot be read: copy the link again.");
    return;
  }
  tryManifest();
}

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
