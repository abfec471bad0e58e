//! Built-in scenarios, and scenarios that come as a text: what a page runs.

use anstream::adapter::strip_str;
use anyhow::{anyhow, ensure};
use node_daemon::{Progress, Simulated, Simulator};
use scenario_runs::{BUILT_IN, Prepared, Report, RunWatcher, charts, legend, run, simulation};
use terminal_text::{Glyphs, Page};

/// How often it is decided on a pod in one scenario: some minutes on one core.
const MAX_DECISIONS: u64 = 2_000_000;
/// Letters in a line of the tables.
const LETTERS: usize = 140;

/// What a page shows of how far the runs are.
struct Watched<'a>(&'a Progress);

impl RunWatcher for Watched<'_> {
    fn more(&self, pods: u64) {
        self.0.add(pods);
    }

    fn is_over(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Runs scenarios that read nothing of this host.
pub(crate) struct BuiltIn;

impl Simulator for BuiltIn {
    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        BUILT_IN
    }

    fn run(&self, scenario: &[u8], progress: &Progress) -> anyhow::Result<Simulated> {
        let read = Prepared::read_text("scenario", scenario);
        // Quoted lines are coloured for terminals.
        let prepared = read.map_err(|error| anyhow!("{}", strip_str(&format!("{error:#}"))))?;
        let decisions = prepared.decisions();
        ensure!(
            decisions <= MAX_DECISIONS,
            "{decisions} decisions are more than the {MAX_DECISIONS} that are made here: topolet simulate makes more"
        );
        progress.expect(decisions);
        let report = Report::new(&prepared, &run(&prepared, &Watched(progress)));
        let page = Page { glyphs: Glyphs::Unicode, width: Some(LETTERS) };
        let warnings = prepared.warnings.iter().map(|warning| format!("{}\n", strip_str(warning.trim_end())));
        let warnings: String = warnings.collect();
        let tables = simulation(&report, page);
        let legend = legend(&report, page);
        Ok(Simulated { text: format!("{warnings}{tables}{legend}"), charts: charts(&report) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(scenario: &str) -> String {
        match BuiltIn.run(scenario.as_bytes(), &Progress::default()) {
            Ok(_) => panic!("it has run"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn every_built_in_scenario_runs() {
        for (name, text) in BUILT_IN {
            // The size is no matter here.
            let few = "arrivals: {count: 20, every: {exponential: 3m}}";
            let lines = text.lines().map(|line| if line.starts_with("arrivals:") { few } else { line });
            let text = lines.collect::<Vec<_>>().join("\n");
            let progress = Progress::default();
            let simulated =
                BuiltIn.run(text.as_bytes(), &progress).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert!(simulated.charts.starts_with("<svg"), "{name}");
            assert!(simulated.text.contains("admitted"), "{name}: {}", simulated.text);
        }
    }

    #[test]
    fn what_is_pasted_reads_no_files_and_has_an_end() {
        let with = |machine: &str, rest: &str, count: u64| {
            format!(
                "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\nmachines: [{machine}]\n{rest}\
                 pods: [{{pod: {{metadata: {{name: a}}, spec: {{containers: [{{name: c}}]}}}}}}]\n\
                 arrivals: {{count: {count}, every: {{exponential: 1m}}}}\n"
            )
        };
        let built_in = "{machine: xeon-cxl-4node, count: 1}";
        for (scenario, expected) in [
            (with("{machine: ./x.tar.zst, count: 1}", "", 9), "built-in machines only"),
            (with("{machine: live, count: 1}", "", 9), "built-in machines only"),
            (
                with("{machine: xeon-cxl-4node, count: 1, devices: /etc/passwd}", "", 9),
                "reads no files, such as /etc/passwd",
            ),
            (
                with(built_in, "configurations: [{name: a, config: /etc/passwd}]\n", 9),
                "reads no files, such as /etc/passwd",
            ),
            (
                with(built_in, "configurations: [{name: a, topoletConfig: /etc/passwd}]\n", 9),
                "reads no files, such as /etc/passwd",
            ),
            (with("{machine: xeon-cxl-4node, count: 1001}", "", 9), "1001 machines are more than the 1000"),
            (with(built_in, "", 2_000_001), "2000001 decisions are more than the 2000000"),
            ("a: &a [*a, *a".to_owned(), "scenario"),
        ] {
            let said = error(&scenario);
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_run_that_is_cancelled_ends() {
        let scenario = BUILT_IN[0].1.replace("count: 200", "count: 100000");
        let progress = Progress::default();
        std::thread::scope(|scope| {
            let run = scope.spawn(|| BuiltIn.run(scenario.as_bytes(), &progress));
            while progress.counts().0 == 0 {
                std::thread::yield_now();
            }
            progress.cancel();
            assert!(run.join().is_ok_and(|run| run.is_ok()));
            assert!(progress.counts().0 < 400_000, "{:?}", progress.counts());
        });
    }
}
