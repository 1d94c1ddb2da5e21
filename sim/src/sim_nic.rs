//! The NICs a simulated host can have.

use crate::cluster::Cluster;
use crate::conduit::SimConduit;
use crate::leases::{Keeps, Leases};
use crate::paging::Paging;
use crate::pinning::{Pinning, Registration};
use crate::world::{Bytes, OneSidedOp, Owner};
use firehose::StrategyKind;
use gasnet::conduit::Completion;
use std::sync::Arc;

/// A one-sided operation as the core requests it.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) peer: u32,
    /// Offset in the peer's segment.
    pub(crate) offset: u64,
    /// Address here.
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
pub(crate) enum SimNic {
    /// A NIC that reaches all memory.
    Plain,
    /// A NIC that reaches pinned memory only.
    Pinning(Box<Pinning>),
    /// A NIC that locks pages itself.
    Paging(Arc<Paging>),
}

impl SimNic {
    /// The NIC of a rank of this job.
    pub(crate) fn new(job: &Cluster, rank: u32) -> SimNic {
        match job.registration {
            Registration::None => SimNic::Plain,
            Registration::Pinned(kind, budget) => {
                SimNic::Pinning(Box::new(Pinning::new(job, rank, kind, budget, None, true)))
            }
            Registration::FirehoseOverLocks { budget, frames } => {
                let leases = Leases::new(Arc::new(Paging::new(job, frames)), budget.bucket, Keeps::Nic);
                SimNic::Pinning(Box::new(Pinning::new(
                    job,
                    rank,
                    StrategyKind::Firehose,
                    budget,
                    Some(leases),
                    false,
                )))
            }
            Registration::Held { kind, budget, frames, pins } => {
                let keeps = if pins { Keeps::Host } else { Keeps::Leases };
                let leases = Leases::new(Arc::new(Paging::new(job, frames)), budget.bucket, keeps);
                SimNic::Pinning(Box::new(Pinning::new(job, rank, kind, budget, Some(leases), pins)))
            }
            Registration::ShadowLock { frames } => SimNic::Paging(Arc::new(Paging::new(job, frames))),
        }
    }

    /// The rank's segment has been attached.
    pub(crate) fn attach(&self, at: &SimConduit, len: usize) {
        match self {
            SimNic::Plain => {}
            SimNic::Pinning(p) => p.attach(at, len),
            SimNic::Paging(p) => p.attach(at, len),
        }
    }

    /// Starts an operation; `false` if it would have to wait.
    pub(crate) fn start(&self, at: &SimConduit, start: Start<'_>) -> bool {
        if at.shared.world().ranks[at.rank as usize].ops >= MAX_OPS_UNDER_WAY {
            return false;
        }
        match self {
            SimNic::Plain => {
                at.shared.work(at.rank, at.costs.post);
                let mut w = at.shared.world();
                let op = OneSidedOp {
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
            SimNic::Pinning(p) => p.start(at, start),
            SimNic::Paging(p) => p.start(at, start, Owner::Core, |_| None),
        }
    }

    /// Does the host's work for its NIC; returns how much it was.
    pub(crate) fn progress(&self, at: &SimConduit) -> usize {
        match self {
            SimNic::Plain => 0,
            SimNic::Pinning(p) => p.progress(at),
            SimNic::Paging(p) => p.progress(at),
        }
    }
}

/// Most one-sided operations of a rank under way; a further one would block.
const MAX_OPS_UNDER_WAY: u32 = 4096;
