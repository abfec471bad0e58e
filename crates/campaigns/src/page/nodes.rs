//! The page of `topolet scheduler`: all nodes of a cluster, which the browser makes up.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::json;

use super::browser::{self, Browser};
use super::frame_times::script_of_frames;
use super::looked::{Looked, live, no_complaints};
use super::running::Running;

/// Of an API server that does not run.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: none, user: {}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
";

/// A cluster in the place of the server's: each look finds 400 changes, which are 200 in a second. One node has markup as its name.
const CLUSTER: &str = r#"
let seed = 1;
const random = (below) => (seed = (seed * 16807) % 2147483647) % below;
const asks = ["4 nvidia.com/gpu, 16 CPUs, 64Gi memory", "24 CPUs, 32Gi memory", "8 CPUs, 8Gi memory"];
const names = Array.from({length: 299}, (_, at) => `worker-${at + 1}`).concat(["<img src=x onerror=window.hacked=1>"]);
const nodes = names.map((node, at) => ({node, basis: at % 37 === 5 ? "unknown" : at % 11 === 3 ? "approximate" : "exact",
  free: [], fits: [], refused: {}, conditions: at % 53 === 7 ? ["NotReady"] : []}));
function change(row) {
  if (row.basis === "unknown") return;
  const numa = (most, unit) => [0, 1].map((node) => ({node, free: random(most) * unit, allocatable: most * unit}));
  row.free = [{resource: "cpu", numa: numa(46, 1), elsewhere: 0}, {resource: "memory", numa: numa(180, 2 ** 30), elsewhere: 0}];
  const most = Math.max(...row.free[0].numa.map(({free}) => free));
  row.fits = [[0, 40], [1, 24], [2, 8]].filter(([, cpus]) => most >= cpus).map(([at]) => at);
  row.refused = random(20) === 0 ? {TopologyAffinityError: 1 + random(4)} : {};
}
nodes.forEach(change);
const real = window.fetch;
window.fetch = async (path, options) => {
  if (path !== "/v1/nodes") return real(path, options);
  window.looks = (window.looks ?? 0) + 1;
  for (let at = 0; at < 400; at++) change(nodes[random(nodes.length)]);
  const asked = asks.map((asks, at) => ({asks, pods: 12 - at, fitsNodes: nodes.filter((row) => row.fits.includes(at)).length}));
  return new Response(JSON.stringify({asked, nodes, notSeen: ["pods: <img src=x> is not a name"]}));
};
"#;

/// Nodes are found, coloured, and opened.
pub(super) fn seen(looked: &Looked<'_>, folder: &Path) -> anyhow::Result<()> {
    let browser = looked.browser;
    let (_scheduler, address, port) = scheduler(folder)?;
    let (status, said) = browser::request(port, "GET", "/v1/nodes", &[], "")?;
    ensure!(
        status == 502 && said.contains("the nodes cannot be listed"),
        "without an API server: {status} {said}"
    );
    let script = browser.before_pages(CLUSTER)?;
    browser.open(&address)?;
    live(browser)?;
    browser.until("each node has a place", "return document.querySelectorAll('#nodes li').length === 300")?;
    looked.look("nodes")?;
    let choose = "const chooser = document.getElementById(arguments[0]); chooser.value = arguments[1]; \
                  chooser.dispatchEvent(new Event('input'))";
    browser.run(choose, &json!(["contains", "WORKER-29"]))?;
    browser.until(
        "nodes are found by name",
        "return document.getElementById('count').textContent === '11 of 300'",
    )?;
    browser.run(choose, &json!(["contains", ""]))?;
    browser.run(choose, &json!(["only", "lacks"]))?;
    browser.until(
        "those that it does not fit are left",
        "const shown = [...document.querySelectorAll('#nodes li:not([hidden]) a')];
         return shown.length > 0 && shown.length < 300 && shown.every((one) => one.className === 'cannot')",
    )?;
    browser.run(choose, &json!(["only", ""]))?;
    for (colour, word) in [("cpu", "CPUs free on one NUMA node"), ("refused", "refused"), ("1", "fit")] {
        browser.run(choose, &json!(["colour", colour]))?;
        browser.until(
            colour,
            &format!("return document.querySelector('#nodes .word').textContent.includes({})", json!(word)),
        )?;
        looked.look(&format!("nodes-by-{colour}"))?;
    }
    browser.run("document.querySelector('#nodes a').click()", &json!([]))?;
    browser.until(
        "a node opens",
        "return document.getElementById('one-head').textContent === 'worker-1'
            && document.getElementById('one-command').textContent === 'kubectl topolet node worker-1'
            && document.querySelectorAll('#one-free .bar').length === 4",
    )?;
    looked.look("nodes-one")?;
    let planted = "return [window.hacked ?? null, document.images.length]";
    let planted = browser.run(planted, &json!([]))?;
    ensure!(planted == json!([null, 0]), "markup has become elements: {planted}");
    no_complaints(browser, "all nodes")?;
    browser.not_before_pages(&script)?;
    browser.leave()
}

/// The script in a frame while 200 nodes change in a second.
pub(super) fn script(browser: &Browser, folder: &Path) -> anyhow::Result<(f64, f64)> {
    let (_scheduler, address, _) = scheduler(folder)?;
    let script = browser.before_pages(CLUSTER)?;
    browser.open(&address)?;
    live(browser)?;
    let measured = script_of_frames(browser)?;
    browser.not_before_pages(&script)?;
    browser.leave()?;
    Ok(measured)
}

fn scheduler(folder: &Path) -> anyhow::Result<(Running, String, u16)> {
    let config = folder.join("nobody.conf");
    fs::write(&config, KUBECONFIG)?;
    // The port is free again when the program takes it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let running = Running::scheduler(&config, port)?;
    let (address, began) = (format!("http://127.0.0.1:{port}/"), Instant::now());
    while browser::request(port, "GET", "/healthz", &[], "").is_err() {
        ensure!(began.elapsed() < Duration::from_secs(20), "topolet scheduler does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok((running, address, port))
}
