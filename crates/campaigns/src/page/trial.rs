//! Pods that are tried: while they are typed, by other rules, on other machines, by a link.

use anyhow::{Context as _, ensure};
use kubelet_release::Release;
use serde_json::{Value, json};

use super::browser::Browser;
use super::looked::{CONFIG, Looked, live, no_complaints, pod};
use super::running::{self, Running};

const TYPED: &str = "const text = document.getElementById('manifest'); text.value = arguments[0]; \
                     text.dispatchEvent(new Event('input'))";
/// In the side `arguments[0]` the chooser `arguments[1]` gets the value `arguments[2]`.
const CHOSEN: &str = "const side = document.querySelectorAll('.side')[arguments[0]]; \
                      const chooser = side.querySelector(`[data-part=${arguments[1]}]`); \
                      chooser.value = arguments[2]; chooser.dispatchEvent(new Event('change'))";

fn type_in(browser: &Browser, text: &str) -> anyhow::Result<Value> {
    browser.run(TYPED, &json!([text]))
}

fn choose(browser: &Browser, side: usize, chooser: &str, value: &str) -> anyhow::Result<Value> {
    browser.run(CHOSEN, &json!([side, chooser, value]))
}

/// The word over the decision of a side begins so.
fn verdict(browser: &Browser, side: usize, what: &str, word: &str) -> anyhow::Result<Value> {
    let script = format!(
        "return document.querySelectorAll('.side .verdict')[{side}]?.textContent.startsWith({})",
        json!(word)
    );
    browser.until(what, &script)
}

