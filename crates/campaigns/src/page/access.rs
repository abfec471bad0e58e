//! axe-core (<https://github.com/dequelabs/axe-core>) in the browser: what keeps people from using a view; and whether the
//! keyboard reaches everything.

use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use serde_json::{Value, json};
use workspace_tools::workspace::{run, target};

use super::browser::{Browser, Scheme};

const VERSION: &str = "4.14.1";

/// Its source.
pub(super) struct Axe(String);

impl Axe {
    /// npm fetches it, once.
    pub(super) fn fetch() -> anyhow::Result<Self> {
        let folder = target().join(format!("axe-core-{VERSION}"));
        let file = folder.join("node_modules/axe-core/axe.min.js");
        if !file.exists() {
            fs::create_dir_all(&folder)?;
            let mut install = Command::new("npm");
            install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"]);
            run(install.arg(&folder).arg(format!("axe-core@{VERSION}")))
                .context("npm fetches axe-core, which looks at each view: apt-get install npm")?;
        }
        Ok(Self(fs::read_to_string(&file)?))
    }

    /// Fails if anything of the view cannot be used or read, in either scheme.
    pub(super) fn look(&self, browser: &Browser, view: &str) -> anyhow::Result<()> {
        for scheme in [Scheme::Light, Scheme::Dark] {
            browser.prefer(scheme)?;
            let script = format!(
                "{source}; const done = arguments[arguments.length - 1]; \
                 axe.run(document, {{resultTypes: ['violations']}}).then(({{violations}}) => done(violations.map((one) => \
                 `${{one.id}}: ${{one.help}}\\n` + one.nodes.map((node) => `  ${{node.target}}: ${{node.failureSummary}}`).join('\\n'))), \
                 (error) => done([String(error)]))",
                source = self.0
            );
            let found = browser.run_long(&script)?;
            let violations: Vec<&str> =
                found.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            ensure!(violations.is_empty(), "{view}, {}:\n{}", scheme.name(), violations.join("\n"));
        }
        browser.prefer(Scheme::Light)?;
        keyboard(browser, view)
    }
}

/// Everything that can be used gets the focus in the order of the page.
fn keyboard(browser: &Browser, view: &str) -> anyhow::Result<()> {
    let wanted = browser.run(
        "const usable = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex]';
         window.wanted = [...document.querySelectorAll(usable)].filter((one) => one.checkVisibility());
         document.activeElement?.blur(); window.getSelection().removeAllRanges();
         const first = document.body; first.tabIndex = -1; first.focus(); first.removeAttribute('tabindex');
         return window.wanted.length",
        &json!([]),
    )?;
    let wanted = wanted.as_u64().context("nothing can be used")?;
    // Long lists are all alike.
    for _ in 0..wanted.min(150) {
        browser.press("Tab")?;
        let found = browser.run(
            "const at = window.wanted.indexOf(document.activeElement);
             if (at < 0) return document.activeElement.outerHTML.slice(0, 200);
             const [gone] = window.wanted.splice(at, 1);
             const ring = getComputedStyle(gone);
             return ring.outlineStyle === 'none' ? `no ring around ${gone.outerHTML.slice(0, 200)}` : ''",
            &json!([]),
        )?;
        match found.as_str() {
            Some("") => {}
            Some(other) => bail!("{view}: the focus comes to {other}"),
            None => bail!("{view}: the focus is nowhere"),
        }
    }
    Ok(())
}
