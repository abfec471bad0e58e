//! Files that the daemon is given by name. A daemon starts by itself, after a crash too, so it waits for no pipe.

use std::fs;
use std::path::Path;

use anyhow::bail;
use kubelet_checkpoint::store::OtherFile;

use super::Setup;

/// Where a process finds its own open files: a shell makes such a pipe of `<(COMMAND)`, whose writer runs already.
const OPEN_FILES: [&str; 2] = ["/dev", "/proc"];

/// Refuses pipes that have names: reading one waits until somebody writes to it.
pub(super) fn check(setup: &Setup<'_>) -> anyhow::Result<()> {
    let Setup { machine, rules, token_file, .. } = setup;
    let given = [
        ("--machine", Some(Path::new(&machine.machine))),
        ("--config", rules.config.as_deref().map(Path::new)),
        ("--topolet-config", rules.topolet_config.as_deref()),
        ("--devices", rules.devices.as_deref()),
        ("--token-file", token_file.as_deref()),
    ];
    for (option, path) in given {
        let Some(path) = path else { continue };
        // Who reads it says why it cannot be read.
        let Ok(about) = fs::metadata(path) else { continue };
        let is_open = OPEN_FILES.iter().any(|folder| path.starts_with(folder));
        if OtherFile::of(&about) == Some(OtherFile::Pipe) && !is_open {
            bail!("{option} {} is a named pipe: expected a regular file", path.display());
        }
    }
    Ok(())
}
