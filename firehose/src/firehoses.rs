//! The firehoses of this node: which buckets of which peers it holds.
//!
//! ```text
//!   (none) -> Pending -> Ready -> (none): victim of a later move, or invalidated
//!                          \-> Condemned -> (none) when its last operation ends
//! ```
//! `count` is the number of operations that use the firehose. A firehose in use is never dropped. If its
//! registration becomes void while it is in use, it is `Condemned`: no further operation may use it, and it
//! still counts among the `F` until the last operation ends.
//!
//! **The hit** reads and writes one slot of 32 bytes, and nothing else that depends on the bucket. So there
//! is no linked list: a release writes the time into the slot. When a move needs victims, the unused
//! firehoses to that peer are gathered and the oldest quarter is sorted. That list is used until it is empty.
//! A firehose used since has a later time and is skipped; a firehose that is not on the list is younger. So
//! the order is exactly that of a queue, and a victim costs a few slots read in sequence.

use std::collections::{HashMap, VecDeque};

use crate::run::Node;
use crate::run::{Held, Keys, Run};
use crate::table::{Table, TableSlot, VACANT};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirehoseState {
    Pending,
    Ready,
    Condemned,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct HeldFirehose {
    bucket: u64,
    /// Key of the registration; 0 while pending.
    key: u64,
    /// Time of its last release, counted in releases of that peer's firehoses.
    time: u64,
    count: u32,
    state: FirehoseState,
}

impl TableSlot for HeldFirehose {
    fn vacant() -> HeldFirehose {
        HeldFirehose { bucket: VACANT, key: 0, time: 0, count: 0, state: FirehoseState::Pending }
    }

    #[inline]
    fn id(&self) -> u64 {
        self.bucket
    }
}

impl HeldFirehose {
    fn is_idle(&self) -> bool {
        self.count == 0 && self.state == FirehoseState::Ready
    }
}

#[derive(Debug)]
struct PeerFirehoses {
    /// The firehoses, at most `F`.
    table: Table<HeldFirehose>,
    /// Number of firehoses that are ready and unused.
    idle: u64,
    clock: u64,
    /// The oldest unused firehoses: time and bucket, the oldest last.
    victims: Vec<(u64, u64)>,
    /// Operations that wait until firehoses become free; they hold none.
    line: VecDeque<u32>,
}

impl PeerFirehoses {
    /// The unused firehose that was released first.
    fn victim(&mut self) -> Option<HeldFirehose> {
        loop {
            while let Some((time, bucket)) = self.victims.pop() {
                if self.table.get(bucket).is_some_and(|firehose| firehose.time == time && firehose.is_idle())
                {
                    self.idle -= 1;
                    return self.table.remove(bucket);
                }
            }
            let idle = self.table.iter().filter(|firehose| firehose.is_idle());
            self.victims.extend(idle.map(|firehose| (firehose.time, firehose.bucket)));
            let some = (self.victims.len() / 4).max(64);
            if some < self.victims.len() {
                self.victims.select_nth_unstable(some);
                self.victims.truncate(some);
            }
            self.victims.sort_unstable_by(|a, b| b.cmp(a));
            if self.victims.is_empty() {
                return None;
            }
        }
    }
}

/// The result of an attempt to take firehoses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All firehoses were there.
    Hit(Keys),
    /// All are referenced, and `missing` of them must arrive. `release` and `acquire` must be sent, unless
    /// they are under way.
    Miss { release: Vec<Held>, acquire: Vec<Run>, missing: u64 },
    /// Not enough can be freed now. Nothing is referenced.
    Blocked,
}

/// The firehoses to all peers.
#[derive(Debug)]
pub(crate) struct Firehoses {
    /// `F`.
    most: u64,
    peers: Vec<PeerFirehoses>,
    /// Operations waiting for a pending firehose.
    waiting: HashMap<(Node, u64), Vec<u32>>,
}

impl Firehoses {
    pub fn new(nodes: u32, most: u64) -> Firehoses {
        let peer = || PeerFirehoses {
            table: Table::default(),
            idle: 0,
            clock: 0,
            victims: Vec::new(),
            line: VecDeque::new(),
        };
        let mut peers = Vec::new();
        peers.resize_with(nodes as usize, peer);
        Firehoses { most, peers, waiting: HashMap::new() }
    }

    /// `F`.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Operations that wait for firehoses to the peer.
    #[inline]
    pub fn line(&mut self, node: Node) -> &mut VecDeque<u32> {
        &mut self.peers[node as usize].line
    }

    /// Takes a reference to a firehose if it is ready.
    #[inline]
    pub fn hit(&mut self, node: Node, bucket: u64) -> Option<u64> {
        let peer = &mut self.peers[node as usize];
        let firehose = peer.table.get_mut(bucket)?;
        if firehose.state != FirehoseState::Ready {
            return None;
        }
        peer.idle -= u64::from(firehose.count == 0);
        firehose.count += 1;
        Some(firehose.key)
    }

    /// Takes references to the firehoses for all buckets, or to none. Missing ones name the operation when
    /// they arrive.
    #[inline]
    pub fn take(&mut self, node: Node, run: Run, op: u32) -> Taken {
        if run.count == 1
            && let Some(key) = self.hit(node, run.first)
        {
            return Taken::Hit(Keys::Uniform(key));
        }
        self.take_all(node, run, op)
    }

