//! A proposal written into the user's form and checked again has no finding of the kind that it mends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// With two NUMA nodes alike, and with some of memory alone.
const MACHINES: [&str; 2] = ["xeon-2s-96cpu-sriov", "xeon-cxl-4node"];

/// A form with the fields of a kubelet at their place.
struct Form {
    name: &'static str,
    /// The text around the fields, which `FIELDS` stands for.
    text: &'static str,
    /// How the fields are written.
    written: Written,
}

/// How a form writes the fields of a kubelet.
#[derive(Clone, Copy)]
enum Written {
    /// By their names.
    Fields,
    /// As flags in a list.
    Flags,
    /// As settings in TOML.
    Settings,
}

const FORMS: [Form; 12] = [
    Form {
        name: "kubelet.yaml",
        text: "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nFIELDS",
        written: Written::Fields,
    },
    Form {
        name: "kubeadm.yaml",
        text: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: own\n---\napiVersion: \
               kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nFIELDS",
        written: Written::Fields,
    },
    Form {
        name: "openshift.yaml",
        text: "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: own}\nspec:\n  \
               autoSizingReserved: false\n  kubeletConfig:\n    FIELDS",
        written: Written::Fields,
    },
    Form {
        name: "node-config.yaml",
        text: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      FIELDS",
        written: Written::Fields,
    },
    Form {
        name: "talos.yaml",
        text: "machine:\n  type: worker\n  kubelet:\n    extraConfig:\n      FIELDS",
        written: Written::Fields,
    },
    Form {
        name: "kops.yaml",
        text: "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: own}\nspec:\n  role: Node\n  kubelet:\n    \
               FIELDS",
        written: Written::Fields,
    },
    Form { name: "aks.yaml", text: "cpuCfsQuota: true\nFIELDS", written: Written::Fields },
    Form {
        name: "gke.yaml",
        text: "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nmetadata: {name: own}\nspec:\n  \
               nodeConfig:\n    kubeletConfig:\n      FIELDS",
        written: Written::Fields,
    },
    Form {
        name: "gardener.yaml",
        text: "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: own}\nspec:\n  kubernetes:\n    kubelet:\n      \
               FIELDS",
        written: Written::Fields,
    },
    Form {
        name: "karpenter.yaml",
        text: "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: own}\nspec:\n  amiSelectorTerms: [{alias: \
               al2023@latest}]\n  kubelet:\n    FIELDS",
        written: Written::Fields,
    },
    Form { name: "k3s.yaml", text: "token: a\nkubelet-arg:\n- FIELDS", written: Written::Flags },
    Form { name: "bottlerocket.toml", text: "[settings.kubernetes]\nFIELDS", written: Written::Settings },
];

/// What is wrong: fields with texts, by their names in a `KubeletConfiguration`.
const FAULTS: [&[(&str, &str)]; 5] = [
    &[("cpuManagerPolicy", "static"), ("reservedSystemCPUs", "0")],
    &[("cpuManagerPolicy", "static"), ("reservedSystemCPUs", "0-1,200")],
    &[("topologyManagerPolicy", "restrictd")],
    &[("cpuManagerPolicy", "staic"), ("topologyManagerPolicy", "best-effort")],
    &[("memoryManagerPolicy", "Statc"), ("cpuManagerPolicy", "none")],
];

/// A form with these fields; `None`: it has not all of them.
fn written(form: &Form, fields: &[(&str, &str)]) -> Option<String> {
    let of = |(field, value): &(&str, &str)| {
        let flag = match *field {
            "cpuManagerPolicy" => "cpu-manager-policy",
            "memoryManagerPolicy" => "memory-manager-policy",
            "reservedSystemCPUs" => "reserved-cpus",
            "topologyManagerPolicy" => "topology-manager-policy",
            _ => panic!("{field}"),
        };
        match form.written {
            Written::Flags => format!("{flag}={value}"),
            Written::Settings => format!("{flag} = {value:?}"),
            Written::Fields if form.name == "gke.yaml" && field.starts_with("topology") => {
                format!("topologyManager: {{policy: {value}}}")
            }
            Written::Fields if form.name == "gke.yaml" && field.starts_with("memory") => {
                format!("memoryManager: {{policy: {value}}}")
            }
            Written::Fields => format!("{field}: {value:?}"),
        }
    };
    let line = form.text.lines().find(|line| line.contains("FIELDS"))?;
    let between = format!("\n{}", line.replace("FIELDS", ""));
    let lines: Vec<String> = fields.iter().map(of).collect();
    Some(format!("{}\n", form.text.replace("FIELDS", &lines.join(&between))))
}

