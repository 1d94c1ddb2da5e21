//! The world: virtual time, the queue of events, and everything between the hosts.
//!
//! Events happen in the order of (time, number). Numbers are given as events are made, and random numbers
//! come from one seeded generator, so a seed fixes everything. Each event goes into the *trace*, a hash: two
//! runs with the same hash did the same.
//!
//! A **packet** is on its way from one host to another once, however many copies of it the network makes. A
//! one-sided **op** is started by its initiator, and done when the initiator knows that it is.

use crate::card::SimCard;
use crate::choice::{Chains, Chooser};
use crate::course::{Packet, QueuedEvent};
use crate::device::Events;
use crate::event::{Activity, FrameBuf, Moment, OneSidedOp};
use crate::last_look::LastLook;
use crate::memory::RankMemory;
use crate::net::{Network, Port};
use crate::paging::Paging;
use crate::pinning::{PinMap, Registered};
use crate::rng::Rng;
use crate::stir::SharedMemory;
use crate::time::Time;
use crate::untaken::Untaken;
use crate::vain::{Looking, Quiet};
use core::any::Any;
use firehose::{Action, Outcome, Strategy};
use gasnet_wire::conduit::{Completion, FrameLine};
use slab::Slab;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// The world's state of a rank.
pub(crate) struct RankState {
    pub(crate) state: Activity,
    /// The time of its last change of activity.
    pub(crate) since: Time,
    /// The time until which its processor is busy, where it runs ahead of the clock.
    pub(crate) busy_until: Time,
    /// Number of things that happened to this rank.
    pub(crate) news: u64,
    /// The value of `news` that its last poll saw.
    pub(crate) seen: u64,
    /// Its waits that slept.
    pub(crate) waits: u32,
    /// Empty polls in a row without a wait.
    pub(crate) empty_polls: u32,
    /// Empty polls since something happened to it, or it began something.
    pub(crate) looks: u32,
    pub(crate) inbox: [VecDeque<FrameBuf>; 2],
    pub(crate) control: VecDeque<(u32, Box<dyn Any + Send>)>,
    /// Completions to report to the core.
    pub(crate) done: VecDeque<(u64, Completion)>,
    /// Transfers of the registration strategy that have ended, with their outcome.
    pub(crate) transferred: VecDeque<(u64, Outcome)>,
    pub(crate) segment: RankMemory,
    /// The registration strategy, where NICs need one. The NIC checks keys in its table.
    pub(crate) strategy: Option<Box<dyn Strategy>>,
    /// Actions that it wanted after changed mappings.
    pub(crate) wishes: Vec<Action>,
    /// The pinned memory, where NICs need pins.
    pub(crate) pinned: Option<PinMap>,
    /// Registration counters.
    pub(crate) registration: Registered,
    pub(crate) ops: u32,
    /// Frames and one-sided operations that it has begun, and its turns since the last one.
    pub(crate) begun: u32,
    pub(crate) turns: u32,
    pub(crate) frames_out: u32,
    /// Its frames that their receivers have not taken yet.
    pub(crate) untaken: Untaken,
    /// Number of worlds before the one that it is in, and whether it has given that up.
    pub(crate) epoch: u32,
    pub(crate) gave_up: bool,
    /// The losses of the world that it has looked for in its waits.
    pub(crate) losses_seen: u64,
    /// The wait in which it looks at other ranks' memory, if any.
    pub(crate) looking: Option<Looking>,
    /// Whether its program has begun.
    pub(crate) has_begun: bool,
}

impl RankState {
    /// A call that begins something; returns its number.
    pub(crate) fn begins(&mut self) -> u32 {
        (self.turns, self.looks) = (0, 0);
        self.begun += 1;
        self.begun
    }

    /// The wait that looks at other ranks' memory, if the rank is in one.
    pub(crate) fn looking(&self) -> Option<Looking> {
        self.looking.filter(|looking| looking.goes_on(self.begun))
    }

    /// Whether a wait of it may be for what its look asks.
    pub(crate) fn waits_in_a_look(&self) -> bool {
        self.looking().is_some_and(|looking| looking.asks(self.begun))
    }

    /// The name of its wait, if it waits for what only others can bring.
    pub(crate) fn waits_for(&self) -> Option<&'static str> {
        match (self.state, self.looking()) {
            (Activity::Over, _) => None,
            (Activity::Idle(why), None) => Some(why),
            (Activity::Idle(why), Some(looking)) if self.ops == 0 && why != looking.why => Some(why),
            (_, looking) => looking.map(|looking| looking.why),
        }
    }

    /// Whether it has ended, or waits and has nothing to handle.
    pub(crate) fn is_still(&self) -> bool {
        let has_news = || self.inbox.iter().any(|inbox| !inbox.is_empty()) || !self.control.is_empty();
        self.state == Activity::Over || self.waits_for().is_some() && !has_news()
    }
}

