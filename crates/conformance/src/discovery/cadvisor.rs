//! cAdvisor's JSON of a machine. Absent lists stay absent.

use serde_json::Value;
use topology_model::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};

use crate::case::text;

pub(crate) fn machine_info(info: &Value) -> MachineInfo {
    MachineInfo {
        num_cpus: signed(&info["num_cores"]),
        num_physical_cores: signed(&info["num_physical_cores"]),
        num_sockets: signed(&info["num_sockets"]),
        num_books: signed(&info["num_books"]),
        num_drawers: signed(&info["num_drawers"]),
        cpu_frequency_khz: unsigned(&info["cpu_frequency_khz"]),
        memory_capacity: unsigned(&info["memory_capacity"]),
        swap_capacity: unsigned(&info["swap_capacity"]),
        hugepages: list(&info["hugepages"], hugepages),
        topology: list(&info["topology"], node),
    }
}

fn node(node: &Value) -> MachineNode {
    MachineNode {
        id: signed(&node["node_id"]),
        memory: unsigned(&node["memory"]),
        hugepages: list(&node["hugepages"], hugepages),
        cores: list(&node["cores"], core),
        caches: list(&node["caches"], cache),
        distances: list(&node["distances"], unsigned),
    }
}

fn core(core: &Value) -> MachineCore {
    MachineCore {
        core_id: signed(&core["core_id"]),
        thread_ids: list(&core["thread_ids"], signed),
        caches: list(&core["caches"], cache),
        uncore_caches: list(&core["uncore_caches"], cache),
        socket_id: signed(&core["socket_id"]),
        book_id: core["book_id"].as_str().map(str::to_owned),
        drawer_id: core["drawer_id"].as_str().map(str::to_owned),
    }
}

fn cache(cache: &Value) -> Cache {
    Cache {
        id: signed(&cache["id"]),
        size: unsigned(&cache["size"]),
        kind: text(&cache["type"]).to_owned(),
        level: signed(&cache["level"]),
    }
}

fn hugepages(pages: &Value) -> HugePages {
    HugePages { page_size_kib: unsigned(&pages["page_size"]), num_pages: unsigned(&pages["num_pages"]) }
}

fn list<T>(list: &Value, item: fn(&Value) -> T) -> Option<Vec<T>> {
    list.as_array().map(|items| items.iter().map(item).collect())
}

fn signed(number: &Value) -> i64 {
    number.as_i64().unwrap_or_default()
}

fn unsigned(number: &Value) -> u64 {
    number.as_u64().unwrap_or_default()
}
