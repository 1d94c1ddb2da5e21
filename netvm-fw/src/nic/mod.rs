//! The firmware: it takes commands of ports and packets of other NICs, moves bytes, and advances the windows.
//!
//! [`Nic::handle`] takes one [`NicEvent`] and appends [`NicAction`]s. The firmware performs its actions in
//! order, one after the other. A [`NicWork`] item is time of its processor, and the actions behind it begin
//! after it. DMA, packets and interrupts begin at their position and run in parallel. Live drivers skip
//! `NicWork`.
//!
//! **Obligations of drivers**: an [`NicEvent::DmaRead`] or [`NicEvent::DmaWritten`] for each DMA; the
//! packet's bytes to the node in `head.to`, once, in any order (duplicates are recognised and dropped); each
//! [`Post`] applied to the port's memory, in order, before a later interrupt of the port; interrupts to
//! [`Host`](crate::host::Host), in order, and its replies back, in order.
//!
//! **Sending.** Commands of a port to one peer leave in the order of the queue; different peers and ports do
//! not wait for each other. A message gets its number when it is ready for the wire. Messages without a
//! credit wait in the NIC, up to a limit for each peer; beyond it, they wait in the port's queue.
//!
//! **Completion** of a command means that the NIC no longer needs its slot or its source bytes. Counters
//! count prefixes.
//!
//! **Nothing waits inside.** A missing page becomes an interrupt. Everything under way is in a table here, or
//! in the bounce buffer.

mod append;
mod atomic;
mod count;
mod operands;
mod receive;
mod region;
mod send;
mod trigger;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use slab::Slab;

use crate::ids::{FrameAddress, Node, PAGE, PortId, Ppn, Vpn};
use crate::port::{PortMemory, Post};
use crate::region::{NoRegions, RegionMemory};
use crate::shadow::{Lease, LockError, NicTable};
use crate::wire::{BadHead, Head, Span, Traffic};
use append::Appended;
use count::PortState;
use gasnet_ops::home::{HomeOp, MAX_OPERAND_WORDS};
use operands::Operands;
use send::Peer;

pub use append::QueuePlace;
pub use trigger::MAX_ARMED_COMMANDS;

/// Time of the job in nanoseconds. The firmware reads no clock.
pub type Nanos = u64;

/// A DMA that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

/// An event at a NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicEvent {
    /// A port has one more command. ([`Doorbell::answer`](crate::port::Doorbell::answer) returns the port.)
    Doorbell(PortId),
    /// The head of a packet has arrived, the rest is on its way: locks the page in advance. Optional; the
    /// whole packet must follow.
    Head(Head),
    /// A packet has arrived.
    Packet {
        /// Its head.
        head: Head,
        /// The bytes that followed it.
        payload: Vec<u8>,
    },
    /// The bytes of a [`NicAction::DmaRead`].
    DmaRead {
        /// The operation.
        op: OpId,
        /// The buffer that came with it, filled.
        data: Vec<u8>,
    },
    /// An [`NicAction::DmaWrite`] is in memory.
    DmaWritten {
        /// The operation.
        op: OpId,
        /// The buffer that came with it.
        data: Vec<u8>,
    },
    /// A reply of the host.
    Host(HostReply),
}

/// A message from the host to its NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostReply {
    /// The bytes of this bounced message are in place.
    Placed(Head),
    /// This message must not be carried out, because its page is not exported (any more).
    Refuse {
        /// The message.
        head: Head,
        /// Whether it is a deferred read.
        deferred: bool,
    },
    /// The page that this message needs is resident, and held until `Settled`. The message is a bounced or
    /// deferred read, or a bounced atomic or combining write.
    Restart {
        /// The message.
        head: Head,
        /// Whether it is a deferred read.
        deferred: bool,
    },
    /// A read that was deferred for lack of a credit. It follows [`Interrupt::Credits`], as often as that
    /// says.
    Undefer(Head),
    /// The page that this command needs is resident, and held until `Settled`.
    Resume(OpId),
    /// The page that this command needs does not exist.
    Abandon(OpId),
    /// End all leases of a frame, which had this page. Answer: `Recalled`.
    BreakLeases {
        /// The frame.
        ppn: Ppn,
        /// The page.
        vpn: Vpn,
    },
}

