//! The command lines that are fuzzed.

/// Command lines: `@` is the file, and what follows it its ending; `+` is the file as a kubelet's root folder, of
/// which it is the one that is named after it.
pub(crate) const COMMANDS: [&str; 21] = [
    "admit -f @.yaml -m xeon-cxl-4node",
    "admit -f @.yaml -m genoa-9654-l3numa-24node --policy restricted --scope pod -o json",
    "explain -f @.yaml -m xeon-cxl-4node --policy single-numa-node",
    "simulate --find-max -f @.yaml -m xeon-cxl-4node",
    "simulate -f @.yaml",
    "admit -f POD -m xeon-cxl-4node -c @.yaml",
    "config check -m xeon-cxl-4node -c @.yaml",
    "config check -m xeon-cxl-4node --propose -c @.yaml",
    "admit -f POD -m xeon-2s-96cpu-sriov --devices @.yaml",
    "admit -f POD -m xeon-2s-96cpu-sriov --topolet-config @.yaml",
    "topology -m @.json",
    "admit -f POD -m @.json",
    "topology -m @.tar.zst -o svg",
    "config check -m @.tar.zst",
    "state check -m xeon-cxl-4node --state +cpu_manager_state",
    "state check -m xeon-cxl-4node --state +memory_manager_state",
    "state show --state +device-plugins/kubelet_internal_checkpoint -o yaml",
    "admit -f POD -m xeon-cxl-4node --state +cpu_manager_state",
    "topology -m xeon-cxl-4node --state +memory_manager_state",
    "state show --state FOLDER --pods @.yaml",
    "export nrt -m xeon-2s-96cpu-sriov -f @.yaml",
];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command::Arguments;

    #[test]
    fn every_command_line_is_one_and_names_machines_that_exist() {
        for line in COMMANDS {
            let words: Vec<&str> = line.split(' ').collect();
            let parsed = Arguments::try_parse_from(std::iter::once("topolet").chain(words.iter().copied()));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
            for named in words.windows(2).filter(|pair| pair[0] == "-m" && !pair[1].starts_with('@')) {
                assert!(machine_fixtures::names().any(|name| name == named[1]), "{line}");
            }
        }
    }
}
