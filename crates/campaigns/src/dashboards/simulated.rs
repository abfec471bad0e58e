//! Three quarters of an hour of a simulated node in a minute: pods come and go, and what the node exports is kept with the
//! time at which it would have been scraped.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use fs_err as fs;
use workspace_tools::workspace::run;

use super::programs::{Plugin, RESOURCE, Topolet};

/// Seconds between scrapes.
const STEP: u64 = 15;
/// Scrapes: the first quarter of an hour is what rates begin with.
const STEPS: u64 = 180;
/// How long ago it was: Prometheus takes what is old.
const AGO: u64 = 6 * 3600;
const SEED: u64 = 20;

/// A pod with exclusive CPUs, GiB of memory and devices, in these numbers.
pub(super) fn pod(name: &str, cpus: u64, gib: u64, devices: u64) -> String {
    let devices = if devices > 0 { format!(", {RESOURCE}: {devices}") } else { String::new() };
    let amounts = format!("{{cpu: {cpus}, memory: {gib}Gi{devices}}}");
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: {name}-uid}}\nspec:\n  containers:\n  - {{name: app, image: \
         x, resources: {{limits: {amounts}, requests: {amounts}}}}}\n"
    )
}

/// Writes it as blocks of a Prometheus in `history`; its first and last second.
pub(super) fn write(folder: &Path, history: &Path) -> anyhow::Result<(u64, u64)> {
    let node = Topolet::serve(&folder.join("simulated"))?;
    let mut plugin = Some(Plugin::start(&node.root)?);
    node.until_metric("topolet_free_devices{")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_secs();
    let start = (now - AGO) / 60 * 60;
    let mut random = fastrand::Rng::with_seed(SEED);
    let (mut running, mut refused) = (Vec::<String>::new(), Vec::<String>::new());
    let mut text = String::new();
    for step in 0..STEPS {
        // The plugin is replaced once, as by an update.
        if step == 120 {
            plugin = None;
        }
        if step == 124 {
            plugin = Some(Plugin::start(&node.root)?);
        }
        // More come than go until the node is nearly full.
        while !running.is_empty() && random.u64(0..100) < 20 + 4 * u64::try_from(running.len())? {
            let leaves = running.swap_remove(random.usize(0..running.len()));
            node.delete(&leaves)?;
        }
        while refused.len() > 6 {
            node.delete(&refused.remove(0))?;
        }
        if random.u64(0..100) < 70 {
            let name = format!("pod-{step}");
            let cpus = [2, 2, 4, 4, 6, 8, 12, 24][random.usize(0..8)];
            let gib = [1, 2, 4, 8, 16][random.usize(0..5)];
            let devices = [0, 0, 1, 2][random.usize(0..4)];
            let is_admitted = node.apply(&pod(&name, cpus, gib, devices))?;
            if is_admitted { &mut running } else { &mut refused }.push(name);
        }
        sample(&mut text, &node.metrics()?, start + step * STEP);
    }
    drop(plugin);
    text.push_str("# EOF\n");
    let file = folder.join("history.txt");
    fs::write(&file, text)?;
    let data = history.join("data");
    run(Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .arg(&file)
        .arg(&data)
        .stdout(Stdio::null()))?;
    Ok((start, start + (STEPS - 1) * STEP))
}

/// Adds a scrape as a Prometheus keeps it: with the labels of its target, and with its time.
fn sample(to: &mut String, metrics: &str, time: u64) {
    let labels = "job=\"topolet\",node=\"worker-1\"";
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let series = match series.split_once('{') {
            Some((name, rest)) => format!("{name}{{{labels},{rest}"),
            None => format!("{series}{{{labels}}}"),
        };
        let _ = writeln!(to, "{series} {value} {time}");
    }
    let _ = writeln!(to, "up{{{labels}}} 1 {time}");
}
