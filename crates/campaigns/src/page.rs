//! `cargo xtask page`: the page of a node in a real browser.

mod access;
mod browser;
mod figures;
mod frame_times;
mod hostile;
mod looked;
mod nodes;
mod pictures;
mod questions;
mod running;
mod scenarios;
mod served;
mod trial;

use std::fs;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::json;
use workspace_tools::debian;
use workspace_tools::document::write_figures;
use workspace_tools::workspace::{build, root};

use browser::Browser;
use looked::{CONFIG, Looked, fits_sideways, live, no_complaints};
use pictures::Pictures;
use running::Running;

/// Opens the page of `topolet serve` and of `topolet ui` in a browser without a screen and uses it; leaves pictures of every
/// view in `target/page`. axe-core, which npm fetches, looks at each view.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Page {
    /// Installs Debian's chromium and its driver first.
    #[arg(long)]
    install: bool,
    /// One machine, no pictures and no axe-core, in seconds: for CI. Where there is no browser it says so and does nothing else.
    #[arg(long, conflicts_with_all = ["figures", "write"])]
    quick: bool,
    /// Measures how fast the page is with a release build, and prints the figures.
    #[arg(long)]
    figures: bool,
    /// Measures, and writes the figures to docs/page.md.
    #[arg(long)]
    write: bool,
}

/// The machines of which each view is looked at.
const MACHINES: [&str; 5] = [
    "xeon-2s-96cpu-sriov",
    "epyc-2s-96cpu-16l3-8gpu",
    "spr-8480-snc4-8node",
    "turin-9755-nps4-l3numa-32node",
    "gh200-quad-36node",
];

impl Page {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.install && !(self.quick && has_driver()) {
            match debian::install(debian::BROWSER) {
                // What is missing is reported below.
                Err(error) if self.quick => println!("page: the browser cannot be installed: {error:#}"),
                installed => installed?,
            }
        }
        if self.figures || self.write {
            let table = figures::measure()?;
            if self.write {
                return write_figures("docs/page.md", "cargo xtask page --write", &table);
            }
            print!("{table}");
            return Ok(());
        }
        if self.quick && !has_driver() {
            println!(
                "page: NOT TESTED: there is no chromedriver here; cargo xtask page --quick --install installs it"
            );
            return Ok(());
        }
        build(&["topolet"])?;
        let browser = Browser::start()?;
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("kubelet.yaml");
        fs::write(&config, CONFIG)?;
        let pictures = if self.quick { Pictures::none() } else { Pictures::new()? };
        let access = if self.quick { None } else { Some(access::Axe::fetch()?) };
        let looked = Looked { browser: &browser, pictures: &pictures, access: access.as_ref() };
        scenarios::run(&looked)?;
        served::node(&looked, folder.path(), &config)?;
        trial::tried(&looked)?;
        questions::asked(&looked)?;
        nodes::seen(&looked, folder.path())?;
        hostile::documents_stay_text(&browser)?;
        if self.quick {
            println!("page: tested in Chromium, each view on one machine");
            return Ok(());
        }
        for machine in running::machines()? {
            machine_fits(&looked, &machine)?;
        }
        shown(&looked)?;
        println!("{}", figures::scripts(&browser)?);
        println!("pictures are in {}", pictures.folder.display());
        Ok(())
    }
}

/// Whether there is a browser to be driven.
fn has_driver() -> bool {
    Command::new("chromedriver").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A built-in machine, as `topolet ui` shows it: the node, and of five machines every other view.
fn machine_fits(looked: &Looked<'_>, machine: &str) -> anyhow::Result<()> {
    let ui = Running::ui(&["--machine", machine, "--config", "pinned"])?;
    let browser = looked.browser;
    browser.open(&ui.address)?;
    live(browser)?;
    fits_sideways(browser, machine)?;
    looked.pictures.take(browser, machine)?;
    if MACHINES.contains(&machine) {
        trial::on_machine(looked, machine)?;
        for view in ["decisions", "simulate", "configuration", "upgrade", "repack", "find-max"] {
            browser.run("location.hash = arguments[0]", &json!([view]))?;
            browser.until(view, &format!("return !document.getElementById('{view}').hidden"))?;
            looked.look(&format!("{machine}-{view}"))?;
        }
    }
    no_complaints(browser, machine)?;
    browser.leave()
}

/// A node with pods, as `topolet ui` shows it; without the token it shows nothing.
fn shown(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let state = root().join("fixtures/state/healthy");
    let state = state.to_str().context("the path is no text")?;
    let ui = Running::ui(&["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--state", state])?;
    browser.open(&ui.address)?;
    browser.until("pods of the state show", "return document.querySelectorAll('#pods tr').length === 3")?;
    let address = browser.run("return location.href", &json!([]))?;
    ensure!(
        !address.as_str().unwrap_or_default().contains("token"),
        "the token stays in the address bar: {address}"
    );
    looked.look("ui-with-pods")?;
    no_complaints(browser, "a node with pods")?;
    let (status, body) = browser::request(ui.port, "GET", "/v1/status", &[], "")?;
    ensure!(status == 401, "without the token the status is answered with {status}: {body}");
    for (method, path) in
        [("POST", "/v1/simulations"), ("POST", "/v1/node-files?name=x"), ("POST", "/v1/try")]
    {
        let (status, body) = browser::request(ui.port, method, path, &[], "")?;
        ensure!(status == 401, "without the token {path} is answered with {status}: {body}");
    }
    browser.run("sessionStorage.clear(); location.reload()", &json!([]))?;
    browser.until(
        "without the token the page says what is missing",
        "return document.getElementById('live').textContent.includes('topolet ui')",
    )?;
    browser.leave()
}
