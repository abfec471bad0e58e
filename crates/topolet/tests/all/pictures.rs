//! Pictures of machines: every CPU is in them once, and nothing stands on anything else of its kind.

use std::process::Command;

fn picture(machine: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["topology", "--machine", machine, "-o", "svg"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Width of a box that stands in the key for all of its class.
const KEY: f64 = 10.0;

/// Left, top, right and bottom of the boxes of a class, those of the key left out.
fn boxes(picture: &str, class: &str) -> Vec<[f64; 4]> {
    let start = format!("<rect class=\"{class}\"");
    let rects = picture.lines().filter(|line| line.starts_with(&start));
    let number = |line: &str, name: &str| -> f64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let sides = rects.map(|line| {
        let (x, y) = (number(line, "x"), number(line, "y"));
        [x, y, x + number(line, "width"), y + number(line, "height")]
    });
    sides.filter(|[left, _, right, _]| right - left > KEY).collect()
}

/// Machine, CPUs, cores, packages, texts that are in the picture.
const MACHINES: [(&str, usize, usize, usize, &[&str]); 6] = [
    (
        "xeon-2s-96cpu-sriov",
        96,
        48,
        2,
        &["NUMA 1 94Gi 16×1Gi", "8× NIC VF Intel Ethernet Adaptive Virtual Function"],
    ),
    ("epyc-2s-96cpu-16l3-8gpu", 96, 48, 2, &["L3 16Mi", "GPU NVIDIA A100 SXM4 40GB", "bridge 0000:21:00.0"]),
    ("spr-hbm-flat-snc4-16node", 128, 64, 2, &["NUMA 15 16Gi, no CPUs"]),
    ("gb200-nvl4-34node", 144, 144, 2, &["NUMA 3-9,11-17,19-25,27-33: no CPUs, no memory, no PCI devices"]),
    ("turin-9755-nps4-l3numa-32node", 512, 256, 2, &["NUMA 31 48Gi", "511"]),
    ("power8-phyp-1024cpu-16node", 1024, 128, 16, &["1023"]),
];

#[test]
fn every_cpu_is_in_the_picture_and_nothing_covers_it() {
    for (machine, cpus, cores, packages, texts) in MACHINES {
        let picture = picture(machine);
        for (class, count) in [("cpu", cpus), ("core", cores), ("package", packages)] {
            assert_eq!(boxes(&picture, class).len(), count, "{machine}: {class}");
        }
        for text in texts {
            assert!(picture.contains(&format!(">{text}<")), "{machine} has no {text}");
        }
        let page = boxes(&picture, "page")[0];
        for class in ["cpu", "core", "cache", "memory", "device", "root", "package"] {
            let all = boxes(&picture, class);
            for (at, one) in all.iter().enumerate() {
                assert!(one[2] <= page[2] && one[3] <= page[3], "{machine}: a {class} leaves the page");
                let covers = |other: &&[f64; 4]| {
                    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
                };
                assert!(
                    !all[at + 1..].iter().any(|other| covers(&other)),
                    "{machine}: two {class} boxes overlap"
                );
            }
        }
        // It stays near the shape of a page, so that it can be read.
        let (width, height) = (page[2] - page[0], page[3] - page[1]);
        assert!(width < height * 4.0 && height < width * 2.0, "{machine}: {width} by {height}");
    }
}

#[test]
fn distances_are_a_matrix_in_classes_or_a_range() {
    let small = picture("gb200-nvl4-34node");
    for (class, count) in [("same", 6), ("near", 14), ("middle", 8), ("far", 8)] {
        assert_eq!(boxes(&small, class).len(), count, "{class}");
    }
    assert!(picture("turin-9755-nps4-l3numa-32node").contains(">NUMA distances: 11 to 32 between nodes<"));
}

#[test]
fn a_picture_is_no_wider_than_what_is_in_it() {
    for machine in ["gb200-nvl4-34node", "xeon-2s-96cpu-sriov", "lx2-608cpu-hbm-32node"] {
        let picture = picture(machine);
        let right = |class: &str| boxes(&picture, class).iter().map(|sides| sides[2]).fold(0.0, f64::max);
        assert!(
            right("page") - right("package") <= 40.0,
            "{machine}: {} {}",
            right("page"),
            right("package")
        );
    }
}
