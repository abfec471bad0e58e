//! Distances between NUMA nodes.

use roxmltree::Node as Element;

use super::super::elements::{children, number};

/// The row of each node, in the order of `nodes`; `None`: not all are known.
pub(super) fn distances(root: Element<'_, '_>, nodes: &[Element<'_, '_>]) -> Option<Vec<Vec<u32>>> {
    if nodes.len() < 2 {
        return None;
    }
    let matrices = children(root, "distances2");
    let latencies = matrices.filter(|matrix| {
        matrix.attribute("type") == Some("NUMANode")
            && matrix.attribute("name").is_none_or(|name| name == "NUMALatency")
    });
    latencies.into_iter().find_map(|matrix| of_version_2(matrix, nodes)).or_else(|| {
        let mut matrices = root.descendants().filter(|element| element.has_tag_name("distances"));
        matrices.find_map(|matrix| of_version_1(matrix, nodes))
    })
}

fn of_version_2(matrix: Element<'_, '_>, nodes: &[Element<'_, '_>]) -> Option<Vec<Vec<u32>>> {
    let numbers = |name: &'static str| -> Vec<u64> {
        let texts = children(matrix, name).filter_map(|part| part.text());
        texts.flat_map(str::split_whitespace).filter_map(|number| number.parse().ok()).collect()
    };
    let (indexes, values) = (numbers("indexes"), numbers("u64values"));
    let count = indexes.len();
    if count != nodes.len() || values.len() != count.checked_mul(count)? {
        return None;
    }
    let name = if matrix.attribute("indexing") == Some("gp") { "gp_index" } else { "os_index" };
    let positions = nodes.iter().map(|node| {
        let own: u64 = number(*node, name)?;
        indexes.iter().position(|index| *index == own)
    });
    let positions: Vec<usize> = positions.collect::<Option<_>>()?;
    let rows = positions.iter().map(|from| {
        let row = positions.iter().map(|to| u32::try_from(*values.get(from * count + to)?).ok());
        row.collect()
    });
    rows.collect()
}

/// Multiples of a base, by the order of the nodes in the document.
fn of_version_1(matrix: Element<'_, '_>, nodes: &[Element<'_, '_>]) -> Option<Vec<Vec<u32>>> {
    let base: f64 = number(matrix, "latency_base")?;
    let values: Vec<f64> = children(matrix, "latency").filter_map(|value| number(value, "value")).collect();
    let count = nodes.len();
    if values.len() != count.checked_mul(count)? {
        return None;
    }
    // The document has nodes in the order of the hardware, and they are asked for by their ids.
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by_key(|at| nodes.get(*at).map(|node| node.range().start));
    let mut positions = vec![0; count];
    for (position, at) in places.into_iter().enumerate() {
        *positions.get_mut(at)? = position;
    }
    let rows = positions.iter().map(|from| {
        let row = positions.iter().map(|to| distance(values.get(from * count + to)? * base));
        row.collect()
    });
    rows.collect()
}

/// A distance of the firmware's, which are at most 255.
fn distance(value: f64) -> Option<u32> {
    (1..=u32::from(u8::MAX)).find(|distance| (value - f64::from(*distance)).abs() < 0.5)
}
