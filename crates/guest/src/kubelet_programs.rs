//! The programs of a node with a kubelet, built from their Go modules, and the disk that they are on.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::Program;
use workspace_tools::debian;
use workspace_tools::kubernetes::Release;
use workspace_tools::workspace::{self, root, run, target};

use crate::image::Programs;
use crate::needs::{folder, is_program};

/// containerd with its shim and client, and what starts containers.
const CONTAINERD: &str = "v2.4.2";
const RUNC: &str = "v1.5.2";

/// Debian's packages with a file that each has.
const PACKAGES: &[(&str, &str)] = &[
    ("/bin/busybox", "busybox-static"),
    ("/usr/include/seccomp.h", "libseccomp-dev"),
    ("/usr/bin/pkg-config", "pkg-config"),
    ("/usr/bin/gcc", "gcc"),
    (SETPRIV, "util-linux"),
];

/// What `local-cluster` starts programs with.
const SETPRIV: &str = "/usr/bin/setpriv";

/// Bytes of the root disk, most of which are never written.
const SIZE: u64 = 2 << 30;

/// Where Go puts them.
fn programs() -> PathBuf {
    folder().join("go/bin")
}

/// Where the sources are of what runs inside.
fn inside() -> PathBuf {
    root().join("crates/guest/inside")
}

/// Builds what is not built yet.
///
/// # Errors
/// A package or Go is missing; one sentence that names it.
pub(crate) fn build(releases: &[String], install: bool) -> anyhow::Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|(file, _)| !Path::new(file).exists()).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        ensure!(install, "`--install` installs what is missing of Debian: {}", missing.join(", "));
        debian::install(&missing)?;
    }
    ensure!(
        is_program("go"),
        "Go is missing, which builds the kubelet and containerd: https://go.dev/dl, 1.26 or later"
    );
    fs::create_dir_all(programs())?;
    containerd()?;
    releases.iter().try_for_each(|version| kubelet(version))?;
    workspace::build(&[])
}

/// `go install` at exact versions.
fn containerd() -> anyhow::Result<()> {
    let install = |name: &str, cgo: &str, arguments: &[&str], packages: &[String]| -> anyhow::Result<()> {
        if programs().join(name).is_file() {
            return Ok(());
        }
        let mut go = Command::new("go");
        go.arg("install").arg("-trimpath").args(arguments).args(packages);
        run(go.env("GOBIN", programs()).env("CGO_ENABLED", cgo))
    };
    let of = |name: &str| format!("github.com/containerd/containerd/v2/cmd/{name}@{CONTAINERD}");
    let names = ["containerd", "containerd-shim-runc-v2", "ctr"];
    for name in names {
        let tags = "no_btrfs no_devmapper no_zfs no_aufs no_tracing";
        install(name, "0", &["-ldflags", "-s -w", "-tags", tags], &[of(name)])?;
    }
    // The kubelet asks for seccomp; static, so that the guest needs no libraries.
    let runc = ["-ldflags", "-s -w -extldflags -static", "-tags", "netgo osusergo seccomp"];
    install("runc", "1", &runc, &[format!("github.com/opencontainers/runc@{RUNC}")])
}

/// The kubelet, and the program that asks its pod resources service.
fn kubelet(version: &str) -> anyhow::Result<()> {
    let release = Release(version);
    release.build("kubelet", "k8s.io/kubernetes/cmd/kubelet")?;
    fs::create_dir_all(release.module().join("probe"))?;
    fs::write(release.module().join("probe/main.go"), fs::read(inside().join("probe/main.go"))?)?;
    release.build("probe", "./probe")
}

