//! Node masks, as cases write them: by the numbers of their bits.

use numa_bitmask::{NodeIndex, NodeMask, OutOfRange, combinations};
use serde_json::{Value, json};

use crate::case::numbers;

/// The mask of some bit numbers; as a whole an error if one is out of range.
pub(crate) fn mask_of(bits: &Value) -> Result<NodeMask, OutOfRange> {
    numbers(bits).into_iter().map(NodeIndex::try_from).collect()
}

/// The bit numbers of a mask.
pub(crate) fn bits_of(mask: NodeMask) -> Vec<usize> {
    mask.iter().map(NodeIndex::get).collect()
}

/// All combinations of a list of bit numbers; `null` where no mask can be made.
pub(crate) fn listed_combinations(bits: &Value) -> Value {
    combinations(&numbers(bits))
        .map(|mask| mask.ok().map_or(Value::Null, |mask| json!(bits_of(mask))))
        .collect()
}
