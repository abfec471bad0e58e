//! Small trees, and what cAdvisor reads from each.

use serde_json::{Value, json};
use topology_discovery::{
    CadvisorError, CpuArchitecture, HugePagesError, MemoryTree, SysfsTree, machine_info_to_json,
    read_as_cadvisor,
};

use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(crate) fn sysfs(_: &Corpus, case: &Case) -> Outcome {
    let architecture = match case.input["goarch"].as_str() {
        None | Some("amd64") => CpuArchitecture::Amd64,
        Some("arm64") => CpuArchitecture::Arm,
        Some("s390x") => CpuArchitecture::S390x,
        Some(_) => return Outcome::Skipped,
    };
    match read_as_cadvisor(&tree(&case.input["tree"]), architecture) {
        Ok(read) => {
            let printed = machine_info_to_json(&read.info).map(|text| serde_json::from_str::<Value>(&text));
            let Ok(Ok(mut got)) = printed else { return Outcome::Failed { got: json!("no JSON") } };
            got["vendor_id"] = json!(read.vendor);
            if let Some(error) = read.topology_error {
                got["topology_error"] = json!(error.to_string());
            }
            case.compare(got)
        }
        Err(error @ CadvisorError::HugePages(HugePagesError::Crash(_))) => Outcome::unanswered(error),
        Err(error) => case.compare(json!({ "info_error": error.to_string() })),
    }
}

fn tree(described: &Value) -> SysfsTree {
    let mut tree = MemoryTree::new();
    for folder in described["dirs"].as_array().into_iter().flatten() {
        tree.add_folder(text(folder));
    }
    for (path, content) in described["files"].as_object().into_iter().flatten() {
        tree.add_file(path, text(content).as_bytes());
    }
    for (path, target) in described["links"].as_object().into_iter().flatten() {
        tree.add_link(path, text(target));
    }
    tree.into()
}
