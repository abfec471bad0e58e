//! Parts of timestamps and durations.
//!
//! Time zones are offsets (`-08:00`) or UTC: there is no database of time zones without an operating system.

use super::call::Implementation;
use crate::value::time::{date, days_from_epoch};
use crate::value::{Fault, Timestamp, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "getFullYear" => |values, _| dated(values, |days| date(days).year),
        "getMonth" => |values, _| dated(values, |days| date(days).month - 1),
        "getDayOfYear" => |values, _| dated(values, |days| days - days_from_epoch(date(days).year, 1, 1)),
        "getDayOfMonth" => |values, _| dated(values, |days| date(days).day - 1),
        "getDate" => |values, _| dated(values, |days| date(days).day),
        "getDayOfWeek" => |values, _| dated(values, |days| (days + 4).rem_euclid(7)),
        "getHours" => |values, _| timed(values, &Unit { of_duration: 3_600_000, limit: 24 }),
        "getMinutes" => |values, _| timed(values, &Unit { of_duration: 60_000, limit: 60 }),
        "getSeconds" => |values, _| timed(values, &Unit { of_duration: 1_000, limit: 60 }),
        "getMilliseconds" => |values, _| timed(values, &Unit { of_duration: 1, limit: 1_000 }),
        _ => return None,
    })
}

/// A unit of time in milliseconds, and how many of it make the next.
struct Unit {
    of_duration: i64,
    limit: i64,
}

fn dated(values: &[Value], part: impl Fn(i64) -> i64) -> Result<Value, Fault> {
    let local = local(values)?;
    Ok(Value::Int(part(local.seconds.div_euclid(86_400))))
}

fn timed(values: &[Value], unit: &Unit) -> Result<Value, Fault> {
    if let [Value::Duration(nanoseconds)] = values {
        return Ok(Value::Int(nanoseconds / 1_000_000 / unit.of_duration));
    }
    let local = local(values)?;
    let milliseconds = local.seconds.rem_euclid(86_400) * 1_000 + i64::from(local.nanoseconds / 1_000_000);
    Ok(Value::Int(milliseconds / unit.of_duration % unit.limit))
}

/// The time as a clock in the zone shows it.
fn local(values: &[Value]) -> Result<Timestamp, Fault> {
    match values {
        [Value::Timestamp(time)] => Ok(*time),
        [Value::Timestamp(time), Value::String(zone)] => {
            let offset =
                offset(zone).ok_or_else(|| Fault::text(alloc::format!("unknown time zone {zone}")))?;
            Ok(Timestamp { seconds: time.seconds + offset, ..*time })
        }
        _ => Err(Fault::NoOverload),
    }
}

fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "UTC") {
        return Some(0);
    }
    let (hours, minutes) = zone.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minutes = if zone.starts_with('-') {
        i64::from(hours) * 60 - i64::from(minutes)
    } else {
        i64::from(hours) * 60 + i64::from(minutes)
    };
    Some(minutes * 60)
}
