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
        let mut results = Vec::new();
        for (source, package) in SOURCES {
            let mut compiler = protox::Compiler::new([folder.join("proto")])?;
            compiler.include_imports(true).open_file(source)?;
            tonic_prost_build::configure()
                // Maps in one order: what is stored of a message is always the same bytes.
                .btree_map(".")
                .disable_comments(["."])
                .out_dir(&made)
                .compile_fds(compiler.file_descriptor_set())
                .with_context(|| format!("failed to generate code from {source}"))?;
            let path = made.join(format!("{package}.rs"));
            let code =
                fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            let code = format!("//! From `{source}` by `cargo xtask codegen`; not to be edited.\n\n{code}");
            let name = source.replace('-', "_").replace(".proto", ".rs");
            results.push((folder.join("src/generated").join(name), code.into_bytes()));
            if package == IN_PYTHON {
                let target = crate::root().join("fixtures/plugins/python/deviceplugin.binpb");
                results.push((target, compiler.encode_file_descriptor_set()));
            }
        }
        let mut differing = Vec::new();
        for (target, result) in results {
            if fs::read(&target).is_ok_and(|committed| committed == result) {
                continue;
            }
            if self.check {
                differing.push(target.display().to_string());
            } else {
                fs::write(&target, result)
                    .with_context(|| format!("failed to write {}", target.display()))?;
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
const SOURCES: [(&str, &str); 4] = [
    ("deviceplugin-v1beta1.proto", "v1beta1"),
    ("pluginregistration-v1.proto", "pluginregistration"),
    ("podresources-v1.proto", "v1"),
    ("podresources-v1alpha1.proto", "v1alpha1"),
];

/// The package that a plugin in Python reads as it is.
#[cfg(feature = "codegen")]
const IN_PYTHON: &str = "v1beta1";
