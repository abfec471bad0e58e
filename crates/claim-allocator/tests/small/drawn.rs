//! Questions made of bytes: up to six devices in two pools, up to two claims.

use dra_model::{
    AllocationMode, AllocationResult, Capacity, ClaimStatus, Constraint, CounterConsumption, CounterSet,
    Device, DeviceClass, DeviceId, DeviceRequest, DeviceResult, DeviceTaint, DeviceToleration, Metadata,
    NodeSelection, Pool, RequestName, RequestedDevices, ResourceClaim, ResourceSlice, Selector, TaintEffect,
    TolerationOperator,
};
use k8s_quantity::Quantity;

/// The driver of all devices.
const DRIVER: &str = "d.example.com";
/// The attribute of constraints.
pub(crate) const NUMA_NODE: &str = "resource.kubernetes.io/numaNode";
/// The attribute of selectors, which every device has.
pub(crate) const KIND: &str = "d.example.com/kind";
/// The capacity that devices have.
pub(crate) const MEMORY: &str = "d.example.com/memory";
/// The counters that devices draw on.
pub(crate) const COUNTERS: [&str; 2] = ["first", "second"];

/// A small question.
#[derive(Debug)]
pub(crate) struct Small {
    pub(crate) classes: Vec<DeviceClass>,
    pub(crate) slices: Vec<ResourceSlice>,
    pub(crate) allocated: Vec<ResourceClaim>,
    pub(crate) claims: Vec<ResourceClaim>,
    /// Another budget for the same question.
    pub(crate) budget: u8,
}

/// Numbers that are drawn from bytes; 0 once they have run out.
struct Drawn<'a>(std::slice::Iter<'a, u8>);

impl Drawn<'_> {
    fn below(&mut self, limit: u8) -> u8 {
        self.0.next().copied().unwrap_or(0) % limit
    }

    /// True in so many of 256 cases.
    fn chance(&mut self, of_256: u8) -> bool {
        self.0.next().copied().unwrap_or(0) > 255 - of_256
    }
}

impl Small {
    /// The question of some bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut drawn = Drawn(bytes.iter());
        let budget = drawn.below(200);
        let rich = drawn.chance(128);
        let mut slices = Vec::new();
        for pool in 0..=drawn.below(2) {
            let counters = if rich && drawn.chance(160) { Some(counter_set(&mut drawn)) } else { None };
            let devices = (0..=drawn.below(3)).map(|_| device(&mut drawn, rich, counters.is_some()));
            let devices: Vec<Device> = devices.enumerate().map(named).collect();
            let count = 1 + i64::from(counters.is_some()) + i64::from(drawn.chance(12));
            slices.push(slice(pool, 0, count));
            slices.last_mut().expect("just put there").devices = Some(devices);
            if let Some(set) = counters {
                slices.push(slice(pool, 1, count));
                slices.last_mut().expect("just put there").shared_counters = Some(vec![set]);
            }
        }
        let classes = vec![DeviceClass { metadata: Metadata::named("any"), ..DeviceClass::default() }];
        let allocated = vec![allocated(&mut drawn, &slices)];
        let claims = (0..=drawn.below(2)).map(|number| claim(&mut drawn, number, rich)).collect();
        Self { classes, slices, allocated, claims, budget }
    }

    /// All devices of complete pools, each with the number of its slice and its place in it.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (usize, usize)> {
        let slices = self.slices.iter().enumerate().filter(|(_, slice)| self.is_complete(slice));
        slices.flat_map(|(number, slice)| (0..slice.devices().len()).map(move |place| (number, place)))
    }

    /// Whether all slices of a slice's pool are there.
    pub(crate) fn is_complete(&self, slice: &ResourceSlice) -> bool {
        let slices = self.slices.iter().filter(|other| other.pool.name == slice.pool.name);
        i64::try_from(slices.count()) == Ok(slice.pool.slice_count)
    }

    /// Where a device is.
    pub(crate) fn device(&self, id: &DeviceId) -> Option<(usize, usize)> {
        self.devices().find(|(slice, place)| {
            let slice = &self.slices[*slice];
            slice.driver == id.driver
                && slice.pool.name == id.pool
                && slice.devices()[*place].name == id.device
        })
    }

    /// The number of a claim's request and of its alternative by the name in a result.
    pub(crate) fn place(&self, claim: usize, name: &RequestName) -> (usize, usize) {
        let requests = self.claims[claim].spec.requests.iter().enumerate();
        let mut places = requests.flat_map(|(number, request)| {
            let alternatives = request.first_available.iter().enumerate();
            let named = alternatives.map(move |(place, alternative)| {
                (format!("{}/{}", request.name, alternative.name), (number, place))
            });
            named.chain([(request.name.to_string(), (number, 0))])
        });
        places.find(|(own, _)| own == name.as_str()).expect("a request of the claim").1
    }
}

