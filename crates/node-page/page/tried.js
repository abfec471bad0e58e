// What was tried in this tab, the newest first. It stays in the tab alone.

const KEY = "topolet-tried";
const MOST = 50;
// A trial counts once nobody has typed for so long, in milliseconds.
const STILL = 1200;

let all = read();
let wait = 0;
let changed = () => {};

function read() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

export function onTried(work) {
  changed = work;
}

export function tried() {
  return all;
}

// A trial that may change yet. `trial` has `fragment`, which the page opens it by, `pod`, `node`, `outcome` and
// `headline`, which is absent where the outcome tells it.
export function remember(trial) {
  clearTimeout(wait);
  wait = setTimeout(() => {
    const others = all.filter((other) => other.fragment !== trial.fragment);
    all = [{ ...trial, time: new Date().toISOString() }, ...others].slice(0, MOST);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(all));
    } catch {
      // A tab that keeps nothing shows the list until it is closed.
    }
    changed();
  }, STILL);
}

export function forget() {
  clearTimeout(wait);
}