/// A message from the NIC to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    /// A message went to the bounce buffer, slot `head.seq % 64` of peer `head.from`, because its page is
    /// missing or because it is for the host. Answer: `Placed`, `Refuse` or `Restart`.
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
        /// Whether it is a deferred read.
        deferred: bool,
    },
    /// A `Restart` or `Resume` for this page has been handled: the page is locked, or asked for again (just
    /// before this). One hold of the host ends.
    Settled(Vpn),
    /// A command of a port of this node needs this page. Answer: `Resume` or `Abandon`.
    SourceMissing {
        /// The command.
        op: OpId,
        /// The bytes that it needs.
        span: Span,
    },
    /// A read came from a node that this NIC has no credit for. Keep it until [`Interrupt::Credits`].
    Deferred(Head),
    /// This many deferred reads of a node may continue: answer with `Undefer` for each.
    Credits {
        /// The node, and whether they are a pager's.
        of: Traffic,
        /// How many.
        reads: u32,
    },
    /// A port has a notice in its queue: wake the port, or run its dispatcher.
    Notice(PortId),
    /// The leases of a frame have ended. This is not an error: users of a lease then take the ordinary path.
    Recalled {
        /// The frame.
        ppn: Ppn,
        /// The page that the host named.
        vpn: Vpn,
        /// How many there were.
        leases: u32,
    },
}

/// A range of bytes in a frame, for DMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stretch {
    /// Its first byte.
    pub at: FrameAddress,
    /// Number of bytes.
    pub len: u32,
}

/// An action of a NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicAction {
    /// Work of the NIC's processor.
    NicWork(NicWork),
    /// Fetch bytes of a locked frame.
    DmaRead {
        /// Comes back with the bytes.
        op: OpId,
        /// The bytes to fetch.
        from: Stretch,
        /// A buffer for the bytes, of any length.
        into: Vec<u8>,
    },
    /// Put bytes into a locked frame.
    DmaWrite {
        /// Comes back when the bytes are in place.
        op: OpId,
        /// The destination.
        to: FrameAddress,
        /// The bytes.
        data: Vec<u8>,
    },
    /// Send a packet.
    Send {
        /// Its head, with destination.
        head: Head,
        /// The bytes that follow it.
        payload: Vec<u8>,
        /// Whether the bytes came by DMA, so that the head could leave meanwhile.
        overlapped: bool,
    },
    /// Write to a port's host memory.
    Post(PortId, Post),
    /// Interrupt the host. `Bounced` includes a DMA of the message to the bounce buffer.
    Interrupt(Interrupt),
}

/// Work of the NIC's processor, for drivers that model its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NicWork {
    /// Took a command out of a queue.
    Command,
    /// Took a packet and looked at its head.
    Packet,
    /// Noticed the end of a DMA.
    Dma,
    /// Set up a packet.
    Send,
    /// Found and locked a page.
    Lock,
    /// Used a lease.
    LockLeased,
    /// Looked for a page without finding it.
    LockMiss,
    /// Unlocked a page that it had read.
    Unlock,
    /// Unlocked a page that it had written.
    UnlockDirty,
    /// Advanced a window.
    Window,
    /// Gave a message its place in an appended queue.
    Append,
    /// Counted a notification.
    Raise,
    /// Did an atomic operation.
    Compute(HomeOp),
    /// Folded this many bytes into memory.
    Fold(u32),
    /// Looked for a region, and copied this many bytes into or out of it if it may.
    Region(u32),
    /// Took a reply of the host.
    Host,
}

