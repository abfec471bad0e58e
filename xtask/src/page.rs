//! `cargo xtask page`: the page of a node in a real browser.

mod browser;
mod hostile;
mod running;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::{cargo, debian, root, run, target};
use browser::{Browser, Scheme};
use running::Running;

/// Opens the page of `topolet serve` and of `topolet ui` in a browser without a screen and uses it; leaves pictures of every
/// view in `target/page`.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Installs Debian's chromium and its driver first.
    #[arg(long)]
    install: bool,
}

const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,48
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]
systemReserved: {memory: 1948Mi}
";

/// A pod with so many exclusive CPUs.
fn pod(name: &str, cpus: u32) -> String {
    let amounts = format!("{{cpu: '{cpus}', memory: 2Gi}}");
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, uid: {name}-uid}}\nspec:\n  containers:\n  \
         - {{name: app, image: x, resources: {{limits: {amounts}, requests: {amounts}}}}}\n"
    )
}

impl Page {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.install {
            debian::install(&["chromium", "chromium-driver"])?;
        }
        run(&mut cargo(&["build", "--quiet", "--package", "topolet"]))?;
        let pictures = Pictures::new()?;
        let browser = Browser::start()?;
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("kubelet.yaml");
        fs::write(&config, CONFIG)?;
        served(&browser, &pictures, folder.path(), &config)?;
        for machine in running::machines()? {
            machine_fits(&browser, &pictures, &machine)?;
        }
        let state = root().join("fixtures/state/healthy");
        shown(&browser, &pictures, &state)?;
        hostile::documents_stay_text(&browser)?;
        println!("pictures are in {}", pictures.0.display());
        Ok(())
    }
}

/// A folder for pictures of the page.
struct Pictures(PathBuf);

impl Pictures {
    fn new() -> anyhow::Result<Self> {
        let folder = target().join("page");
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        Ok(Self(folder))
    }

    /// What is to be seen, in both schemes.
    fn take(&self, browser: &Browser, name: &str) -> anyhow::Result<()> {
        for scheme in [Scheme::Light, Scheme::Dark] {
            browser.prefer(scheme)?;
            let png = decoded(&browser.picture()?).context("the picture is not base64")?;
            fs::write(self.0.join(format!("{name}-{}.png", scheme.name())), png)?;
        }
        browser.prefer(Scheme::Light)
    }
}

/// Bytes of base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count).to_le_bytes()[0]);
        }
    }
    Some(bytes)
}

/// Nothing was forbidden and no script failed.
fn no_complaints(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let complaints = browser.complaints()?;
    ensure!(complaints.is_empty(), "{what}: the browser complains:\n{}", complaints.join("\n"));
    Ok(())
}

fn fits_sideways(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let width = browser.run("return document.documentElement.scrollWidth", &json!([]))?;
    ensure!(width.as_u64().is_some_and(|width| width <= 1280), "{what} is {width} pixels wide");
    Ok(())
}

/// The page of a node that is served: what comes, shows; what is refused, is explained; a restart does not end it.
fn served(browser: &Browser, pictures: &Pictures, folder: &Path, config: &Path) -> anyhow::Result<()> {
    let node = folder.join("node");
    let daemon = Running::serve(&node, config, 0)?;
    let port = daemon.port;
    browser.open(&format!("http://127.0.0.1:{port}/"))?;
    browser.until("the page is live", "return document.getElementById('live').textContent === 'live'")?;

    running::apply(&node, &(1..=6).map(|at| pod(&format!("web-{at}"), at * 2)).collect::<Vec<_>>())?;
    browser
        .until("pods that came later show", "return document.querySelectorAll('#pods tr').length === 6")?;
    browser.run("document.querySelector('#pods tr:nth-child(3) button').focus()", &json!([]))?;
    let pointed = browser.until(
        "a pod stands out",
        "return document.querySelector('#pods tr.lit') && document.getElementById('pointed').textContent",
    )?;
    let pointed = pointed.as_str().unwrap_or_default();
    ensure!(pointed.starts_with("C shop/web-3: CPUs "), "what a pod holds is said as {pointed:?}");
    fits_sideways(browser, "the node")?;
    pictures.take(browser, "served-node")?;

    running::apply(&node, &[pod("large", 60)])?;
    browser.run("location.hash = 'decisions'", &json!([]))?;
    browser.until(
        "the refusal is the first decision",
        "return document.querySelector('#list summary')?.textContent.includes('shop/largeTopologyAffinityError')",
    )?;
    browser.run("document.querySelector('#list summary').click()", &json!([]))?;
    let said =
        browser.until("the refusal opens", "return document.querySelector('#list pre').textContent")?;
    let (_, same) = browser::request(
        port,
        "GET",
        "/v1/decisions?uid=large-uid&output=table&glyphs=unicode&width=154",
        "",
        "",
    )?;
    ensure!(said == same.as_str(), "the refusal reads otherwise than on the command line:\n{said}\n{same}");
    browser.run(
        "const box = document.getElementById('contains'); box.value = 'WEB-4'; box.dispatchEvent(new Event('input'))",
        &json!([]),
    )?;
    browser
        .until("one decision is left", "return document.getElementById('count').textContent === '1 of 7'")?;
    browser.run(
        "const box = document.getElementById('contains'); box.value = ''; box.dispatchEvent(new Event('input'))",
        &json!([]),
    )?;
    fits_sideways(browser, "decisions")?;
    pictures.take(browser, "served-decisions")?;

    tried(browser, pictures)?;
    hostile::page_changes_nothing(browser, port)?;
    no_complaints(browser, "a page of another origin").err().context("nothing was forbidden to it")?;

    browser.open(&format!("http://127.0.0.1:{port}/"))?;
    browser.until("the page is live", "return document.getElementById('live').textContent === 'live'")?;
    no_complaints(browser, "the page of a node that is served")?;
    drop(daemon);
    browser.until(
        "the page says that the node is gone",
        "return document.querySelector('#live.lost') !== null",
    )?;
    let _again = Running::serve(&node, config, port)?;
    browser.until("the page goes on", "return document.getElementById('live').textContent === 'live'")?;
    browser.until("its pods are there", "return document.querySelectorAll('#pods tr').length === 6")?;
    // Connections that were refused meanwhile.
    browser.leave()
}

