//! `cargo xtask ci`: everything that has to hold before a change lands.

use crate::test::Test;
use crate::tidy::Tidy;
use crate::{cargo, root, run};

/// Format, lints, documentation, structure, conformance, tests; ends with the summary of the tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Ci {
    #[command(flatten)]
    test: Test,
}

impl Ci {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        run(&mut cargo(&["fmt", "--all", "--check"]))?;
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
        run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
        Tidy {}.run()?;
        let conformance = ["run", "--release", "--quiet", "--package", "conformance", "--"];
        run(cargo(&conformance).arg("fixtures/kubelet"))?;
        if root().join("../shared/oracle").is_dir() {
            let baseline = ["--baseline", "fixtures/kubelet-baseline.json"];
            run(cargo(&conformance).arg("../shared/oracle").args(baseline))?;
        } else {
            eprintln!("skipped: the full set of recorded answers is not beside the project");
        }
        self.test.run()
    }
}
