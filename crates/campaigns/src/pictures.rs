//! `cargo xtask pictures`: the pictures of machines and of a decision that the documentation shows.
//!
//! Each is what `topolet topology -o svg` or `admit -o svg` draws, made an image by `rsvg-convert` with the font in `crates/campaigns/font`, so that
//! it is the same wherever it is made. What a terminal shows has the font of Debian's package `fonts-dejavu-core`. The refusal
//! stays a drawing.

mod described;
mod terminal;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use fs_err as fs;
use workspace_tools::control_plane;
use workspace_tools::workspace::{root, run};

/// Draws the machines and a decision into `docs/pictures`.
#[derive(Debug, clap::Args)]
pub(crate) struct Pictures {
    /// Draws what `kubectl describe pod` shows of a refused pod instead. Builds Kubernetes' control plane first.
    #[arg(long)]
    described: bool,
    /// Draws the refusal that the README shows instead, as `topolet demo` prints it.
    #[arg(long, conflicts_with = "described")]
    refusal: bool,
}

/// Columns of the terminal that is drawn.
const COLUMNS: usize = 130;
/// Columns of the refusal; a test of topolet runs it with as many.
const REFUSAL_COLUMNS: usize = 104;

/// File names, and what is drawn.
const PICTURES: &[(&str, &[&str])] = &[
    ("server-2-nodes", &["topology", "--machine", "xeon-2s-96cpu-sriov"]),
    (
        "server-2-nodes-with-pods",
        &[
            "topology",
            "--machine",
            "xeon-2s-96cpu-sriov",
            "--state",
            "fixtures/state/healthy",
            "--pods",
            "fixtures/state/pods",
            "--config",
            "pinned",
        ],
    ),
    (
        "decision",
        &[
            "admit",
            "--filename",
            "fixtures/pods/dpdk.yaml",
            "--machine",
            "xeon-2s-96cpu-sriov",
            "--state",
            "fixtures/state/healthy",
            "--config",
            "pinned",
            "--devices",
            "fixtures/devices/intel-2s-16vf.yaml",
        ],
    ),
    ("server-16-l3", &["topology", "--machine", "epyc-2s-96cpu-16l3-8gpu"]),
    ("snc4-with-hbm", &["topology", "--machine", "spr-hbm-flat-snc4-16node"]),
    ("gb200", &["topology", "--machine", "gb200-nvl4-34node"]),
    ("turin-512-cpus", &["topology", "--machine", "turin-9755-nps4-l3numa-32node"]),
];

/// Larger pictures make a page slow.
const MOST_BYTES: u64 = 300_000;

impl Pictures {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.refusal {
            let shown = format!("$ topolet demo\n…\n{}\n…", refusal()?);
            let file = root().join("docs/pictures/refusal.svg");
            return write(&file, terminal::drawing(&shown, REFUSAL_COLUMNS).as_bytes());
        }
        if Command::new("rsvg-convert").arg("--version").output().is_err() {
            bail!("rsvg-convert is not there, which makes images of drawings: apt-get install librsvg2-bin");
        }
        let work = tempdir()?;
        if self.described {
            let text = described::text(&work)?;
            let shown = format!("$ kubectl describe pod inference\n{text}");
            image("describe", terminal::drawing(&shown, COLUMNS).as_bytes(), &work, None)?;
        } else {
            let fonts = work.join("fonts.conf");
            write(&fonts, only_our_font(&work).as_bytes())?;
            let topolet = control_plane::topolet()?;
            for (name, drawn) in PICTURES {
                let mut draw = Command::new(&topolet);
                let output =
                    draw.args(*drawn).args(["-o", "svg"]).output().context("failed to start topolet")?;
                if !output.status.success() {
                    bail!("failed to draw {name}: {}", String::from_utf8_lossy(&output.stderr));
                }
                image(name, &output.stdout, &work, Some(&fonts))?;
            }
        }
        Ok(fs::remove_dir_all(&work)?)
    }
}

/// What the demo prints of the pod that is refused.
fn refusal() -> anyhow::Result<String> {
    let mut demo = Command::new(control_plane::topolet()?);
    demo.arg("demo").env("COLUMNS", REFUSAL_COLUMNS.to_string()).env("LC_ALL", "C.UTF-8");
    let output = demo.output().context("failed to start topolet")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let refused = text.split("\n\n").find(|part| part.starts_with('✘'));
    Ok(refused.context("the demo refuses no pod")?.to_owned())
}

/// Makes an image of a drawing, with the fonts of a configuration of fontconfig, or else this machine's.
fn image(name: &str, drawing: &[u8], work: &Path, fonts: Option<&Path>) -> anyhow::Result<()> {
    let folder = root().join("docs/pictures");
    fs::create_dir_all(&folder)?;
    let (file, image) = (work.join(format!("{name}.svg")), folder.join(format!("{name}.png")));
    write(&file, drawing)?;
    let mut convert = Command::new("rsvg-convert");
    convert.args(["--format", "png", "--zoom", "1.5", "--output"]).arg(&image).arg(&file);
    if let Some(fonts) = fonts {
        convert.env("FONTCONFIG_FILE", fonts);
    }
    run(&mut convert)?;
    let size = fs::metadata(&image).with_context(|| format!("{} is not there", image.display()))?.len();
    if size > MOST_BYTES {
        bail!("{} has {size} bytes, more than {MOST_BYTES}", image.display());
    }
    Ok(())
}

/// A configuration of fontconfig in which nothing but our font exists, so that every family is it.
fn only_our_font(work: &Path) -> String {
    let (fonts, cache) = (root().join("crates/campaigns/font"), work.join("cache"));
    format!(
        "<?xml version=\"1.0\"?>\n<fontconfig>\n<dir>{}</dir>\n<cachedir>{}</cachedir>\n</fontconfig>\n",
        fonts.display(),
        cache.display()
    )
}

fn tempdir() -> anyhow::Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(format!("topolet-pictures-{}", std::process::id()));
    fs::create_dir_all(&path)?;
    Ok(path)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(fs::write(path, bytes)?)
}
