//! Names of drivers, pools, attributes and requests.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dra_model::text::{Length, c_identifier, dns_label, dns_subdomain, dns_subdomain_caseless};

use crate::errors::Faults;
use crate::path::Path;

const LONGEST_DOMAIN: usize = 63;
const LONGEST_ID: usize = 32;

/// A driver's name, in which capitals are the same as small letters.
pub(crate) fn driver(name: &str, at: &Path, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(at, "");
    }
    if name.len() > LONGEST_DOMAIN {
        faults.too_long(at, LONGEST_DOMAIN);
    }
    faults.invalid_for(at, name, dns_subdomain(&name.to_lowercase(), Length::Characters));
}

/// The same by declaration.
pub(crate) fn declared_driver(name: &str, at: &Path, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(at, "");
    }
    faults.invalid_for(at, name, dns_subdomain_caseless(name));
    if name.chars().count() > LONGEST_DOMAIN {
        faults.too_many_characters(at, LONGEST_DOMAIN);
    }
}

/// A pool's name: parts like names of nodes, with slashes between.
pub(crate) fn pool(name: &str, at: &Path, faults: &mut Faults) {
    const LONGEST: usize = 253;
    if name.is_empty() {
        return faults.required(at, "");
    }
    if name.len() > LONGEST {
        faults.too_long(at, LONGEST);
    }
    for part in name.split('/') {
        faults.invalid_for(at, part, dns_subdomain(part, Length::Characters));
    }
}

/// A name that is a label of DNS, also if it is empty.
pub(crate) fn label(name: &str, at: &Path, faults: &mut Faults) {
    faults.invalid_for(at, name, dns_label(name, Length::Characters));
}

/// A name that must be there and be a label of DNS, by declaration.
pub(crate) fn declared_label(name: &str, at: &Path, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(at, "");
    }
    declared_key(name, at, faults);
}

/// A label of DNS by declaration.
pub(crate) fn declared_key(name: &str, at: &Path, faults: &mut Faults) {
    faults.invalid_for(at, name, dns_label(name, Length::Bytes));
}

/// The name of an object.
pub(crate) fn subdomain(name: &str, at: &Path, length: Length, faults: &mut Faults) {
    faults.invalid_for(at, name, dns_subdomain(name, length));
}

/// The name of a class in a request.
pub(crate) fn class(name: &str, at: &Path, length: Length, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(at, "");
    }
    subdomain(name, at, length, faults);
}

/// `id` or `domain/id`. A name with more slashes is not looked at.
pub(crate) fn qualified(name: &str, at: &Path, faults: &mut Faults) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, at, faults),
        [domain, id] => {
            if domain.is_empty() {
                faults.invalid(at, "", "the domain must not be empty");
            } else {
                driver(domain, at, faults);
            }
            if id.is_empty() {
                faults.invalid(at, "", "the name must not be empty");
            } else {
                identifier(id, at, faults);
            }
        }
        _ => {}
    }
}

/// `domain/id` by declaration.
pub(crate) fn fully_qualified(name: &str, at: &Path, faults: &mut Faults) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, at, faults),
        [domain, id] => declared_parts(domain, id, at, faults),
        _ => {}
    }
    if !name.contains('/') {
        faults.invalid(at, name, "a fully qualified name must be a domain and a name separated by a slash");
    }
}

fn declared_parts(domain: &str, id: &str, at: &Path, faults: &mut Faults) {
    if domain.is_empty() {
        faults.invalid(at, "", "prefix must not be empty");
    } else {
        if domain.len() > LONGEST_DOMAIN {
            faults.too_long(at, LONGEST_DOMAIN);
        }
        let rules = dns_subdomain(domain, Length::Bytes).into_iter();
        faults.invalid_for(at, domain, rules.map(|rule| format!("prefix: {rule}")).collect());
    }
    if id.is_empty() {
        faults.invalid(at, "", "name must not be empty");
    } else {
        identifier(id, at, faults);
    }
}

fn identifier(id: &str, at: &Path, faults: &mut Faults) {
    if id.len() > LONGEST_ID {
        faults.too_long(at, LONGEST_ID);
    }
    if let Some(rule) = c_identifier(id) {
        faults.invalid(at, id, rule);
    }
}

/// A key in a path: a long one loses its middle.
pub(crate) fn shortened(key: &str, most: usize) -> String {
    const ELLIPSIS: &str = "...";
    let most = most.max(16);
    if key.len() <= most {
        return key.to_string();
    }
    let left = most - ELLIPSIS.len();
    let (start, end) = (left.div_ceil(2), key.len() - left / 2);
    let (start, end) = (key.floor_char_boundary(start), key.floor_char_boundary(end));
    format!("{}{ELLIPSIS}{}", &key[..start], &key[end..])
}

/// The longest key of attributes and capacities that a path has in full.
pub(crate) const LONGEST_QUALIFIED: usize = LONGEST_DOMAIN + 1 + LONGEST_ID;
