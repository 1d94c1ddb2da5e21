//! The properties of the path to a peer: its delay, its capacity, and the size of its datagrams.
//!
//! **Congestion control.** The networks that this is made for are local: round trips of microseconds,
//! switches that drop few packets, and now and then a bad link that drops packets at random. A window that
//! halves at every loss (Reno, CUBIC) falls far below the capacity of such a link. This one considers the
//! *share* of packets lost in a round trip. Up to [`TOLERATED_LOSS_PERCENT`] percent it takes losses for
//! chance, more for congestion, and shrinks by that share, at most to 0.7. After that it grows half of the
//! way back to its earlier size in each round trip (as BIC does), then beyond by a sixteenth, so that a burst
//! of losses costs few round trips. It starts by doubling in each round trip. Delay is not a signal here: a
//! peer that computes answers late on an idle network. Neither is silence: a peer that computes, or waits for
//! a crowded processor, is silent on an idle network too. The packets to it stay within the window, and
//! proven losses shrink it. The price: such a flow keeps a full switch dropping up to
//! [`TOLERATED_LOSS_PERCENT`] percent, and does not yield to TCP as TCP would.
//!
//! **Pacing** spreads a window over a round trip if that is longer than the time between two polls of a rank.
//! Bursts of up to [`BURST_BYTES`] bytes or a millisecond's worth are sent at once.

/// Nanoseconds of a clock that never goes back.
pub type Time = u64;
/// A millisecond in nanoseconds.
pub const NS_PER_MS: u64 = 1_000_000;

/// Share of lost packets, in percent, that is taken for chance.
const TOLERATED_LOSS_PERCENT: u64 = 5;
/// Bytes that may be sent at once.
const BURST_BYTES: u64 = 128 << 10;
/// The first window and the smallest, in bytes: what any switch buffers, and a few of the largest datagrams.
const INITIAL_WINDOW_BYTES: u64 = 256 << 10;
const MIN_WINDOW_BYTES: u64 = 16 << 10;

/// The least that a timeout adds to the round trip, and the most that late answers make of it.
const MIN_GRACE_NS: u64 = NS_PER_MS;
const MAX_GRACE_NS: u64 = 20 * NS_PER_MS;

/// Round-trip times, as in RFC 6298.
///
/// Where ranks share processors, a peer is now and then silent for as long as others run. Such times are too
/// rare to stay in the variation. So a silence that turns out to have been the peer's
/// ([`Rtt::answered_late`]) is waited for from then on, and half as long after each that turns out to have
/// been a loss ([`Rtt::lost`]).
#[derive(Debug, Clone, Copy, Default)]
pub struct Rtt {
    smoothed: u64,
    variation: u64,
    latest: u64,
    least: u64,
    grace: u64,
}

impl Rtt {
    /// Adds a sample; `delay` is how long the peer delayed the acknowledgement, as it reports.
    pub fn sample(&mut self, rtt: u64, delay: u64) {
        let first = self.smoothed == 0;
        self.least = if first { rtt } else { self.least.min(rtt) };
        let rtt = if rtt >= self.least + delay { rtt - delay } else { rtt }.max(1);
        self.latest = rtt;
        if first {
            (self.smoothed, self.variation) = (rtt, rtt / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(rtt)) / 4;
            self.smoothed = (7 * self.smoothed + rtt) / 8;
        }
    }

    /// The smoothed time; 0 before the first sample.
    pub fn smoothed(&self) -> u64 {
        self.smoothed
    }

    /// How long after a packet a later one's acknowledgement declares it lost.
    pub fn reordering(&self) -> u64 {
        (self.smoothed.max(self.latest) * 9 / 8).max(NS_PER_MS / 20)
    }

    /// How long to wait for an acknowledgement before sending a probe.
    pub fn probe_timeout(&self, ack_delay: u64) -> u64 {
        match self.smoothed {
            0 => 10 * NS_PER_MS,
            smoothed => {
                smoothed + (4 * self.variation).max(self.grace.clamp(MIN_GRACE_NS, MAX_GRACE_NS)) + ack_delay
            }
        }
    }

    /// A timeout was too early: the answer came after so long.
    pub fn answered_late(&mut self, after: u64) {
        self.grace = self.grace.max(after);
    }

    /// A timeout was right: a packet was lost.
    pub fn lost(&mut self) {
        self.grace = self.grace.min(MAX_GRACE_NS) / 2;
    }
}

/// How many bytes may be under way.
#[derive(Debug, Clone)]
pub struct Congestion {
    window: u64,
    largest: u64,
    doubling: bool,
    /// The window before it last shrank.
    before: u64,
    /// The round trip ends when this packet is acknowledged.
    round_end: u64,
    acked: u64,
    lost: u64,
    lost_packets: u64,
}

impl Congestion {
    /// A window that never exceeds `largest`.
    pub fn new(largest: u64) -> Congestion {
        Congestion {
            window: INITIAL_WINDOW_BYTES.min(largest),
            largest,
            doubling: true,
            before: 0,
            round_end: 0,
            acked: 0,
            lost: 0,
            lost_packets: 0,
        }
    }

    /// Bytes that may be under way.
    #[inline]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Limits the window to `largest` from now on.
    #[inline]
    pub fn bound(&mut self, largest: u64) {
        self.largest = largest;
        self.window = self.window.min(largest);
    }