/// From a refusal by what would fit to a pod that is admitted; and a link that has it.
fn tried(browser: &Browser, pictures: &Pictures) -> anyhow::Result<()> {
    let typed = "const text = document.getElementById('manifest'); text.value = arguments[0]; \
                 text.dispatchEvent(new Event('input'))";
    let verdict = |word: &str| format!("return document.getElementById('verdict').textContent === '{word}'");
    browser.run("location.hash = 'try'", &json!([]))?;
    browser.run(typed, &json!([pod("mine", 60)]))?;
    browser.until("the pod is refused", &verdict("refused"))?;
    let said = browser.run("return document.getElementById('explanation').textContent", &json!([]))?;
    let said = said.as_str().unwrap_or_default();
    ensure!(
        said.contains("TopologyAffinityError") && said.contains("would fit"),
        "a refusal is said as {said}"
    );
    fits_sideways(browser, "a pod that is tried")?;
    pictures.take(browser, "served-try-refused")?;
    browser.run(typed, &json!([pod("mine", 8)]))?;
    browser.until("a smaller one is admitted", &verdict("admitted"))?;
    pictures.take(browser, "served-try-admitted")?;

    let link = browser.run("return document.getElementById('link').href", &json!([]))?;
    browser.open(link.as_str().context("there is no link")?)?;
    browser.until("the link has the pod", &verdict("admitted"))?;
    no_complaints(browser, "pods that are tried")?;

    browser.run(typed, &json!(["kind: Pod\nmetadata: {name: \"<img src=x onerror=hacked=1>\"}\n"]))?;
    browser.until("markup is no name", &verdict("not decided"))?;
    let images = "return document.images.length === 0 && !window.hacked";
    browser.until("markup is shown as it is", images)?;
    browser.run(typed, &json!(["a: &a [*a, *a"]))?;
    browser.until("YAML that does not end is an error", &verdict("not decided"))?;
    let large = "const text = document.getElementById('manifest'); text.value = '#'.repeat(10 << 20); \
                 text.dispatchEvent(new Event('input'))";
    browser.run(large, &json!([]))?;
    browser.until(
        "10 MiB have no link",
        "return document.getElementById('link-note').textContent.includes('too long')",
    )?;
    browser.run(typed, &json!([pod("mine", 4)]))?;
    browser.until("the page goes on after 10 MiB", &verdict("admitted"))?;
    browser.complaints().map(drop)
}

/// A built-in machine, as `topolet ui` shows it.
fn machine_fits(browser: &Browser, pictures: &Pictures, machine: &str) -> anyhow::Result<()> {
    let ui = Running::ui(&["--machine", machine, "--config", "pinned"])?;
    browser.open(&ui.address)?;
    browser.until(machine, "return document.getElementById('live').textContent === 'live'")?;
    fits_sideways(browser, machine)?;
    pictures.take(browser, machine)?;
    no_complaints(browser, machine)?;
    browser.leave()
}

/// A node with pods, as `topolet ui` shows it; without the token it shows nothing.
fn shown(browser: &Browser, pictures: &Pictures, state: &Path) -> anyhow::Result<()> {
    let state = state.to_str().context("the path is no text")?;
    let ui = Running::ui(&["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned", "--state", state])?;
    browser.open(&ui.address)?;
    browser.until("pods of the state show", "return document.querySelectorAll('#pods tr').length === 3")?;
    let address = browser.run("return location.href", &json!([]))?;
    ensure!(
        !address.as_str().unwrap_or_default().contains("token"),
        "the token stays in the address bar: {address}"
    );
    pictures.take(browser, "ui-with-pods")?;
    no_complaints(browser, "a node with pods")?;
    let (status, said) = browser::request(ui.port, "GET", "/v1/status", "", "")?;
    ensure!(status == 401, "without the token the status is answered with {status}: {said}");
    browser.run("sessionStorage.clear(); location.reload()", &json!([]))?;
    browser.until(
        "without the token the page says what is missing",
        "return document.getElementById('live').textContent.includes('topolet ui')",
    )?;
    browser.leave()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decoded("a*"), None);
    }
}
