//! The process of a container: it touches memory and reserves huge pages when it is asked to on its standard input.

use std::fs::File;
use std::io::BufRead as _;

use nix::fcntl::{FallocateFlags, fallocate};

const MIB: usize = 1 << 20;

/// Answers each line `touch MIB` or `huge PAGES` with `done`, or with what failed. Ends with its input.
#[expect(clippy::print_stdout, reason = "its answers")]
pub(crate) fn work() {
    let mut touched: Vec<Vec<u8>> = Vec::new();
    let mut files = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (what, count) = line.split_once(' ').unwrap_or((&line, ""));
        let count: usize = count.parse().unwrap_or(0);
        match what {
            "touch" => {
                touched.push(vec![1; count * MIB]);
                println!("done");
            }
            "huge" => match huge(count) {
                Ok(file) => {
                    files.push(file);
                    println!("done");
                }
                Err(error) => println!("{error}"),
            },
            _ => println!("{line}: unknown"),
        }
    }
}

/// A file of so many huge pages, which the kernel takes from a node at once.
fn huge(pages: usize) -> std::io::Result<File> {
    let file = File::create(format!("/dev/hugepages/{}", std::process::id()))?;
    let size = i64::try_from(2 * pages * MIB).map_err(std::io::Error::other)?;
    fallocate(&file, FallocateFlags::empty(), 0, size)?;
    Ok(file)
}
