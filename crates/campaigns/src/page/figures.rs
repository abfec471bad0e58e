//! How fast the page is: until it can be used, until a decision follows a key, and how evenly it moves while much happens.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use workspace_tools::client::Client;
use workspace_tools::workspace::{cargo, run};

use super::browser::Browser;
use super::frame_times::{SECONDS, median_and_worst, script_of_frames};
use super::looked::{live, pod};
use super::running::{self, Running};

/// The machine on which a decision follows a key.
const EIGHT_NODES: &str = "spr-8480-snc4-8node";
/// The one that has room for many pods.
const MANY_CPUS: &str = "lx2-608cpu-hbm-32node";
const PODS: usize = 500;
/// Events that are made in a second.
const EVENTS: u32 = 200;
/// Threads that make them.
const MAKERS: usize = 12;
/// How long events are counted before.
const BEFORE: Duration = Duration::from_secs(3);

const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0-7
topologyManagerPolicy: best-effort
topologyManagerPolicyOptions: {max-allowable-numa-nodes: '64'}
maxPods: 600
";

/// The table of the document, measured with a release build.
pub(super) fn measure() -> anyhow::Result<String> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "topolet"]))?;
    running::run_release();
    let browser = Browser::start()?;
    let rows = [
        usable(&browser)?,
        decided(&browser)?,
        frames(&browser, "node")?,
        frames(&browser, "decisions")?,
        scripts(&browser)?,
    ];
    Ok(format!("| | limit | median | worst |\n|---|---|---|---|\n{}", rows.concat()))
}

/// The most script in a frame, in the median, in milliseconds.
const SCRIPT: f64 = 16.0;

/// Script in a frame of the views that change with each event.
///
/// # Errors
/// It is more than that.
pub(super) fn scripts(browser: &Browser) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let (median, worst) = super::nodes::script(browser, folder.path())?;
    let mut rows = script_row("all nodes, 300 of them and 200 changes in a second", median, worst)?;
    rows.push_str(&with_events(browser, "node", |browser, each| {
        let (median, worst) = script_of_frames(browser)?;
        script_row(
            &format!("node with {PODS} pods and {each:.0} events in a second, {MANY_CPUS}"),
            median,
            worst,
        )
    })?);
    Ok(rows)
}

fn script_row(what: &str, median: f64, worst: f64) -> anyhow::Result<String> {
    ensure!(median <= SCRIPT, "the view of {what}: {median:.1} ms of script in a frame");
    Ok(format!(
        "| script in a frame of the view of {what} | {SCRIPT:.0} ms | {median:.1} ms | {worst:.0} ms |\n"
    ))
}

/// A pod that many of which fit.
fn small(at: usize) -> String {
    pod(&format!("pod-{at}"), 1).replace("2Gi", "64Mi")
}

/// From the start of a navigation until the page shows the node.
fn usable(browser: &Browser) -> anyhow::Result<String> {
    let ui = Running::ui(&["--machine", EIGHT_NODES, "--config", "pinned"])?;
    let script = browser.before_pages(
        "addEventListener('DOMContentLoaded', () => {
           const live = document.getElementById('live');
           if (!live) return;
           new MutationObserver(() => {
             if (live.textContent === 'live' && !window.usable) window.usable = performance.now();
           }).observe(live, {childList: true, subtree: true, characterData: true});
         })",
    )?;
    let mut all = Vec::new();
    for _ in 0..20 {
        browser.open(&ui.address)?;
        all.push(browser.until("the page is usable", "return window.usable")?.as_f64().unwrap_or_default());
    }
    browser.not_before_pages(&script)?;
    let (median, worst) = median_and_worst(all)?;
    browser.leave()?;
    Ok(format!(
        "| from navigation to the picture of the node, {EIGHT_NODES} | 300 ms | {median:.0} ms | {worst:.0} ms |\n"
    ))
}

