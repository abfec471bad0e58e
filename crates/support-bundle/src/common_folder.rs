//! The folder in which all files of a bundle lie, which is shown once.

use crate::bundle::{Bundle, NodeEvidence};

/// Takes the folder that all files lie in from their paths, as they are shown, to that of the bundle. Several paths have none.
pub(crate) fn take_common_folder(bundle: &mut Bundle) {
    if bundle.paths.len() != 1 {
        return;
    }
    let mut all: Vec<String> = Vec::new();
    each_path(bundle, &mut |path| all.push(path.clone()));
    let Some(folder) = common(&all).map(str::to_owned) else { return };
    let below = format!("{folder}/");
    each_path(bundle, &mut |path| {
        if let Some(rest) = path.strip_prefix(&below) {
            *path = rest.to_owned();
        }
    });
    let Bundle { paths, nodes, remarks, .. } = bundle;
    for text in remarks.iter_mut().chain(nodes.iter_mut().flat_map(|node| &mut node.contradictions)) {
        *text = text.replace(&below, "");
    }
    if let Some(path) = paths.first_mut() {
        path.path = format!("{}/{folder}", path.path.trim_end_matches('/'));
    }
}

/// The longest folder that is above all of several files.
fn common(paths: &[String]) -> Option<&str> {
    let (first, rest) = paths.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let above =
        |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|below| below.starts_with('/'));
    let ends = first.match_indices('/').map(|(end, _)| end);
    let folders = ends.filter_map(|end| first.get(..end));
    folders
        .take_while(|folder| rest.iter().all(|path| above(path, folder)))
        .fold(None, |_, folder| Some(folder))
}

/// Changes the path of everything that a bundle has.
fn each_path(bundle: &mut Bundle, change: &mut impl FnMut(&mut String)) {
    let Bundle { nodes, configurations, claims, zones, unbound, .. } = bundle;
    let of_nodes = nodes.iter_mut().flat_map(|node| {
        let NodeEvidence { object, machines, pods, events, logs, documents, .. } = node;
        let objects = object.iter_mut().map(|own| &mut own.path);
        let machines = machines.iter_mut().map(|own| &mut own.path);
        let events = events.iter_mut().map(|own| &mut own.path);
        let logs = logs.iter_mut().map(|own| &mut own.path);
        let pods = pods.iter_mut().map(|own| &mut own.path);
        let documents = documents.iter_mut().map(|own| &mut own.path);
        objects.chain(machines).chain(events).chain(logs).chain(pods).chain(documents)
    });
    let documents = configurations.iter_mut().chain(claims).chain(zones).map(|own| &mut own.path);
    let unbound = unbound.iter_mut().map(|own| &mut own.path);
    for path in of_nodes.chain(documents).chain(unbound) {
        change(path);
    }
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn the_folder_above_all_files_is_taken() {
        for (paths, folder) in [
            (&["a/b/c", "a/b/d/e"][..], Some("a/b")),
            (&["a/b/c", "a/bc"], Some("a")),
            (&["a/b", "ab/c"], None),
            (&["a/b"], None),
            (&[], None),
            (&["a", "a"], None),
        ] {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(common(&paths), folder, "{paths:?}");
        }
    }
}
