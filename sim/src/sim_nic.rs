//! The NICs a simulated host can have.

use crate::cost::CostModel;
use crate::event::{Bytes, OneSidedOp, Owner, Start};
use crate::leases::{Keeps, Leases};
use crate::paging::Paging;
use crate::pinning::{Pinning, Registration};
use crate::shared::Caller;
use firehose::StrategyKind;
use gasnet_wire::conduit::Completion;
use std::sync::Arc;

/// A rank's NIC.
pub(crate) enum SimNic {
    /// A NIC that reaches all memory. Where something chooses the order, it reads sources of more than so
    /// many bytes when it comes to them, and not within the call.
    Plain(usize),
    /// A NIC that reaches pinned memory only.
    Pinning(Box<Pinning>),
    /// A NIC that locks pages itself.
    Paging(Arc<Paging>),
}

impl SimNic {
    /// The NIC of a rank of a job of so many, on such machines.
    pub(crate) fn new(registration: Registration, model: &CostModel, ranks: u32, rank: u32) -> SimNic {
        let paging = |frames| Arc::new(Paging::new(model, ranks, frames));
        let pinning = |kind, budget, leases, pins| {
            SimNic::Pinning(Box::new(Pinning::new(model, (ranks, rank), kind, budget, leases, pins)))
        };
        match registration {
            Registration::None => SimNic::Plain(model.inline),
            Registration::Pinned(kind, budget) => pinning(kind, budget, None, true),
            Registration::FirehoseOverLocks { budget, frames } => {
                let leases = Leases::new(paging(frames), budget.bucket, Keeps::Nic);
                pinning(StrategyKind::Firehose, budget, Some(leases), false)
            }
            Registration::Held { kind, budget, frames, pins } => {
                let keeps = if pins { Keeps::Host } else { Keeps::Leases };
                let leases = Leases::new(paging(frames), budget.bucket, keeps);
                pinning(kind, budget, Some(leases), pins)
            }
            Registration::ShadowLock { frames } => SimNic::Paging(paging(frames)),
        }
    }

    /// The rank's segment has been attached.
    pub(crate) fn attach(&self, at: &Caller, len: usize) {
        match self {
            SimNic::Plain(_) => {}
            SimNic::Pinning(p) => p.attach(at, len),
            SimNic::Paging(p) => p.attach(at, len),
        }
    }

    /// Starts an operation; `false` if it would have to wait.
    pub(crate) fn start(&self, at: &Caller, start: Start<'_>) -> bool {
        {
            let w = at.shared.world();
            if w.ranks[at.rank as usize].ops >= w.hardships.operations {
                return false;
            }
        }
        match self {
            SimNic::Plain(inline) => {
                at.shared.work(at.rank, at.costs.post);
                let mut w = at.shared.world();
                let op = OneSidedOp {
                    number: 0,
                    epoch: 0,
                    from: at.rank,
                    to: start.peer,
                    local: start.local,
                    offset: start.offset,
                    len: start.len,
                    token: start.token,
                    owner: Owner::Core,
                    claims: None,
                };
                match start.source {
                    Some(bytes) if w.chooser.is_some() && bytes.len() > *inline => w.put_later(op),
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
    pub(crate) fn progress(&self, at: &Caller) -> usize {
        match self {
            SimNic::Plain(_) => 0,
            SimNic::Pinning(p) => p.progress(at),
            SimNic::Paging(p) => p.progress(at),
        }
    }
}
