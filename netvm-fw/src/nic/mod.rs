//! The firmware: takes commands of ports and packets of other NICs, moves bytes, keeps the windows.
//!
//! [`Nic::handle`] takes one [`Event`] and appends [`Action`]s. The firmware does its actions in order, one after the other:
//! a [`Work`] item is time of its processor, and what stands behind it begins after it; DMA, packets and interrupts run beside
//! it from where they stand. Live drivers skip `Work`.
//!
//! **Drivers owe**: an [`Event::DmaRead`] or [`Event::DmaWritten`] for each DMA; the packet's bytes to the node in `head.to`, once,
//! in any order (copies are recognised and dropped); each [`Post`] applied to the port's memory, in order, before a later
//! interrupt of the port; interrupts to [`Host`](crate::host::Host), in order, and its replies back, in order.
//!
//! **Sending.** Commands of a port to one peer leave in the order of the queue; peers and ports do not wait for each other. A
//! message gets its number when it is ready for the wire. What has no credit waits in the NIC, up to a bound for each peer;
//! beyond it, in the port's queue.
//!
//! **Completion** of a command means that the NIC needs neither its place nor its source bytes any more. Counts are of prefixes.
//!
//! **Nothing waits inside.** A page that is missing becomes an interrupt; whatever is under way is in a table here, or in the
//! bounce buffer.

mod atomic;
mod count;
mod receive;
mod send;
mod trigger;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::atomics::{OPERAND, Op};
use crate::ids::{Node, PAGE, Place, PortId, Ppn, Vpn};
use crate::port::{PortMemory, Post};
use crate::shadow::{Lease, LockError, NicTable};
use crate::wire::{BadHead, Head, Span};
use count::PortState;
use send::Peer;

pub use trigger::ARMED;

/// Time of the job, in nanoseconds. The firmware reads no clock.
pub type Nanos = u64;

/// A DMA that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

/// What happens to a NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A port has one more command. (What [`Doorbell::answer`](crate::port::Doorbell::answer) returns.)
    Doorbell(PortId),
    /// The head of a packet is in, the rest on its way: locks the page ahead. Optional; the whole packet must follow.
    Head(Head),
    /// A packet is in.
    Packet {
        /// Its head.
        head: Head,
        /// What followed it.
        payload: Vec<u8>,
    },
    /// The bytes of a [`Action::DmaRead`].
    DmaRead {
        /// Which one.
        op: OpId,
        /// The buffer that came with it, filled.
        data: Vec<u8>,
    },
    /// An [`Action::DmaWrite`] is in memory.
    DmaWritten {
        /// Which one.
        op: OpId,
        /// The buffer that came with it.
        data: Vec<u8>,
    },
    /// The host has something to say.
    Host(HostReply),
}

/// What the host tells its NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostReply {
    /// The bytes of this bounced message are in place.
    Placed(Head),
    /// This message must not be carried out: its page is not exported (any more).
    Refuse {
        /// The message.
        head: Head,
        /// It is a deferred read.
        deferred: bool,
    },
    /// The page that this bounced or deferred read, or bounced atomic or combining write, needs is there now, and held until `Settled`.
    Restart {
        /// The message.
        head: Head,
        /// It is a deferred read.
        deferred: bool,
    },
    /// The read that was deferred for lack of a credit; follows [`Interrupt::Credits`], as often as it says.
    Undefer(Head),
    /// The page that this command needs is there now, and held until `Settled`.
    Resume(OpId),
    /// The page that this command needs does not exist.
    Abandon(OpId),
    /// End all leases of a frame, which held this page. Answer: `Recalled`.
    BreakLeases {
        /// The frame.
        ppn: Ppn,
        /// The page.
        vpn: Vpn,
    },
}

/// Why the host is interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    /// A message went to the bounce buffer, slot `head.seq % 64` of peer `head.from`: its page is missing, or it is for the host.
    /// Answer: `Placed`, `Refuse` or `Restart`.
    Bounced {
        /// The message.
        head: Head,
        /// Its payload.
        payload: Vec<u8>,
    },
    /// A restarted read or atomic missed again, or a deferred read missed. Answer: `Restart` or `Refuse`.
    StillMissing {
        /// The message.
        head: Head,
        /// It is a deferred read.
        deferred: bool,
    },
    /// A `Restart` or `Resume` for this page was dealt with: it is locked, or asked for again (just before this). One hold
    /// of the host is over.
    Settled(Vpn),
    /// A command of an own port needs this page. Answer: `Resume` or `Abandon`.
    SourceMissing {
        /// The command.
        op: OpId,
        /// What it needs.
        span: Span,
    },
    /// A read came from a node that we have no credit for. Keep it until [`Interrupt::Credits`].
    Deferred(Head),
    /// So many deferred reads of this node may go on: answer with `Undefer` for each.
    Credits {
        /// The node.
        node: Node,
        /// How many.
        reads: u32,
    },
    /// A port has a notice in its queue: wake it, or run its dispatcher.
    Notice(PortId),
    /// The leases of a frame have ended. Not an error of anybody's: whoever uses one takes the ordinary way.
    Recalled {
        /// The frame.
        ppn: Ppn,
        /// The page that the host named.
        vpn: Vpn,
        /// How many there were.
        leases: u32,
    },
}

