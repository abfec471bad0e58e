//! Views of questions: configurations, upgrades, moves of pods, how many of a pod fit.

use anyhow::ensure;
use serde_json::json;

use super::looked::{CONFIG, Looked, live, no_complaints, pod};
use super::running::Running;

/// In the view `arguments[0]` the part `arguments[1]` gets the value `arguments[2]`.
const GIVEN: &str = "const part = document.querySelector(`#${arguments[0]} [data-part=${arguments[1]}]`); part.value = arguments[2]; \
                     part.dispatchEvent(new Event(part.localName === 'select' ? 'change' : 'input'))";

/// Each is asked and answered.
pub(super) fn asked(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let state = workspace_tools::workspace::root().join("fixtures/state/healthy");
    let state = state.to_string_lossy().into_owned();
    let ui = Running::ui(&["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--state", &state])?;
    browser.open(&ui.address)?;
    live(browser)?;
    let wrong = CONFIG.replace("single-numa-node", "single-numa-nod");
    let (small, large) = (pod("mine", 4), pod("mine", 60));
    for (view, part, value, said, command) in [
        ("configuration", "", "", "configuration pinned", "topolet config check --machine"),
        ("configuration", "given", wrong.as_str(), "single-numa-nod", "-c kubelet.yaml"),
        ("configuration", "given", CONFIG, "configuration pasted", "cat > kubelet.yaml"),
        ("configuration", "machine", "spr-8480-snc4-8node", "spr-8480-snc4-8node", "-m spr-8480-snc4-8node"),
        ("upgrade", "", "", "1.37", "topolet upgrade check"),
        ("upgrade", "to", "v1.34.4", "1.34", "--to v1.34.4"),
        ("repack", "manifest", &large, "shop/mine", "topolet repack"),
        ("find-max", "manifest", &small, "single-numa-node", "topolet simulate --find-max"),
        ("find-max", "machine", "epyc-2s-96cpu-16l3-8gpu", "epyc-2s-96cpu-16l3-8gpu", "-f pods.yaml"),
    ] {
        browser.run("location.hash = arguments[0]", &json!([view]))?;
        browser.until(
            "there are machines to choose from",
            &format!("return document.querySelectorAll('#{view} [data-part=machine] option').length > 4"),
        )?;
        if !part.is_empty() {
            browser.run(GIVEN, &json!([view, part, value]))?;
        }
        browser.until(
            &format!("{view} with {part} {value} is answered with {said}"),
            &format!(
                "const text = document.querySelector('#{view} pre').textContent; return text.includes({}) && !text.includes('\\u001b')",
                json!(said)
            ),
        )?;
        let shown = browser.run(
            "const box = document.querySelector(`#${arguments[0]} .command`); return box.querySelector('pre').textContent",
            &json!([view]),
        )?;
        let shown = shown.as_str().unwrap_or_default();
        ensure!(shown.contains(command), "{view}: the command is {shown}");
        looked.look(&format!("{view}-{}", if part.is_empty() { "own" } else { part }))?;
    }
    no_complaints(browser, "questions")?;
    browser.run(GIVEN, &json!(["find-max", "manifest", "a: &a [*a, *a"]))?;
    browser.until(
        "what is no manifest is reported",
        "return document.querySelector('#find-max .verdict').textContent.startsWith('not answered')
            && document.querySelector('#find-max pre').textContent.includes('manifest')",
    )?;
    browser.complaints()?;
    browser.leave()
}