fn slice(pool: u8, number: u8, count: i64) -> ResourceSlice {
    ResourceSlice {
        metadata: Metadata::named(&format!("pool-{pool}-{number}")),
        driver: DRIVER.into(),
        pool: Pool { name: format!("pool-{pool}").into(), generation: 1, slice_count: count },
        nodes: NodeSelection { node_name: Some("node".into()), ..NodeSelection::default() },
        ..ResourceSlice::default()
    }
}

fn quantity(number: u8) -> Quantity {
    number.to_string().parse().expect("a number is a quantity")
}

fn counter_set(drawn: &mut Drawn<'_>) -> CounterSet {
    let counters = COUNTERS.map(|name| (name.into(), quantity(drawn.below(6))));
    CounterSet { name: "set".into(), counters: counters.into() }
}

fn named((number, device): (usize, Device)) -> Device {
    Device { name: format!("device-{number}").into(), ..device }
}

fn device(drawn: &mut Drawn<'_>, rich: bool, counters: bool) -> Device {
    let mut device = Device::default();
    device.attributes.insert(KIND.into(), i64::from(drawn.below(2)).into());
    match drawn.below(8) {
        0 => None,
        1 => device.attributes.insert(NUMA_NODE.into(), "0".into()),
        other => device.attributes.insert(NUMA_NODE.into(), i64::from(other % 2).into()),
    };
    if drawn.chance(40) {
        let effect = if drawn.chance(200) { TaintEffect::NoSchedule } else { TaintEffect::None };
        device.taints.push(DeviceTaint { key: "taint".into(), effect, ..DeviceTaint::default() });
    }
    if rich && drawn.chance(100) {
        let capacity = Capacity { value: quantity(drawn.below(5)), policy: None };
        device.capacity.insert(MEMORY.into(), capacity);
        device.allow_multiple_allocations = Some(drawn.chance(160));
    }
    if counters && drawn.chance(180) {
        let draws = COUNTERS.map(|name| (name.into(), quantity(drawn.below(4))));
        let consumption =
            CounterConsumption { set: "set".into(), counters: draws.into(), ..CounterConsumption::default() };
        device.consumes.push(consumption);
    }
    device
}

/// A claim that holds some devices as a whole.
fn allocated(drawn: &mut Drawn<'_>, slices: &[ResourceSlice]) -> ResourceClaim {
    let mut allocation = AllocationResult::default();
    for slice in slices {
        for device in slice.devices().iter().filter(|_| drawn.chance(40)) {
            let (driver, pool) = (slice.driver.clone(), slice.pool.name.clone());
            let device = DeviceId { driver, pool, device: device.name.clone() };
            allocation.results.push(DeviceResult { device, ..DeviceResult::default() });
        }
    }
    let status = ClaimStatus { allocation: Some(allocation), ..ClaimStatus::default() };
    ResourceClaim { metadata: Metadata::named("held"), status, ..ResourceClaim::default() }
}

fn claim(drawn: &mut Drawn<'_>, number: u8, rich: bool) -> ResourceClaim {
    let mut claim =
        ResourceClaim { metadata: Metadata::named(&format!("claim-{number}")), ..ResourceClaim::default() };
    for number in 0..=drawn.below(2) {
        let mut request = DeviceRequest { name: format!("r{number}").into(), ..DeviceRequest::default() };
        if rich && drawn.chance(80) {
            for place in 0..=drawn.below(2) {
                let alternative = requested(drawn, rich);
                let name = format!("a{place}").into();
                request.first_available.push(RequestedDevices { name, admin_access: None, ..alternative });
            }
        } else {
            request.exactly = Some(requested(drawn, rich));
        }
        claim.spec.requests.push(request);
    }
    for _ in 0..drawn.below(3) {
        let mut constraint = Constraint::default();
        if drawn.chance(60) {
            constraint.requests.push("r0".into());
        }
        let attribute = if drawn.chance(200) { NUMA_NODE } else { KIND };
        if rich && drawn.chance(60) {
            constraint.distinct_attribute = Some(attribute.into());
        } else {
            constraint.match_attribute = Some(attribute.into());
        }
        claim.spec.constraints.push(constraint);
    }
    claim
}

fn requested(drawn: &mut Drawn<'_>, rich: bool) -> RequestedDevices {
    let mut requested = RequestedDevices { class: "any".into(), ..RequestedDevices::default() };
    requested.mode = if drawn.chance(20) {
        AllocationMode::All(0)
    } else {
        AllocationMode::ExactCount(1 + i64::from(drawn.below(3)))
    };
    if drawn.chance(100) {
        let expression = format!("device.attributes[\"{DRIVER}\"].kind == {}", drawn.below(2));
        requested.selectors.push(Selector::cel(&expression));
    }
    if drawn.chance(100) {
        let operator = TolerationOperator::Exists;
        requested.tolerations.push(DeviceToleration { operator, ..DeviceToleration::default() });
    }
    if drawn.chance(16) {
        requested.admin_access = Some(true);
    }
    if rich && drawn.chance(60) {
        requested.capacity = Some([(MEMORY.into(), quantity(drawn.below(4)))].into());
    }
    requested
}
