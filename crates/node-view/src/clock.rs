//! The clock of the parts of a daemon, and the time on the wall as text; nothing is decided by the latter.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use device_manager::Moment;
use jiff::Timestamp;

/// A clock, and pauses by it. Tests implement it.
pub trait Clock: Send + Sync {
    /// The moment.
    fn now(&self) -> Instant;

    /// The time since 1970 on the wall.
    fn since_1970(&self) -> Duration;

    /// Lets a time pass.
    fn sleep(&self, length: Duration);

    /// The time since a moment.
    fn since(&self, then: Instant) -> Duration {
        self.now().saturating_duration_since(then)
    }

    /// The time on the wall as text: `2026-03-01T12:00:00.123Z`.
    fn text(&self) -> String {
        text(self.since_1970())
    }

    /// The time since 1970 at moment zero of a node's clock that stands at `now`.
    fn epoch(&self, Moment(now): Moment) -> Duration {
        self.since_1970().saturating_sub(now)
    }

    /// How long it has been since then, as kubectl shows ages: `45s`, `5m30s`, `3h12m`, `47h`, `12d`.
    fn age(&self, since: Duration) -> String {
        human(self.since_1970().saturating_sub(since).as_secs())
    }
}

/// The clock of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn since_1970(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn sleep(&self, length: Duration) {
        thread::sleep(length);
    }
}

/// When something was that began this long after 1970, as `2026-03-01T12:00:00.000Z`.
pub fn text(since: Duration) -> String {
    shown(UNIX_EPOCH + since)
}

/// A span of seconds as `k8s.io/apimachinery/pkg/util/duration.HumanDuration` writes it.
fn human(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / DAY);
    let two = |large: u64, unit: &str, small: u64, rest: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{rest}"),
    };
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn shown(time: SystemTime) -> String {
    // A clock that stands before 1970 is shown as 1970.
    let time = Timestamp::try_from(time.max(UNIX_EPOCH)).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{human, shown};

    #[test]
    fn ages_are_those_of_kubectl() {
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_520, "3h12m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(shown(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_clock_before_its_time_is_no_trouble() {
        assert_eq!(shown(UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00.000Z");
    }
}