/// Conditions that ranks have to cope with beyond the costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardships {
    /// Ranks whose calls take so many times as long.
    pub slow: Vec<(u32, u32)>,
    /// Ranks that do nothing from one time to another.
    pub stalls: Vec<(u32, Time, Time)>,
    /// Most frames of one channel from one host to another that the receiver has not taken; a further one
    /// would block.
    pub frames: u16,
    /// Most one-sided operations of a rank under way; a further one would block.
    pub operations: u32,
    /// Ranks that die, and when.
    pub kills: Vec<(u32, Moment)>,
}

impl Default for Hardships {
    fn default() -> Hardships {
        Hardships { slow: Vec::new(), stalls: Vec::new(), frames: 64, operations: 4096, kills: Vec::new() }
    }
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events.
    pub events: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Transmissions lost, and repeated.
    pub lost: u64,
    /// Copies that the receivers recognised and dropped.
    pub doubled: u64,
    /// Turns given to ranks.
    pub turns: u64,
    /// Messages that hosts have taken and run a handler for.
    pub frames: u64,
}

/// The world.
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) number: u64,
    pub(crate) queue: BinaryHeap<QueuedEvent>,
    pub(crate) trace: u64,
    pub(crate) stats: Stats,
    pub(crate) rng: Rng,
    pub(crate) network: Network,
    pub(crate) ports: Vec<Port>,
    pub(crate) ranks: Vec<RankState>,
    /// Ranks whose turn comes next, at the present time.
    pub(crate) ready: VecDeque<u32>,
    pub(crate) packets: Slab<Packet>,
    pub(crate) ops: Slab<OneSidedOp>,
    pub(crate) slots: Slab<FrameBuf>,
    /// Buffers of frames for reuse, by size class.
    pub(crate) pools: [Vec<Box<[FrameLine]>>; 12],
    /// Who chooses what happens next, if the costs do not; and the ranks that have not started yet: until
    /// they have, there are no choices.
    pub(crate) chooser: Option<Box<Chooser>>,
    pub(crate) starting: u32,
    /// A rank whose NIC has found nothing at an address that it was given.
    pub(crate) without_memory: Option<u32>,
    pub(crate) chains: Chains,
    pub(crate) hardships: Hardships,
    /// The time that a rank which polls may be ahead of the clock, if ranks run ahead.
    pub(crate) most_ahead: Option<Time>,
    /// Time from the arrival of a put's bytes until its initiator can know of it: the way back.
    pub(crate) put_back: Time,
    /// NICs with firmware.
    pub(crate) cards: Vec<Option<Box<SimCard>>>,
    /// The hardware of a simulation without the runtime.
    pub(crate) device: Option<Box<dyn Events>>,
    /// The ranks' sides of the NICs.
    pub(crate) pagings: Vec<Option<Arc<Paging>>>,
    /// The time until which the processor of each rank is busy, where the program shares it.
    pub(crate) processors: Option<Vec<Time>>,
    /// Who shares memory with whom, if any do.
    pub(crate) shared_memory: Option<SharedMemory>,
    /// How long nothing has happened but looks in vain.
    pub(crate) quiet: Quiet,
    /// How often a rank has died, or given up a world.
    pub(crate) losses: u64,
    pub(crate) last_look: LastLook,
}

impl World {
    pub(crate) fn new(ranks: u32, seed: u64, network: Network, put_back: Time) -> World {
        let n = ranks as usize;
        World {
            now: Time::ZERO,
            number: 0,
            queue: BinaryHeap::new(),
            trace: 0xcbf2_9ce4_8422_2325 ^ seed,
            stats: Stats::default(),
            rng: Rng::new(seed),
            network,
            ports: vec![Port::default(); n],
            ranks: (0..n)
                .map(|_| RankState {
                    state: Activity::Ready,
                    since: Time::ZERO,
                    busy_until: Time::ZERO,
                    news: 0,
                    seen: 0,
                    waits: 0,
                    empty_polls: 0,
                    looks: 0,
                    inbox: [VecDeque::new(), VecDeque::new()],
                    control: VecDeque::new(),
                    done: VecDeque::new(),
                    transferred: VecDeque::new(),
                    segment: RankMemory::NONE,
                    strategy: None,
                    wishes: Vec::new(),
                    pinned: None,
                    registration: Default::default(),
                    ops: 0,
                    begun: 0,
                    turns: 0,
                    frames_out: 0,
                    untaken: Untaken::new(),
                    epoch: 0,
                    gave_up: false,
                    losses_seen: 0,
                    looking: None,
                    has_begun: false,
                })
                .collect(),
            ready: (0..ranks).collect(),
            packets: Slab::new(),
            ops: Slab::new(),
            slots: Slab::new(),
            pools: Default::default(),
            put_back,
            chooser: None,
            starting: ranks,
            without_memory: None,
            chains: Chains::new(ranks),
            hardships: Hardships::default(),
            most_ahead: None,
            cards: (0..n).map(|_| None).collect(),
            device: None,
            pagings: (0..n).map(|_| None).collect(),
            processors: None,
            shared_memory: None,
            quiet: Quiet::NEW,
            losses: 0,
            last_look: LastLook::default(),
        }
    }
}
