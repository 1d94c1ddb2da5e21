//! Packets without a length: an address, and the octets from there on until the framing ends.
//!
//! So a packet may be cut anywhere (a new head has the address of the next octet), and two may become one if
//! the second continues the first.

/// Octets on their way to an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burst {
    /// The host.
    pub node: u32,
    /// The address there.
    pub at: u64,
    /// The octets.
    pub octets: Vec<u8>,
}

impl Burst {
    /// Octets for an address.
    pub fn new(node: u32, at: u64, octets: &[u8]) -> Burst {
        Burst { node, at, octets: octets.to_vec() }
    }

    /// Where the next octet goes.
    pub fn end(&self) -> (u32, u64) {
        (self.node, self.at + self.octets.len() as u64)
    }

    /// Cuts it after so many octets; nothing is left over if it has no more.
    pub fn split(mut self, after: usize) -> (Burst, Option<Burst>) {
        if after >= self.octets.len() {
            return (self, None);
        }
        let rest =
            Burst { node: self.node, at: self.at + after as u64, octets: self.octets.split_off(after) };
        (self, Some(rest))
    }

    /// Whether `next` needs no head of its own behind this one.
    pub fn continues(&self, next: &Burst) -> bool {
        self.end() == (next.node, next.at)
    }

    /// Takes `next` in if it continues this one.
    ///
    /// # Errors
    /// `next`, which does not.
    pub fn merge(&mut self, next: Burst) -> Result<(), Burst> {
        if !self.continues(&next) {
            return Err(next);
        }
        self.octets.extend(next.octets);
        Ok(())
    }
}
