//! The name of a device, such as `10de:20b0`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use pci_names::{device, vendor};

fn main() {
    let asked = std::env::args().nth(1).unwrap_or_else(|| "10de:20b0".to_owned());
    let number = |part: &str| u16::from_str_radix(part, 16).ok();
    let Some((maker, model)) = asked.split_once(':').and_then(|(one, two)| number(one).zip(number(two)))
    else {
        println!("expected VENDOR:DEVICE in hexadecimal digits, such as 10de:20b0");
        return;
    };
    let maker_name = vendor(maker).unwrap_or("unknown vendor");
    println!("{maker_name} {}", device(maker, model).unwrap_or("unknown device"));
}
