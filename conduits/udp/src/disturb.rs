//! Injects faults into arriving datagrams, for tests (`GASNET_UDP_FAULTY`): below the protocol, which has to
//! repair them.

use crate::path::{NS_PER_MS, Time};
use gasnet_decorators::{FaultRates, Faults, Late};

/// Most datagrams that are held back.
const MAX_HELD_DATAGRAMS: usize = 1024;
/// Longest time for which a datagram waits for others to pass.
const MAX_HOLD_NS: Time = NS_PER_MS;

/// Applies the faults of a plan to datagrams.
#[derive(Debug)]
pub(crate) struct Disturbance {
    faults: Faults,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    datagram: Vec<u8>,
    /// Number of datagrams that arrive before it.
    after: u32,
    at: Time,
}

impl Disturbance {
    pub(crate) fn new(plan: FaultRates) -> Disturbance {
        Disturbance { faults: Faults::new(plan), held: Vec::new() }
    }

    /// Passes on the datagrams that result from this one.
    pub(crate) fn pass(&mut self, now: Time, datagram: &[u8], take: &mut dyn FnMut(&[u8])) {
        let fate = self.faults.fate();
        self.held.iter_mut().for_each(|h| h.after = h.after.saturating_sub(1));
        if fate.drop {
            return;
        }
        let mut datagram = datagram.to_vec();
        fate.apply(&mut datagram);
        let hold = match fate.late {
            Some(Late::After(n)) => Some((n, now + MAX_HOLD_NS)),
            Some(Late::By(ns)) => Some((u32::MAX, now + ns)),
            None => None,
        };
        if self.held.len() < MAX_HELD_DATAGRAMS {
            if fate.duplicate {
                let (after, at) = hold.unwrap_or((0, now));
                self.held.push(Held { datagram: datagram.clone(), after, at });
            }
            if let Some((after, at)) = hold {
                self.held.push(Held { datagram, after, at });
                return;
            }
        }
        take(&datagram);
    }

    /// Passes on held datagrams that are due.
    pub(crate) fn release(&mut self, now: Time, take: &mut dyn FnMut(&[u8])) {
        self.held.retain(|h| {
            let due = h.after == 0 || h.at <= now;
            if due {
                take(&h.datagram);
            }
            !due
        });
    }

    /// The time when a held datagram is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.held.iter().map(|h| if h.after == 0 { 0 } else { h.at }).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fault arrives, and nothing else happens to a datagram.
    #[test]
    fn faults_arrive() {
        for (plan, arrivals, changed, late) in [
            ("", 1000..=1000, 0..=0, 0..=0),
            ("drop=10%", 850..=950, 0..=0, 0..=0),
            ("duplicate=10%", 1050..=1150, 0..=0, 0..=0),
            ("corrupt=10%", 1000..=1000, 50..=150, 0..=0),
            ("reorder=10%", 1000..=1000, 0..=0, 50..=150),
            ("delay=10%,by=100us", 1000..=1000, 0..=0, 50..=150),
        ] {
            let mut d = Disturbance::new(FaultRates::parse(plan).unwrap());
            let (mut got, mut bits, mut overtaken, mut top) = (0, 0u32, 0, 0);
            let mut take = |datagram: &[u8]| {
                got += 1;
                bits += datagram[4..].iter().map(|b| b.count_ones()).sum::<u32>();
                let number = u32::from_le_bytes(datagram[..4].try_into().unwrap());
                if bits == 0 {
                    overtaken += u32::from(number < top);
                    top = top.max(number);
                }
            };
            for i in 0..1100u32 {
                let now = u64::from(i) * 10_000;
                if i < 1000 {
                    // Long, so that the changed bit is hardly ever in the number.
                    let datagram = [&i.to_le_bytes()[..], &[0; 2000]].concat();
                    d.pass(now, &datagram, &mut take);
                }
                d.release(now, &mut take);
            }
            assert!(arrivals.contains(&got), "{plan}: {got} arrive");
            assert!(changed.contains(&bits), "{plan}: {bits} bits change");
            assert!(late.contains(&overtaken) || bits > 0, "{plan}: {overtaken} are late");
            assert_eq!(d.deadline(), None);
        }
    }
}
