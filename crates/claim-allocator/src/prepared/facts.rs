//! What the search asks about a device, worked out when it is first asked for.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use dra_model::{DeviceTaint, Feature, Implementation};

use super::Prepared;
use super::placed::Placed;
use super::selectors::ExpressionId;
use crate::capacity::{Fit, billionths, fit};
use crate::error::{AllocateError, ClaimFault, SelectorFault, reference};
use crate::search::{Answer, Facts, Value, Want};

/// What class, request and device say of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selection {
    /// The device has binding conditions, and their feature is off.
    Unsupported,
    /// A selector of the class is false.
    OtherClass,
    /// This selector of the request is false.
    Unselected(usize),
    /// The device is for other nodes.
    OtherNode,
    /// All hold.
    Selected,
}

impl Facts for Prepared<'_> {
    type Error = AllocateError;

    fn answer(&self, alternative: usize, device: usize) -> Answer<AllocateError> {
        if let Some(answer) = &self.cache.borrow().answers[alternative][device] {
            return answer.clone();
        }
        let answer = match self.problem.alternatives[alternative].want {
            Want::Count(_) => self.answer_of_count(alternative, device),
            Want::All(_) => self.answer_of_member(alternative, device),
        };
        self.cache.borrow_mut().answers[alternative][device] = Some(answer.clone());
        answer
    }

    fn value(&self, constraint: usize, alternative: usize, device: usize) -> Value<AllocateError> {
        let attribute = self.attribute_of[self.asked[alternative].claim][constraint];
        let name = self.attributes[attribute];
        if let Some(&expression) = self.asks[alternative].derived.get(name)
            && self.has(Feature::DerivedAttributes)
        {
            return self.derived(expression, name, device);
        }
        if let Some(value) = &self.cache.borrow().values[attribute][device] {
            return value.clone();
        }
        let Placed { slice, device: object } = self.devices[device];
        let value: Value<AllocateError> =
            self.numbers.value(object.attribute(&slice.driver, name), self.lists);
        self.cache.borrow_mut().values[attribute][device] = Some(value.clone());
        value
    }

    fn unsatisfied(&self, alternative: usize, device: usize) -> AllocateError {
        let request = self.asked[alternative].own_name();
        self.fault(alternative, ClaimFault::Unsatisfied(request, self.devices[device].id()))
    }

    fn share(&self, alternative: usize, device: usize) -> Vec<i128> {
        if let Some(share) = self.cache.borrow().shares.get(&(alternative, device)) {
            return share.clone();
        }
        let capacities = &self.devices[device].device.capacity;
        let share = match fit(self.amounts(alternative), capacities, self.fractions) {
            Ok(Fit::Takes(amounts)) => amounts.values().map(billionths).collect(),
            Ok(Fit::Refused) | Err(_) => vec![i128::MAX / 4; capacities.len()],
        };
        self.cache.borrow_mut().shares.insert((alternative, device), share.clone());
        share
    }
}

