//! The numbers that have arrived: of packets, to refuse replays and to acknowledge; of chunks, to deliver
//! each once.

/// Numbers that a window looks back.
pub const WINDOW_NUMBERS: u64 = 4096;
const WINDOW_WORDS: usize = (WINDOW_NUMBERS / 64) as usize;

/// A ring of bits, one for each number of a span.
#[derive(Debug, Clone)]
struct Bits([u64; WINDOW_WORDS]);

impl Bits {
    fn get(&self, n: u64) -> bool {
        self.0[(n / 64) as usize % WINDOW_WORDS] >> (n % 64) & 1 == 1
    }
    fn set(&mut self, n: u64) {
        self.0[(n / 64) as usize % WINDOW_WORDS] |= 1 << (n % 64);
    }
    fn clear(&mut self, n: u64) {
        self.0[(n / 64) as usize % WINDOW_WORDS] &= !(1 << (n % 64));
    }
}

/// Packet numbers received; they count from 1.
#[derive(Debug, Clone)]
pub struct Packets {
    bits: Bits,
    largest: u64,
    /// All numbers from here to `largest` have been received.
    run_from: u64,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets { bits: Bits([0; WINDOW_WORDS]), largest: 0, run_from: 1 }
    }
}

impl Packets {
    /// Whether this number is new: not seen before, and not too old to tell.
    #[inline]
    pub fn fresh(&self, n: u64) -> bool {
        n > self.largest || n > 0 && self.largest - n < WINDOW_NUMBERS && !self.bits.get(n)
    }

    /// Adds a new number; returns whether it is the next one.
    #[inline]
    pub fn enter(&mut self, n: u64) -> bool {
        let next = n == self.largest + 1;
        if n > self.largest {
            if n - self.largest >= WINDOW_NUMBERS {
                self.bits.0.fill(0);
            } else {
                (self.largest + 1..n).for_each(|skipped| self.bits.clear(skipped));
            }
            if !next {
                self.run_from = n;
            }
            self.largest = n;
            self.bits.set(n);
        } else {
            self.bits.set(n);
            let oldest = self.oldest();
            while self.run_from > oldest && self.bits.get(self.run_from - 1) {
                self.run_from -= 1;
            }
        }
        self.run_from = self.run_from.max(self.oldest());
        next
    }

    fn oldest(&self) -> u64 {
        (self.largest + 1).saturating_sub(WINDOW_NUMBERS).max(1)
    }

    /// The largest number; 0 if there is none.
    #[inline]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Length of the run that ends with the largest.
    #[inline]
    pub fn run(&self) -> u16 {
        (self.largest + 1 - self.run_from) as u16
    }

    /// Whether some number of the span is missing.
    pub fn gaps(&self) -> bool {
        self.run_from > self.oldest()
    }

    /// The ranges below the run: numbers missing, numbers received below those, and so on, the highest first.
    pub fn ranges(&self) -> Ranges<'_> {
        Ranges { packets: self, at: self.run_from }
    }
}

/// See [`Packets::ranges`].
#[derive(Debug)]
pub struct Ranges<'a> {
    packets: &'a Packets,
    at: u64,
}

impl Ranges<'_> {
    fn skip(&mut self, value: bool) -> u16 {
        let oldest = self.packets.oldest();
        let start = self.at;
        while self.at > oldest {
            let last = self.at - 1;
            let word = self.packets.bits.0[(last / 64) as usize % WINDOW_WORDS];
            let same = if value { word } else { !word };
            let room = (last % 64 + 1).min(self.at - oldest);
            let run = u64::from((same << (63 - last % 64)).leading_ones()).min(room);
            self.at -= run;
            if run < room {
                break;
            }
        }
        (start - self.at) as u16
    }
}

impl Iterator for Ranges<'_> {
    type Item = (u16, u16);
    fn next(&mut self) -> Option<(u16, u16)> {
        let gap = self.skip(false);
        let run = self.skip(true);
        (run > 0).then_some((gap, run))
    }
}

/// Chunk numbers received; they count from 0.
#[derive(Debug, Clone)]
pub struct Chunks {
    bits: Bits,
    /// All numbers before this one have been received.
    next: u64,
}

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks { bits: Bits([0; WINDOW_WORDS]), next: 0 }
    }
}

/// The relation of a chunk number to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Not received yet.
    New,
    /// Received before.
    Seen,
    /// Further ahead than a sender may go.
    Beyond,
}

impl Chunks {
    /// The lowest number not received yet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The relation of this number to the window.
    #[inline]
    pub fn standing(&self, n: u64) -> Standing {
        if n >= self.next + WINDOW_NUMBERS {
            Standing::Beyond
        } else if n < self.next || self.bits.get(n) {
            Standing::Seen
        } else {
            Standing::New
        }
    }

    /// Adds a new number.
    #[inline]
    pub fn enter(&mut self, n: u64) {
        self.bits.set(n);
        while self.bits.get(self.next) {
            self.bits.clear(self.next);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with a set that forgets nothing.
        #[test]
        fn packets_are_as_a_set(steps in proptest::collection::vec((0u64..40, any::<bool>()), 1..400), jump in 0u64..9000) {
            let mut window = Packets::default();
            let mut seen = BTreeSet::new();
            let mut top = 0u64;
            for (i, (away, up)) in steps.into_iter().enumerate() {
                let n = if up { top + 1 + away / 8 + if i == 200 { jump } else { 0 } } else { top.saturating_sub(away) };
                let largest = seen.last().copied().unwrap_or(0);
                let fresh = n > 0 && !seen.contains(&n) && (n > largest || largest - n < WINDOW_NUMBERS);
                prop_assert_eq!(window.fresh(n), fresh, "{}", n);
                if !fresh { continue }
                prop_assert_eq!(window.enter(n), n == largest + 1);
                seen.insert(n);
                top = top.max(n);
                prop_assert_eq!(window.largest(), top);
                let oldest = (top + 1).saturating_sub(WINDOW_NUMBERS).max(1);
                let mut listed: BTreeSet<u64> = (top + 1 - u64::from(window.run())..=top).collect();
                let mut at = top + 1 - u64::from(window.run());
                for (gap, run) in window.ranges() {
                    prop_assert!(gap > 0);
                    at -= u64::from(gap);
                    listed.extend(at - u64::from(run)..at);
                    at -= u64::from(run);
                }
                prop_assert_eq!(listed, seen.range(oldest..).copied().collect::<BTreeSet<_>>());
                prop_assert_eq!(window.gaps(), seen.range(oldest..).count() as u64 != top + 1 - oldest);
            }
        }

        #[test]
        fn chunks_are_as_a_set(steps in proptest::collection::vec(0u64..60, 1..600)) {
            let mut window = Chunks::default();
            let mut seen = BTreeSet::new();
            for away in steps {
                let next = (0..).find(|n| !seen.contains(n)).unwrap_or(0);
                prop_assert_eq!(window.next(), next);
                let n = (next + away).saturating_sub(20);
                let expected = if seen.contains(&n) { Standing::Seen } else { Standing::New };
                prop_assert_eq!(window.standing(n), expected);
                prop_assert_eq!(window.standing(next + WINDOW_NUMBERS), Standing::Beyond);
                if seen.insert(n) { window.enter(n); }
            }
        }
    }
}