/// Counters of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NicStats {
    /// Commands taken.
    pub commands: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Pages locked for one operation.
    pub locks: u64,
    /// Pages locked through a lease.
    pub leased: u64,
    /// Leases ended because the host wanted their frames.
    pub recalled: u64,
    /// Pages not found.
    pub misses: u64,
    /// Messages sent to the bounce buffer because of a missing page.
    pub bounces: u64,
    /// Reads deferred for lack of credits.
    pub deferred: u64,
    /// How often a message found no credit.
    pub stalls: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Operations refused: wrong key, page that is not exported.
    pub refused: u64,
    /// Commands and packets dropped because they were malformed.
    pub malformed: u64,
    /// Packets dropped as duplicates.
    pub duplicates: u64,
    /// Notifications raised.
    pub notifications: u64,
    /// Atomics carried out here.
    pub atomics: u64,
    /// Of these, those whose operand was on the NIC already.
    pub cached: u64,
    /// Combining writes carried out here.
    pub folds: u64,
    /// Reads and writes of regions carried out here.
    pub regions: u64,
    /// Messages in appended queues of this node.
    pub appended: u64,
    /// Fragments of messages that found no room in their queue.
    pub kept: u64,
    /// Commands that were armed with a trigger.
    pub armed: u64,
    /// Armed commands that were carried out.
    pub triggered: u64,
}

/// Settings of a NIC.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NicConfig {
    /// This node.
    pub node: Node,
    /// Number of nodes; they are numbered 0 to `nodes - 1`.
    pub nodes: u32,
    /// Most messages to one peer that the NIC keeps while there is no credit.
    pub staged: u32,
    /// Most operands of atomics that stay on the NIC; 0: each is written back by its operation.
    pub operands: u32,
}

impl NicConfig {
    /// The usual settings.
    pub fn new(node: Node, nodes: u32) -> NicConfig {
        NicConfig { node, nodes, staged: crate::window::WINDOW_MESSAGES, operands: 0 }
    }
}

/// The operation that a DMA or a missing page belongs to.
#[derive(Debug)]
enum Pending {
    /// Source bytes of a lane's entry with this number.
    Load { head: Head, command: u32, entry: u32, ppn: Option<Ppn> },
    /// Bytes of a write or read reply, on their way into their page.
    Store { head: Head, ppn: Ppn },
    /// Bytes for the answer to a read.
    Fetch { head: Head, ppn: Ppn, origin: Origin },
    /// The operand of an atomic, or the words for a combining write with this payload.
    Operand { head: Head, payload: Vec<u8>, ppn: Ppn },
    /// The same words, on their way back to memory.
    WriteBack { head: Head, ppn: Ppn },
    /// A cached operand, on its way back to memory.
    Evicted { ppn: Ppn },
    /// A lease that waits for its page.
    Lease { head: Head, command: u32 },
    /// A fragment on its way to its place in an appended queue; the payload, if the page is missing.
    Append { head: Head, message: u32, ppn: Option<Ppn>, payload: Vec<u8> },
}

/// The step to take when a window number's turn has come.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// Raise this notification of a port.
    Raise(PortId, u32),
    /// The fragment at this place of the table takes effect.
    Append(u32),
}

/// How a message from a peer came to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// As a packet.
    Packet,
    /// Restarted, after the host has brought its missing page.
    Restarted,
    /// A read that waited for a credit; its sequence number is done.
    Deferred,
}

/// The firmware of one NIC.
#[derive(Debug)]
pub struct Nic {
    config: NicConfig,
    table: NicTable,
    ports: HashMap<PortId, PortState>,
    /// Two for each node: traffic of programs, traffic of pagers.
    peers: Vec<Option<Box<Peer>>>,
    pending: Slab<Pending>,
    /// Locks taken when only the head had arrived.
    early: Vec<(Traffic, u32, Result<Ppn, LockError>)>,
    /// Frames with an atomic or combining write under way, and the operations that wait for the frame.
    atomics: HashMap<Ppn, VecDeque<(Head, Vec<u8>)>>,
    /// If atomics leave their operands here.
    operands: Option<Box<Operands>>,
    /// Payloads of combining writes whose page is missing; the host cannot carry them out.
    parked: Vec<(Traffic, u32, Vec<u8>)>,
    queues: Vec<Option<Appended>>,
    /// Fragments for appended queues that wait for messages before them.
    appends: Slab<(Head, Vec<u8>)>,
    regions: Arc<dyn RegionMemory>,
    buffers: Vec<Vec<u8>>,
    stats: NicStats,
    now: Nanos,
}

