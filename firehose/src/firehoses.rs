//! The firehose table: which buckets of which peers this node holds, and the victim FIFO of each peer.
//!
//! ```text
//!   (none) -> Pending -> Ready -> (none): victim of a later move, or invalidated
//!                          \-> Condemned -> (none) when its last operation ends
//! ```
//! A slot is 32 bytes, aligned: a hit reads and writes one cache line of the table and the end of a queue. `count` is the
//! number of operations that use the firehose. A firehose in use is never let go; one whose registration turned out void
//! while in use is `Condemned`: no further operation may use it, and it keeps its place among the `F` until the last one ends.

use std::collections::{HashMap, VecDeque};

use crate::action::{Held, Keys, Run};
use crate::config::{BUCKET_BITS, Node};
use crate::fifo::{Fifo, Pool};
use crate::table::{Slot, Table, VACANT};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    Ready,
    Condemned,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Firehose {
    /// Node and bucket.
    place: u64,
    /// Key of the registration; 0 while pending.
    key: u64,
    count: u32,
    stamp: u32,
    state: State,
}

impl Slot for Firehose {
    fn vacant() -> Firehose {
        Firehose { place: VACANT, key: 0, count: 0, stamp: 0, state: State::Pending }
    }

    #[inline]
    fn id(&self) -> u64 {
        self.place
    }
}

impl Firehose {
    fn is_victim(&self, stamp: u32) -> bool {
        self.stamp == stamp && self.count == 0 && self.state == State::Ready
    }
}

#[inline]
fn place(node: Node, bucket: u64) -> u64 {
    u64::from(node) << BUCKET_BITS | bucket
}

fn bucket_of(place: u64) -> u64 {
    place & ((1 << BUCKET_BITS) - 1)
}

#[derive(Debug, Default)]
struct Peer {
    /// Firehoses to it, of at most `F`.
    used: u64,
    /// Those that are ready and unused.
    idle: u64,
    victims: Fifo,
    /// Operations that wait until firehoses become free, and hold none.
    line: VecDeque<u32>,
}

/// What became of an attempt to take firehoses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All were there.
    Hit(Keys),
    /// All are counted on; `missing` must arrive. What has to be sent, unless it is under way already.
    Miss { release: Vec<Held>, acquire: Vec<Run>, missing: u64 },
    /// Not enough can be freed now. Nothing is counted on.
    Blocked,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Firehoses {
    /// `F`.
    most: u64,
    table: Table<Firehose>,
    pool: Pool,
    peers: Vec<Peer>,
    /// Operations waiting for a pending firehose.
    waiting: HashMap<u64, Vec<u32>>,
}

impl Firehoses {
    pub fn new(nodes: u32, most: u64) -> Firehoses {
        let mut peers = Vec::new();
        peers.resize_with(nodes as usize, Peer::default);
        Firehoses { most, table: Table::with_room(0), pool: Pool::default(), peers, waiting: HashMap::new() }
    }

    /// `F`.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Operations that wait for firehoses to the peer.
    pub fn line(&mut self, node: Node) -> &mut VecDeque<u32> {
        &mut self.peers[node as usize].line
    }

    /// Counts on a firehose if it is ready.
    #[inline]
    pub fn hit(&mut self, node: Node, bucket: u64) -> Option<u64> {
        let firehose = self.table.get_mut(place(node, bucket))?;
        if firehose.state != State::Ready {
            return None;
        }
        if firehose.count == 0 {
            self.peers[node as usize].idle -= 1;
        }
        firehose.count += 1;
        Some(firehose.key)
    }

    /// Counts on all firehoses for the buckets, or on none. The operation will be named when missing ones arrive.
    pub fn take(&mut self, node: Node, run: Run, op: u32) -> Taken {
        if run.count == 1
            && let Some(key) = self.hit(node, run.first)
        {
            return Taken::Hit(Keys::Uniform(key));
        }
        let (mut fresh, mut missing, mut idle) = (0, 0, 0);
        for bucket in run.buckets() {
            match self.table.get(place(node, bucket)) {
                None => fresh += 1,
                Some(firehose) => match firehose.state {
                    State::Condemned => return Taken::Blocked,
                    State::Pending => missing += 1,
                    State::Ready => idle += u64::from(firehose.count == 0),
                },
            }
        }
        let peer = &self.peers[node as usize];
        // Own firehoses cannot be victims of the same move.
        if peer.used + fresh > self.most + (peer.idle - idle) {
            return Taken::Blocked;
        }
        missing += fresh;
        let mut acquire = Vec::new();
        for bucket in run.buckets() {
            let place = place(node, bucket);
            let waits = match self.table.get_mut(place) {
                None => {
                    self.table.insert(Firehose { place, count: 1, ..Firehose::vacant() });
                    Run::append(&mut acquire, bucket);
                    true
                }
                Some(firehose) => {
                    firehose.count += 1;
                    firehose.state == State::Pending
                }
            };
            if waits {
                self.waiting.entry(place).or_default().push(op);
            }
        }
        let peer = &mut self.peers[node as usize];
        peer.idle -= idle;
        peer.used += fresh;
        if missing == 0 {
            return Taken::Hit(self.keys(node, run, &[]));
        }
        let mut release = Vec::new();
        while peer.used > self.most {
            let table = &self.table;
            let live = |place, stamp| table.get(place).is_some_and(|firehose| firehose.is_victim(stamp));
            let victim = peer.victims.pop(&mut self.pool, live);
            let Some(victim) = victim.and_then(|place| self.table.remove(place)) else {
                debug_assert!(false, "{} idle firehoses, and none in the FIFO", peer.idle);
                break;
            };
            peer.used -= 1;
            peer.idle -= 1;
            Held::append(&mut release, bucket_of(victim.place), victim.key);
        }
        Taken::Miss { release, acquire, missing }
    }

