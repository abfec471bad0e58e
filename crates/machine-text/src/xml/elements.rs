//! What is asked of elements, of hwloc's and of libvirt's.

use roxmltree::Node as Element;

/// The children of an element that have a name.
pub(super) fn children<'a, 'd: 'a>(
    node: Element<'a, 'd>,
    name: &'static str,
) -> impl Iterator<Item = Element<'a, 'd>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// An attribute that is a number.
pub(super) fn number<T: std::str::FromStr>(node: Element<'_, '_>, name: &str) -> Option<T> {
    node.attribute(name)?.trim().parse().ok()
}