impl Nic {
    /// A NIC that owns the NIC's side of the shadow table.
    pub fn new(config: NicConfig, table: NicTable) -> Nic {
        Nic {
            config,
            table,
            ports: HashMap::new(),
            peers: (0..2 * config.nodes).map(|_| None).collect(),
            pending: Slab::new(),
            early: Vec::new(),
            atomics: HashMap::new(),
            operands: (config.operands > 0).then(|| Box::new(Operands::new(config.operands))),
            parked: Vec::new(),
            queues: Vec::new(),
            appends: Slab::new(),
            regions: Arc::new(NoRegions),
            buffers: Vec::new(),
            stats: NicStats::default(),
            now: 0,
        }
    }

    /// Opens a port. Its number must not be in use.
    pub fn open_port(&mut self, port: PortId, memory: Arc<PortMemory>) {
        self.open(port, PortState::new(memory, false));
    }

    /// Opens a port for the host's pager, whose backing store is memory of other nodes.
    ///
    /// Its messages have windows of their own, apart from those of programs. A window ends at the first
    /// message that is not complete. So if a program's write waits for a page, and the page for a read, a
    /// read in the same window would wait for the write: between two nodes for ever, and no number of credits
    /// that are set aside is enough. Messages of a pager must not wait for pages in turn: both ends of its
    /// transfers are memory that stays resident.
    pub fn open_pager_port(&mut self, port: PortId, memory: Arc<PortMemory>) {
        self.open(port, PortState::new(memory, true));
    }

    fn open(&mut self, port: PortId, state: PortState) {
        let old = self.ports.insert(port, state);
        assert!(old.is_none(), "port {} is open", port.0);
    }

    /// Closes a port: commands that were not taken are dropped, answers and notifications for it are ignored.
    /// Unexport its segments first.
    pub fn close_port(&mut self, port: PortId) {
        self.ports.remove(&port);
        for queue in &mut self.queues {
            queue.take_if(|queue| queue.port() == port);
        }
    }

    /// Its counters.
    pub fn stats(&self) -> NicStats {
        self.stats
    }

    /// The time of the last call of [`handle`](Self::handle).
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Credits for messages of programs to a node.
    pub fn credits(&self, node: Node) -> u32 {
        self.peers[Self::index(Traffic { node, paging: false })]
            .as_ref()
            .map_or(crate::window::WINDOW_MESSAGES, |peer| peer.credits())
    }

