//! The page of a node that is served: the node, its decisions, a daemon that is started again.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::looked::{Looked, fits_sideways, live, no_complaints, pod};
use super::running::{self, Running};
use super::{browser, hostile};

/// What comes, shows; what is refused, is explained; a restart does not end it.
pub(super) fn node(looked: &Looked<'_>, folder: &Path, config: &Path) -> anyhow::Result<()> {
    let browser = looked.browser;
    let node = folder.join("node");
    let daemon = Running::serve(&node, config, 0)?;
    let port = daemon.port;
    browser.open(&format!("http://127.0.0.1:{port}/"))?;
    live(browser)?;

    running::apply(&node, &(1..=6).map(|at| pod(&format!("web-{at}"), at * 2)).collect::<Vec<_>>())?;
    browser
        .until("pods that came later show", "return document.querySelectorAll('#pods tr').length === 6")?;
    pointing(looked)?;
    decisions(looked, &node, port)?;

    no_simulations(looked)?;
    hostile::page_changes_nothing(browser, port)?;
    no_complaints(browser, "a page of another origin").err().context("nothing was forbidden to it")?;

    browser.open(&format!("http://127.0.0.1:{port}/"))?;
    live(browser)?;
    no_complaints(browser, "the page of a node that is served")?;
    drop(daemon);
    browser.until(
        "the page says that the node is gone",
        "return document.querySelector('#live.lost') !== null",
    )?;
    let _again = Running::serve(&node, config, port)?;
    live(browser)?;
    browser.until("its pods are there", "return document.querySelectorAll('#pods tr').length === 6")?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    browser.until(
        "decisions of the daemon before are gone",
        "return document.querySelectorAll('#list details').length === 0",
    )?;
    // Connections that were refused meanwhile.
    browser.leave()
}

/// A pod stands out where its row has the focus, and where a CPU of it is pointed at.
fn pointing(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let lit =
        "return document.querySelector('#pods tr.lit') && document.getElementById('pointed').textContent";
    browser.run("document.querySelector('#pods tr:nth-child(3) button').focus()", &json!([]))?;
    let pointed = browser.until("a pod stands out", lit)?;
    let pointed = pointed.as_str().unwrap_or_default();
    ensure!(pointed.starts_with("C shop/web-3: CPUs "), "the label of a pod's CPU reads {pointed:?}");
    free_bars(browser)?;
    fits_sideways(browser, "the node")?;
    looked.look("served-node")?;
    browser.run(
        "const box = document.getElementById('picture').shadowRoot.querySelector('rect.cpu.p4');
         box.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))",
        &json!([]),
    )?;
    let holder = browser.until("the holder of a CPU shows", lit)?;
    ensure!(holder.as_str().unwrap_or_default().starts_with("E shop/web-5: "), "{holder}");
    Ok(())
}

/// What is free stands above the picture; a bar says who holds the rest, and lets these pods stand out.
fn free_bars(browser: &browser::Browser) -> anyhow::Result<()> {
    let is_above = browser.run(
        "const top = (id) => document.getElementById(id).getBoundingClientRect().top;
         document.querySelector('#free .bar').focus();
         return top('free') < top('picture') && document.getElementById('pointed').textContent",
        &json!([]),
    )?;
    let said = is_above.as_str().unwrap_or_default();
    ensure!(said.starts_with("cpu on NUMA 0: ") && said.contains("held by shop/web-"), "a bar says {said:?}");
    let lit = browser.run("return document.querySelectorAll('#pods tr.lit').length", &json!([]))?;
    ensure!(lit.as_u64().is_some_and(|lit| lit > 0), "no holder stands out");
    Ok(())
}

