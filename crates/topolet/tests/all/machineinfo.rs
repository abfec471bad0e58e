//! What is printed for the kubelet can be read again.

use std::process::Command;

fn topology(machine: &str, format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["topology", "--machine", machine, "-o", format])
        .output()
        .unwrap();
    assert!(output.status.success(), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn machine_information_is_the_same_after_a_round() {
    let folder = std::env::temp_dir().join(format!("topolet-machineinfo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["xeon-2s-96cpu-sriov", "gb200-nvl4-34node", "power9-ac922-gpunodes-empty-6node"] {
        let printed = topology(name, "machineinfo");
        assert!(printed.contains("\"num_cores\"") && printed.ends_with("}\n"), "{printed}");
        let file = folder.join("machine.json");
        std::fs::write(&file, &printed).unwrap();
        let path = file.to_str().unwrap();
        assert_eq!(topology(path, "machineinfo"), printed, "{name}");
        // The format does not have what lies where, and the error says so.
        let tree = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["topology", "--machine", path, "-o", "tree"])
            .output()
            .unwrap();
        assert_eq!(tree.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&tree.stderr).contains("cAdvisor"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
