//! Four CPUs of this machine, chosen as the kubelet would.

use cpu_manager::{Allocator, BusySibling, Order, WholeCores};
use topology_discovery::{KubeletView, SysfsTree, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let discovery = read(&SysfsTree::live())?;
    let view = KubeletView::new(&discovery.info)?;
    let allocator = Allocator::new(view.cpus(), Order::default(), WholeCores::default(), BusySibling::Skip);
    let free = view.cpus().all();
    let count = free.len().min(4);
    println!("{} of {free}", allocator.take(free, count)?);
    Ok(())
}
