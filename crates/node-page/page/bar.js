// A bar that shows how much of a resource is taken.

const BYTES = /^(memory|hugepages-)/;
const UNITS = [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]];

// An amount as tables have it: `96Gi`, `12`.
export function amount(resource, value) {
  if (!BYTES.test(resource)) return String(value);
  const [unit, size] = UNITS.find(([, size]) => value >= size) ?? ["", 1];
  const shown = value / size;
  // Rounded down, as tables are: no more is free than they say.
  return `${shown >= 10 ? Math.floor(shown) : Math.floor(shown * 10) / 10}${unit}`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A bar: how much of it is taken, and in words how much is free.
export function bar(kind) {
  const made = document.createElement(kind);
  made.className = "bar";
  const part = (name) => {
    const part = document.createElement("span");
    part.className = name;
    made.append(part);
    return part;
  };
  const [what, track, words] = ["what", "track", "words"].map(part);
  const used = document.createElement("span");
  used.className = "used";
  track.append(used);
  const fill = (resource, { free, allocatable }) => {
    const share = allocatable ? Math.round((1 - free / allocatable) * 1000) / 10 : 100;
    set(what, resource);
    set(words, `${amount(resource, free)} of ${amount(resource, allocatable)} free`);
    if (made.share !== share) used.style.width = `${made.share = share}%`;
    made.classList.toggle("full", free === 0);
  };
  return { made, fill };
}
