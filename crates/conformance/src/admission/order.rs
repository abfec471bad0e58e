//! In which order a container gets its devices: the kubelet walks an unordered map of its resources, so that of two that
//! cannot be given out any is named, and of one that can it depends on the order whether it was.
//!
//! Here the order is that of the names. Another one is played by giving the resources names that sort so.

use serde_json::Value;

use crate::case::Case;

/// So many resources are put in every order: 24 cases.
const MOST: usize = 4;

/// The resources of a case that plugins give out, in one order.
pub(super) struct Order<'a>(Vec<&'a str>);

impl<'a> Order<'a> {
    /// Every order but that of the names; none if there are more resources than are tried.
    pub(super) fn others(case: &'a Case) -> Vec<Self> {
        let lists = case.input["devices"].as_array().into_iter().flatten();
        let mut names: Vec<&str> = lists.filter_map(|list| list["resource"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() > MOST {
            return Vec::new();
        }
        permutations(&names).into_iter().filter(|order| *order != names).map(Self).collect()
    }

    /// The case with names that sort in this order.
    pub(super) fn of(&self, case: &Case) -> serde_json::Result<Case> {
        let named = |text: String, (own, ordered): (&str, String)| {
            text.replace(&format!("\"{own}\""), &format!("\"{ordered}\""))
        };
        let text = self.names().fold(case.input.to_string(), named);
        Ok(Case { input: serde_json::from_str(&text)?, ..case.clone() })
    }

    /// An answer to that with the names of the case.
    pub(super) fn named_back(&self, got: &Value) -> serde_json::Result<Value> {
        let named = |text: String, (own, ordered): (&str, String)| text.replace(&ordered, own);
        serde_json::from_str(&self.names().fold(got.to_string(), named))
    }

    fn names(&self) -> impl Iterator<Item = (&'a str, String)> {
        self.0.iter().enumerate().map(|(place, own)| (*own, format!("{place}.{own}")))
    }
}

fn permutations<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let Some((first, rest)) = names.split_first() else { return vec![Vec::new()] };
    let each = permutations(rest).into_iter().flat_map(|order| {
        (0..=order.len()).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, *first);
            longer
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_order_is_one_of_names_and_comes_back() {
        let input = json!({
            "devices": [{ "resource": "a.io/nic" }, { "resource": "b.io/gpu" }],
            "limits": { "a.io/nic": "1", "b.io/gpu": "2", "cpu": "1" },
        });
        let case = Case::answered("admission", "sequence", input, json!({ "hang": true })).unwrap();
        let orders = Order::others(&case);
        assert_eq!(orders.len(), 1);
        let other = orders[0].of(&case).unwrap();
        let limits = other.input["limits"].as_object().unwrap();
        assert_eq!(limits.keys().collect::<Vec<_>>(), ["0.b.io/gpu", "1.a.io/nic", "cpu"]);
        let got = json!({ "message": "no 1.a.io/nic", "state": { "0.b.io/gpu": 2 } });
        let back = json!({ "message": "no a.io/nic", "state": { "b.io/gpu": 2 } });
        assert_eq!(orders[0].named_back(&got).unwrap(), back);
        assert_eq!(permutations(&["a", "b", "c", "d"]).len(), 24);
    }
}
