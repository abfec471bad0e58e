//! Names of huge page resources.

use alloc::format;
use alloc::string::String;

use num_bigint::BigInt;

use crate::decimal::Decimal;
use crate::number::Number;
use crate::{Format, Quantity};

/// The resource name of huge pages of `kib` KiB, the unit in which the kernel names their folders:
/// `hugepages-2Mi` for 2048.
///
/// ```
/// assert_eq!(k8s_quantity::hugepage_resource_name(1_048_576), "hugepages-1Gi");
/// ```
#[must_use]
pub fn hugepage_resource_name(kib: u64) -> String {
    let bytes = Number::Big(Decimal { unscaled: BigInt::from(kib) << 10, places: 0 });
    let size = Quantity { amount: bytes, format: Format::BinarySi, text: None };
    format!("hugepages-{size}")
}
