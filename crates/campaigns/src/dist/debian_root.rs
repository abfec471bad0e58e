//! The Debian package in a root file system that has nothing but Debian: installed, used, upgraded and removed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use workspace_tools::workspace::{run, target};

use super::made::{Made, POD, inside, said};

pub(super) const HOW: &str = "`dpkg -i` in a new root of Debian with systemd: a refused pod, a page of the manual for each command, \
     completions of three shells, `systemd-analyze verify` of the units, conffiles over an upgrade, `dpkg -r` and `-P`";
const CONFFILES: [&str; 2] = ["etc/default/topolet", "etc/default/topolet-observe"];
const UNITS: [&str; 2] = ["topolet.service", "topolet-observe.service"];

/// Installs the package, uses what is in it, and removes it.
pub(super) fn test(made: &Made) -> anyhow::Result<()> {
    let folder = new_root()?;
    let name = "topolet.deb";
    fs::copy(&made.debian, folder.join(name))?;
    let debian = Debian { folder: &folder };
    debian.run(&["dpkg", "-i", &format!("/{name}")])?;

    let version = debian.run(&["topolet", "--version"])?;
    ensure!(version.trim() == format!("topolet {}", made.version), "it is of version {version}");
    fs::write(folder.join("pod.yaml"), POD)?;
    let admit = ["topolet", "admit", "--machine", "xeon-2s-96cpu-sriov", "-f", "/pod.yaml"];
    let refused = inside(&folder, &admit).output()?;
    let text = String::from_utf8_lossy(&refused.stdout);
    ensure!(refused.status.code() == Some(2) && text.contains("would fit"), "it says\n{text}");
    let plugin = debian.run(&["kubectl-topolet", "--help"])?;
    ensure!(plugin.contains("kubectl topolet"), "the plugin of kubectl says\n{plugin}");

    debian.manual()?;
    debian.completions()?;
    debian.units()?;
    debian.scheduler()?;
    debian.conffiles(&made.debian, name)?;

    let left: Vec<PathBuf> = ["usr/bin/topolet", "usr/share/man/man1/topolet.1.gz", CONFFILES[0]]
        .into_iter()
        .map(|path| folder.join(path))
        .filter(|path| path.exists())
        .collect();
    ensure!(left.is_empty(), "{left:?} are left when it is purged");
    Ok(())
}

/// A root with nothing but what each Debian has, systemd, and what shows manuals and completes words.
fn new_root() -> anyhow::Result<PathBuf> {
    let release = fs::read_to_string("/etc/os-release")?;
    let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("/etc/os-release names no release of Debian")?;
    let (folder, kept) = (target().join("dist/debian"), target().join(format!("debian-{suite}.tar")));
    fs::create_dir_all(&folder)?;
    if !kept.exists() {
        let mut bootstrap = Command::new("debootstrap");
        bootstrap.args(["--variant=minbase", "--include=systemd,procps,man-db,bash-completion", suite]);
        run(bootstrap.arg(&folder))?;
        return run(Command::new("tar").arg("-cf").arg(&kept).arg("-C").arg(&folder).arg("."))
            .map(|()| folder);
    }
    run(Command::new("tar").arg("-xf").arg(&kept).arg("-C").arg(&folder)).map(|()| folder)
}

/// The root, with the package in it.
struct Debian<'a> {
    folder: &'a Path,
}

