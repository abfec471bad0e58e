// Asks the server that the page is from. Nothing here changes anything on the node.

const TOKEN = "topolet-token";

// A token that comes in the fragment is kept for this tab, and leaves the address bar.
export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(TOKEN, found[1]);
  history.replaceState(null, "", "#node");
}

// A request that was answered with an error: its message is for people.
export class Refused extends Error {}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try {
    message = JSON.parse(text).message ?? text;
  } catch {
    // A text that is no document is shown as it is.
  }
  throw new Refused(message);
}

export async function readDocument(path, options) {
  return (await ask(path, options)).json();
}

// As the command line prints it, at most `width` letters wide.
export async function readText(path, width) {
  const table = width ? `${path.includes("?") ? "&" : "?"}output=table&glyphs=unicode&width=${width}` : "";
  return (await ask(path + table)).text();
}

// What would be decided on a manifest, or with `uid` among the parameters on a pod that was refused; with `given` by that
// configuration.
export async function decide(manifest, { given, ...parameters }, signal) {
  const query = new URLSearchParams({ glyphs: "unicode", ...parameters });
  const configuration = new Blob([given ?? ""]);
  if (configuration.size) query.set("configuration", configuration.size);
  return readDocument(`/v1/try?${query}`, { method: "POST", body: new Blob([configuration, manifest]), signal });
}

// Calls `opened` once the stream is there and `happened` for every event; ends or throws when the stream does.
// `EventSource` is not used: it cannot send the token.
export async function listen(opened, happened, signal) {
  const answer = await ask("/v1/events?watch=true", { headers: { accept: "text/event-stream" }, signal });
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    if (blocks.some((block) => block.includes("event:"))) happened();
  }
}

// The server of a page reads no longer texts.
const LONGEST = 1 << 20;

// Why a text is not sent; `null`: it can be.
export function tooLong(what, text) {
  if (new Blob([text]).size <= LONGEST) return null;
  return `The ${what} is longer than ${LONGEST} bytes, which no server of this page reads.`;
}

// How many letters of fixed width fit into an element.
export function lettersIn(element) {
  return Math.max(40, Math.min(160, Math.floor((element.clientWidth - 24) / 7.9)));
}

// The same work for many calls: at most one is in progress, and one more follows, `pause` milliseconds later.
export function coalesced(work, pause) {
  let running = false;
  let again = false;
  return async function call() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        await work();
        if (again) await new Promise((done) => setTimeout(done, pause));
      } while (again);
    } finally {
      running = false;
    }
  };
}
