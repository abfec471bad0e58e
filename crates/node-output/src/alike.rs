//! Tables with a column for each NUMA node, in which nodes that are alike have one together.

use topology_model::{NodeId, NodeIds};

/// A row of such a table: its name, and what it has of each node.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<String>,
}

/// The head and the rows: `NUMA 0`, or `NUMA 1-3,5 each` for nodes whose cells are the same in every row, in the order of
/// the first of them.
pub(crate) fn table(head: &str, nodes: &[NodeId], rows: &[Row]) -> Vec<Vec<String>> {
    let cells = |at: usize| rows.iter().map(move |row| row.cells.get(at));
    let mut columns: Vec<(usize, Vec<NodeId>)> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        match columns.iter_mut().find(|(first, _)| cells(*first).eq(cells(at))) {
            Some((_, alike)) => alike.push(*node),
            None => columns.push((at, vec![*node])),
        }
    }
    let titles = columns.iter().map(|(_, alike)| {
        let each = if alike.len() > 1 { " each" } else { "" };
        format!("NUMA {}{each}", alike.iter().copied().collect::<NodeIds>())
    });
    let lines = rows.iter().map(|row| {
        let cells = columns.iter().map(|(at, _)| row.cells.get(*at).cloned().unwrap_or_default());
        std::iter::once(row.name.clone()).chain(cells).collect()
    });
    std::iter::once(std::iter::once(head.to_owned()).chain(titles).collect()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_alike_have_one_column() {
        let row =
            |name: &str, cells: [&str; 4]| Row { name: name.into(), cells: cells.map(str::to_owned).into() };
        let nodes = [0, 2, 3, 8].map(NodeId);
        let rows = [row("cpu", ["2", "4", "4", "2"]), row("memory", ["1Gi", "1Gi", "1Gi", "2Gi"])];
        assert_eq!(
            table("FREE", &nodes, &rows),
            [
                ["FREE", "NUMA 0", "NUMA 2-3 each", "NUMA 8"],
                ["cpu", "2", "4", "2"],
                ["memory", "1Gi", "1Gi", "2Gi"]
            ]
        );
        assert_eq!(table("FREE", &nodes[..2], &[]), [["FREE", "NUMA 0,2 each"]]);
    }
}