    fn take_all(&mut self, node: Node, run: Run, op: u32) -> Taken {
        let peer = &mut self.peers[node as usize];
        let (mut fresh, mut missing, mut idle) = (0, 0, 0);
        for bucket in run.buckets() {
            match peer.table.get(bucket) {
                None => fresh += 1,
                Some(firehose) => match firehose.state {
                    FirehoseState::Condemned => return Taken::Blocked,
                    FirehoseState::Pending => missing += 1,
                    FirehoseState::Ready => idle += u64::from(firehose.count == 0),
                },
            }
        }
        // The operation's own firehoses cannot be victims of its move.
        if peer.table.len() as u64 + fresh > self.most + (peer.idle - idle) {
            return Taken::Blocked;
        }
        missing += fresh;
        peer.idle -= idle;
        let mut acquire = Vec::new();
        let mut count = |bucket| {
            let waits = match peer.table.get_mut(bucket) {
                None => {
                    Run::append(&mut acquire, bucket);
                    true
                }
                Some(firehose) => {
                    firehose.count += 1;
                    firehose.state == FirehoseState::Pending
                }
            };
            if waits {
                self.waiting.entry((node, bucket)).or_default().push(op);
            }
        };
        run.buckets().for_each(&mut count);
        if missing == 0 {
            return Taken::Hit(self.keys(node, run, &[]));
        }
        let mut release = Vec::new();
        while peer.table.len() as u64 + fresh > self.most {
            let Some(victim) = peer.victim() else {
                debug_assert!(false, "{} idle firehoses, and none found", peer.idle);
                break;
            };
            Held::append(&mut release, victim.bucket, victim.key);
        }
        for bucket in acquire.iter().flat_map(|run| run.buckets()) {
            peer.table.insert(HeldFirehose { bucket, count: 1, ..HeldFirehose::vacant() });
        }
        Taken::Miss { release, acquire, missing }
    }

    /// Keys of referenced firehoses; 0 for those among `failed`.
    pub fn keys(&self, node: Node, run: Run, failed: &[u64]) -> Keys {
        let table = &self.peers[node as usize].table;
        Keys::collect(run.count, |i| {
            let bucket = run.first + i;
            if failed.contains(&bucket) {
                return 0;
            }
            table.get(bucket).map_or(0, |firehose| firehose.key)
        })
    }

    /// The answer for a bucket of a move: its key, or 0 if it failed. Returns the operations that waited for
    /// it.
    pub fn moved(&mut self, node: Node, bucket: u64, key: u64) -> Vec<u32> {
        let table = &mut self.peers[node as usize].table;
        let Some(firehose) = table.get_mut(bucket).filter(|f| f.state == FirehoseState::Pending) else {
            debug_assert!(false, "bucket {bucket:#x} was not asked for");
            return Vec::new();
        };
        if key == 0 {
            table.remove(bucket);
        } else {
            firehose.key = key;
            firehose.state = FirehoseState::Ready;
        }
        self.waiting.remove(&(node, bucket)).unwrap_or_default()
    }

    /// An operation that had a reference to the firehose ended.
    #[inline]
    pub fn release(&mut self, node: Node, bucket: u64, key: u64) {
        let peer = &mut self.peers[node as usize];
        let Some(firehose) = peer.table.get_mut(bucket) else { return };
        if firehose.key != key || key == 0 {
            return;
        }
        debug_assert!(firehose.count > 0, "released what nobody used");
        firehose.count -= 1;
        if firehose.count > 0 {
            return;
        }
        if firehose.state == FirehoseState::Condemned {
            peer.table.remove(bucket);
            return;
        }
        peer.clock += 1;
        firehose.time = peer.clock;
        peer.idle += 1;
    }

    /// The peer's registration with that key is void.
    pub fn invalidate(&mut self, node: Node, bucket: u64, key: u64) {
        let peer = &mut self.peers[node as usize];
        let Some(firehose) = peer.table.get_mut(bucket) else { return };
        if firehose.state != FirehoseState::Ready || firehose.key != key {
            return;
        }
        if firehose.count > 0 {
            firehose.state = FirehoseState::Condemned;
            return;
        }
        peer.table.remove(bucket);
        peer.idle -= 1;
    }

    /// How many of the leading buckets are ready.
    pub fn ready(&self, node: Node, run: Run) -> u64 {
        let table = &self.peers[node as usize].table;
        let ready = |bucket: &u64| table.get(*bucket).is_some_and(|f| f.state == FirehoseState::Ready);
        run.buckets().take_while(ready).count() as u64
    }

    /// Firehoses to a peer.
    pub fn used(&self, node: Node) -> u64 {
        self.peers[node as usize].table.len() as u64
    }

    /// The operations that use a firehose; `None` if there is none.
    pub fn count(&self, node: Node, bucket: u64) -> Option<u32> {
        self.peers[node as usize].table.get(bucket).map(|firehose| firehose.count)
    }

    /// Panics if the counters are not what the tables say. For tests.
    pub fn audit(&self) {
        for (node, peer) in self.peers.iter().enumerate() {
            let idle = peer.table.iter().filter(|firehose| firehose.is_idle()).count();
            assert_eq!(peer.idle, idle as u64, "idle firehoses to {node}");
            let used = peer.table.len() as u64;
            assert!(used <= self.most, "{used} firehoses to {node}, at most {}", self.most);
        }
    }
}