/// A stretch of a frame, for DMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stretch {
    /// Its first byte.
    pub at: Place,
    /// How many.
    pub len: u32,
}

/// What a NIC does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Time of its processor.
    Work(Work),
    /// Fetch bytes of a locked frame.
    DmaRead {
        /// Comes back with the bytes.
        op: OpId,
        /// What to fetch.
        from: Stretch,
        /// A buffer for them, of any length.
        into: Vec<u8>,
    },
    /// Put bytes into a locked frame.
    DmaWrite {
        /// Comes back when they are there.
        op: OpId,
        /// Where they go.
        to: Place,
        /// The bytes.
        data: Vec<u8>,
    },
    /// Send a packet.
    Send {
        /// Its head, with destination.
        head: Head,
        /// What follows it.
        payload: Vec<u8>,
        /// The bytes came by DMA, so the head could go out meanwhile.
        overlapped: bool,
    },
    /// Write to a port's host memory.
    Post(PortId, Post),
    /// Interrupt the host. `Bounced` includes a DMA of the message to the bounce buffer.
    Interrupt(Interrupt),
}

/// Work of the NIC's processor, for drivers that put a price on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// Took a command out of a queue.
    Command,
    /// Took a packet and looked at its head.
    Packet,
    /// Took note that a DMA has ended.
    Dma,
    /// Set up a packet.
    Send,
    /// Found and locked a page.
    Lock,
    /// Used a lease.
    LockLeased,
    /// Looked for a page in vain.
    LockMiss,
    /// Unlocked a page that it had read.
    Unlock,
    /// Unlocked a page that it had written.
    UnlockDirty,
    /// Moved a window on.
    Window,
    /// Counted a notification.
    Raise,
    /// Did an atomic operation.
    Compute(Op),
    /// Folded so many bytes into memory.
    Fold(u32),
    /// Took a reply of the host.
    Host,
}

/// What a NIC has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Commands taken.
    pub commands: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Pages locked for one operation.
    pub locks: u64,
    /// Pages used through a lease.
    pub leased: u64,
    /// Leases ended because the host wanted their frames.
    pub recalled: u64,
    /// Pages not found.
    pub misses: u64,
    /// Messages to the bounce buffer because of a missing page.
    pub bounces: u64,
    /// Reads deferred for lack of credits.
    pub deferred: u64,
    /// Times that a message found no credit.
    pub stalls: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Operations refused: wrong key, page that is not exported.
    pub refused: u64,
    /// Commands and packets dropped because they were malformed.
    pub malformed: u64,
    /// Packets dropped because they had come before.
    pub duplicates: u64,
    /// Notifications raised.
    pub notifications: u64,
    /// Atomics done here.
    pub atomics: u64,
    /// Combining writes done here.
    pub folds: u64,
    /// Commands that were armed with a trigger.
    pub armed: u64,
    /// Those of them that were carried out.
    pub triggered: u64,
}

/// Settings of a NIC.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config {
    /// This node.
    pub node: Node,
    /// All nodes are 0 to `nodes - 1`.
    pub nodes: u32,
    /// Messages to one peer that the NIC keeps while there is no credit.
    pub staged: u32,
}

impl Config {
    /// The usual settings.
    pub fn new(node: Node, nodes: u32) -> Config {
        Config { node, nodes, staged: crate::window::WINDOW }
    }
}

/// What a DMA or a missing page is part of.
#[derive(Debug)]
enum Pending {
    /// Source bytes of the entry with this number of a lane.
    Load { head: Head, command: u32, entry: u32, ppn: Option<Ppn> },
    /// Bytes of a write or read reply, into their page.
    Store { head: Head, ppn: Ppn },
    /// Bytes that a read asked for.
    Fetch { head: Head, ppn: Ppn, origin: Origin },
    /// The operand of an atomic, or the words that a combining write with this payload goes to.
    Operand { head: Head, payload: Vec<u8>, ppn: Ppn },
    /// The same, back to memory.
    WriteBack { head: Head, ppn: Ppn },
    /// A lease that waits for its page.
    Lease { head: Head, command: u32 },
}

