//! The tick counter: the processor's time-stamp counter where it is steady, else the monotonic clock.
//!
//! C code reads the counter inline as long as `gasneti_tick_source` says so; conversion to time happens here, with a
//! rate measured against `CLOCK_MONOTONIC` over at least `BASELINE_NS` since the first reading.

#![expect(unsafe_code, reason = "exported to C by name; reads the processor's counter")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Not asked yet.
const UNKNOWN: i32 = 0;
/// The time-stamp counter is steady across frequency changes and cores.
const COUNTER: i32 = 1;
/// `CLOCK_MONOTONIC`, in nanoseconds.
const CLOCK: i32 = 2;

/// Shortest interval from which the counter's rate is computed: 10 ms against reading errors of some 50 ns.
const BASELINE_NS: u64 = 10_000_000;

/// Which counter [`gasneti_ticks_slow`]'s inline twin in `gasnet_tools.h` may read.
#[unsafe(no_mangle)]
pub static gasneti_tick_source: AtomicI32 = AtomicI32::new(UNKNOWN);

/// The first simultaneous reading of both clocks.
static ORIGIN: OnceLock<(u64, Instant)> = OnceLock::new();
/// Nanoseconds per tick, once measured.
static NS_PER_TICK: OnceLock<f64> = OnceLock::new();

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has this instruction, and Linux leaves it enabled.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn counter_is_steady() -> bool {
    use std::arch::x86_64::__cpuid;
    // leaf 0x8000_0007, EDX bit 8: invariant TSC
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_steady() -> bool {
    false
}

/// Both clocks at one moment: the pair read closest together of several tries.
fn simultaneous() -> (u64, Instant) {
    (0..8)
        .map(|_| {
            let before = counter();
            let now = Instant::now();
            let after = counter();
            (after.wrapping_sub(before), before / 2 + after / 2 + (before & after & 1), now)
        })
        .min_by_key(|reading| reading.0)
        .map(|(_, ticks, now)| (ticks, now))
        .expect("eight readings")
}

fn source() -> i32 {
    match gasneti_tick_source.load(Relaxed) {
        UNKNOWN => {
            let found = if counter_is_steady() { COUNTER } else { CLOCK };
            ORIGIN.get_or_init(simultaneous);
            gasneti_tick_source.store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// The current tick count, whatever the source.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_ticks_slow() -> u64 {
    if source() == COUNTER {
        counter()
    } else {
        let (_, start) = ORIGIN.get_or_init(simultaneous);
        start.elapsed().as_nanos() as u64 + 1
    }
}

fn ns_per_tick() -> f64 {
    if source() == CLOCK {
        return 1.0;
    }
    *NS_PER_TICK.get_or_init(|| {
        let (ticks, start) = *ORIGIN.get_or_init(simultaneous);
        let elapsed = start.elapsed();
        if let Some(rest) = Duration::from_nanos(BASELINE_NS).checked_sub(elapsed) {
            std::thread::sleep(rest);
        }
        let (now_ticks, now) = simultaneous();
        now.duration_since(start).as_nanos() as f64 / now_ticks.wrapping_sub(ticks).max(1) as f64
    })
}

/// Ticks as nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_ticks_to_ns(ticks: u64) -> u64 {
    (ticks as f64 * ns_per_tick()) as u64
}

/// Ticks as microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_ticks_to_us(ticks: u64) -> u64 {
    (ticks as f64 * (ns_per_tick() / 1000.0)) as u64
}

/// The smallest step seen between different readings, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_tick_granularityus() -> f64 {
    let step = (0..1000)
        .map(|_| {
            let first = gasneti_ticks_slow();
            loop {
                let next = gasneti_ticks_slow();
                if next != first {
                    break next.saturating_sub(first);
                }
            }
        })
        .filter(|&step| step > 0)
        .min()
        .unwrap_or(1);
    step as f64 * ns_per_tick() / 1000.0
}

/// The average cost of one reading, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_tick_overheadus() -> f64 {
    const READINGS: u32 = 1000;
    let start = gasneti_ticks_slow();
    for _ in 0..READINGS {
        std::hint::black_box(gasneti_ticks_slow());
    }
    (gasneti_ticks_slow() - start) as f64 * ns_per_tick() / 1000.0 / f64::from(READINGS)
}

/// Wall-clock time in microseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_gettimeofday_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_follow_the_clock() {
        let (start, clock) = (gasneti_ticks_slow(), Instant::now());
        std::thread::sleep(Duration::from_millis(30));
        let (ticks, ns) = (gasneti_ticks_slow() - start, clock.elapsed().as_nanos() as f64);
        let measured = gasnett_ticks_to_ns(ticks) as f64;
        assert!((measured / ns - 1.0).abs() < 0.05, "{measured} ns of ticks in {ns} ns");
    }

    #[test]
    fn ticks_never_run_back() {
        let mut last = gasneti_ticks_slow();
        for _ in 0..10_000 {
            let next = gasneti_ticks_slow();
            assert!(next >= last);
            last = next;
        }
    }
}
