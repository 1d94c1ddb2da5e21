//! The interface of all strategies.

use crate::action::Action;
use crate::message::Message;
use crate::registrar::{Change, PinError};
use crate::request::{OpId, Outcome, Refusal, Request, Side, StartError};
use crate::run::{Keys, Node, Run};

/// Names a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StrategyKind {
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

impl StrategyKind {
    /// All of them.
    pub const ALL: [StrategyKind; 6] = [
        StrategyKind::Firehose,
        StrategyKind::PinEverything,
        StrategyKind::Bounce,
        StrategyKind::RendezvousUnpin,
        StrategyKind::RendezvousNoUnpin,
        StrategyKind::PinDownCache,
    ];

    /// The name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            StrategyKind::Firehose => "firehose",
            StrategyKind::PinEverything => "pin-everything",
            StrategyKind::Bounce => "bounce",
            StrategyKind::RendezvousUnpin => "rendezvous",
            StrategyKind::RendezvousNoUnpin => "rendezvous-nounpin",
            StrategyKind::PinDownCache => "pindown-cache",
        }
    }

    /// The strategy with that name.
    pub fn parse(name: &str) -> Option<StrategyKind> {
        StrategyKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How much is pinned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes pinned now, with those that are being pinned or unpinned.
    pub pinned_bytes: u64,
    /// The highest `pinned_bytes` so far.
    pub peak_bytes: u64,
    /// The bound on `pinned_bytes`; `None` if this strategy has none.
    pub bound_bytes: Option<u64>,
    /// Bytes of buckets that are kept pinned for their next use only.
    pub victim_bytes: u64,
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Parts of operations that could start at once, without asking the peer.
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
    /// Buckets taken from the victim FIFO at no cost.
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

/// The methods of [`Strategy`] that the bucket table answers, for strategies that have one as `buckets`.
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
/// Every call appends to `out` what is to be done next.
pub trait Strategy: Send {
    /// Which strategy this is.
    fn kind(&self) -> StrategyKind;

    /// To be called once, before anything else.
    fn open(&mut self, out: &mut Vec<Action>);

    /// Begins an operation. It ends with `Done` or `Failed`, possibly at once.
    fn start(&mut self, request: Request, out: &mut Vec<Action>) -> Result<OpId, StartError>;

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

    /// Whether the registrations named by the keys are current. The node's card calls this when it is about
    /// to touch local memory for anybody. `side` goes into the refusal: `Local` if this node is the
    /// initiator.
    fn check(&self, side: Side, addr: u64, len: u64, keys: &Keys) -> Result<(), Refusal>;

    /// How much is pinned.
    fn usage(&self) -> Usage;

    /// Counters since the start.
    fn stats(&self) -> Stats;

    /// Panics if the counters do not match the tables. For tests: it reads whole tables.
    fn audit(&self) {}
}
