//! Scenarios that are run, cancelled and compared.

use anyhow::ensure;
use serde_json::json;

use super::looked::{Looked, live, no_complaints};
use super::running::Running;

const TEXT: &str = "const text = document.getElementById('scenario'); text.value = arguments[0](text.value); \
                    text.dispatchEvent(new Event('input'))";

pub(super) fn run(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let ui = Running::ui(&["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned"])?;
    browser.open(&ui.address)?;
    live(browser)?;
    browser.run("location.hash = 'simulate'", &json!([]))?;
    browser.until(
        "a built-in scenario is there",
        "return document.getElementById('scenario').value.includes('kind: Scenario')",
    )?;
    looked.look("simulate")?;
    let changed =
        |change: &str| browser.run(&TEXT.replace("arguments[0]", &format!("({change})")), &json!([]));
    let press = |id: &str| browser.run("document.getElementById(arguments[0]).click()", &json!([id]));
    let far = |what: &str, word: &str| {
        browser.until(what, &format!("return document.getElementById('far').textContent === '{word}'"))
    };

    changed("(text) => text.replace(/count: \\d+, every/, 'count: 60, every')")?;
    press("run")?;
    far("a run is done", "done")?;
    browser.until(
        "its charts show",
        "return document.querySelector('.result .picture')?.shadowRoot.querySelectorAll('path').length >= 4",
    )?;
    browser.until(
        "and its tables",
        "return document.querySelector('.result pre').textContent.includes('single-numa-node')",
    )?;

    changed("(text) => text.replace('seed: 7', 'seed: 8')")?;
    press("run")?;
    browser
        .until("a second run is done", "return document.getElementById('shown-run').options.length === 2")?;
    browser.run(
        "const other = document.getElementById('other-run'); other.value = '1'; other.dispatchEvent(new Event('change'))",
        &json!([]),
    )?;
    browser.until(
        "two runs are beside each other",
        "return document.querySelectorAll('#results.two .result').length === 2",
    )?;
    looked.look("simulate-compared")?;

    changed("(text) => text.replace('count: 60', 'count: 400000')")?;
    press("run")?;
    browser.until(
        "progress shows",
        "return / of 1600000 pods$/.test(document.getElementById('far').textContent)
            && !document.getElementById('progress').hidden && !document.getElementById('cancel').disabled",
    )?;
    looked.look("simulate-running")?;
    press("cancel")?;
    far("the run ends", "cancelled")?;
    let runs = browser.run("return document.getElementById('shown-run').options.length", &json!([]))?;
    ensure!(runs == 2, "a run that was cancelled is kept: {runs}");
    no_complaints(browser, "scenarios")?;

    for (change, message) in [
        ("() => 'a: &a [*a, *a'", "error"),
        ("(text) => text.replace('devices: edge-devices.yaml', 'devices: /etc/passwd')", "reads no files"),
        ("(text) => text.replace('count: 400000', 'count: 4000000')", "more than the 2000000"),
    ] {
        // What was there before has the same words.
        browser.run(
            "document.getElementById('scenario').value = ''; const all = document.getElementById('scenarios');
             all.value = 'edge'; all.dispatchEvent(new Event('change'))",
            &json!([]),
        )?;
        browser.until(
            "the scenario is there",
            "return document.getElementById('scenario').value.includes('count: 200,')",
        )?;
        if message.starts_with("more") {
            changed("(text) => text.replace('count: 200', 'count: 400000')")?;
        }
        changed(change)?;
        press("run")?;
        browser.until(
            message,
            &format!("return document.getElementById('failure').textContent.includes({})", json!(message)),
        )?;
    }
    // What was wrong was answered with an error.
    browser.complaints()?;
    browser.leave()
}
