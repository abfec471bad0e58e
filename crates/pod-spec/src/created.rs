//! When a pod was created, by which a kubelet that starts orders the pods that it admits again.

use core::fmt;

/// A moment of `metadata.creationTimestamp`, in seconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CreationTime(i64);

impl CreationTime {
    /// The moment of a text as API servers write it, `2026-11-26T10:00:00Z`; fractions of a second count for nothing.
    /// `None`: it is no such text.
    ///
    /// ```
    /// use pod_spec::CreationTime;
    ///
    /// let earlier = CreationTime::parse("2026-11-26T10:00:00Z");
    /// assert!(earlier.is_some() && earlier < CreationTime::parse("2026-11-26T11:30:00+01:00"));
    /// assert_eq!(CreationTime::parse("today"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once('T')?;
        let (time, offset) = if let Some(time) = time.strip_suffix('Z') {
            (time, 0)
        } else {
            let (time, zone) = time.split_at_checked(time.rfind(['+', '-'])?)?;
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let seconds = number(hours, 23)? * 3600 + number(minutes, 59)? * 60;
            (time, if zone.starts_with('-') { -seconds } else { seconds })
        };
        let [year, month, day] = parts(date, '-')?;
        let [hours, minutes, seconds] = parts(time.split('.').next()?, ':')?;
        let (month, day) = (number(month, 12)?, number(day, 31)?);
        let days = days(number(year, 9999)?, month, day);
        let clock = number(hours, 23)? * 3600 + number(minutes, 59)? * 60 + number(seconds, 60)?;
        (month > 0 && day > 0).then_some(Self(days * 86400 + clock - offset))
    }

    /// So many seconds since 1970.
    #[must_use]
    pub const fn at(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0
    }
}

/// As API servers write it.
impl fmt::Display for CreationTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, clock) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        // Years begin in March, so that a leap day is the last one: the reverse of `days`.
        let days = days + 719_468;
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let year = year + 400 * days.div_euclid(146_097) + i64::from(month > 9);
        let month = (month + 2) % 12 + 1;
        let (hours, minutes, seconds) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
    }
}

fn parts(text: &str, between: char) -> Option<[&str; 3]> {
    let mut parts = text.split(between);
    let three = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(three)
}

fn number(text: &str, most: i64) -> Option<i64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_digits && *number <= most)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, with years that begin in March.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for day in (-200_000_i64..2_000_000).step_by(97) {
            let moment = CreationTime::at(day * 86_400 + day.rem_euclid(86_400));
            let text = alloc::format!("{moment}");
            assert_eq!(CreationTime::parse(&text), Some(moment), "{text}");
        }
        assert_eq!(alloc::format!("{}", CreationTime::at(951_868_799)), "2000-02-29T23:59:59Z");
    }

    #[test]
    fn moments_are_counted_from_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T23:59:59Z", Some(951_868_799)),
            ("2026-11-26T10:00:00Z", Some(1_795_687_200)),
            ("2026-11-26T10:00:00.250Z", Some(1_795_687_200)),
            ("2026-11-26T12:00:00+02:00", Some(1_795_687_200)),
            ("2026-11-26T07:30:00-02:30", Some(1_795_687_200)),
            ("2026-11-26", None),
            ("2026-13-26T10:00:00Z", None),
            ("2026-00-26T10:00:00Z", None),
            ("2026-11-26T10:00Z", None),
            ("2026-11-26T10:00:00", None),
            ("", None),
        ] {
            assert_eq!(CreationTime::parse(text), seconds.map(CreationTime), "{text}");
        }
    }
}
