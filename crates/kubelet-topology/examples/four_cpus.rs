//! Four CPUs of this machine, chosen as the kubelet would: `cargo run -p kubelet-topology --example four_cpus`.

use kubelet_topology::cpu_manager::Allocator;
use kubelet_topology::topology_discovery::{KubeletView, SysfsTree, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let view = KubeletView::new(&read(&SysfsTree::live())?.info)?;
    let free = view.cpus().all();
    let count = free.len().min(4);
    println!("{} of {free}", Allocator::new(view.cpus()).take(free, count)?);
    Ok(())
}
