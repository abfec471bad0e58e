//! How a view is looked at, and what holds of each.

use anyhow::ensure;
use serde_json::json;

use super::access::Axe;
use super::browser::Browser;
use super::pictures::Pictures;

/// Who looks at a view.
pub(super) struct Looked<'a> {
    pub(super) browser: &'a Browser,
    pub(super) pictures: &'a Pictures,
    pub(super) access: Option<&'a Axe>,
}

impl Looked<'_> {
    /// What is to be seen, and whether everybody can use it.
    pub(super) fn look(&self, name: &str) -> anyhow::Result<()> {
        fits_sideways(self.browser, name)?;
        if let Some(axe) = self.access {
            axe.look(self.browser, name)?;
        }
        self.pictures.take(self.browser, name)
    }
}

/// Nothing was forbidden and no script failed.
pub(super) fn no_complaints(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let complaints = browser.complaints()?;
    ensure!(complaints.is_empty(), "{what}: the browser complains:\n{}", complaints.join("\n"));
    Ok(())
}

pub(super) fn fits_sideways(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let width = browser.run("return document.documentElement.scrollWidth", &json!([]))?;
    ensure!(width.as_u64().is_some_and(|width| width <= 1280), "{what} is {width} pixels wide");
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
