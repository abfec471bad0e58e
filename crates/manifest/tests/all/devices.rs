//! Inventories as they are committed, and what their selectors mean.

use topology_manifest::{DeviceEntry, DeviceHealth, DeviceSource, PciSelector, Source, Style, read_devices};

fn devices(text: &str) -> Vec<DeviceEntry> {
    read_devices(&Source { name: "devices.yaml", text })
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

fn fixture(name: &str) -> Vec<DeviceEntry> {
    let path = format!("{}/../../fixtures/devices/{name}", env!("CARGO_MANIFEST_DIR"));
    devices(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

fn selector(text: &str) -> PciSelector {
    match devices(&format!("devices: [{{resource: a/b, pci: {text}}}]")).remove(0).source {
        DeviceSource::Pci(selector) => selector,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_way_to_say_it() {
    let entries = fixture("example.yaml");
    let names: Vec<_> = entries.iter().map(|entry| entry.resource.as_str()).collect();
    assert_eq!(names, ["example.com/card", "example.com/accelerator", "intel.com/sriov_vf"]);
    let DeviceSource::Listed(cards) = &entries[0].source else { panic!("{entries:?}") };
    let cards: Vec<_> =
        cards.iter().map(|card| (card.id.as_str(), card.nodes.as_slice(), card.health)).collect();
    let expected: [(_, &[u32], _); 4] = [
        ("card-0", &[0], DeviceHealth::Healthy),
        ("card-1", &[1], DeviceHealth::Unhealthy),
        ("card-2", &[0, 1], DeviceHealth::Healthy),
        ("card-anywhere", &[], DeviceHealth::Healthy),
    ];
    assert_eq!(cards, expected);
    assert_eq!(entries[1].source, DeviceSource::PerNode([(0, 4), (1, 4)].into()));
}

#[test]
fn selectors() {
    let (ethernet, infiniband, display) = (0x02_0000, 0x02_0700, 0x03_0200);
    let rows = [
        ("{class: \"02\"}", [true, true, false]),
        ("{class: \"0200\"}", [true, false, false]),
        ("{class: \"0x020000\"}", [true, false, false]),
        ("{class: 020700}", [false, true, false]),
        ("{vendor: \"15b3\"}", [true, true, true]),
        ("{vendor: 0x15B3, device: \"101b\"}", [true, true, true]),
        ("{vendor: \"8086\"}", [false, false, false]),
        ("{device: 101c}", [false, false, false]),
        ("{class: \"03\", vendor: \"15b3\"}", [false, false, true]),
    ];
    for (text, expected) in rows {
        let selector = selector(text);
        let found = [ethernet, infiniband, display].map(|class| selector.matches(class, 0x15b3, 0x101b));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn functions_are_told_from_their_card() {
    let DeviceSource::Pci(functions) = fixture("intel-2s-16vf.yaml").remove(0).source else {
        panic!("no selector")
    };
    assert!(functions.matches(0x02_0000, 0x8086, 0x1889), "a virtual function");
    assert!(!functions.matches(0x02_0000, 0x8086, 0x1592), "the card");
}

#[test]
fn accelerators_and_their_network_cards() {
    for (file, expected) in [
        ("epyc-2s-8gpu-8nic.yaml", &["nvidia.com/gpu", "nvidia.com/nic"][..]),
        ("gb200-4gpu.yaml", &["nvidia.com/gpu"]),
    ] {
        let entries = fixture(file);
        let gpu: Vec<_> = entries
            .iter()
            .map(|entry| match &entry.source {
                DeviceSource::Pci(selector) => selector.matches(0x03_0200, 0x10de, 0x2941),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(gpu, [true, false][..expected.len()], "{file}");
        let names: Vec<_> = entries.iter().map(|entry| entry.resource.as_str()).collect();
        assert_eq!(names, expected, "{file}");
    }
}
