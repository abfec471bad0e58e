// Manifests to begin with.

// Fills a chooser with examples, which fill the text.
export function fillExamples(select, text, examples, changed) {
  select.replaceChildren(new Option("choose one", ""), ...examples.map(({ name }, at) => new Option(name, String(at))));
  select.onchange = () => {
    if (select.value === "") return;
    text.value = examples[Number(select.value)].manifest;
    select.value = "";
    changed();
  };
}