fn shown_text(browser: &Browser, side: usize) -> anyhow::Result<String> {
    let text = browser
        .run("return document.querySelectorAll('.side pre')[arguments[0]].textContent", &json!([side]))?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

/// The rules are there to choose from.
fn ready(browser: &Browser) -> anyhow::Result<()> {
    browser.run("location.hash = 'try'", &json!([]))?;
    let script = "return document.querySelectorAll('.side [data-part=policy] option').length > 4";
    browser.until("there are rules to choose from", script).map(drop)
}

pub(super) fn tried(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let state = workspace_tools::workspace::root().join("fixtures/state/healthy");
    let state = state.to_str().context("the path is no text")?;
    let ui = Running::ui(&["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--state", state])?;
    browser.open(&ui.address)?;
    live(browser)?;
    ready(browser)?;
    looked.look("try-empty")?;
    examples(looked)?;
    refusal_to_admission(looked)?;
    by_other_rules(looked)?;
    given_configuration(looked)?;
    was_tried(looked)?;
    side_by_side(looked, &ui)?;
    no_complaints(browser, "pods that are tried")?;
    node_file(looked)?;
    claims(looked)?;
    bad_input(browser)?;
    browser.leave()
}

/// Pods with claims beside slices and classes: where their devices are, and why there are none.
fn claims(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let files = workspace_tools::workspace::root().join("docs/guide/files");
    let read = |name: &str| std::fs::read_to_string(files.join(name)).context("a file of the guide");
    let (slices, trainer, wide) =
        (read("training/slices.yaml")?, read("training/trainer.yaml")?, read("wide.yaml")?);
    choose(browser, 0, "policy", "restricted")?;
    // The verdict before can have the same word.
    let shows = |pod: &str| {
        let script = format!("return document.querySelector('.side pre').textContent.includes('{pod} ')");
        browser.until(&format!("{pod} is decided on"), &script)
    };
    type_in(browser, &format!("{slices}\n---\n{trainer}"))?;
    shows("ml/trainer")?;
    verdict(browser, 0, "a pod with claims is admitted", "admitted")?;
    let text = shown_text(browser, 0)?;
    for part in ["claim devices on NUMA 1", "NOT aligned: ", "gpu.example.com/worker-1/gpu-0 on NUMA 1"] {
        ensure!(text.contains(part), "a pod with claims reads without {part:?}: {text}");
    }
    looked.look("try-claims")?;
    type_in(browser, &format!("{slices}\n---\n{trainer}\n---\n{wide}"))?;
    shows("ml/wide")?;
    verdict(
        browser,
        0,
        "the pods are counted, one of which is not scheduled",
        "1 admitted, 1 not scheduled",
    )?;
    let text = shown_text(browser, 0)?;
    for part in ["not scheduled here: cannot allocate all claims", "would fit", "request cpus"] {
        ensure!(text.contains(part), "claims that do not fit read without {part:?}: {text}");
    }
    looked.look("try-claims-refused")
}

/// An example is a click away, is decided on, and is there as a command.
fn examples(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    browser.run(
        "const example = document.getElementById('example'); example.value = '1'; example.dispatchEvent(new Event('change'));
         document.getElementById('wide').click()",
        &json!([]),
    )?;
    verdict(browser, 0, "more CPUs than a NUMA node has are refused", "refused")?;
    let command = browser.run(
        "document.querySelector('#source .command').open = true;
         return document.querySelector('#source .command pre').textContent",
        &json!([]),
    )?;
    let command = command.as_str().unwrap_or_default();
    let expected = "topolet explain --machine xeon-2s-96cpu-sriov --config pinned --state ";
    ensure!(command.contains(expected) && command.ends_with("-f pods.yaml"), "the command is {command}");
    looked.look("try-example")?;
    browser.run(
        "document.querySelector('#source .command').open = false; document.getElementById('wide').click()",
        &json!([]),
    )?;
    Ok(())
}

/// A configuration that is pasted, read by another kubelet.
fn given_configuration(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let give = "const given = document.querySelector('.side [data-part=given]'); given.closest('details').open = true; \
                given.value = arguments[0]; given.dispatchEvent(new Event('input'))";
    choose(browser, 0, "policy", "")?;
    choose(browser, 0, "scope", "")?;
    let kubelet = format!("v{}", Release::V1_37.newest());
    choose(browser, 0, "kubelet", &kubelet)?;
    browser.run(give, &json!([CONFIG]))?;
    browser.until(
        "the configuration that was given decides, by another kubelet",
        &format!(
            "const text = document.querySelector('.side pre').textContent;
             return text.includes('single-numa-node') && text.includes('{kubelet}')"
        ),
    )?;
    looked.look("try-configuration")?;
    browser.run(give, &json!(["kind: Pod\n"]))?;
    verdict(browser, 0, "what is no configuration is reported", "not decided")?;
    browser.run(give, &json!([""]))?;
    for (chooser, value) in [("kubelet", ""), ("policy", "best-effort"), ("scope", "pod")] {
        choose(browser, 0, chooser, value)?;
    }
    browser.run(
        "document.querySelector('.side [data-part=given]').closest('details').open = false",
        &json!([]),
    )?;
    browser.complaints().map(drop)
}

/// What was tried stands under Decisions, and leads back to the trial.
fn was_tried(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    type_in(browser, &pod("remembered", 60))?;
    verdict(browser, 0, "the pod is decided on", "")?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    browser.until(
        "what was tried is listed",
        "return document.querySelector('#tried a')?.textContent.includes('shop/remembered')
            && !document.getElementById('no-daemon').hidden",
    )?;
    looked.look("ui-decisions")?;
    browser.run("document.querySelector('#tried a').click()", &json!([]))?;
    browser.until(
        "the trial is there again",
        "return location.hash.startsWith('#try=') && document.getElementById('manifest').value.includes('remembered')",
    )?;
    verdict(browser, 0, "it is decided on again", "")?;
    ready(browser)
}

/// From a refusal by what would fit to a pod that is admitted.
fn refusal_to_admission(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    choose(browser, 0, "policy", "single-numa-node")?;
    type_in(browser, &pod("mine", 60))?;
    // The example before is refused too.
    browser.until(
        "the pod is decided on by the other policy",
        "const text = document.querySelector('.side pre').textContent;
         return text.includes('shop/mine ') && text.includes('single-numa-node, scope')",
    )?;
    verdict(browser, 0, "the pod is refused", "refused")?;
    let text = shown_text(browser, 0)?;
    ensure!(text.contains("TopologyAffinityError") && text.contains("would fit"), "a refusal reads {text}");
    looked.look("try-refused")?;
    let pressed = browser.run(
        "const button = [...document.querySelectorAll('.side .fits button')].find((one) => \
         one.textContent.startsWith('ask less cpu ')); button.click(); return button.textContent",
        &json!([]),
    )?;
    let pressed = pressed.as_str().context("no change asks for less")?;
    verdict(browser, 0, "the change is admitted", &format!("admitted with {pressed}"))?;
    looked.look("try-would-fit")?;
    // `ask less cpu 44 instead of 60`
    let fits: u32 =
        pressed.split(' ').nth(3).and_then(|word| word.parse().ok()).context("no number of CPUs")?;
    type_in(browser, &pod("mine", fits))?;
    verdict(browser, 0, "the pod that asks for less is admitted", "admitted")?;
    looked.look("try-admitted")
}

/// Policy, scope and options by switches.
fn by_other_rules(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    type_in(browser, &pod("mine", 60))?;
    verdict(browser, 0, "the pod is refused by one policy", "refused")?;
    choose(browser, 0, "policy", "best-effort")?;
    verdict(browser, 0, "and admitted by another", "admitted")?;
    choose(browser, 0, "scope", "pod")?;
    browser.until(
        "the scope is another",
        "return document.querySelector('.side pre').textContent.includes('best-effort, scope pod')",
    )?;
    type_in(browser, &pod("mine", 3))?;
    verdict(browser, 0, "three CPUs are admitted", "admitted")?;
    let switch = "document.querySelector('.side details').open = true; \
                  [...document.querySelectorAll('.side .switch')].find((one) => \
                  one.textContent.includes('full-pcpus-only')).querySelector('input').click()";
    browser.run(switch, &json!([]))?;
    verdict(browser, 0, "not as whole cores", "refused")?;
    ensure!(shown_text(browser, 0)?.contains("SMTAlignmentError"), "{}", shown_text(browser, 0)?);
    looked.look("try-options")?;
    browser.run(switch, &json!([]))?;
    verdict(browser, 0, "and again without the option", "admitted")?;
    Ok(())
}

/// Two configurations beside each other, and a link that has both.
fn side_by_side(looked: &Looked<'_>, ui: &Running) -> anyhow::Result<()> {
    let browser = looked.browser;
    browser.run(
        "document.querySelector('.side details').open = false; document.getElementById('compare').click()",
        &json!([]),
    )?;
    browser.until(
        "there is another side",
        "return document.querySelectorAll('.side [data-part=policy]')[1]?.options.length > 4",
    )?;
    choose(browser, 1, "machine", "spr-8480-snc4-8node")?;
    browser.until(
        "the other side is another machine",
        "return document.querySelectorAll('.side pre')[1].textContent.includes('spr-8480-snc4-8node')",
    )?;
    choose(browser, 1, "policy", "single-numa-node")?;
    type_in(browser, &pod("mine", 40))?;
    verdict(browser, 0, "forty CPUs are admitted here", "admitted")?;
    verdict(browser, 1, "and refused there", "refused")?;
    looked.look("try-side-by-side")?;

    let before = [shown_text(browser, 0)?, shown_text(browser, 1)?];
    let link = browser.run("return document.getElementById('link').href", &json!([]))?;
    let link = link.as_str().context("there is no link")?;
    ensure!(link.starts_with(&format!("http://127.0.0.1:{}/#try=", ui.port)), "{link}");
    browser.open(link)?;
    live(browser)?;
    verdict(browser, 1, "the link has the refusal", "refused")?;
    verdict(browser, 0, "the link has the admission", "admitted")?;
    let after = [shown_text(browser, 0)?, shown_text(browser, 1)?];
    ensure!(before == after, "the link comes to something else:\n{before:?}\n{after:?}");
    browser.open(&format!("http://127.0.0.1:{}/#try=abc", ui.port))?;
    browser.until(
        "a damaged link is reported",
        "return document.querySelector('.side pre').textContent.includes('damaged')",
    )?;
    browser.open(link)?;
    live(browser)?;
    verdict(browser, 1, "the link has the refusal", "refused")?;
    browser.run("document.getElementById('compare').click()", &json!([]))?;
    browser.until("one side is left", "return document.querySelectorAll('.side').length === 1").map(drop)
}

/// A node file becomes a machine to choose.
fn node_file(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let file = running::node_file()?;
    let script = "
        const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
        const files = new DataTransfer();
        files.items.add(new File([bytes], arguments[1]));
        document.querySelector('.side').dispatchEvent(new DragEvent('drop', {dataTransfer: files, cancelable: true}))";
    browser.run(script, &json!([super::pictures::encoded(&file), "node-a.tar.zst"]))?;
    browser.until(
        "the node of the file decides",
        "return document.querySelector('.side pre').textContent.includes('node-a ')",
    )?;
    ensure!(
        browser.run("return document.getElementById('link-note').textContent", &json!([]))?
            == "(without the node file)",
        "a link does not say what it lacks"
    );
    browser.run(script, &json!([super::pictures::encoded(b"no archive"), "wrong.tar.zst"]))?;
    verdict(browser, 0, "what is no node file is refused", "not read")?;
    choose(browser, 0, "machine", "")?;
    browser.until(
        "this node decides again",
        "return document.querySelector('.side pre').textContent.includes('xeon-2s-96cpu-sriov')",
    )?;
    Ok(())
}

fn bad_input(browser: &Browser) -> anyhow::Result<()> {
    type_in(browser, "kind: Pod\nmetadata: {name: \"<img src=x onerror=hacked=1>\"}\n")?;
    verdict(browser, 0, "markup is no name", "not decided")?;
    let images = "return document.images.length === 0 && !window.hacked";
    browser.until("markup is shown as it is", images)?;
    for endless in ["a: &a [*a, *a", "a: [[[[[[[[", "a: \"", "a: |\n "] {
        type_in(browser, endless)?;
        verdict(browser, 0, "YAML that does not end is an error", "not decided")?;
    }
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    type_in(browser, bomb)?;
    verdict(browser, 0, "YAML that grows is an error", "not decided")?;
    let large = "const text = document.getElementById('manifest'); text.value = '#'.repeat(10 << 20); \
                 text.dispatchEvent(new Event('input'))";
    browser.run(large, &json!([]))?;
    browser.until(
        "10 MiB have no link",
        "return document.getElementById('link-note').textContent.includes('too long')",
    )?;
    browser.until(
        "10 MiB are reported as too long",
        "return document.querySelector('.side pre').textContent.includes('longer than 1048576 bytes')",
    )?;
    type_in(browser, &pod("mine", 4))?;
    verdict(browser, 0, "the page goes on after 10 MiB", "admitted")?;
    // Answers to what was wrong.
    browser.complaints().map(drop)
}

/// A refusal and what would fit on a machine of any size.
pub(super) fn on_machine(looked: &Looked<'_>, machine: &str) -> anyhow::Result<()> {
    let browser = looked.browser;
    ready(browser)?;
    choose(browser, 0, "policy", "single-numa-node")?;
    type_in(browser, &pod("mine", 80))?;
    // A kubelet with dozens of NUMA nodes never comes to refuse it.
    browser.until(
        "eighty CPUs are not admitted",
        "return /^(refused|the kubelet does not)/.test(document.querySelector('.side .verdict').textContent)",
    )?;
    looked.look(&format!("{machine}-try"))?;
    let pressed = browser.run(
        "const button = document.querySelector('.side .fits button'); button?.click(); return button?.textContent",
        &json!([]),
    )?;
    let pressed = pressed.as_str().with_context(|| format!("{machine}: nothing would fit"))?;
    browser.until(
        "what would fit is not refused",
        &format!(
            "const word = document.querySelector('.side .verdict').textContent;
             return word.endsWith({}) && !word.startsWith('refused')",
            json!(format!(" with {pressed}"))
        ),
    )?;
    looked.look(&format!("{machine}-would-fit"))
}
