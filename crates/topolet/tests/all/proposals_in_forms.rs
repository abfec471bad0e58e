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

/// An argument with which the kubelet does not start, among those of nodes, and what of it stays.
const REFUSED: [(&str, &str, &[&str]); 4] = [
    (
        "rke2.yaml",
        "kubelet-arg:\n- feature-gates=MemoryManager=true\n- kube-reserved=cpu=400m,memory=2Gi\n- \
         system-reserved=cpu=400m,memory=2Gi\n- memory-manager-policy=Static\n- reserved-memory=0:memory=2Gi\n- \
         reserved-memory=1:memory=2Gi\n- topology-manager-policy=single-numa-node\n",
        &["topology-manager-policy=single-numa-node", "memory-manager-policy=Static", "400m"],
    ),
    (
        "config.yaml",
        "kubelet-arg:\n- \"cpu-manager=true\"\n- \"cpu-manager-policy=static\"\n- \
         \"cpu-manager-policy-options=full-pcpus-only=true\"\n- \"reserved-cpus=0,1,2,3\"\n",
        &["cpu-manager-policy=static", "full-pcpus-only=true"],
    ),
    (
        "gates.yaml",
        "kubelet-arg:\n- feature-gates=MemoryManager=true,KubeletPodResourcesGet=true\n- max-pods=20\n",
        &["feature-gates=KubeletPodResourcesGet=true", "max-pods=20"],
    ),
    (
        "30-kubelet-extra-args.conf",
        "[Service]\nEnvironment='KUBELET_EXTRA_ARGS=--feature-gates=MemoryManager=true --cpu-manager-policy=static \
         --memory-manager-policy=Static --topology-manager-policy=single-numa-node --topology-manager-scope=pod \
         --system-reserved=cpu=1,memory=2048Mi --kube-reserved=cpu=2,memory=4096Mi --reserved-memory 0:memory=6244Mi'\n",
        &["# leave out: --feature-gates=MemoryManager=true"],
    ),
];

#[test]
fn arguments_with_which_the_kubelet_does_not_start_are_taken_out_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, stays) in REFUSED {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let (said, warnings, status) = check(&file, MACHINES[0], &[]);
        assert_eq!(status, Some(2), "{name}: {said}{warnings}");
        let (said, printed) = said.split_at(said.rfind("\n\n").unwrap() + 2);
        assert!(said.contains("the kubelet does not start: "), "{name}: {said}");
        // What the file says is neither missing nor weakened.
        assert!(!said.contains("(nothing) → restricted"), "{name}: {said}");
        for stays in stays {
            assert!(printed.contains(stays), "{name}: {said}{printed}");
        }
        let mut again = vec![printed.to_owned()];
        // Flags alone are listed, and not written into their file.
        if name.ends_with("yaml") {
            again.push(check(&file, MACHINES[0], &["--propose"]).0);
        }
        for text in again {
            fs::write(&file, &text).unwrap();
            let (said, warnings, _) = check(&file, MACHINES[0], &[]);
            assert!(!said.contains("does not start"), "{name}: {text}{said}{warnings}");
        }
    }
}

/// A gate of flags that 1.36 does not have, and a flag that 1.35 does not.
#[test]
fn flags_are_judged_by_each_release_of_an_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let upgrade = |arguments: &[&str], from: &str, to: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["upgrade", "check", "--from", from, "--to", to, "--machine", MACHINES[0]])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout) + &text(output.stderr), output.status.code())
    };
    let (name, text, _) = REFUSED[0];
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let (said, status) = upgrade(&["--config", file], "1.34", "1.35");
    assert!(status != Some(1) && !said.contains("does not start"), "{said}");
    let gate = "unrecognized feature gate: MemoryManager";
    let (said, status) = upgrade(&["--config", file], "1.35", "1.36");
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("! kubelet 1.36 does not start: ") && said.contains(gate), "{said}");
    assert!(!said.contains("! kubelet 1.35 does not start"), "{said}");

    let flags = ["--kubelet-flags", "--pod-infra-container-image=pause --max-pods=20", "--base", "none"];
    let (said, status) = upgrade(&flags, "1.34", "1.35");
    assert_eq!(status, Some(2), "{said}");
    let flag = "! kubelet 1.35 does not start: unknown flag: --pod-infra-container-image";
    assert!(said.contains(flag) && !said.contains("1.34 does not start"), "{said}");
}
