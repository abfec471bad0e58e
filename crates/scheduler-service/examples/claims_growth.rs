//! Times of filters of pods with claims, one line of JSON for each number of nodes:
//! `cargo run --release -p scheduler-service --features growth --example claims_growth -- 100 1000 5000`.

use std::time::Duration;

use scheduler_service::growth::{ClaimTimes, claim_times};

fn main() -> anyhow::Result<()> {
    for nodes in std::env::args().skip(1) {
        let times = claim_times(nodes.parse()?)?;
        let ClaimTimes { nodes, fit, new_kind, known_kind, ten_changed, without_claims } = times;
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{{\"nodes\":{nodes},\"fit\":{fit},\"new_kind_ms\":{:.3},\"known_kind_ms\":{:.3},\"ten_changed_ms\":{:.3},\
             \"without_claims_ms\":{:.3}}}",
            ms(new_kind),
            ms(known_kind),
            ms(ten_changed),
            ms(without_claims)
        );
    }
    Ok(())
}
