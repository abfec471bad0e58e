//! Refuses a pod and prints the table of the decision: `cargo run -p node-output --example tables`.

use std::error::Error;

use admission_report::device_manager::Replies;
use admission_report::node_config::{DecidedBy, KubeletConfiguration};
use admission_report::pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use admission_report::topology_admission::{Detail, Node};
use admission_report::topology_model::{KubeletView, MachineInfo};
use admission_report::{Facts, Report};
use node_output::{NodeLine, PodGroup, decision, explanation};
use terminal_text::{Glyphs, Page};

fn main() -> Result<(), Box<dyn Error>> {
    let info: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:2".parse()?;
    let config = KubeletConfiguration {
        cpu_manager_policy: Some("static".to_owned()),
        reserved_system_cpus: Some("0".to_owned()),
        topology_manager_policy: Some("single-numa-node".to_owned()),
        ..KubeletConfiguration::default()
    };
    let node = Node::start_as(&KubeletView::new(&info)?, &config, DecidedBy::Kubelet.into())?;
    let limits: ResourceList = [("cpu".into(), "10".parse()?), ("memory".into(), "1Gi".parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    let pod = Pod::new("default", "wide", vec![app]).with_defaults(PodLevelResources::Count);
    let (ledger, replies) = (node.empty_ledger(), Replies::new());
    let (attempt, trace) = node.admission(&ledger, &pod).with(&replies).trace(Detail::Merges);
    let report = Report::of(&Facts::new(&node, &ledger, &pod, &attempt, &trace), &attempt.verdict, &replies);
    let page = Page { glyphs: Glyphs::Unicode, width: Some(100) };
    let line = NodeLine::new("two sockets", "an example's", DecidedBy::Kubelet, &node).line(page);
    let pods = PodGroup::from(report);
    println!("{}\n{}", decision(&pods, Some(&line), page), explanation(&pods, Some(&line), page));
    Ok(())
}
