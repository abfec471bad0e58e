//! How a view is looked at, and what holds of each.

use anyhow::ensure;
use serde_json::json;

use super::access::Axe;
use super::browser::{Browser, Device};
use super::pictures::Pictures;

/// A configuration that pins on two NUMA nodes of 96 CPUs.
pub(super) const CONFIG: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0,48
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]
systemReserved: {memory: 1948Mi}
";

/// Who looks at a view.
pub(super) struct Looked<'a> {
    pub(super) browser: &'a Browser,
    pub(super) pictures: &'a Pictures,
    pub(super) access: Option<&'a Axe>,
}

impl Looked<'_> {
    /// What is to be seen, on a desk and on a phone, and whether everybody can use it.
    pub(super) fn look(&self, name: &str) -> anyhow::Result<()> {
        fits_sideways(self.browser, name)?;
        agrees_with_itself(self.browser, name)?;
        if let Some(axe) = self.access {
            axe.look(self.browser, name)?;
        }
        self.pictures.take(self.browser, name)?;
        self.browser.on(Device::Phone)?;
        fits(self.browser, name, Device::Phone)?;
        nothing_is_cut(self.browser, name)?;
        self.pictures.take(self.browser, &format!("{name}-phone"))?;
        self.browser.on(Device::Desk)
    }
}

/// What is wrong with the node, and that nothing is, do not stand on one page.
fn agrees_with_itself(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let both = browser.run(
        "const problems = document.getElementById('problems');
         return Boolean(problems) && !problems.hidden
            && document.getElementById('status-text').textContent.includes('✔ nothing is wrong')",
        &json!([]),
    )?;
    ensure!(both == false, "{what}: problems stand beside \"nothing is wrong\"");
    Ok(())
}

/// On a phone what is wider than the screen is moved in its frame, and no line of an answer ends unseen.
fn nothing_is_cut(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let cut = browser.run(
        "const shown = [...document.querySelectorAll('main *')].filter((one) => one.checkVisibility());
         const cut = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'hidden'
            && one.clientWidth > 1 && !one.classList.contains('what');
         return shown.filter(cut).map((one) => one.outerHTML.slice(0, 120))",
        &json!([]),
    )?;
    ensure!(cut.as_array().is_some_and(Vec::is_empty), "{what}: cut on a phone: {cut}");
    Ok(())
}

/// Nothing was forbidden and no script failed.
pub(super) fn no_complaints(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let complaints = browser.complaints()?;
    ensure!(complaints.is_empty(), "{what}: the browser complains:\n{}", complaints.join("\n"));
    Ok(())
}

pub(super) fn fits_sideways(browser: &Browser, what: &str) -> anyhow::Result<()> {
    fits(browser, what, Device::Desk)
}

fn fits(browser: &Browser, what: &str, device: Device) -> anyhow::Result<()> {
    let width = browser.run("return document.documentElement.scrollWidth", &json!([]))?;
    let is_in = width.as_u64().is_some_and(|width| width <= u64::from(device.width()));
    ensure!(is_in, "{what} is {width} pixels wide");
    Ok(())
}

/// The page says that it shows what the node is now.
pub(super) fn live(browser: &Browser) -> anyhow::Result<()> {
    browser
        .until("the page is live", "return document.getElementById('live').textContent === 'live'")
        .map(drop)
}

/// A pod with `cpus` exclusive CPUs.
pub(super) fn pod(name: &str, cpus: u32) -> String {
    let amounts = format!("{{cpu: '{cpus}', memory: 2Gi}}");
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, uid: {name}-uid}}\nspec:\n  containers:\n  \
         - {{name: app, image: x, resources: {{limits: {amounts}, requests: {amounts}}}}}\n"
    )
}