impl Debian<'_> {
    fn run(&self, command: &[&str]) -> anyhow::Result<String> {
        said(&mut inside(self.folder, command))
    }

    /// Each command has a page that man shows without a complaint.
    fn manual(&self) -> anyhow::Result<()> {
        let files = self.run(&["dpkg", "-L", "topolet"])?;
        let pages: Vec<&str> =
            files.lines().filter(|file| file.starts_with("/usr/share/man/man1/")).collect();
        let help = self.run(&["topolet", "--help"])?;
        let commands =
            help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        for name in names.filter_map(|line| line.split([' ', ',']).find(|word| !word.is_empty())) {
            let page = format!("/usr/share/man/man1/topolet-{name}.1.gz");
            ensure!(name == "help" || pages.contains(&page.as_str()), "{page} is not there");
        }
        for page in pages {
            let mut man = inside(self.folder, &["man", "--warnings", "--local-file", page]);
            let output = man.env("MANWIDTH", "80").output()?;
            let complaint = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success() && complaint.is_empty(), "man says of {page}: {complaint}");
            ensure!(output.stdout.len() > 200, "{page} is empty");
        }
        Ok(())
    }

    /// Completions are where each shell looks for them; those of bash complete a command.
    fn completions(&self) -> anyhow::Result<()> {
        for file in [
            "usr/share/bash-completion/completions/topolet",
            "usr/share/zsh/vendor-completions/_topolet",
            "usr/share/fish/vendor_completions.d/topolet.fish",
        ] {
            ensure!(self.folder.join(file).is_file(), "{file} is not there");
        }
        let script = ". /usr/share/bash-completion/bash_completion; _completion_loader topolet; \
                      COMP_WORDS=(topolet adm); COMP_CWORD=1; _topolet topolet adm topolet; echo \"${COMPREPLY[@]}\"";
        let found = self.run(&["bash", "-c", script])?;
        ensure!(found.trim() == "admit", "bash completes `topolet adm` to {found:?}");
        Ok(())
    }

    /// systemd finds nothing wrong with the units, and none is enabled.
    fn units(&self) -> anyhow::Result<()> {
        for unit in UNITS {
            let mut verify = inside(self.folder, &["systemd-analyze", "verify", unit]);
            let output = verify.output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            let about: Vec<&str> = said.lines().filter(|line| line.contains("topolet")).collect();
            ensure!(output.status.success() && about.is_empty(), "systemd-analyze says of {unit}:\n{said}");
            let state = inside(self.folder, &["systemctl", "is-enabled", unit]).output()?;
            let state = String::from_utf8_lossy(&state.stdout).into_owned();
            ensure!(state.trim() == "disabled", "{unit} is {state}");
        }
        Ok(())
    }

    /// The script that `topolet scheduler` names in its log is one that the shell reads, and the examples beside it are there.
    fn scheduler(&self) -> anyhow::Result<()> {
        let folder = "/usr/share/topolet/scheduler";
        self.run(&["sh", "-n", &format!("{folder}/certificates.sh")])?;
        self.run(&["test", "-x", &format!("{folder}/certificates.sh")])?;
        for file in ["kube-scheduler.yaml", "rights.yaml"] {
            self.run(&["test", "-s", &format!("{folder}/{file}")])?;
        }
        Ok(())
    }

    /// What an administrator has changed stays until the package is purged.
    fn conffiles(&self, package: &Path, name: &str) -> anyhow::Result<()> {
        let listed = self.run(&["dpkg-query", "--show", "--showformat=${Conffiles}", "topolet"])?;
        for file in CONFFILES {
            ensure!(
                listed.contains(&format!("/{file} ")),
                "/{file} is no conffile of {}: {listed}",
                package.display()
            );
        }
        let changed = self.folder.join(CONFFILES[0]);
        fs::write(&changed, "OPTIONS=--strict\n")?;
        self.run(&["dpkg", "-i", &format!("/{name}")])?;
        let is_kept = || fs::read_to_string(&changed).is_ok_and(|text| text == "OPTIONS=--strict\n");
        ensure!(is_kept(), "an upgrade changes /{}", CONFFILES[0]);
        self.run(&["dpkg", "-r", "topolet"])?;
        ensure!(is_kept(), "a removal takes /{}", CONFFILES[0]);
        ensure!(!self.folder.join("usr/bin/topolet").exists(), "a removal leaves the program");
        self.run(&["dpkg", "-P", "topolet"])?;
        Ok(())
    }
}