fn check(file: &Path, machine: &str, more: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["config", "check", "--machine", machine, "--config"])
        .arg(file)
        .args(more)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// The fields with findings that something is known to mend, and those that are changed.
fn judged(file: &Path, machine: &str) -> (Vec<String>, Vec<String>) {
    let (checked, warnings, _) = check(file, machine, &["-o", "json"]);
    let checked: Value = serde_json::from_str(&checked)
        .unwrap_or_else(|error| panic!("{}: {error}: {warnings}", file.display()));
    let names = |list: &str, only: &dyn Fn(&&Value) -> bool| -> Vec<String> {
        let own = checked[list].as_array().unwrap().iter().filter(only);
        own.map(|own| own["field"].as_str().unwrap().to_owned()).collect()
    };
    (names("findings", &|finding| finding["expected"].is_object()), names("changes", &|_| true))
}

#[test]
fn a_proposal_in_the_form_of_its_file_mends_what_it_says() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proposals-in-forms");
    fs::create_dir_all(&folder).unwrap();
    let mut mended = 0;
    for form in &FORMS {
        for (at, fault) in FAULTS.iter().enumerate() {
            for machine in MACHINES {
                let Some(text) = written(form, fault) else { panic!("{}", form.name) };
                let file: PathBuf = folder.join(format!("{machine}-{at}-{}", form.name));
                fs::write(&file, &text).unwrap();
                let (found, changed) = judged(&file, machine);
                let (proposed, error, status) = check(&file, machine, &["--propose"]);
                assert!(matches!(status, Some(0 | 2)), "{text}: {error}");
                fs::write(&file, &proposed).unwrap();
                let (left, again) = judged(&file, machine);
                assert!(
                    left.is_empty() && again.is_empty(),
                    "{machine}: {text}{proposed}: {left:?}, {again:?}"
                );
                mended += found.len();
                assert!(found.is_empty() || !changed.is_empty(), "{machine}: {text}");
            }
        }
    }
    assert!(mended > 80, "{mended}");
}

/// A field that a form lacks is neither proposed nor written.
#[test]
fn no_field_is_proposed_that_the_form_lacks() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proposals-in-forms");
    fs::create_dir_all(&folder).unwrap();
    for (form, lacks) in [
        ("kops.yaml", "reservedSystemCPUs"),
        ("aks.yaml", "reservedSystemCPUs"),
        ("gke.yaml", "reservedSystemCPUs"),
        ("gardener.yaml", "topologyManagerPolicy"),
        ("karpenter.yaml", "cpuManagerPolicy"),
    ] {
        let own = FORMS.iter().find(|own| own.name == form).unwrap();
        let file = folder.join(format!("lacks-{form}"));
        let field = if form == "karpenter.yaml" { "maxPods: 50" } else { "cpuManagerPolicy: static" };
        fs::write(&file, format!("{}\n", own.text.replace("FIELDS", field))).unwrap();
        let (_, changed) = judged(&file, MACHINES[0]);
        assert!(!changed.iter().any(|field| field == lacks), "{form}: {changed:?}");
        let (shown, ..) = check(&file, MACHINES[0], &[]);
        assert!(
            shown.contains("no fields for it: ") && !shown.contains(&format!("{lacks}: ")),
            "{form}: {shown}"
        );
        let (proposed, ..) = check(&file, MACHINES[0], &["--propose"]);
        assert!(!proposed.contains(lacks), "{form}: {proposed}");
    }
}