/// How a message from afar came to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// As a packet.
    Packet,
    /// Its page was missing; the host brought it.
    Restarted,
    /// It is a read that waited for a credit: its number is done.
    Deferred,
}

/// The firmware of one NIC.
#[derive(Debug)]
pub struct Nic {
    config: Config,
    table: NicTable,
    ports: HashMap<PortId, PortState>,
    peers: Vec<Option<Box<Peer>>>,
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Locks taken when only the head was in.
    early: Vec<(Node, u32, Result<Ppn, LockError>)>,
    /// Frames with an atomic or combining write under way, and those that wait for it.
    atomics: HashMap<Ppn, VecDeque<(Head, Vec<u8>)>>,
    /// Payloads of combining writes whose page is missing: the host cannot carry them out.
    parked: Vec<(Node, u32, Vec<u8>)>,
    buffers: Vec<Vec<u8>>,
    stats: Stats,
    now: Nanos,
}

impl Nic {
    /// A NIC with its side of the shadow table.
    pub fn new(config: Config, table: NicTable) -> Nic {
        Nic {
            config,
            table,
            ports: HashMap::new(),
            peers: (0..config.nodes).map(|_| None).collect(),
            pending: Vec::new(),
            free: Vec::new(),
            early: Vec::new(),
            atomics: HashMap::new(),
            parked: Vec::new(),
            buffers: Vec::new(),
            stats: Stats::default(),
            now: 0,
        }
    }

    /// Opens a port. Its number must not be in use.
    pub fn open_port(&mut self, port: PortId, memory: Arc<PortMemory>) {
        let old = self.ports.insert(port, PortState::new(memory));
        assert!(old.is_none(), "port {} is open", port.0);
    }

