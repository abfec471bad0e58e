//! Selectors: attributes that no driver publishes, and expressions that select nothing or fail.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use claim_explanation::near_name;
use dra_cel::{Environment, Program, Reads};
use dra_model::Selector;

use crate::advice::ClaimAdvice;
use crate::findings::Warning;

impl ClaimAdvice<'_> {
    /// Warns of attributes and capacities that the selectors read and no device has.
    pub(crate) fn unpublished(&self, selectors: &[Selector], at: &str, warnings: &mut Vec<Warning>) {
        if self.devices.is_empty() {
            return;
        }
        for (number, program) in compiled(selectors) {
            let Reads::Fields { attributes, capacity, .. } = program.reads() else { continue };
            let field = format!("{at}[{number}].cel.expression");
            let read = [
                ("attribute", attributes, &self.devices.attributes),
                ("capacity", capacity, &self.devices.capacity),
            ];
            for (what, names, published) in read {
                for (domain, id) in names {
                    let text = missing(what, &format!("{domain}/{id}"), published);
                    warnings.extend(text.map(|text| Warning::new(field.clone(), text)));
                }
            }
        }
    }

    /// Warns if the selectors of a class and of a request together select no device, or fail on one.
    pub(crate) fn selects_nothing(&self, all: &[&[Selector]], at: &str, warnings: &mut Vec<Warning>) {
        let count = all.iter().map(|selectors| selectors.len()).sum::<usize>();
        let programs: Vec<Program> =
            all.iter().flat_map(|selectors| compiled(selectors)).map(|(_, program)| program).collect();
        // A selector that does not compile is an error already.
        if self.devices.is_empty() || programs.len() != count {
            return;
        }
        let (mut selected, mut failed) = (0_usize, None);
        for listed in self.devices.iter() {
            let mut matches = true;
            for program in &programs {
                match program.matches(&listed.variable) {
                    Ok(true) => {}
                    Ok(false) => matches = false,
                    Err(error) => {
                        failed.get_or_insert_with(|| (listed.id(), error));
                        matches = false;
                    }
                }
                if !matches {
                    break;
                }
            }
            selected += usize::from(matches);
        }
        if let Some((id, error)) = failed {
            warnings.push(Warning::new(
                at,
                format!(
                    "fails on device {id}: {error}. When kube-scheduler comes to the device it stops the pod on every node"
                ),
            ));
        } else if selected == 0 {
            let devices = self.devices.iter().len();
            let text = match devices {
                1 => String::from("the 1 device in slices is not selected"),
                devices => format!("none of the {devices} devices in slices is selected"),
            };
            warnings.push(Warning::new(at, text));
        }
    }
}

/// The selectors that compile, in kube-scheduler's environment.
fn compiled(selectors: &[Selector]) -> impl Iterator<Item = (usize, Program)> + '_ {
    let expressions = selectors.iter().enumerate();
    expressions.filter_map(|(number, selector)| {
        let expression = selector.expression.as_deref()?;
        Some((number, Program::compile(expression, &Environment::stored()).ok()?))
    })
}

/// The text that no device publishes the name, with a near published one; `None`: a device does.
pub(crate) fn missing(what: &str, name: &str, published: &BTreeSet<String>) -> Option<String> {
    if published.contains(name) {
        return None;
    }
    let meant =
        near_name(name, published).map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    Some(format!("no driver publishes {what} {name}{meant}"))
}
