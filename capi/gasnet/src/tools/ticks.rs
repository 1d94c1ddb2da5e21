//! The tick counter: the processor's time-stamp counter where it is steady, else the monotonic clock.
//! Simulated ranks take the clock, which tells virtual time.
//!
//! C code reads the counter inline as long as `gasneti_tick_source` says so; conversion to time happens here.
//!
//! **Rate.** Both clocks are read when the program is loaded, and again when ticks are converted. No call
//! waits. The longer ago the first reading was, the more precise is the rate. After [`CALIBRATION_TIME`] the
//! rate does not change any more, and is within 10 ppm of `CLOCK_MONOTONIC`. Before that, the error of a
//! reading, 100 ns, is spread over all the time since the first reading. An interval that the program has
//! measured is a part of that time. So the error of a converted interval is always less than 100 ns plus
//! 10 ppm.
//!
//! **Moments.** Many programs convert readings of the counter first and subtract afterwards. A reading counts
//! from the start of the machine. Over so long a time, a rate that still changes makes a difference of
//! milliseconds. So all ticks before the first reading are converted at one fixed rate. Only the ticks since
//! then, which are the program's own time, are converted at the current rate.

#![expect(unsafe_code, reason = "exported to C by name; reads the processor's counter")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Not asked yet.
const UNKNOWN: i32 = 0;
/// The time-stamp counter is steady across frequency changes and cores.
const COUNTER: i32 = 1;
/// `CLOCK_MONOTONIC`, in nanoseconds.
const CLOCK: i32 = 2;

/// Interval of measurement after which the rate does not change.
const CALIBRATION_TIME: Duration = Duration::from_millis(10);

/// Which counter [`gasneti_ticks_slow`]'s inline twin in `gasnet_tools.h` may read.
#[unsafe(no_mangle)]
pub static gasneti_tick_source: AtomicI32 = AtomicI32::new(UNKNOWN);

/// The rate of the counter. Set at the first reading of both clocks.
static RATE: OnceLock<Rate> = OnceLock::new();

/// By this the loader takes the first reading, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    source();
}

/// Nanoseconds per tick.
struct Rate {
    /// The first simultaneous reading of both clocks.
    origin: (u64, Instant),
    /// The bits of the final rate; 0 until it is known.
    settled: AtomicU64,
    /// The nanoseconds of the ticks before the first reading.
    before: OnceLock<f64>,
}

impl Rate {
    fn new() -> Rate {
        Rate { origin: simultaneous(), settled: AtomicU64::new(0), before: OnceLock::new() }
    }

    fn ns_per_tick(&self) -> f64 {
        let settled = self.settled.load(Relaxed);
        if settled != 0 {
            return f64::from_bits(settled);
        }
        let (ticks, start) = self.origin;
        let (now_ticks, now) = simultaneous();
        let elapsed = now.duration_since(start);
        let rate = elapsed.as_nanos() as f64 / now_ticks.wrapping_sub(ticks).max(1) as f64;
        if elapsed < CALIBRATION_TIME {
            return rate;
        }
        // If several threads compute the rate, the first result is kept.
        match self.settled.compare_exchange(0, rate.to_bits(), Relaxed, Relaxed) {
            Ok(_) => rate,
            Err(settled) => f64::from_bits(settled),
        }
    }
}

impl Rate {
    /// An interval, or a moment, in nanoseconds.
    fn ns(&self, ticks: u64) -> f64 {
        let (origin, now) = (self.origin.0, self.ns_per_tick());
        match ticks.checked_sub(origin) {
            None => ticks as f64 * now,
            Some(since) => self.before.get_or_init(|| origin as f64 * now) + since as f64 * now,
        }
    }
}

fn rate() -> &'static Rate {
    RATE.get_or_init(Rate::new)
}

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
            let found =
                if counter_is_steady() && !gasnet_conduits::will_be_simulated() { COUNTER } else { CLOCK };
            rate();
            gasneti_tick_source.store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// The current tick count, whatever the source.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_ticks_slow() -> u64 {
    if source() == COUNTER { counter() } else { gasnet_sys::clock::monotonic().as_nanos() as u64 }
}

fn ns_per_tick() -> f64 {
    if source() == CLOCK { 1.0 } else { rate().ns_per_tick() }
}

fn ns(ticks: u64) -> f64 {
    if source() == CLOCK { ticks as f64 } else { rate().ns(ticks) }
}

/// Ticks as nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_ticks_to_ns(ticks: u64) -> u64 {
    ns(ticks) as u64
}

/// Ticks as microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_ticks_to_us(ticks: u64) -> u64 {
    (ns(ticks) / 1000.0) as u64
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

    /// How often this thread has waited for something so far.
    fn waits() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn no_conversion_waits() {
        let asked = || {
            let (rate, before) = (Rate::new(), waits());
            let first = rate.ns_per_tick();
            let waited = waits() - before;
            assert!(first > 0.0);
            waited
        };
        // A page that is not in memory would be waited for, once.
        assert_eq!((0..20).map(|_| asked()).min(), Some(0));
    }

    #[test]
    fn first_and_later_conversions_agree() {
        if !counter_is_steady() {
            return;
        }
        for pause in [0, 100, 1000] {
            let rate = Rate::new();
            std::thread::sleep(Duration::from_micros(pause));
            let interval = (counter() - rate.origin.0) as f64;
            let first = interval * rate.ns_per_tick();
            std::thread::sleep(2 * CALIBRATION_TIME);
            let later = interval * rate.ns_per_tick();
            assert!((first - later).abs() < 1000.0 + later / 1e4, "{first} ns, then {later} ns");
            assert_eq!(rate.ns_per_tick(), rate.ns_per_tick(), "it stays");
        }
    }

    /// Programs convert moments, and subtract then.
    #[test]
    fn a_moment_stays_where_it_was() {
        if !counter_is_steady() {
            return;
        }
        for pause in [0, 100, 1000] {
            let rate = Rate::new();
            std::thread::sleep(Duration::from_micros(pause));
            let moment = counter();
            let first = rate.ns(moment);
            std::thread::sleep(2 * CALIBRATION_TIME);
            let later = rate.ns(moment);
            assert!((first - later).abs() < 2000.0, "{first} ns, then {later} ns");
        }
    }

    #[test]
    fn the_first_reading_is_taken_at_load() {
        assert_ne!(gasneti_tick_source.load(Relaxed), UNKNOWN);
        assert!(RATE.get().is_some());
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
