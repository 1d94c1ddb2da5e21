//! The conduit of a single host.
//!
//! Neighbours talk through shared memory and need no conduit, so normally [`open`] returns none. Under
//! `GASNET_NEIGHBORHOOD=off` it returns a *frame loop-back*: all traffic between ranks goes as frames over shared rings, which
//! exercises the reference path on one host. `GASNET_SMP_DELAY` holds every frame back for a time.

use gasnet::conduit::{Channel, Conduit, Frame, Limits, OpenContext, Peer, RawSlot};
use gasnet::{Error, FrameGrid};
use std::time::Instant;

/// Bytes of the largest frame: a 64 KiB payload with its head and arguments.
const MAX_FRAME: usize = 65_536 + 96;

/// Opens the conduit if this host's ranks need one.
///
/// # Errors
/// Shared memory cannot be had.
pub fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.config.neighborhood {
        return Ok(None);
    }
    Ok(Some(Box::new(Loopback {
        frames: FrameGrid::open(cx, MAX_FRAME)?,
        delay_ns: cx.config.smp_delay_ns,
        clock: Clock::start(),
    })))
}

/// Frames over shared rings.
struct Loopback {
    frames: FrameGrid,
    delay_ns: u64,
    clock: Clock,
}

/// The host's monotonic clock in nanoseconds, the same in all processes.
struct Clock {
    origin: Instant,
    origin_ns: u64,
}

impl Clock {
    fn start() -> Clock {
        // `Instant` is CLOCK_MONOTONIC here; uptime puts all processes on the same origin closely enough for a test delay.
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = uptime.split_whitespace().next().and_then(|s| s.parse::<f64>().ok()).unwrap_or(0.0);
        Clock { origin: Instant::now(), origin_ns: (seconds * 1e9) as u64 }
    }

    fn now(&self) -> u64 {
        self.origin_ns + self.origin.elapsed().as_nanos() as u64
    }
}

impl Conduit for Loopback {
    fn name(&self) -> &'static str {
        "smp"
    }

    fn limits(&self, _to: Peer, _nargs: usize) -> Limits {
        Limits::new(MAX_FRAME)
    }

    fn reserve(
        &self,
        to: Peer,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        if len > MAX_FRAME {
            return Err(Error::Conduit(format!("a frame of {len} bytes: at most {MAX_FRAME}")));
        }
        Ok(self.frames.reserve(to, channel, len))
    }

    fn commit(&self, slot: RawSlot) {
        let not_before = if self.delay_ns == 0 { 0 } else { self.clock.now() + self.delay_ns };
        self.frames.commit(slot, not_before);
    }

    fn cancel(&self, slot: RawSlot) {
        self.frames.cancel(slot);
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let now = if self.delay_ns == 0 { u64::MAX } else { self.clock.now() };
        Ok(self.frames.poll(channel, budget, now, deliver))
    }
}
