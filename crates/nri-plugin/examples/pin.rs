//! `pin CPUS [SOCKET]`: every container whose pod has the label `pin` gets these CPUs. Needs root, and a runtime
//! with NRI.

use nri_plugin::{
    ContainerEvent, Cpus, Creation, DEFAULT_SOCKET, Event, Events, Handler, Notice, Plugin, Refusal,
};

struct Pin(Cpus);

impl Handler for Pin {
    fn events(&self) -> Events {
        Event::CreateContainer.into()
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        if event.pod.labels.contains_key("pin") {
            answer.adjust.cpus(&self.0);
        }
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        eprintln!("{notice:?}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let cpus = arguments.next().ok_or("usage: pin CPUS [SOCKET], with CPUS such as 2-3")?.parse()?;
    let socket = arguments.next().unwrap_or_else(|| DEFAULT_SOCKET.to_owned());
    Ok(Plugin::new("pin", 10)?.socket(socket).run(Pin(cpus))?)
}
