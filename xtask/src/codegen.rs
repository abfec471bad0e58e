//! `cargo xtask codegen`: the messages of `device-plugin`, `pods-api` and `nri-plugin`, from protobuf files, and services of gRPC.
//!
//! The generator is behind the feature `codegen`, since everybody builds xtask and few need it; without it this
//! command builds itself again with it.

use workspace_tools::workspace;

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
        let mut again = workspace::cargo(&["run", "--quiet", "--package", "xtask", "--features", "codegen"]);
        again.args(["--", "codegen"]).args(self.check.then_some("--check"));
        workspace::run(&mut again)
    }
}

#[cfg(feature = "codegen")]
impl Codegen {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        use anyhow::Context as _;
        use fs_err as fs;
        use workspace_tools::document::Renewal;

        let made = workspace::root().join("target/codegen");
        fs::create_dir_all(&made)?;
        let mut results = Vec::new();
        for Messages { of, source, package, are_documents } in SOURCES {
            let folder = workspace::root().join("crates").join(of);
            let mut compiler = protox::Compiler::new([folder.join("proto")])?;
            compiler.include_imports(true).open_file(source)?;
            let mut builder = tonic_prost_build::configure()
                // Maps in one order: what is stored of a message is always the same bytes.
                .btree_map(".")
                .disable_comments(["."])
                .out_dir(&made);
            if are_documents {
                builder = builder
                    .type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
                    .type_attribute(".", "#[serde(default, rename_all = \"camelCase\")]")
                    .type_attribute("Quantity", "#[serde(transparent)]")
                    .field_attribute("hostIP", "#[serde(rename = \"hostIP\")]")
                    .field_attribute("containerID", "#[serde(rename = \"containerID\")]");
            }
            builder
                .compile_fds(compiler.file_descriptor_set())
                .with_context(|| format!("failed to generate code from {source}"))?;
            let path = made.join(format!("{package}.rs"));
            let code = fs::read_to_string(&path)?;
            let code = format!("//! From `{source}` by `cargo xtask codegen`; not to be edited.\n\n{code}");
            let name = source.replace('-', "_").replace(".proto", ".rs");
            results.push((folder.join("src/generated").join(name), code.into_bytes()));
            if package == IN_PYTHON {
                let target = workspace::root().join("fixtures/plugins/python/deviceplugin.binpb");
                results.push((target, compiler.encode_file_descriptor_set()));
            }
        }
        let renewal = if self.check { Renewal::Compare } else { Renewal::Write };
        renewal.renew(results, "cargo xtask codegen")?;
        eprintln!("codegen: {} protobuf files as generated", SOURCES.len());
        Ok(())
    }
}

/// One protobuf file.
#[cfg(feature = "codegen")]
struct Messages {
    /// The crate whose it is.
    of: &'static str,
    source: &'static str,
    /// The package that it names itself.
    package: &'static str,
    /// Whether its messages are read and written as JSON too, in the names of Kubernetes.
    are_documents: bool,
}

#[cfg(feature = "codegen")]
impl Messages {
    const fn new(of: &'static str, source: &'static str, package: &'static str) -> Self {
        Self { of, source, package, are_documents: false }
    }
}

/// The protobuf files: services of the kubelet as Kubernetes has them (v1.36.3, pods v1.37.1), what matters of a pod, and NRI.
#[cfg(feature = "codegen")]
const SOURCES: [Messages; 8] = [
    Messages::new("device-plugin", "deviceplugin-v1beta1.proto", "v1beta1"),
    Messages::new("device-plugin", "pluginregistration-v1.proto", "pluginregistration"),
    Messages::new("device-plugin", "podresources-v1.proto", "v1"),
    Messages::new("device-plugin", "podresources-v1alpha1.proto", "v1alpha1"),
    Messages::new("pods-api", "pods-v1alpha1.proto", "v1alpha1"),
    Messages { are_documents: true, ..Messages::new("pods-api", "core-v1-pod.proto", "core.v1") },
    Messages::new("nri-plugin", "nri-v1alpha1.proto", "nri.pkg.api.v1alpha1"),
    Messages::new("nri-plugin", "ttrpc.proto", "ttrpc"),
];

/// The package that a plugin in Python reads as it is.
#[cfg(feature = "codegen")]
const IN_PYTHON: &str = "v1beta1";