/// From a key until the decision is there, painted.
fn decided(browser: &Browser) -> anyhow::Result<String> {
    let ui = Running::ui(&["--machine", EIGHT_NODES, "--config", "pinned"])?;
    browser.open(&ui.address)?;
    live(browser)?;
    browser.run("location.hash = 'try'", &json!([]))?;
    browser.until(
        "there are rules",
        "return document.querySelectorAll('.side [data-part=policy] option').length > 4",
    )?;
    let mut all = Vec::new();
    for cpus in 20..60 {
        let script = format!(
            "const done = arguments[arguments.length - 1], text = document.getElementById('manifest');
             const said = document.querySelector('.side pre');
             text.value = {};
             const pressed = performance.now();
             const seen = new MutationObserver(() => {{
               seen.disconnect();
               requestAnimationFrame(() => setTimeout(() => done(performance.now() - pressed)));
             }});
             seen.observe(said, {{childList: true, subtree: true, characterData: true}});
             text.dispatchEvent(new Event('input'))",
            json!(pod("mine", cpus))
        );
        all.push(browser.run_long(&script)?.as_f64().context("no time was measured")?);
    }
    let (median, worst) = median_and_worst(all)?;
    browser.leave()?;
    Ok(format!("| from a key to the decision, {EIGHT_NODES} | 50 ms | {median:.0} ms | {worst:.0} ms |\n"))
}

/// Measures a view while pods come and go: `measure` has the browser, and how many events there were in a second before it.
fn with_events(
    browser: &Browser,
    view: &str,
    measure: impl FnOnce(&Browser, f64) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    // Of a disk that is slow there would be fewer events.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let (node, config) = (folder.path().join("node"), folder.path().join("kubelet.yaml"));
    fs::write(&config, CONFIG)?;
    let daemon = Running::serve_machine(MANY_CPUS, &node, &config, 0)?;
    let client = Client::of(&node);
    let all: Vec<String> = (0..PODS).map(small).collect();
    for some in all.chunks(100) {
        let reply = client.ask("POST", "/v1/pods", &some.join("---\n"))?;
        ensure!(reply.status == 200, "{} pods: {}", some.len(), reply.body);
    }
    browser.open(&format!("http://127.0.0.1:{}/#{view}", daemon.port))?;
    live(browser)?;
    let is_over = AtomicBool::new(false);
    let made = AtomicU64::new(0);
    let measured = thread::scope(|scope| {
        for maker in 0..MAKERS {
            let (client, is_over, made) = (&client, &is_over, &made);
            scope.spawn(move || make_events(client, maker, is_over, made));
        }
        thread::sleep(Duration::from_secs(1));
        let before = made.load(Ordering::Relaxed);
        thread::sleep(BEFORE);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let each = (made.load(Ordering::Relaxed) - before) as f64 / BEFORE.as_secs_f64();
        let measured = measure(browser, each);
        is_over.store(true, Ordering::Relaxed);
        measured
    });
    browser.leave()?;
    measured
}

/// Frames in a second while pods come and go, and the longest time without one.
fn frames(browser: &Browser, view: &str) -> anyhow::Result<String> {
    with_events(browser, view, |browser, each| {
        let counted = browser.run_long(&format!(
            "const done = arguments[arguments.length - 1], times = [], end = performance.now() + {};
             const frame = (now) => {{
               times.push(now);
               if (now < end) requestAnimationFrame(frame);
               else done(times.slice(1).map((time, at) => time - times[at]));
             }};
             requestAnimationFrame(frame)",
            SECONDS * 1000
        ))?;
        let gaps: Vec<f64> = counted.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let span: f64 = gaps.iter().sum::<f64>() / 1000.0;
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let rate = gaps.len() as f64 / span;
        let (_, worst) = median_and_worst(gaps)?;
        Ok(format!(
            "| frames of the view {view} with {PODS} pods and {each:.0} events in a second, {MANY_CPUS} | 30 a second | {rate:.0} a second | {worst:.0} ms between two |\n"
        ))
    })
}

/// Lets one pod after the other go and come again.
fn make_events(client: &Client, maker: usize, is_over: &AtomicBool, made: &AtomicU64) {
    let pause = Duration::from_secs(1) * u32::try_from(MAKERS).unwrap_or(1) / EVENTS;
    let began = Instant::now();
    let mut steps = 0;
    for at in (maker..PODS).step_by(MAKERS).cycle() {
        let path = format!("/v1/pods/shop/pod-{at}");
        for (method, path, body) in
            [("DELETE", path.as_str(), String::new()), ("POST", "/v1/pods", small(at))]
        {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            if client.ask(method, path, &body).is_ok_and(|reply| reply.status == 200) {
                made.fetch_add(1, Ordering::Relaxed);
            }
            steps += 1;
            thread::sleep((pause * steps).saturating_sub(began.elapsed()));
        }
    }
}