    /// The limit of the window.
    #[inline]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Bytes were acknowledged; `full`: the window kept more from being sent.
    pub fn acked(&mut self, bytes: u64, full: bool) {
        self.acked += bytes;
        if !full {
            return;
        }
        let grow = if self.doubling {
            bytes
        } else {
            let a_round =
                if self.window < self.before { (self.before - self.window) / 2 } else { self.window / 16 };
            (a_round.clamp(1500, self.window / 2) * bytes / self.window).max(1)
        };
        self.window = (self.window + grow).min(self.largest);
    }

    /// A packet was lost.
    pub fn lost(&mut self, bytes: u64) {
        self.lost += bytes;
        self.lost_packets += 1;
    }

    /// Ends the round trip if packet `acked` does; `next` is the next one to be sent.
    pub fn round(&mut self, acked: u64, next: u64) {
        if acked < self.round_end {
            return;
        }
        let percent = self.lost * 100 / (self.lost + self.acked).max(1);
        if self.lost_packets >= 3 && percent > TOLERATED_LOSS_PERCENT {
            self.before = self.window;
            // Doubling may have overshot by as much again: what got through is what fits.
            let least = if self.doubling { 40 } else { 70 };
            self.window =
                (self.window * (100 - percent).max(least) / 100).max(MIN_WINDOW_BYTES.min(self.largest));
            self.doubling = false;
        }
        (self.acked, self.lost, self.lost_packets, self.round_end) = (0, 0, 0, next);
    }
}

/// Decides when packets may be sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    tokens: u64,
    since: Time,
}

impl Pacer {
    /// Whether a packet may be sent now, or else when.
    pub fn ready(&mut self, now: Time, window: u64, rtt: &Rtt) -> Result<(), Time> {
        let smoothed = rtt.smoothed();
        if smoothed < NS_PER_MS {
            return Ok(());
        }
        // 1.25 windows in a round trip.
        let rate =
            |time: u64| (u128::from(window) * u128::from(time) * 5 / (4 * u128::from(smoothed))) as u64;
        self.tokens =
            (self.tokens + rate(now.saturating_sub(self.since))).min(BURST_BYTES.max(rate(NS_PER_MS)));
        self.since = now;
        if self.tokens > 0 {
            Ok(())
        } else {
            Err(now + (smoothed / (1 + window / 1500)).clamp(NS_PER_MS / 20, NS_PER_MS))
        }
    }

    /// Bytes were sent.
    pub fn sent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }
}

/// How large datagrams may be.
///
/// The sizes that networks have are tried at once, largest first, with packets that nothing depends on; the
/// largest that is acknowledged is used. If larger packets vanish later (the route changed), the size falls
/// back and is tried again later.
#[derive(Debug, Clone)]
pub struct Mtu {
    sizes: Vec<usize>,
    size: usize,
    tries: u8,
    again: Time,
    /// Index of the next size to try in this round.
    next: usize,
    /// The last packet larger than the first size that arrived, and how many such packets were lost after it.
    arrived: u64,
    vanished: u32,
}

/// So many losses in a row are not chance.
const SUSPICIOUS_LOSSES: u32 = 12;

/// Rounds of tries at the start; and nanoseconds between rounds.
const TRY_ROUNDS: u8 = 4;
const TRY_AGAIN_NS: u64 = 20 * NS_PER_MS;
const TRY_MUCH_LATER_NS: u64 = 10_000 * NS_PER_MS;

impl Mtu {
    /// `sizes` of UDP payloads to try in ascending order; the first is assumed to pass.
    pub fn new(sizes: &[usize]) -> Mtu {
        let sizes: Vec<usize> = sizes.to_vec();
        let (size, next) = (sizes[0], sizes.len());
        Mtu { sizes, size, tries: 0, again: 0, next, arrived: 0, vanished: 0 }
    }

    /// Bytes of the largest datagram.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The size to try now, if one is due, up to `most`; to be called whenever large data is to be sent.
    pub fn probe(&mut self, now: Time, most: usize) -> Option<usize> {
        let of_use = |size: &usize| *size > self.size && *size <= most;
        if !self.sizes.iter().any(of_use) {
            return None;
        }
        if self.next >= self.sizes.len() {
            if self.size == self.sizes[self.sizes.len() - 1] || self.tries >= TRY_ROUNDS || now < self.again {
                return None;
            }
            self.tries += 1;
            self.again = now + TRY_AGAIN_NS;
            self.next = 0;
        }
        let of_use = |size: &usize| *size > self.size && *size <= most;
        let larger = self.sizes[self.next..].iter().position(of_use)?;
        self.next += larger + 1;
        Some(self.sizes[self.next - 1])
    }

    /// A datagram of this size arrived.
    pub fn passed(&mut self, size: usize) {
        self.size = self.size.max(size);
    }

    /// A packet of this number and size arrived that was not a try.
    #[inline]
    pub fn arrived(&mut self, packet: u64, size: usize) {
        if size > self.sizes[0] && packet > self.arrived {
            (self.arrived, self.vanished) = (packet, 0);
        }
    }

    /// A packet of this number and size was lost, and a later one arrived.
    pub fn lost(&mut self, now: Time, packet: u64, size: usize) {
        if size <= self.sizes[0] || packet < self.arrived {
            return;
        }
        self.vanished += 1;
        if self.vanished == SUSPICIOUS_LOSSES {
            (self.size, self.tries, self.again) = (self.sizes[0], 0, now + TRY_MUCH_LATER_NS);
            self.next = self.sizes.len();
        }
    }

    /// Whether large datagrams seem to vanish. Those under way must be fragmented to arrive, because chunks
    /// keep their size.
    #[inline]
    pub fn is_suspicious(&self) -> bool {
        self.vanished >= SUSPICIOUS_LOSSES
    }
}
