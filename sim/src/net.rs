//! The network between simulated hosts: when, how often and in which order packets arrive.
//!
//! Each host has one port with a transmitting and a receiving side, each busy with one packet at a time.
//! Packets are cut through: the receiver is busy while the bytes arrive. In addition a network may delay
//! packets at random (so that they overtake each other), lose them and duplicate them. The link layer then
//! retransmits after a time-out and drops duplicates, so that users of the network get each packet once.

use crate::rng::Rng;
use crate::time::Time;

/// The properties of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// From the first byte's departure to its arrival.
    pub latency: Time,
    /// Time of a byte on the wire.
    pub per_byte: Time,
    /// Time that each packet keeps a port busy in addition to its bytes.
    pub gap: Time,
    /// Probability that a packet is delayed.
    pub reorder: f64,
    /// The longest delay; delays are uniform from 0.
    pub jitter: Time,
    /// Probability that a transmission is lost.
    pub loss: f64,
    /// Probability that a transmission arrives twice.
    pub duplicate: f64,
    /// Time after which a lost transmission is repeated.
    pub timeout: Time,
}

impl Network {
    /// A reliable network that keeps the order.
    pub const fn new(latency: Time, per_byte: Time, gap: Time) -> Network {
        Network {
            latency,
            per_byte,
            gap,
            reorder: 0.0,
            jitter: Time::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            timeout: Time::ns(100_000),
        }
    }

    /// The same network with reordering, loss and duplication.
    pub fn unreliable(mut self) -> Network {
        self.reorder = 0.3;
        self.jitter = self.latency * 10 + Time::ns(1000);
        self.loss = 0.05;
        self.duplicate = 0.05;
        self
    }
}

/// One host's port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Port {
    /// The time when the transmitting side is free.
    pub(crate) tx_free: Time,
    /// The time when the receiving side is free.
    pub(crate) rx_free: Time,
}

/// Arrival times of a packet's copies: the first one, and perhaps a duplicate that the receiver has to
/// recognise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    pub(crate) first: Time,
    pub(crate) again: Option<Time>,
    /// Transmissions that were lost.
    pub(crate) lost: u32,
}

impl Network {
    /// Sends `bytes` bytes from one port to another at `now`.
    pub(crate) fn transmit(
        &self,
        ports: &mut [Port],
        (from, to): (usize, usize),
        bytes: usize,
        now: Time,
        rng: &mut Rng,
    ) -> Arrivals {
        let busy = self.gap + self.per_byte.bytes(bytes);
        let mut lost = 0;
        let mut ready = now;
        loop {
            let start = ready.max(ports[from].tx_free);
            ports[from].tx_free = start + busy;
            if rng.chance(self.loss) && lost < 50 {
                lost += 1;
                ready = start + busy + self.timeout;
                continue;
            }
            let mut head = start + self.latency;
            if rng.chance(self.reorder) {
                head += Time::ps(rng.below(self.jitter.as_ps() + 1));
            }
            let first = if head >= ports[to].rx_free { head } else { ports[to].rx_free } + busy;
            // A packet that is delayed on the way does not keep the port busy in the meantime.
            if head <= start + self.latency {
                ports[to].rx_free = first;
            }
            let twice = rng.chance(self.duplicate);
            // A lost acknowledgement duplicates a packet as well.
            let unacknowledged = rng.chance(self.loss);
            let again = match (twice, unacknowledged) {
                (true, _) => Some(first + busy),
                (_, true) => Some(first + self.timeout),
                _ => None,
            };
            return Arrivals { first, again, lost };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_busy_with_one_packet_at_a_time() {
        let net = Network::new(Time::ns(1000), Time::ns(1), Time::ns(10));
        let mut ports = [Port::default(); 3];
        let mut rng = Rng::new(1);
        let mut send = |from, to| net.transmit(&mut ports, (from, to), 90, Time::ZERO, &mut rng).first;
        assert_eq!(send(0, 2), Time::ns(1100));
        assert_eq!(send(0, 2), Time::ns(1200));
        // From another host at the same time: the receiving side is busy.
        assert_eq!(send(1, 2), Time::ns(1300));
        assert_eq!(send(1, 0), Time::ns(1200));
    }

    #[test]
    fn what_is_lost_comes_later() {
        let mut net = Network::new(Time::ns(1000), Time::ZERO, Time::ZERO);
        net.loss = 0.5;
        let mut ports = [Port::default(); 2];
        let mut rng = Rng::new(1);
        let all: Vec<_> =
            (0..1000).map(|_| net.transmit(&mut ports, (0, 1), 8, Time::ZERO, &mut rng)).collect();
        let lost: u32 = all.iter().map(|a| a.lost).sum();
        assert!((800..1200).contains(&lost), "{lost}");
        assert!(all.iter().all(|a| a.first >= Time::ns(1000)));
        assert!(all.iter().filter(|a| a.again.is_some()).count() > 300);
    }
}
