//! Classes of devices.

use alloc::format;

use dra_model::DeviceClass;
use dra_model::text::is_label_key;

use crate::errors::Faults;
use crate::expressions::Expressions;
use crate::path::Path;
use crate::{config, limits};

const MOST_CONFIGS: usize = 32;

pub(crate) fn by_hand(class: &DeviceClass, expressions: Expressions, faults: &mut Faults) {
    let at = Path::new("spec");
    expressions.selectors(&class.selectors, &at.child("selectors"), faults);
    if class.config.len() <= MOST_CONFIGS {
        for (number, config) in class.config.iter().enumerate() {
            config::by_hand(config.as_ref(), &at.child("config").index(number), faults);
        }
    }
}

pub(crate) fn declared(class: &DeviceClass, faults: &mut Faults) {
    let at = Path::new("spec");
    faults.is_within(&at.child("selectors"), class.selectors.len(), limits::SELECTORS);
    let place = at.child("config");
    if faults.is_within(&place, class.config.len(), MOST_CONFIGS) {
        for (number, config) in class.config.iter().enumerate() {
            config::declared(config.as_ref(), &place.index(number), faults);
        }
    }
    if let Some(name) = &class.extended_resource {
        extended_resource(name, &at.child("extendedResourceName"), faults);
    }
}

/// The name of a resource outside of Kubernetes' domain that a quota can name too.
fn extended_resource(name: &str, at: &Path, faults: &mut Faults) {
    if !name.contains('/') {
        faults.invalid(at, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'");
    } else if name.contains("kubernetes.io/") {
        faults.invalid(at, name, "must not have \"kubernetes.io/\" domain");
    }
    if name.starts_with("requests.") {
        faults.invalid(at, name, "must not have \"requests.\" prefix");
    }
    faults.invalid_for(at, name, is_label_key(&format!("requests.{name}")));
}
