//! Devices that claims have.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A device by request, driver, pool and name, and what is taken of it.
pub(super) type Allocated = [String; 5];

/// A device of a document that has what is taken of it in this field.
pub(super) fn allocated(device: &Value, consumed: &str) -> Allocated {
    let mut fields = ["request", "driver", "pool", "device", ""]
        .map(|field| device[field].as_str().unwrap_or_default().to_owned());
    if let Some(consumed) = device[consumed].as_object() {
        let amounts: BTreeMap<&str, &Value> =
            consumed.iter().map(|(name, amount)| (name.as_str(), amount)).collect();
        fields[4] = json!(amounts).to_string();
    }
    fields
}
