//! cAdvisor's machine information as JSON, in and out.
//!
//! Absent lists and `null` are one thing, an empty list is another; unknown fields are left alone. Ids are signed,
//! memory and distances unsigned.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use topology_model::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};

/// Larger texts are refused: the largest machine known has an eighth of it.
const MAX_BYTES: usize = 16 << 20;

/// Why a text is no machine information.
#[derive(Debug, Error)]
pub enum MachineInfoError {
    /// Too long a text.
    #[error("machine information is larger than {most} MiB", most = MAX_BYTES >> 20)]
    TooLarge,
    /// Not JSON, or not of this shape.
    #[error("not cAdvisor's machine information")]
    Json(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error("not cAdvisor's machine information: none of num_cores, topology and memory_capacity is there")]
    OtherKind,
}

/// Reads what cAdvisor's `machine` endpoint prints.
pub fn machine_info_from_json(bytes: &[u8]) -> Result<MachineInfo, MachineInfoError> {
    if bytes.len() > MAX_BYTES {
        return Err(MachineInfoError::TooLarge);
    }
    // A list would be taken as the fields in their order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(MachineInfoError::OtherKind);
    }
    let json: Json = serde_json::from_slice(bytes)?;
    if json.num_cores.is_none() && json.topology.is_none() && json.memory_capacity.is_none() {
        return Err(MachineInfoError::OtherKind);
    }
    Ok(json.into())
}

/// Writes it as cAdvisor does, the fields that matter alone, with two blanks for each level.
pub fn machine_info_to_json(info: &MachineInfo) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Json::from(info))
}

#[derive(Deserialize, Serialize)]
#[serde(default)]
#[derive(Default)]
struct Json {
    num_cores: Option<i64>,
    num_physical_cores: Option<i64>,
    num_sockets: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_books: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_drawers: Option<i64>,
    cpu_frequency_khz: Option<u64>,
    memory_capacity: Option<u64>,
    swap_capacity: Option<u64>,
    hugepages: Option<Vec<JsonPages>>,
    topology: Option<Vec<JsonNode>>,
}

#[derive(Deserialize, Serialize)]
struct JsonPages {
    page_size: u64,
    num_pages: u64,
}

#[derive(Deserialize, Serialize)]
struct JsonNode {
    node_id: i64,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    hugepages: Option<Vec<JsonPages>>,
    #[serde(default)]
    cores: Option<Vec<JsonCore>>,
    #[serde(default)]
    caches: Option<Vec<JsonCache>>,
    #[serde(default)]
    distances: Option<Vec<u64>>,
}

#[derive(Deserialize, Serialize)]
struct JsonCore {
    #[serde(default)]
    core_id: i64,
    #[serde(default)]
    thread_ids: Option<Vec<i64>>,
    #[serde(default)]
    caches: Option<Vec<JsonCache>>,
    #[serde(default)]
    uncore_caches: Option<Vec<JsonCache>>,
    #[serde(default)]
    socket_id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    book_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drawer_id: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct JsonCache {
    #[serde(default)]
    id: i64,
    #[serde(default)]
    size: u64,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    level: i64,
}

fn all<A, B: From<A>>(list: Option<Vec<A>>) -> Option<Vec<B>> {
    list.map(|list| list.into_iter().map(B::from).collect())
}

fn each<'a, A, B: From<&'a A>>(list: Option<&'a Vec<A>>) -> Option<Vec<B>> {
    list.map(|list| list.iter().map(B::from).collect())
}

impl From<Json> for MachineInfo {
    fn from(json: Json) -> Self {
        Self {
            num_cpus: json.num_cores.unwrap_or_default(),
            num_physical_cores: json.num_physical_cores.unwrap_or_default(),
            num_sockets: json.num_sockets.unwrap_or_default(),
            num_books: json.num_books.unwrap_or_default(),
            num_drawers: json.num_drawers.unwrap_or_default(),
            cpu_frequency_khz: json.cpu_frequency_khz.unwrap_or_default(),
            memory_capacity: json.memory_capacity.unwrap_or_default(),
            swap_capacity: json.swap_capacity.unwrap_or_default(),
            hugepages: all(json.hugepages),
            topology: all(json.topology),
        }
    }
}

impl From<&MachineInfo> for Json {
    fn from(info: &MachineInfo) -> Self {
        Self {
            num_cores: Some(info.num_cpus),
            num_physical_cores: Some(info.num_physical_cores),
            num_sockets: Some(info.num_sockets),
            num_books: Some(info.num_books).filter(|books| *books != 0),
            num_drawers: Some(info.num_drawers).filter(|drawers| *drawers != 0),
            cpu_frequency_khz: Some(info.cpu_frequency_khz),
            memory_capacity: Some(info.memory_capacity),
            swap_capacity: Some(info.swap_capacity),
            hugepages: each(info.hugepages.as_ref()),
            topology: each(info.topology.as_ref()),
        }
    }
}

impl From<JsonPages> for HugePages {
    fn from(json: JsonPages) -> Self {
        Self { page_size_kib: json.page_size, num_pages: json.num_pages }
    }
}

impl From<&HugePages> for JsonPages {
    fn from(pages: &HugePages) -> Self {
        Self { page_size: pages.page_size_kib, num_pages: pages.num_pages }
    }
}

impl From<JsonNode> for MachineNode {
    fn from(json: JsonNode) -> Self {
        Self {
            id: json.node_id,
            memory: json.memory,
            hugepages: all(json.hugepages),
            cores: all(json.cores),
            caches: all(json.caches),
            distances: json.distances,
        }
    }
}

impl From<&MachineNode> for JsonNode {
    fn from(node: &MachineNode) -> Self {
        Self {
            node_id: node.id,
            memory: node.memory,
            hugepages: each(node.hugepages.as_ref()),
            cores: each(node.cores.as_ref()),
            caches: each(node.caches.as_ref()),
            distances: node.distances.clone(),
        }
    }
}

impl From<JsonCore> for MachineCore {
    fn from(json: JsonCore) -> Self {
        Self {
            core_id: json.core_id,
            thread_ids: json.thread_ids,
            caches: all(json.caches),
            uncore_caches: all(json.uncore_caches),
            socket_id: json.socket_id,
            book_id: json.book_id,
            drawer_id: json.drawer_id,
        }
    }
}

impl From<&MachineCore> for JsonCore {
    fn from(core: &MachineCore) -> Self {
        Self {
            core_id: core.core_id,
            thread_ids: core.thread_ids.clone(),
            caches: each(core.caches.as_ref()),
            uncore_caches: each(core.uncore_caches.as_ref()),
            socket_id: core.socket_id,
            book_id: core.book_id.clone(),
            drawer_id: core.drawer_id.clone(),
        }
    }
}

impl From<JsonCache> for Cache {
    fn from(json: JsonCache) -> Self {
        Self { id: json.id, size: json.size, kind: json.kind, level: json.level }
    }
}

impl From<&Cache> for JsonCache {
    fn from(cache: &Cache) -> Self {
        Self { id: cache.id, size: cache.size, kind: cache.kind.clone(), level: cache.level }
    }
}