    /// Whether nothing is under way: no DMA, no missing page, nothing waiting for a credit.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
            && self.early.is_empty()
            && self.atomics.is_empty()
            && self.operands.as_ref().is_none_or(|operands| operands.are_still())
            && self.parked.is_empty()
            && self.appends.is_empty()
            && self.queues.iter().flatten().all(Appended::is_idle)
            && self.peers.iter().flatten().all(|peer| peer.is_idle())
    }

    /// Leases a page of this node without a command, for a pager or Firehose that runs beside the NIC.
    pub fn lease(&mut self, span: Span) -> Result<Lease, LockError> {
        self.table.lease(span.vpn, span.hash, span.key)
    }

    /// Ends a lease. Returns false if it had been broken.
    pub fn end_lease(&mut self, lease: Lease) -> bool {
        self.table.end_lease(lease)
    }

    /// The NIC's side of the shadow table.
    pub fn table(&self) -> &NicTable {
        &self.table
    }

    /// Handles an event at time `now`, and appends the actions.
    pub fn handle(&mut self, now: Nanos, event: NicEvent, out: &mut Vec<NicAction>) {
        self.now = now;
        match event {
            NicEvent::Doorbell(port) => self.take_command(port, out),
            NicEvent::Head(head) => self.head(head, out),
            NicEvent::Packet { head, payload } => self.packet(head, payload, out),
            NicEvent::DmaRead { op, data } => self.dma_read(op, data, out),
            NicEvent::DmaWritten { op, data } => self.dma_written(op, data, out),
            NicEvent::Host(reply) => self.host(reply, out),
        }
    }

    fn dma_read(&mut self, op: OpId, data: Vec<u8>, out: &mut Vec<NicAction>) {
        out.push(NicAction::NicWork(NicWork::Dma));
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

    fn dma_written(&mut self, op: OpId, data: Vec<u8>, out: &mut Vec<NicAction>) {
        out.push(NicAction::NicWork(NicWork::Dma));
        self.recycle(data);
        match self.finish(op) {
            Pending::Store { head, ppn } => {
                self.unlock(ppn, true, out);
                self.complete(head, true, out);
            }
            Pending::WriteBack { head, ppn } => self.written_back(head, ppn, out),
            Pending::Evicted { ppn } => self.evicted(ppn, out),
            Pending::Append { head, message, ppn: Some(ppn), .. } => {
                self.fragment_written(head, message, ppn, out);
            }
            other => unreachable!("no DMA write was asked for by {other:?}"),
        }
    }

    fn host(&mut self, reply: HostReply, out: &mut Vec<NicAction>) {
        out.push(NicAction::NicWork(NicWork::Host));
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
                out.push(NicAction::Interrupt(Interrupt::Recalled { ppn, vpn, leases }));
                self.put_behind_operands(ppn, out);
            }
        }
    }

    // ---- helpers

    fn begin(&mut self, pending: Pending) -> OpId {
        OpId(self.pending.insert(pending) as u32)
    }

    fn finish(&mut self, op: OpId) -> Pending {
        self.pending.try_remove(op.0 as usize).expect("a driver answers what is under way")
    }

    fn index(of: Traffic) -> usize {
        2 * of.node.0 as usize + usize::from(of.paging)
    }

    fn peer(&mut self, of: Traffic) -> &mut Peer {
        self.peers[Self::index(of)].get_or_insert_default()
    }

    /// Locks the page of a span; `lease` is the break count if the span is under a lease.
    fn lock(&mut self, span: Span, lease: Option<u32>, out: &mut Vec<NicAction>) -> Result<Ppn, LockError> {
        let mut leased = false;
        let result = match lease.and_then(|breaks| Some(Lease { ppn: Ppn::new(span.hash.0)?, breaks })) {
            Some(lease) => match self.table.lock_leased(lease, span.vpn, span.key) {
                // A broken lease is treated as none.
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
                out.push(NicAction::NicWork(NicWork::LockLeased));
            }
            Err(LockError::Missing) => {
                self.stats.misses += 1;
                out.push(NicAction::NicWork(NicWork::LockMiss));
            }
            _ => {
                self.stats.locks += 1;
                out.push(NicAction::NicWork(NicWork::Lock));
            }
        }
        result
    }

    fn unlock(&mut self, ppn: Ppn, dirty: bool, out: &mut Vec<NicAction>) {
        if dirty {
            self.table.unlock_dirty(ppn);
            out.push(NicAction::NicWork(NicWork::UnlockDirty));
        } else {
            self.table.unlock(ppn);
            out.push(NicAction::NicWork(NicWork::Unlock));
        }
    }

    fn fetch(&mut self, pending: Pending, ppn: Ppn, span: Span, out: &mut Vec<NicAction>) {
        self.fetch_at_once(pending, ppn, span, out);
        if self.operands.is_some() {
            self.put_behind_operands(ppn, out);
        }
    }

    fn fetch_at_once(&mut self, pending: Pending, ppn: Ppn, span: Span, out: &mut Vec<NicAction>) {
        let op = self.begin(pending);
        let from = Stretch { at: FrameAddress { ppn, offset: span.offset.into() }, len: span.len.into() };
        out.push(NicAction::DmaRead { op, from, into: self.buffers.pop().unwrap_or_default() });
    }

    fn store(&mut self, pending: Pending, ppn: Ppn, span: Span, data: Vec<u8>, out: &mut Vec<NicAction>) {
        let op = self.begin(pending);
        out.push(NicAction::DmaWrite { op, to: FrameAddress { ppn, offset: span.offset.into() }, data });
        if self.operands.is_some() {
            self.put_behind_operands(ppn, out);
        }
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

/// The words of an operand.
fn to_words(data: &[u8]) -> [u32; MAX_OPERAND_WORDS] {
    let mut words = [0; MAX_OPERAND_WORDS];
    for (word, bytes) in words.iter_mut().zip(data.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    words
}

const _: () = assert!(PAGE <= u16::MAX as u32, "offsets and lengths have 16 bits");
