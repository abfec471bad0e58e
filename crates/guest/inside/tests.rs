//! The list of tests. A test is a function of the guest; its phase says in which boot it runs.

use crate::machine::Guest;
use crate::{crash, discovery, interrupts, isolation, moving, pinning, resize};

/// One test.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) phase: Phase,
    pub(crate) runs: Runs,
    pub(crate) run: fn(&Guest) -> anyhow::Result<()>,
}

/// The boots of a machine, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Ends with a power loss amid changes.
    First,
    AfterPowerLoss,
    /// A node has less memory than before.
    LessMemory,
}

/// Whether a test runs if none is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runs {
    WithAll,
    /// Only where it is asked for by its name, since it takes long.
    IfNamed,
}

const fn test(name: &'static str, phase: Phase, run: fn(&Guest) -> anyhow::Result<()>) -> Test {
    Test { name, phase, runs: Runs::WithAll, run }
}

/// In the order in which they run.
pub(crate) const TESTS: &[Test] = &[
    test("discovery_equals_the_machine", Phase::First, discovery::equals_the_machine),
    test("functions_are_on_their_nodes", Phase::First, discovery::functions),
    test("capture_and_back", Phase::First, discovery::capture_and_back),
    test("containers_get_their_cpus_and_nodes", Phase::First, pinning::containers),
    test("touched_pages_are_on_their_nodes", Phase::First, pinning::touched_pages),
    test("huge_pages_come_from_their_nodes", Phase::First, pinning::huge_pages),
    test("shared_pool_leaves_exclusive_cpus", Phase::First, pinning::shared_pool),
    test("who_moves_while_it_runs_stays_on_its_own", Phase::First, moving::live),
    test("resize_under_load_shares_no_exclusive_cpu", Phase::First, resize::under_load),
    test("drift_is_repaired", Phase::First, pinning::drift),
    test("isolated_cpus_run_nothing_else", Phase::First, isolation::nothing_else_runs),
    test("interrupts_leave_isolated_cpus_and_come_back", Phase::First, interrupts::leave_and_come_back),
    test("interrupts_on_isolated_cpus_are_counted", Phase::First, interrupts::counted),
    test("partitions_outlive_the_daemon_and_end", Phase::First, isolation::outlives),
    Test { runs: Runs::IfNamed, ..test("kills_amid_live_moves_lose_nothing", Phase::First, moving::killed) },
    test("cpu_offline_and_back", Phase::First, pinning::offline),
    test("kill_loses_nothing", Phase::First, crash::kill),
    test("a_file_system_that_fails_loses_nothing", Phase::First, crash::file_system_fails),
    // Last: it does not end before the host cuts the power.
    test("changes_until_power_is_lost", Phase::First, crash::change_for_ever),
    test("power_loss_loses_nothing", Phase::AfterPowerLoss, crash::after_power_loss),
    test("changed_memory_is_noticed", Phase::LessMemory, crash::less_memory),
];
