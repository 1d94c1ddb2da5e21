//! The NICs a simulated host can have.

use crate::cluster::Cluster;
use crate::conduit::SimConduit;
use crate::leases::{Keeps, Leases};
use crate::paging::Paging;
use crate::pinning::{Pinning, Registration};
use crate::world::{Bytes, Op, Owner};
use firehose::Kind;
use gasnet::conduit::Completion;
use std::sync::Arc;

/// A one-sided operation as it comes from the core.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) peer: u32,
    /// Where at the peer.
    pub(crate) offset: u64,
    /// Where here, as an address.
    pub(crate) local: usize,
    /// A put's bytes.
    pub(crate) source: Option<&'a [u8]>,
    pub(crate) len: usize,
    pub(crate) token: u64,
}

impl<'a> Start<'a> {
    pub(crate) fn put(peer: u32, offset: u64, local: usize, bytes: &'a [u8], token: u64) -> Start<'a> {
        Start { peer, offset, local, source: Some(bytes), len: bytes.len(), token }
    }
    pub(crate) fn get(peer: u32, offset: u64, local: usize, len: usize, token: u64) -> Start<'a> {
        Start { peer, offset, local, source: None, len, token }
    }
}

/// A rank's NIC.
pub(crate) enum Nic {
    /// One that reaches all memory.
    Plain,
    /// One that reaches pinned memory only.
    Pinning(Box<Pinning>),
    /// One that locks pages by itself.
    Paging(Arc<Paging>),
}

impl Nic {
    /// The NIC of a rank of this job.
    pub(crate) fn new(job: &Cluster, rank: u32) -> Nic {
        match job.registration {
            Registration::None => Nic::Plain,
            Registration::Pinned(kind, budget) => {
                Nic::Pinning(Box::new(Pinning::new(job, rank, kind, budget, None, true)))
            }
            Registration::FirehoseOverLocks { budget, frames } => {
                let leases = Leases::new(Arc::new(Paging::new(job, frames)), budget.bucket, Keeps::Nic);
                Nic::Pinning(Box::new(Pinning::new(job, rank, Kind::Firehose, budget, Some(leases), false)))
            }
            Registration::Held { kind, budget, frames, pins } => {
                let keeps = if pins { Keeps::Host } else { Keeps::Leases };
                let leases = Leases::new(Arc::new(Paging::new(job, frames)), budget.bucket, keeps);
                Nic::Pinning(Box::new(Pinning::new(job, rank, kind, budget, Some(leases), pins)))
            }
            Registration::ShadowLock { frames } => Nic::Paging(Arc::new(Paging::new(job, frames))),
        }
    }

    /// The rank's segment exists.
    pub(crate) fn attach(&self, at: &SimConduit, len: usize) {
        match self {
            Nic::Plain => {}
            Nic::Pinning(p) => p.attach(at, len),
            Nic::Paging(p) => p.attach(at, len),
        }
    }

    /// Starts an operation; `false` if it would have to wait.
    pub(crate) fn start(&self, at: &SimConduit, start: Start<'_>) -> bool {
        if at.shared.world().ranks[at.rank as usize].ops >= MOST_OPS {
            return false;
        }
        match self {
            Nic::Plain => {
                at.shared.work(at.rank, at.costs.post);
                let mut w = at.shared.world();
                let op = Op {
                    from: at.rank,
                    to: start.peer,
                    dst: start.local,
                    len: start.len,
                    token: start.token,
                    owner: Owner::Core,
                    claims: None,
                };
                match start.source {
                    Some(bytes) => {
                        let local = (start.token, Completion::Local);
                        w.ranks[at.rank as usize].done.push_back(local);
                        w.put(op, start.offset, Bytes::new(bytes));
                    }
                    None => w.get(op, start.offset),
                }
                true
            }
            Nic::Pinning(p) => p.start(at, start),
            Nic::Paging(p) => p.start(at, start, Owner::Core, |_| None),
        }
    }

    /// Does what the host has to do for its NIC; how much that was.
    pub(crate) fn progress(&self, at: &SimConduit) -> usize {
        match self {
            Nic::Plain => 0,
            Nic::Pinning(p) => p.progress(at),
            Nic::Paging(p) => p.progress(at),
        }
    }
}

/// One-sided operations of a rank under way; more would block.
const MOST_OPS: u32 = 4096;
