//! What all strategies have in common.

use crate::action::Action;
use crate::message::Message;
use crate::registrar::{Change, PinError};
use crate::request::{OpId, Outcome, Refusal, Request, Side, Start};
use crate::run::{Keys, Node, Run};

/// The strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Firehose.
    Firehose,
    /// All of the segment is pinned at start.
    PinEverything,
    /// Everything is copied through buffers that are always pinned.
    Bounce,
    /// The target pins for each transfer, and unpins after it.
    RendezvousUnpin,
    /// The target pins for each transfer, and never unpins: the bound does not hold.
    RendezvousNoUnpin,
    /// Both ends keep what was pinned last, within the bound; the peer must be asked every time.
    PinDownCache,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::Firehose,
        Kind::PinEverything,
        Kind::Bounce,
        Kind::RendezvousUnpin,
        Kind::RendezvousNoUnpin,
        Kind::PinDownCache,
    ];

    /// The name by which settings and reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Firehose => "firehose",
            Kind::PinEverything => "pin-everything",
            Kind::Bounce => "bounce",
            Kind::RendezvousUnpin => "rendezvous",
            Kind::RendezvousNoUnpin => "rendezvous-nounpin",
            Kind::PinDownCache => "pindown-cache",
        }
    }

    /// The strategy of that name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How much is pinned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes pinned now, with those that are being pinned or unpinned.
    pub pinned_bytes: u64,
    /// The most there has been.
    pub peak_bytes: u64,
    /// What it never exceeds; `None` if this strategy has no bound.
    pub bound_bytes: Option<u64>,
    /// Bytes that are pinned only in case they are wanted again.
    pub victim_bytes: u64,
}

/// Counts of what happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Parts of operations that could start at once: the peer was not asked.
    pub hits: u64,
    /// Parts that had to wait for the peer, or for a move that was under way.
    pub misses: u64,
    /// Misses that found some of their buckets.
    pub partial_hits: u64,
    /// Parts that first had to wait until firehoses or pins became free.
    pub waits: u64,
    /// Requests sent to peers (moves, or askings).
    pub requests: u64,
    /// Requests that came from peers.
    pub served: u64,
    /// Buckets that came back from the victim FIFO at no cost.
    pub revived: u64,
    /// Buckets pinned.
    pub pins: u64,
    /// Buckets unpinned.
    pub unpins: u64,
    /// Registrations made void by a change.
    pub voided: u64,
    /// Transfers that a card refused.
    pub refused: u64,
}

/// The part of [`Strategy`] that is the bucket table's, for those that have one as `buckets`.
macro_rules! over_buckets {
    () => {
        fn pinned(&mut self, run: Run, result: Result<(), PinError>, out: &mut Vec<Action>) {
            self.buckets.pinned(run, result, out);
            self.pump(out);
        }

        fn unpinned(&mut self, run: Run, out: &mut Vec<Action>) {
            self.buckets.unpinned(run, out);
            self.pump(out);
        }

        fn check(&self, side: Side, addr: u64, len: u64, keys: &Keys) -> Result<(), Refusal> {
            self.buckets.check(&self.config, side, addr, len, keys)
        }

        fn usage(&self) -> Usage {
            self.buckets.usage()
        }

        fn stats(&self) -> Stats {
            self.buckets.with_stats(self.stats)
        }
    };
}
pub(crate) use over_buckets;

/// One node's half of a strategy: a state machine.
///
/// Every call appends to `out` what is to be done then.
pub trait Strategy: Send {
    /// Which one.
    fn kind(&self) -> Kind;

    /// To be called once, before anything else.
    fn open(&mut self, out: &mut Vec<Action>);

    /// Begins an operation. It ends with `Done` or `Failed`, possibly at once.
    fn start(&mut self, request: Request, out: &mut Vec<Action>) -> Result<OpId, Start>;

    /// A [`Transfer`](Action::Transfer) ended.
    fn transferred(&mut self, op: OpId, outcome: Outcome, out: &mut Vec<Action>);

    /// A message came.
    fn receive(&mut self, from: Node, message: Message, out: &mut Vec<Action>);

    /// A [`Pin`](Action::Pin) ended.
    fn pinned(&mut self, run: Run, result: Result<(), PinError>, out: &mut Vec<Action>);

    /// An [`Unpin`](Action::Unpin) ended.
    fn unpinned(&mut self, run: Run, out: &mut Vec<Action>);

    /// A mapping changed.
    fn changed(&mut self, change: Change, out: &mut Vec<Action>);

    /// To be asked by this node's card when it is about to touch local memory for anybody: whether the registrations that
    /// the keys name are the present ones. `side` is for the refusal: `Local` if this node is the initiator.
    fn check(&self, side: Side, addr: u64, len: u64, keys: &Keys) -> Result<(), Refusal>;

    /// How much is pinned.
    fn usage(&self) -> Usage;

    /// What happened so far.
    fn stats(&self) -> Stats;

    /// Panics if the counters are not what the tables say. For tests: it reads the tables whole.
    fn audit(&self) {}
}