impl Prepared<'_> {
    pub(crate) fn fault(&self, alternative: usize, place: ClaimFault) -> AllocateError {
        AllocateError::Claim { claim: reference(&self.claim(alternative).metadata), place }
    }

    fn answer_of_count(&self, alternative: usize, device: usize) -> Answer<AllocateError> {
        match self.is_selectable(alternative, device) {
            Ok(true) => {}
            Ok(false) => return Answer::No,
            Err(error) => return Answer::Error(error),
        }
        match self.capacity_fit(alternative, device) {
            Ok(true) if !self.is_blocked(alternative, device) => Answer::Yes,
            Ok(_) => Answer::No,
            Err(error) => Answer::Error(error),
        }
    }

    /// For one of all the devices that are wanted, which have been selected before.
    fn answer_of_member(&self, alternative: usize, device: usize) -> Answer<AllocateError> {
        if self.is_blocked(alternative, device) {
            return Answer::No;
        }
        match self.capacity_fit(alternative, device) {
            Ok(false) => Answer::NoRoom,
            Ok(true) | Err(_) => Answer::Yes,
        }
    }

    /// Whether the device has the capacity, apart from what the pod's claims take.
    pub(crate) fn capacity_fit(&self, alternative: usize, device: usize) -> Result<bool, AllocateError> {
        let placed = self.devices[device];
        let takes = self.takes(alternative, device, || placed.id().to_string())?;
        let Some(amounts) = takes else { return Ok(!self.shares_devices()) };
        if amounts.is_empty() {
            return Ok(true);
        }
        let room = self.room(&self.devices[device]);
        Ok(room.iter().zip(amounts).all(|(room, amount)| amount <= *room))
    }

    /// Whether the device, with nothing in use, has the capacity.
    pub(crate) fn empty_fit(&self, alternative: usize, device: usize) -> Result<bool, AllocateError> {
        let object = self.devices[device].device;
        let Some(amounts) = self.takes(alternative, device, || object.name.to_string())? else {
            return Ok(!self.shares_devices());
        };
        let values = object.capacity.values().map(|capacity| billionths(&capacity.value));
        Ok(values.zip(amounts).all(|(value, amount)| amount <= value))
    }

    /// What an alternative takes of each capacity; `None` if the policy refuses it, or capacity is not looked at.
    fn takes(
        &self,
        alternative: usize,
        device: usize,
        name: impl Fn() -> String,
    ) -> Result<Option<Vec<i128>>, AllocateError> {
        if !self.shares_devices() {
            return Ok(None);
        }
        match fit(self.amounts(alternative), &self.devices[device].device.capacity, self.fractions) {
            Ok(Fit::Takes(amounts)) => Ok(Some(amounts.values().map(billionths).collect())),
            Ok(Fit::Refused) => Ok(None),
            Err((capacity, error)) => {
                let request = self.asked[alternative].own_name();
                Err(self.fault(alternative, ClaimFault::DeviceCapacity(request, name(), capacity, error)))
            }
        }
    }

    /// Whether something keeps the device from the alternative, whatever is chosen.
    fn is_blocked(&self, alternative: usize, device: usize) -> bool {
        self.is_unsupported(device) || self.repelling_taint(alternative, device).is_some()
    }

    /// Whether the device needs a feature that is off.
    pub(crate) fn is_unsupported(&self, device: usize) -> bool {
        let Placed { slice, device } = self.devices[device];
        let needs_operations = self.implementation == Implementation::Experimental
            && !slice.skip_node_operations.is_empty()
            && !(self.has(Feature::OptionalNodeOperations) && self.question.skips_operations());
        let is_partition = !self.has(Feature::PartitionableDevices) && !device.consumes.is_empty();
        needs_operations || is_partition
    }

    /// The first taint of the device that the alternative does not tolerate.
    pub(crate) fn repelling_taint(&self, alternative: usize, device: usize) -> Option<&DeviceTaint> {
        let tolerations = &self.asked[alternative].devices.tolerations;
        let mut taints =
            self.devices[device].device.taints.iter().filter(|_| self.has(Feature::DeviceTaints));
        taints.find(|taint| {
            taint.effect.prevents_allocation()
                && !tolerations.iter().any(|toleration| toleration.tolerates(taint))
        })
    }

    /// Binding conditions, the selectors of class and request, and the device's own nodes.
    pub(crate) fn is_selectable(&self, alternative: usize, device: usize) -> Result<bool, AllocateError> {
        if let Some(known) = &self.cache.borrow().selectable[alternative][device] {
            return known.clone();
        }
        let answer = self.selects(alternative, device);
        self.cache.borrow_mut().selectable[alternative][device] = Some(answer.clone());
        answer
    }

    fn selects(&self, alternative: usize, device: usize) -> Result<bool, AllocateError> {
        Ok(self.selection(alternative, device)? == Selection::Selected)
    }

    /// Which of the selectors does not select the device, if one does not.
    pub(crate) fn selection(&self, alternative: usize, device: usize) -> Result<Selection, AllocateError> {
        let Placed { slice, device: object } = self.devices[device];
        if !self.has(Feature::DeviceBindingConditions) && object.has_binding_conditions() {
            return Ok(Selection::Unsupported);
        }
        let asked = &self.asked[alternative];
        let of_class = |selector, fault| AllocateError::ClassSelector {
            class: asked.class.metadata.name.clone(),
            selector,
            fault,
        };
        if self.first_mismatch(&self.asks[alternative].of_class, device, of_class)?.is_some() {
            return Ok(Selection::OtherClass);
        }
        let of_claim = |selector, fault| AllocateError::ClaimSelector {
            claim: reference(&self.claim(alternative).metadata),
            selector,
            fault,
        };
        if let Some(selector) = self.first_mismatch(&self.asks[alternative].of_request, device, of_claim)? {
            return Ok(Selection::Unselected(selector));
        }
        if !slice.selects_nodes_per_device() {
            return Ok(Selection::Selected);
        }
        let is_here = object.nodes.matches(self.question.node);
        let is_here = is_here.map_err(|error| AllocateError::NodeSelector(error.to_string()))?;
        Ok(if is_here { Selection::Selected } else { Selection::OtherNode })
    }

    /// The place of the first selector that is false for the device.
    fn first_mismatch(
        &self,
        selectors: &[Option<ExpressionId>],
        device: usize,
        error: impl Fn(usize, SelectorFault) -> AllocateError,
    ) -> Result<Option<usize>, AllocateError> {
        for (number, selector) in selectors.iter().enumerate() {
            let Some(expression) = *selector else { continue };
            let answer = self.selectors.matches(expression, device, self.devices[device]);
            if !answer.map_err(|fault| error(number, fault))? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn derived(&self, expression: ExpressionId, name: &str, device: usize) -> Value<AllocateError> {
        if let Some(value) = self.cache.borrow().derived.get(&(expression, device)) {
            return value.clone();
        }
        match self.selectors.derive(expression, (name, device), self.devices[device]) {
            Ok(attribute) => {
                let value: Value<AllocateError> = self.numbers.value(Some(&attribute), self.lists);
                self.cache.borrow_mut().derived.insert((expression, device), value.clone());
                value
            }
            Err(error) => Value::Error(error),
        }
    }

    /// Whether devices of the search are shared.
    pub(crate) fn is_shared(&self, device: usize) -> bool {
        self.problem.devices[device].is_shared()
    }
}
