//! A network in memory, for tests: transfers end in any order and as late as possible, and ranks may die.

use gasnet_sys::mutex::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{BATCH_SLOTS, Buffer, Carrier, Message, Offering, Page, Remote, Report, TRAY_PAGES};

#[derive(Debug)]
enum Move {
    Out(Buffer, Remote),
    In(Buffer, Remote),
}

#[derive(Debug, Default)]
struct End {
    slots: HashMap<u64, Box<Page>>,
    inbox: VecDeque<(u32, Message)>,
    dead: bool,
}

/// The ranks, and what is on its way.
#[derive(Debug)]
pub(in crate::pager) struct Net {
    ends: Vec<End>,
    /// The present key of each batch, by rank and number; how many there have been; and transfers that were
    /// refused for theirs.
    keys: HashMap<(u32, u32), u64>,
    drawn: u64,
    pub(super) refused: u64,
    random: fastrand::Rng,
}

/// One rank's carrier.
#[derive(Debug)]
pub(in crate::pager) struct NetEnd {
    me: u32,
    net: Arc<Mutex<Net>>,
    trays: Vec<Vec<Page>>,
    moves: Vec<Move>,
}

impl Net {
    pub(in crate::pager) fn new(ranks: u32, seed: u64) -> Arc<Mutex<Net>> {
        let ends = (0..ranks).map(|_| End::default()).collect();
        Arc::new(Mutex::new(Net {
            ends,
            keys: HashMap::new(),
            drawn: 0,
            refused: 0,
            random: fastrand::Rng::with_seed(seed),
        }))
    }

    /// A new key for a batch. The old one opens nothing.
    pub(in crate::pager) fn renew(&mut self, rank: u32, batch: u32) -> u64 {
        self.drawn += 1;
        self.keys.insert((rank, batch), self.drawn);
        self.drawn
    }

    /// The memory that a rank offers to others.
    pub(in crate::pager) fn offering(&mut self, rank: u32, batches: u32, to: Vec<u32>) -> Offering {
        Offering { at: 0, keys: (0..batches).map(|batch| self.renew(rank, batch)).collect(), to }
    }

    /// A rank dies with its memory; the others are told.
    pub(super) fn kill(&mut self, rank: u32) {
        for (other, end) in self.ends.iter_mut().enumerate() {
            if other as u32 != rank {
                end.inbox.extend([(rank, Message::Gone), (rank, Message::Leave)]);
            }
        }
        self.ends[rank as usize] = End { dead: true, ..End::default() };
    }
}

impl NetEnd {
    pub(in crate::pager) fn new(net: &Arc<Mutex<Net>>, me: u32, trays: usize) -> NetEnd {
        let trays = vec![vec![Page([0; super::PAGE_BYTES as usize]); TRAY_PAGES]; trays];
        NetEnd { me, net: net.clone(), trays, moves: Vec::new() }
    }

    fn net(&self) -> MutexGuard<'_, Net> {
        lock(&self.net)
    }

    fn carry_out(&mut self, moved: Move) -> Report {
        let net = self.net.clone();
        let mut net = lock(&net);
        let (Move::Out(at, remote) | Move::In(at, remote)) = moved;
        let batch = (remote.rank, (remote.slot / BATCH_SLOTS as u64) as u32);
        if net.keys[&batch] != remote.area.key {
            net.refused += 1;
            return Report::Moved(at, false);
        }
        let end = &mut net.ends[remote.rank as usize];
        let page = &mut self.trays[at.tray][at.page];
        match moved {
            _ if end.dead => return Report::Moved(at, false),
            Move::Out(..) => _ = end.slots.insert(remote.slot, Box::new(*page)),
            Move::In(..) => *page = *end.slots[&remote.slot],
        }
        Report::Moved(at, true)
    }
}

impl Carrier for NetEnd {
    fn trays(&self) -> usize {
        self.trays.len()
    }

    fn fill(&mut self, at: Buffer, page: &Page) {
        self.trays[at.tray][at.page] = *page;
    }

    fn pages(&self, tray: usize, count: usize) -> &[Page] {
        &self.trays[tray][..count]
    }

    fn write(&mut self, from: Buffer, to: Remote) {
        self.moves.push(Move::Out(from, to));
    }

    fn read(&mut self, to: Buffer, from: Remote) {
        self.moves.push(Move::In(to, from));
    }

    fn send(&mut self, to: u32, message: Message) {
        let message = Message::decode(&message.encode()).expect("a message");
        let me = self.me;
        let mut net = self.net();
        if !net.ends[me as usize].dead && !net.ends[to as usize].dead {
            net.ends[to as usize].inbox.push_back((me, message));
        }
    }

    fn next(&mut self) -> Option<Report> {
        let (me, moves) = (self.me as usize, self.moves.len());
        let mut net = self.net();
        let (late, which) = (net.random.u8(..3) == 0, net.random.usize(..moves + 1));
        if late {
            return None;
        }
        if which < moves {
            drop(net);
            let moved = self.moves.swap_remove(which);
            return Some(self.carry_out(moved));
        }
        net.ends[me].inbox.pop_front().map(|(from, message)| Report::Told(from, message))
    }
}
