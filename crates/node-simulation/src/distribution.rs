//! How spans of time are spread: the time between two arrivals, and how long a pod runs.

use core::time::Duration;

use thiserror::Error;

use crate::random::Random;

/// A distribution of spans of time, each checked when it was made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distribution(Shape);

/// All in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Constant(f64),
    Uniform { from: f64, to: f64 },
    Exponential { mean: f64 },
    LogNormal { median: f64, sigma: f64 },
}

/// Why there is no such distribution.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// A range whose end is before its beginning.
    #[error("range ends at {to:?}, before it begins at {from:?}")]
    Reversed {
        /// Where it begins.
        from: Duration,
        /// Where it ends.
        to: Duration,
    },
    /// A mean or median of nothing: every sample would be 0, which [`Distribution::constant`] says better.
    #[error("mean or median is zero")]
    Zero,
    /// The spread of a logarithm that is no number from 0 to 10.
    #[error("sigma {0} is not from 0 to 10")]
    Sigma(f64),
    /// A span past [`Distribution::LONGEST`].
    #[error("{0:?} is more than a hundred years")]
    TooLong(Duration),
}

impl Distribution {
    /// No sample is longer: a hundred years.
    pub const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

    /// Always the same.
    ///
    /// # Errors
    /// [`DistributionError::TooLong`].
    pub fn constant(value: Duration) -> Result<Self, DistributionError> {
        Ok(Self(Shape::Constant(seconds(value)?)))
    }

    /// Each span between two as likely as any other.
    ///
    /// # Errors
    /// [`DistributionError::Reversed`], [`DistributionError::TooLong`].
    pub fn uniform(from: Duration, to: Duration) -> Result<Self, DistributionError> {
        if from > to {
            return Err(DistributionError::Reversed { from, to });
        }
        Ok(Self(Shape::Uniform { from: seconds(from)?, to: seconds(to)? }))
    }

    /// Without memory: as if each moment were as likely as any other to be the end.
    ///
    /// # Errors
    /// [`DistributionError::Zero`], [`DistributionError::TooLong`].
    pub fn exponential(mean: Duration) -> Result<Self, DistributionError> {
        if mean.is_zero() {
            return Err(DistributionError::Zero);
        }
        Ok(Self(Shape::Exponential { mean: seconds(mean)? }))
    }

    /// Many short ones and a few very long: half of them are shorter than `median`, and `sigma` is the standard
    /// deviation of the logarithm.
    ///
    /// # Errors
    /// [`DistributionError::Zero`], [`DistributionError::Sigma`], [`DistributionError::TooLong`].
    pub fn log_normal(median: Duration, sigma: f64) -> Result<Self, DistributionError> {
        if median.is_zero() {
            return Err(DistributionError::Zero);
        }
        if !(0.0..=10.0).contains(&sigma) {
            return Err(DistributionError::Sigma(sigma));
        }
        Ok(Self(Shape::LogNormal { median: seconds(median)?, sigma }))
    }

    /// The next span, at most [`Distribution::LONGEST`].
    pub fn sample(&self, random: &mut Random) -> Duration {
        let seconds = match self.0 {
            Shape::Constant(value) => value,
            Shape::Uniform { from, to } => from + (to - from) * random.unit(),
            Shape::Exponential { mean } => -mean * libm::log(1.0 - random.unit()),
            Shape::LogNormal { median, sigma } => median * libm::exp(sigma * normal(random)),
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Self::LONGEST).min(Self::LONGEST)
    }
}

fn seconds(span: Duration) -> Result<f64, DistributionError> {
    if span > Distribution::LONGEST {
        return Err(DistributionError::TooLong(span));
    }
    Ok(span.as_secs_f64())
}

/// A sample of the normal distribution of mean 0 and deviation 1, after Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * random.unit())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);
    const HOUR: Duration = Duration::from_hours(1);

    fn sorted(distribution: Distribution) -> Vec<f64> {
        let mut random = Random::new(5);
        let samples = (0..20_001).map(|_| distribution.sample(&mut random).as_secs_f64());
        let mut samples: Vec<f64> = samples.collect();
        samples.sort_by(f64::total_cmp);
        samples
    }

    #[test]
    fn samples_have_the_mean_and_median_that_were_asked_for() {
        let about =
            |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 0.03, "{value} {wanted}");
        let exponential = sorted(Distribution::exponential(HOUR).unwrap());
        about(exponential.iter().sum::<f64>() / 20_001.0, 3600.0);
        about(exponential[10_000], 3600.0 * core::f64::consts::LN_2);
        let long_tail = sorted(Distribution::log_normal(HOUR, 1.0).unwrap());
        about(long_tail[10_000], 3600.0);
        about(long_tail.iter().sum::<f64>() / 20_001.0, 3600.0 * libm::exp(0.5));
        let uniform = sorted(Distribution::uniform(MINUTE, HOUR).unwrap());
        about(uniform[10_000], 1830.0);
        assert!(uniform[0] >= 60.0 && uniform[20_000] <= 3600.0);
        let mut random = Random::new(5);
        assert_eq!(Distribution::constant(HOUR).unwrap().sample(&mut random), HOUR);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(
            Distribution::uniform(HOUR, MINUTE),
            Err(DistributionError::Reversed { from: HOUR, to: MINUTE })
        );
        assert_eq!(Distribution::exponential(Duration::ZERO), Err(DistributionError::Zero));
        assert_eq!(Distribution::log_normal(Duration::ZERO, 1.0), Err(DistributionError::Zero));
        assert!(matches!(Distribution::log_normal(HOUR, f64::NAN), Err(DistributionError::Sigma(_))));
        assert!(matches!(Distribution::log_normal(HOUR, -1.0), Err(DistributionError::Sigma(_))));
        assert_eq!(Distribution::constant(Duration::MAX), Err(DistributionError::TooLong(Duration::MAX)));
    }
}