    /// Keys of firehoses that are counted on; 0 for those among `failed`.
    pub fn keys(&self, node: Node, run: Run, failed: &[u64]) -> Keys {
        Keys::collect(run.count, |i| {
            let bucket = run.first + i;
            if failed.contains(&bucket) {
                return 0;
            }
            self.table.get(place(node, bucket)).map_or(0, |firehose| firehose.key)
        })
    }

    /// The answer for a bucket of a move: its key, or 0 if it failed. Returns the operations that waited for it.
    pub fn moved(&mut self, node: Node, bucket: u64, key: u64) -> Vec<u32> {
        let place = place(node, bucket);
        let Some(firehose) = self.table.get_mut(place).filter(|f| f.state == State::Pending) else {
            debug_assert!(false, "bucket {bucket:#x} was not asked for");
            return Vec::new();
        };
        if key == 0 {
            self.table.remove(place);
            self.peers[node as usize].used -= 1;
        } else {
            firehose.key = key;
            firehose.state = State::Ready;
        }
        self.waiting.remove(&place).unwrap_or_default()
    }

    /// An operation ended that counted on the firehose.
    #[inline]
    pub fn release(&mut self, node: Node, bucket: u64, key: u64) {
        let place = place(node, bucket);
        let Some(firehose) = self.table.get_mut(place) else { return };
        if firehose.key != key || key == 0 {
            return;
        }
        debug_assert!(firehose.count > 0, "released what nobody used");
        firehose.count -= 1;
        if firehose.count > 0 {
            return;
        }
        let peer = &mut self.peers[node as usize];
        if firehose.state == State::Condemned {
            self.table.remove(place);
            peer.used -= 1;
            return;
        }
        peer.idle += 1;
        // Most often the same queue's last record can be written over, or there is room for one more.
        let table = &self.table;
        let live = |place, stamp| table.get(place).is_some_and(|firehose| firehose.is_victim(stamp));
        let stamp = peer.victims.push(&mut self.pool, place, live);
        if let Some(firehose) = self.table.get_mut(place) {
            firehose.stamp = stamp;
        }
    }

    /// The peer's registration with that key is void.
    pub fn invalidate(&mut self, node: Node, bucket: u64, key: u64) {
        let place = place(node, bucket);
        let Some(firehose) = self.table.get_mut(place) else { return };
        if firehose.state != State::Ready || firehose.key != key {
            return;
        }
        if firehose.count > 0 {
            firehose.state = State::Condemned;
            return;
        }
        self.table.remove(place);
        let peer = &mut self.peers[node as usize];
        peer.used -= 1;
        peer.idle -= 1;
    }

    /// How many of the leading buckets are ready.
    pub fn ready(&self, node: Node, run: Run) -> u64 {
        let ready =
            |bucket: &u64| self.table.get(place(node, *bucket)).is_some_and(|f| f.state == State::Ready);
        run.buckets().take_while(ready).count() as u64
    }

    /// Firehoses to a peer.
    pub fn used(&self, node: Node) -> u64 {
        self.peers[node as usize].used
    }

    /// The operations that use a firehose; `None` if there is none.
    pub fn count(&self, node: Node, bucket: u64) -> Option<u32> {
        self.table.get(place(node, bucket)).map(|firehose| firehose.count)
    }

    /// Panics if the counters are not what the table says. For tests.
    pub fn audit(&self) {
        for (node, peer) in self.peers.iter().enumerate() {
            let mine = |f: &&Firehose| f.place >> BUCKET_BITS == node as u64;
            let used = self.table.iter().filter(mine).count() as u64;
            let idle = |f: &&Firehose| mine(f) && f.count == 0 && f.state == State::Ready;
            assert_eq!(peer.used, used, "firehoses to {node}");
            assert_eq!(peer.idle, self.table.iter().filter(idle).count() as u64, "idle firehoses to {node}");
            assert!(used <= self.most, "{used} firehoses to {node}, at most {}", self.most);
        }
    }
}
