//! Memory that simulated ranks share: the neighbours of a host.
//!
//! Ranks of a host share real memory in the one process, and the runtime's rings, barriers and tables in it
//! work as they are. But a store tells nobody, and a rank that waits has given its turn away. So whenever a
//! rank gives its turn away and may have stored something since it had it, the memory of its host is
//! *stirred*: a moment later, the time of a cache line, all ranks of the host that wait look again. A rank
//! that looked and found nothing has changed nothing, so it does not stir. Where nobody does, nothing is left
//! to happen, and a deadlock is known as one.

use crate::event::WorldEvent;
use crate::time::Time;
use crate::world::World;
use core::ops::Range;

/// Time from a store until a neighbour that waits can see it.
const CACHE_LINE: Time = Time::ns(100);

/// Who shares memory with whom.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// Ranks of a host, which follow each other.
    per_host: u32,
    /// Whether they are neighbours. Else they share no more than the words by which a host's ranks meet at
    /// the start.
    neighbours: bool,
    /// By host: whether its ranks will look.
    due: Vec<bool>,
}

impl SharedMemory {
    pub(crate) fn new(ranks: u32, per_host: u32, neighbours: bool) -> SharedMemory {
        SharedMemory { per_host, neighbours, due: vec![false; ranks.div_ceil(per_host) as usize] }
    }

    /// The ranks of a host, which are about to look.
    pub(crate) fn looks(&mut self, host: u32) -> Range<u32> {
        self.due[host as usize] = false;
        host * self.per_host..(host + 1) * self.per_host
    }
}

impl World {
    /// A rank may have stored something that its neighbours wait for.
    pub(crate) fn stir(&mut self, rank: u32) {
        if self.shared_memory.as_ref().is_some_and(|shared| shared.neighbours) {
            self.stir_host_of(rank);
        }
    }

    /// A rank has stored something at the start, which all ranks of its host may wait for.
    pub(crate) fn stir_host_of(&mut self, rank: u32) {
        let Some(shared) = &mut self.shared_memory else { return };
        let host = rank / shared.per_host;
        if !std::mem::replace(&mut shared.due[host as usize], true) {
            self.at(self.now + CACHE_LINE, WorldEvent::Stir(host));
        }
    }
}
