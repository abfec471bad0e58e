//! Prints which rules differ between two releases.

use kubelet_release::{Release, Rules};

fn main() {
    let (old, new) = (Rules::of(Release::V1_36), Rules::of(Release::V1_37));
    for rule in old.differences(&new) {
        println!("{rule:?}: {} ({})", rule.decides(), rule.change());
    }
}
