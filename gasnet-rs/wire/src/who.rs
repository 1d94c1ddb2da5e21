//! Who this rank is, and which ranks share memory with it.

use crate::config::Config;
use crate::port::NicPort;
use crate::shm::{RankBlock, map};
use crate::{RankId, Wire};
use std::time::Duration;

/// Which ranks share memory, or a host. It comes from `Rank::topology`.
#[derive(Debug, Clone, Copy)]
pub struct Topology<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// Which ranks share memory, or a host.
    #[inline]
    pub fn topology(&self) -> Topology<'_> {
        Topology { wire: self }
    }

    /// This rank's number.
    #[inline]
    pub fn id(&self) -> RankId {
        self.id
    }

    /// Whether any number of threads may call the runtime at the same time
    /// ([`Threading::Parallel`](crate::Threading::Parallel)).
    #[inline]
    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    /// Ranks in the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// All ranks of the job.
    pub fn ranks(&self) -> impl Iterator<Item = RankId> + use<> {
        (0..self.size).map(RankId)
    }

    /// The settings this rank runs with.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Name of the network: `smp` on one host.
    pub fn conduit_name(&self) -> &'static str {
        self.conduit.as_ref().map_or("smp", |c| c.name())
    }

    /// The counters of the network on this rank, by name; empty if it has none.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.conduit.as_ref().map_or(Vec::new(), |c| c.counters())
    }

    /// The block of the rank that leads this neighbourhood.
    #[inline]
    pub(crate) fn leader_block(&self) -> &'static RankBlock {
        self.leader
    }

    /// The ranks that share memory with this one, in ascending order, itself among them.
    #[inline]
    pub fn neighbours(&self) -> &[u32] {
        self.neighbourhood.members()
    }

    /// Whether a rank shares memory with this one (itself included).
    #[inline]
    pub fn is_neighbour(&self, rank: RankId) -> bool {
        self.neighbourhood.index(rank).is_some()
    }

    /// The job's time: the host's monotonic clock, or that of a conduit that has its own.
    pub fn now(&self) -> Duration {
        self.conduit.as_ref().and_then(|c| c.clock()).unwrap_or_else(map::monotonic)
    }

    /// Whether somebody watches over this rank who can be told things.
    pub(crate) fn has_monitor(&self) -> bool {
        self.boot.link.is_some()
    }

    /// Whether this process is the rank itself, not a child it forked.
    #[inline]
    pub fn is_own_process(&self) -> bool {
        std::process::id() == self.pid
    }

    /// The operations that the conduit's NIC carries out, without checks, for the core.
    #[inline]
    pub fn nic_port(&self) -> Option<&dyn NicPort> {
        self.conduit.as_ref()?.nic()
    }
}

impl Topology<'_> {
    /// Number of the neighbourhood of a rank, from 0: ranks with the same number share memory. As for the
    /// highest rank if there is no such rank.
    #[inline]
    pub fn neighbourhood_of(self, rank: RankId) -> u32 {
        self.wire.neighbourhood.of(RankId(rank.0.min(self.wire.size - 1))).unwrap_or(0)
    }

    /// The lowest rank that shares memory with a rank; the same on all ranks. As
    /// [`Topology::neighbourhood_of`].
    #[inline]
    pub fn leader_of(self, rank: RankId) -> RankId {
        RankId(self.wire.neighbourhood.leaders().0[self.neighbourhood_of(rank) as usize])
    }

    /// Number of the host of a rank, from 0. As [`Topology::neighbourhood_of`].
    #[inline]
    pub fn host_of(self, rank: RankId) -> u32 {
        self.wire.neighbourhood.host_of(RankId(rank.0.min(self.wire.size - 1))).unwrap_or(0)
    }
}