/// Writes the guest's root disk with all of it, with a control plane where a release of one is given, and with topolet's image;
/// needs neither root nor a mount.
pub(crate) fn disk(
    file: &Path,
    releases: &[String],
    control_plane: Option<&str>,
    with_topolet: bool,
    own: &Programs,
) -> anyhow::Result<()> {
    let tree = file.with_extension("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    for path in [
        "proc",
        "sys",
        "dev",
        "run",
        "tmp",
        "root",
        "var/log",
        "var/lib/kubelet",
        "images",
        "bin",
        "etc/containerd",
        "etc/kubernetes/manifests",
    ] {
        fs::create_dir_all(tree.join(path))?;
    }
    let kubelets =
        releases.iter().map(|version| (Release(version).program("kubelet"), format!("kubelet-{version}")));
    let probe = releases.first().map(|version| (Release(version).program("probe"), "probe".to_owned()));
    let others = ["containerd", "containerd-shim-runc-v2", "ctr", "runc"];
    let others = others.map(|name| (programs().join(name), name.to_owned()));
    for (from, name) in kubelets.chain(probe).chain(others) {
        fs::copy(&from, tree.join("bin").join(&name))?;
    }
    fs::copy("/bin/busybox", tree.join("bin/busybox"))?;
    // By which a kubelet mounts volumes in memory.
    for applet in ["mount", "umount"] {
        symlink("busybox", tree.join("bin").join(applet))?;
    }
    let plugin = target().join("debug/examples/plugin");
    own.copy_into(&tree, &[("bin/plugin", &plugin), ("bin/setpriv", Path::new(SETPRIV))])?;
    if let Some(release) = control_plane {
        // Where the guest's `local_cluster::Programs` finds them.
        let folder = tree.join("kubernetes").join(release).join("bin");
        fs::create_dir_all(&folder)?;
        for name in Program::ALL.map(Program::name) {
            fs::copy(Release(release).program(name), folder.join(name))?;
        }
    }
    fs::copy(inside().join("kubelet.yaml"), tree.join("etc/kubelet.template.yaml"))?;
    fs::copy(inside().join("containerd.toml"), tree.join("etc/containerd/config.toml"))?;
    for (name, text) in [
        ("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("group", "root:x:0:\n"),
        ("hosts", "127.0.0.1 localhost node1\n"),
        ("machine-id", "0123456789abcdef0123456789abcdef\n"),
        ("resolv.conf", ""),
    ] {
        fs::write(tree.join("etc").join(name), text)?;
    }
    // For pods, and for what keeps their namespaces.
    let test = Image {
        program: Path::new("/bin/busybox"),
        at: "bin/busybox",
        entrypoint: &["/bin/busybox", "sleep", "2147483647"],
        names: &["localhost/pause:1", "localhost/test:1"],
    };
    test.write(&tree.join("images/test.tar"))?;
    if with_topolet {
        // As deploy/Containerfile says.
        let program = target().join("static/topolet");
        ensure!(program.is_file(), "there is no {}: `cargo xtask static` makes it", program.display());
        let name = format!("docker.io/library/topolet:{}", env!("CARGO_PKG_VERSION"));
        let image = Image { program: &program, at: "topolet", entrypoint: &["/topolet"], names: &[&name] };
        image.write(&tree.join("images/topolet.tar"))?;
    }
    fs::File::create(file).and_then(|disk| disk.set_len(SIZE))?;
    let mut command = Command::new("/sbin/mke2fs");
    command.args(["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-m", "0", "-d"]);
    run(command.arg(&tree).arg(file))
}

/// An image of one program in one layer.
struct Image<'a> {
    program: &'a Path,
    /// Where it is in the image.
    at: &'a str,
    entrypoint: &'a [&'a str],
    names: &'a [&'a str],
}

impl Image<'_> {
    /// As an archive of docker.
    fn write(&self, to: &Path) -> anyhow::Result<()> {
        let program =
            fs::read(self.program).with_context(|| format!("failed to read {}", self.program.display()))?;
        let mut layer = tar::Builder::new(Vec::new());
        append(&mut layer, self.at, &program)?;
        let layer = layer.into_inner()?;
        let layer_file = folder().join("layer.tar");
        fs::write(&layer_file, &layer)?;
        let output =
            Command::new("sha256sum").arg(&layer_file).output().context("failed to start sha256sum")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let digest = text.split_whitespace().next().context("sha256sum printed nothing")?;
        let config = serde_json::json!({"architecture": "amd64", "os": "linux",
            "config": {"Entrypoint": self.entrypoint, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]}});
        let manifest =
            serde_json::json!([{"Config": "config.json", "RepoTags": self.names, "Layers": ["layer.tar"]}]);
        let mut archive = tar::Builder::new(Vec::new());
        append(&mut archive, "manifest.json", manifest.to_string().as_bytes())?;
        append(&mut archive, "config.json", config.to_string().as_bytes())?;
        append(&mut archive, "layer.tar", &layer)?;
        Ok(fs::write(to, archive.into_inner()?)?)
    }
}

fn append(archive: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o755);
    Ok(archive.append_data(&mut header, path, bytes)?)
}
