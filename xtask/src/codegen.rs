//! `cargo xtask codegen`: the gRPC messages and services of `device-plugin`, from the kubelet's protobuf files.
//!
//! The generator is behind the feature `codegen`, since everybody builds xtask and few need it; without it this
//! command builds itself again with it.

/// Writes the generated code, or checks that the committed code is what the protobuf files give.
#[derive(Debug, clap::Args)]
pub(crate) struct Codegen {
    /// Write nothing; fail if a committed file differs.
    #[arg(long)]
    pub(crate) check: bool,
}

#[cfg(not(feature = "codegen"))]
impl Codegen {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut again = crate::cargo(&["run", "--quiet", "--package", "xtask", "--features", "codegen"]);
        again.args(["--", "codegen"]).args(self.check.then_some("--check"));
        crate::run(&mut again)
    }
}

#[cfg(feature = "codegen")]
impl Codegen {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        use std::fs;

        use anyhow::{Context as _, bail};

        let folder = crate::root().join("crates/device-plugin");
        let made = crate::root().join("target/codegen");
        fs::create_dir_all(&made).with_context(|| format!("failed to create {}", made.display()))?;
        let mut differing = Vec::new();
        for (source, package) in SOURCES {
            let messages = protox::compile([source], [folder.join("proto")])
                .with_context(|| format!("failed to read {source}"))?;
            tonic_prost_build::configure()
                // Maps in one order: what is stored of a message is always the same bytes.
                .btree_map(".")
                .disable_comments(["."])
                .out_dir(&made)
                .compile_fds(messages)
                .with_context(|| format!("failed to generate code from {source}"))?;
            let path = made.join(format!("{package}.rs"));
            let code =
                fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            let code = format!("//! From `{source}` by `cargo xtask codegen`; not to be edited.\n\n{code}");
            let target = folder.join("src/generated").join(source.replace('-', "_").replace(".proto", ".rs"));
            if fs::read_to_string(&target).is_ok_and(|committed| committed == code) {
                continue;
            }
            if self.check {
                differing.push(source);
            } else {
                fs::write(&target, code).with_context(|| format!("failed to write {}", target.display()))?;
                eprintln!("wrote {}", target.display());
            }
        }
        if !differing.is_empty() {
            bail!("not what the protobuf files give (run `cargo xtask codegen`): {}", differing.join(", "));
        }
        eprintln!("codegen: {} protobuf files as generated", SOURCES.len());
        Ok(())
    }
}

/// The protobuf files, those of Kubernetes v1.36.3 as they are, and the packages that they name themselves.
#[cfg(feature = "codegen")]
const SOURCES: [(&str, &str); 3] = [
    ("deviceplugin-v1beta1.proto", "v1beta1"),
    ("pluginregistration-v1.proto", "pluginregistration"),
    ("podresources-v1.proto", "v1"),
];
