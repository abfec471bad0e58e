//! `cargo xtask openapi-client`: a client that is generated from `/openapi.json` uses a running node.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use fs_err as fs;
use workspace_tools::workspace::{build, run, target};

/// Has a public validator read what `topolet serve` answers at /openapi.json, generates a client in Python from it, and
/// applies, explains and deletes a pod with the client over TCP. Needs Python 3.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenapiClient {
    /// Installs the validator and the generator, at pinned versions, in a folder below target where they are missing.
    #[arg(long)]
    install: bool,
}

/// What is installed.
const REQUIREMENTS: &str = include_str!("openapi_client/requirements.txt");
/// What uses the client.
const CLIENT: &str = include_str!("openapi_client/client.py");
/// What the client tells the node.
const TOKEN: &str = "a-token-of-a-test";

impl OpenapiClient {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = target().join("openapi-client");
        let tools = match Tools::find(&folder) {
            Some(tools) => tools,
            None if self.install => Tools::install(&folder)?,
            None => {
                bail!("the generator is not installed; `cargo xtask openapi-client --install` installs it")
            }
        };
        build(&["topolet"])?;
        let node = Node::start()?;
        let description = folder.join("openapi.json");
        let fetch = "import sys, urllib.request as web; open(sys.argv[2], 'wb').write(web.urlopen(sys.argv[1]).read())";
        let address = format!("{}/openapi.json", node.address);
        run(tools.python().args(["-c", fetch, &address]).arg(&description))?;
        run(tools.command("openapi-spec-validator").arg(&description))?;
        generate(&tools, &folder, &description)?;
        let script = folder.join("client.py");
        fs::write(&script, CLIENT)?;
        run(tools.python().arg(&script).args([&node.address, TOKEN]).env("PYTHONPATH", &folder))
    }
}

/// Generates the client. The generator cannot send YAML, and says so; everything else has to suit it.
fn generate(tools: &Tools, folder: &Path, description: &Path) -> anyhow::Result<()> {
    let output = tools
        .command("openapi-python-client")
        .args(["generate", "--meta", "none", "--overwrite", "--path"])
        .arg(description)
        .arg("--output-path")
        .arg(folder.join("topolet_client"))
        .output()
        .context("failed to start openapi-python-client")?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    ensure!(output.status.success(), "no client is generated:\n{printed}");
    let complaints: Vec<&str> =
        printed.lines().filter(|line| line.contains("WARNING") || line.starts_with("Unsupported")).collect();
    let expected = |line: &&str| {
        *line == "Unsupported content type application/yaml" || line.starts_with("WARNING parsing")
    };
    ensure!(
        complaints.iter().all(expected) && !printed.contains("Unable to"),
        "the generator complains:\n{printed}"
    );
    println!("a client is generated in {}", folder.join("topolet_client").display());
    Ok(())
}

/// The validator and the generator.
struct Tools(PathBuf);

/// What was installed there.
const MARK: &str = "installed.txt";

impl Tools {
    /// In their own environment, which is there if all of it was installed at these versions.
    fn find(folder: &Path) -> Option<Self> {
        let installed = fs::read_to_string(folder.join(MARK)).ok()?;
        (installed == REQUIREMENTS).then(|| Self(folder.join("venv")))
    }

    fn install(folder: &Path) -> anyhow::Result<Self> {
        let (tools, mark) = (Self(folder.join("venv")), folder.join(MARK));
        fs::create_dir_all(folder)?;
        let wanted = folder.join("requirements.txt");
        fs::write(&wanted, REQUIREMENTS)?;
        run(Command::new("python3").args(["-m", "venv"]).arg(&tools.0))?;
        run(tools.python().args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted))?;
        fs::write(&mark, REQUIREMENTS)?;
        Ok(tools)
    }

    fn command(&self, name: &str) -> Command {
        Command::new(self.0.join("bin").join(name))
    }

    fn python(&self) -> Command {
        self.command("python")
    }
}

/// A node with a token; it is killed when this is dropped.
struct Node {
    process: Child,
    address: String,
    /// Its root.
    _folder: tempfile::TempDir,
}

impl Node {
    fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let token = folder.path().join("token");
        fs::write(&token, TOKEN)?;
        let mut command = Command::new(target().join("debug/topolet"));
        command.args([
            "serve",
            "--machine",
            "xeon-2s-96cpu-sriov",
            "--config",
            "pinned",
            "--policy",
            "single-numa-node",
        ]);
        command.args(["--cgroup-root", "off", "--tcp", "127.0.0.1:0", "--token-file"]).arg(&token);
        command.arg("--root").arg(folder.path().join("node")).stderr(Stdio::piped());
        let mut process = command.spawn().context("failed to start topolet serve")?;
        let log = process.stderr.take().context("there is no log")?;
        let mut node = Self { process, address: String::new(), _folder: folder };
        let mut lines = BufReader::new(log).lines().map_while(Result::ok);
        let mut printed = Vec::new();
        for line in lines.by_ref() {
            if let Some((_, address)) = line.split_once("address=") {
                node.address = format!("http://{}", address.trim());
            }
            let is_ready = line.contains("node is served");
            printed.push(line);
            if is_ready {
                break;
            }
        }
        ensure!(
            !node.address.is_empty(),
            "topolet serve does not say where it listens:\n{}",
            printed.join("\n")
        );
        // A full pipe would stop the process.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(node)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