fn decisions(looked: &Looked<'_>, node: &Path, port: u16) -> anyhow::Result<()> {
    let browser = looked.browser;
    running::apply(node, &[pod("large", 60)])?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    browser.until(
        "the refusal is the first decision",
        "const first = document.querySelector('#list summary')?.textContent ?? '';
         return first.includes('shop/large') && first.includes('TopologyAffinityError')",
    )?;
    browser.run("document.querySelector('#list summary').click()", &json!([]))?;
    let text =
        browser.until("the refusal opens", "return document.querySelector('#list pre')?.textContent")?;
    let width = browser.run(
        "const width = document.querySelector('#list details').clientWidth;
         return Math.max(60, Math.min(160, Math.floor((width - 450 - 24) / 7.9)))",
        &json!([]),
    )?;
    let path = format!("/v1/decisions?uid=large-uid&output=table&glyphs=unicode&width={width}");
    let (_, same) = browser::request(port, "GET", &path, &[], "")?;
    ensure!(text == same.as_str(), "the refusal reads otherwise than on the command line:\n{text}\n{same}");
    browser.until(
        "the picture of the refusal shows",
        "const inside = document.querySelector('#list [role=img]').shadowRoot;
         return [...inside.querySelectorAll('text.x')].some((text) => text.textContent.includes('does not fit'))
            && inside.querySelector('rect.lack') && inside.querySelector('rect.asked') && true",
    )?;
    looked.look("served-decisions")?;
    effect(looked)?;
    filters(looked)
}

/// A change that would fit shows what it comes to, and takes it back.
fn effect(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let fits = browser.run(
        "return [...document.querySelectorAll('#list .fits button')].map((button) => button.textContent)",
        &json!([]),
    )?;
    let fits = fits.as_array().map(Vec::as_slice).unwrap_or_default();
    ensure!(!fits.is_empty(), "nothing would fit");
    for (at, change) in fits.iter().enumerate() {
        let change = change.as_str().unwrap_or_default();
        let press = "document.querySelectorAll('#list .fits button')[arguments[0]].click()";
        browser.run(press, &json!([at]))?;
        let verdict = "return document.querySelector('#list .verdict').textContent";
        let shown = browser.until(
            change,
            &format!("{}.startsWith('admitted with ') && {}", verdict, &verdict["return ".len()..]),
        )?;
        ensure!(shown == format!("admitted with {change}"), "{change} comes to {shown}");
        if at == 0 {
            looked.look("served-decisions-effect")?;
        }
        browser.run(press, &json!([at]))?;
        browser.until("it is taken back", &format!("{verdict} === 'refused'"))?;
    }
    Ok(())
}

fn filters(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    let choose = "const chooser = document.getElementById(arguments[0]); chooser.value = arguments[1]; \
                  chooser.dispatchEvent(new Event('input'))";
    for (chooser, value, left) in [
        ("contains", "WEB-4", 1),
        ("reason", "refused", 1),
        ("reason", "admitted", 6),
        ("reason", "TopologyAffinityError", 1),
        ("since", "3600", 7),
    ] {
        browser.run(choose, &json!([chooser, value]))?;
        browser.until(
            &format!("{left} decisions are left by {chooser} {value}"),
            &format!("return document.getElementById('count').textContent === '{left} of 7'"),
        )?;
        browser.run(choose, &json!([chooser, ""]))?;
    }
    Ok(())
}

/// A daemon runs no scenarios and answers no questions about other nodes, and says so.
fn no_simulations(looked: &Looked<'_>) -> anyhow::Result<()> {
    let browser = looked.browser;
    browser.run("location.hash = 'simulate'", &json!([]))?;
    browser.until(
        "the page says where scenarios run",
        "return !document.getElementById('no-simulations').hidden && document.getElementById('desk').hidden",
    )?;
    looked.look("served-simulate")?;
    for view in ["configuration", "upgrade", "repack", "find-max"] {
        browser.run("location.hash = arguments[0]", &json!([view]))?;
        browser.until(
            view,
            &format!(
                "return !document.querySelector('#{view} .no-questions').hidden && document.querySelector('#{view} [data-question]').hidden"
            ),
        )?;
    }
    Ok(())
}
