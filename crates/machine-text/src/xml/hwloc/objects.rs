//! What is asked of objects.

use cpuset::{CpuId, CpuSet};
use roxmltree::Node as Element;

/// The type of an object; none of other elements.
pub(super) fn kind<'a>(object: Element<'a, '_>) -> &'a str {
    object.attribute("type").filter(|_| object.has_tag_name("object")).unwrap_or_default()
}

/// A set of CPUs or nodes: words of 32 bits, the highest first, of which an empty one is zero: `0x3,,0xffffffff`.
pub(super) fn set(object: Element<'_, '_>, name: &str) -> CpuSet {
    let mut set = CpuSet::new();
    let words = object.attribute(name).unwrap_or_default().rsplit(',');
    for (word, base) in words.zip((0..).step_by(32)) {
        let word = word.trim().trim_start_matches("0x");
        // `0xf...f` stands for all that could be.
        let bits = u32::from_str_radix(word, 16).unwrap_or(0);
        set.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map_while(|bit| CpuId::new(base + bit).ok()));
    }
    set
}
