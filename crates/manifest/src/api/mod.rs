//! What an API server of v1.36.3 would refuse in the fields that are read here, in its words.
//!
//! The checks are made on the tree and not on the pod made from it, so that each complaint has its place. As in an
//! API server all of them are made, on what the object is once its defaults are filled in: a fraction of a device in
//! a pod's limits is refused in the requests too (in a template it is not: nothing is filled in there). Where the API server's order follows from nothing (it walks maps), here
//! it is that of names.
//!
//! Values of the wrong type are not complaints: an API server refuses such an object before it looks at it.

mod complaint;
mod fields;
mod names;
mod metadata;
mod pod;
mod spec_owner;
mod placement;
mod ports;
mod resources;
mod workload;

pub use complaint::Complaint;
pub(crate) use fields::{unknown_fields, unknown_fields_of};
pub use names::{WrongName, check_driver_name, check_node_name};
pub(crate) use workload::{check, check_template};

use core::ops::Range;

use crate::node::Field;
use crate::{ManifestError, Problem};

/// The most complaints about one object; the next are left out. Each costs a walk through the text for its line.
const MAX_COMPLAINTS: usize = 100;

/// Complaints about one object.
#[derive(Default)]
struct Findings {
    found: Vec<ManifestError>,
}

impl Findings {
    /// A complaint about the field at a place. One that is there already is left out, as kubectl does.
    fn add(&mut self, place: &Field<'_>, complaint: Complaint) {
        self.push(&place.node.span, place, complaint);
    }

    /// The same, marking `span` of the text.
    fn push(&mut self, span: &Range<usize>, place: &Field<'_>, complaint: Complaint) {
        if self.found.len() == MAX_COMPLAINTS {
            return;
        }
        let error = place.fail_at(span, Problem::Refused(complaint));
        if !self
            .found
            .iter()
            .any(|other| other.field() == error.field() && other.problem() == error.problem())
        {
            self.found.push(error);
        }
    }

    /// One complaint for each thing that is wrong with a text.
    fn add_all(&mut self, place: &Field<'_>, text: &str, wrong: names::Wrong) {
        for must in wrong {
            self.add(place, Complaint::invalid(text, must));
        }
    }
}
