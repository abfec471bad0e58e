// Asks the server that the page is from. Nothing here changes anything there.

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

export async function readDocument(path) {
  return (await ask(path)).json();
}

// As the command line prints it, at most `width` letters wide.
export async function readText(path, width) {
  return (await ask(withTable(path, width))).text();
}

// What would be decided on a manifest: the text, and in one word what it comes to.
export async function explain(manifest, width, signal) {
  const path = withTable("/v1/explain?anew=true", width);
  const answer = await ask(path, { method: "POST", body: manifest, signal });
  return { text: await answer.text(), outcome: answer.headers.get("topolet-outcome") };
}

function withTable(path, width) {
  return `${path}${path.includes("?") ? "&" : "?"}output=table&glyphs=unicode&width=${width}`;
}

// Calls `opened` once the stream is there and `happened` for every event; ends or throws when the stream does.
// `EventSource` is not used: it cannot send the token.
export async function listen(opened, happened) {
  const answer = await ask("/v1/events?watch=true", { headers: { accept: "text/event-stream" } });
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

// How many letters of fixed width fit into an element.
export function lettersIn(element) {
  return Math.max(60, Math.min(160, Math.floor((element.clientWidth - 24) / 7.9)));
}

// The same work for many calls: at most one is in progress, and one more follows.
export function coalesced(work) {
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
      } while (again);
    } finally {
      running = false;
    }
  };
}
