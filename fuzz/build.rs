//! Sets `cfg(fuzzing)` for the targets, as cargo-fuzz does, so that an ordinary check of them is one of what is fuzzed.

fn main() {
    println!("cargo::rustc-cfg=fuzzing");
}
