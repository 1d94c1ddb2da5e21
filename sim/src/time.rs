//! Virtual time in picoseconds: fine enough for bytes on a fast wire. 64 bits hold half a year.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};
use std::time::Duration;

/// A point in virtual time, or a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start.
    pub const ZERO: Time = Time(0);

    /// From picoseconds.
    pub const fn ps(n: u64) -> Time {
        Time(n)
    }
    /// From nanoseconds.
    pub const fn ns(n: u64) -> Time {
        Time(n * 1000)
    }
    /// From microseconds, rounded to picoseconds; negative values count as 0.
    pub const fn us(n: f64) -> Time {
        Time((n * 1e6 + 0.5) as u64)
    }
    /// From a host duration.
    pub fn from_duration(d: Duration) -> Time {
        Time((d.as_nanos() as u64).saturating_mul(1000))
    }
    /// In picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// In microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// In seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// As a host duration, rounded down to nanoseconds.
    pub fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0 / 1000)
    }
    /// The time of `bytes` bytes, with `self` the time of one.
    pub fn bytes(self, bytes: usize) -> Time {
        Time(self.0 * bytes as u64)
    }
    /// The difference; 0 if `earlier` is later.
    pub fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, o: Time) -> Time {
        Time(self.0 + o.0)
    }
}
impl AddAssign for Time {
    fn add_assign(&mut self, o: Time) {
        self.0 += o.0;
    }
}
impl Sub for Time {
    type Output = Time;
    fn sub(self, o: Time) -> Time {
        Time(self.0 - o.0)
    }
}
impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, n: u64) -> Time {
        Time(self.0 * n)
    }
}
impl core::iter::Sum for Time {
    fn sum<I: Iterator<Item = Time>>(i: I) -> Time {
        Time(i.map(|t| t.0).sum())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000_000 => write!(f, "{:.1} ns", self.0 as f64 / 1e3),
            1_000_000..10_000_000_000 => write!(f, "{:.2} us", self.as_us()),
            10_000_000_000..1_000_000_000_000 => write!(f, "{:.2} ms", self.as_us() / 1e3),
            _ => write!(f, "{:.3} s", self.as_s()),
        }
    }
}