    /// Closes a port: commands that were not taken are dropped, answers and notifications for it are ignored. Unexport its
    /// segments first.
    pub fn close_port(&mut self, port: PortId) {
        self.ports.remove(&port);
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// When [`handle`](Self::handle) was last called.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Credits for messages to a node.
    pub fn credits(&self, node: Node) -> u32 {
        self.peers[node.0 as usize].as_ref().map_or(crate::window::WINDOW, |peer| peer.credits())
    }

    /// Whether nothing is under way: no DMA, no missing page, nothing waiting for a credit.
    pub fn is_idle(&self) -> bool {
        self.pending.iter().all(Option::is_none)
            && self.early.is_empty()
            && self.atomics.is_empty()
            && self.parked.is_empty()
            && self.peers.iter().flatten().all(|peer| peer.is_idle())
    }

    /// Leases a page of this node without a command: for a pager or Firehose that runs beside the NIC.
    pub fn lease(&mut self, span: Span) -> Result<Lease, LockError> {
        self.table.lease(span.vpn, span.hash, span.key)
    }

    /// Ends a lease. False: it had been broken.
    pub fn end_lease(&mut self, lease: Lease) -> bool {
        self.table.end_lease(lease)
    }

    /// The NIC's side of the shadow table.
    pub fn table(&self) -> &NicTable {
        &self.table
    }

    /// Takes in what happened at `now`, and appends what to do.
    pub fn handle(&mut self, now: Nanos, event: Event, out: &mut Vec<Action>) {
        self.now = now;
        match event {
            Event::Doorbell(port) => self.take_command(port, out),
            Event::Head(head) => self.head(head, out),
            Event::Packet { head, payload } => self.packet(head, payload, out),
            Event::DmaRead { op, data } => self.dma_read(op, data, out),
            Event::DmaWritten { op, data } => self.dma_written(op, data, out),
            Event::Host(reply) => self.host(reply, out),
        }
    }

    fn dma_read(&mut self, op: OpId, data: Vec<u8>, out: &mut Vec<Action>) {
        out.push(Action::Work(Work::Dma));
        match self.finish(op) {
            Pending::Load { head, command, entry, ppn } => {
                self.unlock(ppn.expect("a DMA has a frame"), false, out);
                self.loaded(head, command, entry, data, out);
            }
            Pending::Fetch { head, ppn, origin } => {
                self.unlock(ppn, false, out);
                self.read_reply(head, data, out);
                if origin != Origin::Deferred {
                    self.complete(head, false, out);
                }
            }
            Pending::Operand { head, payload, ppn } => self.operand(head, payload, ppn, data, out),
            other => unreachable!("no DMA read was asked for by {other:?}"),
        }
    }

    fn dma_written(&mut self, op: OpId, data: Vec<u8>, out: &mut Vec<Action>) {
        out.push(Action::Work(Work::Dma));
        self.recycle(data);
        match self.finish(op) {
            Pending::Store { head, ppn } => {
                self.unlock(ppn, true, out);
                self.complete(head, true, out);
            }
            Pending::WriteBack { head, ppn } => self.written_back(head, ppn, out),
            other => unreachable!("no DMA write was asked for by {other:?}"),
        }
    }

    fn host(&mut self, reply: HostReply, out: &mut Vec<Action>) {
        out.push(Action::Work(Work::Host));
        match reply {
            HostReply::Placed(head) => self.complete(head, true, out),
            HostReply::Refuse { head, deferred } => self.give_back(head, deferred, out),
            HostReply::Restart { head, deferred } => self.restart(head, deferred, out),
            HostReply::Undefer(head) => self.serve_reserved(head, Origin::Deferred, out),
            HostReply::Resume(op) => self.resume(op, true, out),
            HostReply::Abandon(op) => self.resume(op, false, out),
            HostReply::BreakLeases { ppn, vpn } => {
                let leases = self.table.break_leases(ppn);
                self.stats.recalled += u64::from(leases);
                out.push(Action::Interrupt(Interrupt::Recalled { ppn, vpn, leases }));
            }
        }
    }

    // ---- small things that all parts use

    fn begin(&mut self, pending: Pending) -> OpId {
        match self.free.pop() {
            Some(i) => {
                self.pending[i as usize] = Some(pending);
                OpId(i)
            }
            None => {
                self.pending.push(Some(pending));
                OpId(self.pending.len() as u32 - 1)
            }
        }
    }

    fn finish(&mut self, op: OpId) -> Pending {
        let pending = self.pending[op.0 as usize].take().expect("a driver answers what is under way");
        self.free.push(op.0);
        pending
    }

    fn peer(&mut self, node: Node) -> &mut Peer {
        self.peers[node.0 as usize].get_or_insert_default()
    }

    /// Locks the page of a span; `lease` is the break count if the span is under a lease.
    fn lock(&mut self, span: Span, lease: Option<u32>, out: &mut Vec<Action>) -> Result<Ppn, LockError> {
        let mut leased = false;
        let result = match lease.and_then(|breaks| Some(Lease { ppn: Ppn::new(span.hash.0)?, breaks })) {
            Some(lease) => match self.table.lock_leased(lease, span.vpn, span.key) {
                // Broken: look as if there had been none.
                Err(LockError::Missing) => self.table.lock(span.vpn, span.vpn.hash(), span.key),
                used => {
                    leased = true;
                    used
                }
            },
            None => self.table.lock(span.vpn, span.hash, span.key),
        };
        match result {
            Ok(_) if leased => {
                self.stats.leased += 1;
                out.push(Action::Work(Work::LockLeased));
            }
            Err(LockError::Missing) => {
                self.stats.misses += 1;
                out.push(Action::Work(Work::LockMiss));
            }
            _ => {
                self.stats.locks += 1;
                out.push(Action::Work(Work::Lock));
            }
        }
        result
    }

    fn unlock(&mut self, ppn: Ppn, dirty: bool, out: &mut Vec<Action>) {
        if dirty {
            self.table.unlock_dirty(ppn);
            out.push(Action::Work(Work::UnlockDirty));
        } else {
            self.table.unlock(ppn);
            out.push(Action::Work(Work::Unlock));
        }
    }

    fn fetch(&mut self, pending: Pending, ppn: Ppn, span: Span, out: &mut Vec<Action>) {
        let op = self.begin(pending);
        let from = Stretch { at: Place { ppn, offset: span.offset.into() }, len: span.len.into() };
        out.push(Action::DmaRead { op, from, into: self.buffers.pop().unwrap_or_default() });
    }

    fn store(&mut self, pending: Pending, ppn: Ppn, span: Span, data: Vec<u8>, out: &mut Vec<Action>) {
        let op = self.begin(pending);
        out.push(Action::DmaWrite { op, to: Place { ppn, offset: span.offset.into() }, data });
    }

    fn recycle(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 && self.buffers.len() < 256 {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    fn malformed(&mut self, _why: BadHead) {
        self.stats.malformed += 1;
    }
}

/// The words of an operand, from bytes.
fn to_words(data: &[u8]) -> [u32; OPERAND] {
    let mut words = [0; OPERAND];
    for (word, bytes) in words.iter_mut().zip(data.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    words
}

const _: () = assert!(PAGE <= u16::MAX as u32, "offsets and lengths have 16 bits");
