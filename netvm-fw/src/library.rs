//! The user library: maps of segments, transfers split at pages, commands in the queue, fences, atomics.
//!
//! Nothing here waits: a call that finds no room says so, and is repeated. A [`Transfer`] remembers how far
//! it has come. Programs *touch* the pages of their own end before a transfer, so that a miss there is rare.

use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

use gasnet_ops::Operation;

use crate::append::room_for;
use crate::host::Segment;
use crate::ids::{Node, PAGE, PortId, Vpn};
use crate::port::{COMMAND_SLOTS, Counter, Doorbell, PortMemory, REPLY_SLOTS, reached};
use crate::region::RegionName;
use crate::shadow::Lease;
use crate::wire::{
    ACKNOWLEDGE, AppendPart, Head, HeadKind, INLINED, LEASED, MAX_INLINE_BYTES, Span, TRIGGERED,
};
use gasnet_ops::home::{HomeOp, REPLY_WORDS};

/// An entry of the segment map: an export of this process, or an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u32);

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LibraryError {
    /// The command queue is full, or no slot for a reply is free: let the NIC run, and try again.
    #[error("no room now; try again")]
    Busy,
    /// The handle was removed, or is another library's.
    #[error("no such segment")]
    Handle,
    /// The bytes are beyond the end of a segment.
    #[error("bytes beyond the end of the segment")]
    Range,
    /// The operand of an atomic is not aligned to its size.
    #[error("the operand of an atomic must be aligned to its size rounded up to a power of two")]
    Alignment,
    /// Events that do not exist here, or a message that is too long.
    #[error("more than {MAX_INLINE_BYTES} bytes in a message of its own")]
    Long,
}

/// Segments by address and by handle.
#[derive(Debug, Default)]
struct Segments {
    entries: Vec<Option<(Node, Segment)>>,
    by_address: BTreeMap<(Node, PortId, u64), Handle>,
}

impl Segments {
    fn add(&mut self, node: Node, segment: Segment) -> Handle {
        let free = self.entries.iter().position(Option::is_none);
        let i = free.unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[i] = Some((node, segment));
        self.by_address.insert((node, segment.port, segment.address), Handle(i as u32));
        Handle(i as u32)
    }

    fn remove(&mut self, handle: Handle) -> Option<Segment> {
        let (node, segment) = self.entries.get_mut(handle.0 as usize)?.take()?;
        self.by_address.remove(&(node, segment.port, segment.address));
        Some(segment)
    }

    fn get(&self, handle: Handle) -> Result<&(Node, Segment), LibraryError> {
        self.entries.get(handle.0 as usize).and_then(Option::as_ref).ok_or(LibraryError::Handle)
    }

    fn lookup(&self, node: Node, port: PortId, address: u64) -> Option<(Handle, u64)> {
        let range = (node, port, 0)..=(node, port, address);
        let (&(.., start), &handle) = self.by_address.range(range).next_back()?;
        let offset = address - start;
        (offset < self.get(handle).ok()?.1.size).then_some((handle, offset))
    }

    /// `len` bytes of a segment, which must lie in one page.
    fn span(&self, handle: Handle, offset: u64, len: u32) -> Result<(Node, Span), LibraryError> {
        let (node, segment) = self.get(handle)?;
        let end = offset.checked_add(len.into()).ok_or(LibraryError::Range)?;
        if end > segment.size {
            return Err(LibraryError::Range);
        }
        let address = segment.address + offset;
        let at = (address % u64::from(PAGE)) as u32;
        Ok((*node, Span::new(Vpn::of(segment.port, address), segment.key, at, len)))
    }
}

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From here to there.
    Write,
    /// From there to here.
    Read,
}

/// The far end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Far {
    Segment(Handle),
    Region(Node, RegionName),
}

/// A write or read of any length, and its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    direction: Direction,
    remote: (Far, u64),
    local: (Handle, u64),
    size: u64,
    done: u64,
    notification: u32,
    acknowledge: bool,
    lease: Option<Lease>,
}

impl Transfer {
    /// `size` bytes from `local` (a handle of an export of this process, and an offset) to `remote`.
    pub fn write(local: (Handle, u64), remote: (Handle, u64), size: u64) -> Transfer {
        Transfer::to(local, (Far::Segment(remote.0), remote.1), size)
    }

    /// `size` bytes from `local` to a region of a node, from byte `at` on; all of them below
    /// [`MAX_REGION_BYTES`](crate::region::MAX_REGION_BYTES).
    pub fn write_region(local: (Handle, u64), of: Node, region: RegionName, at: u64, size: u64) -> Transfer {
        Transfer::to(local, (Far::Region(of, region), at), size)
    }

    /// The same bytes the other way.
    pub fn reading(self) -> Transfer {
        Transfer { direction: Direction::Read, ..self }
    }

    fn to(local: (Handle, u64), remote: (Far, u64), size: u64) -> Transfer {
        let (direction, notification, acknowledge) = (Direction::Write, 0, false);
        Transfer { direction, remote, local, size, done: 0, notification, acknowledge, lease: None }
    }

    /// `size` bytes from `remote` to `local`.
    pub fn read(local: (Handle, u64), remote: (Handle, u64), size: u64) -> Transfer {
        Transfer::write(local, remote, size).reading()
    }

    /// Raises this notification at the receiver of a write, after the last byte.
    pub fn notify(self, notification: u32) -> Transfer {
        Transfer { notification, ..self }
    }

    /// Makes the target report when a write is in place ([`Counter::Written`]).
    pub fn acknowledge(self) -> Transfer {
        Transfer { acknowledge: true, ..self }
    }

    /// Uses this lease of the remote page; for transfers within one page.
    pub fn under(self, lease: Lease) -> Transfer {
        Transfer { lease: Some(lease), ..self }
    }

    /// Bytes that have not become commands yet.
    pub fn left(&self) -> u64 {
        self.size - self.done
    }
}

/// A message to an appended queue of another node, and its progress. No other message to that queue may be
/// issued before all of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Append {
    local: (Handle, u64),
    to: Handle,
    queue: u32,
    total: u32,
    done: u32,
}

impl Append {
    /// `len` bytes from `local` to queue number `queue` in the segment `to`. The bytes are in one page, or
    /// begin at a page.
    pub fn new(local: (Handle, u64), to: Handle, queue: u32, len: u32) -> Append {
        Append { local, to, queue, total: len, done: 0 }
    }

    /// Bytes that have not become commands yet.
    pub fn left(&self) -> u32 {
        self.total - self.done
    }
}

/// The condition of a triggered command: it is carried out as soon as this event of its port has been raised
/// `count` times in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trigger {
    /// The event: 1 to 1023.
    pub event: u32,
    /// The threshold.
    pub count: u32,
}

/// A point in the sequence of a port's commands: everything issued before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The counter.
    pub which: Counter,
    /// The value at which the fence is passed.
    pub count: u32,
}

/// The library of a process.
#[derive(Debug)]
pub struct Library {
    node: Node,
    port: PortId,
    memory: Arc<PortMemory>,
    bell: Arc<Doorbell>,
    segments: Segments,
    issued: [u32; 3],
    /// The highest counts that the NIC is known to have reached.
    seen: [u32; 3],
    cookie: u32,
    /// Bit `cookie % REPLY_SLOTS`: a reply is expected, or has not been taken.
    replies: u32,
    /// Most bytes of a fragment, if that is less than a page.
    split: Option<u32>,
}

impl Library {
    /// The library of an open port.
    pub fn new(node: Node, port: PortId, memory: Arc<PortMemory>, bell: Arc<Doorbell>) -> Library {
        let segments = Segments::default();
        let (issued, seen) = ([0; 3], [0; 3]);
        Library { node, port, memory, bell, segments, issued, seen, cookie: 0, replies: 0, split: None }
    }

    /// Cuts transfers into fragments of at most this many bytes, also where no page ends; `None`, as at
    /// first: only at pages. On a NIC whose stages overlap, two halves of a page arrive earlier than the
    /// whole (the thesis's 9.2.3 suggests this); on one that copies at once they cost a command more.
    pub fn split(&mut self, bytes: Option<u32>) {
        self.split = bytes.filter(|bytes| *bytes > 0);
    }

    /// The memory that it shares with the NIC.
    pub fn memory(&self) -> &Arc<PortMemory> {
        &self.memory
    }

    /// Adds an export that the host made for this process, or an import from `node`.
    pub fn add_segment(&mut self, node: Node, segment: Segment) -> Handle {
        self.segments.add(node, segment)
    }

    /// Removes a segment.
    pub fn remove_segment(&mut self, handle: Handle) -> Option<Segment> {
        self.segments.remove(handle)
    }

    /// The segment that holds an address of a process, and the offset in it.
    pub fn lookup(&self, node: Node, port: PortId, address: u64) -> Option<(Handle, u64)> {
        self.segments.lookup(node, port, address)
    }

    /// Free slots in the command queue, as of the last update of the counter. When it is 0, ask for an update
    /// ([`wait_for_room`](Self::wait_for_room)).
    pub fn room(&self) -> u32 {
        COMMAND_SLOTS - self.issued[0].wrapping_sub(self.count(Counter::Commands))
    }

    /// A fence that is passed when a full queue has a free slot.
    pub fn wait_for_room(&self) -> Fence {
        self.wait_for_slots(1)
    }

    /// A fence that is passed when the queue has this many free slots, at most [`COMMAND_SLOTS`].
    pub fn wait_for_slots(&self, slots: u32) -> Fence {
        let count = self.issued[0].wrapping_sub(COMMAND_SLOTS.saturating_sub(slots));
        Fence { which: Counter::Commands, count }
    }

    /// Issues as much of a transfer as there is room for. Returns true if that was all of it; a
    /// [`fence`](Self::fence) taken then tells when it is done. `bytes` copies from an offset of the local
    /// segment: short fragments travel with their command.
    pub fn issue(
        &mut self,
        transfer: &mut Transfer,
        mut bytes: impl FnMut(u64, &mut [u8]),
    ) -> Result<bool, LibraryError> {
        while transfer.left() > 0 {
            if self.room() == 0 {
                return Ok(false);
            }
            let (local, remote) = (transfer.local.1 + transfer.done, transfer.remote.1 + transfer.done);
            let len = self.fragment(transfer, local, remote)?;
            let (node, there) = match transfer.remote.0 {
                Far::Segment(handle) => self.segments.span(handle, remote, len)?,
                Far::Region(node, region) => (node, region.span(remote, len)),
            };
            let (_, here) = self.segments.span(transfer.local.0, local, len)?;
            let last = transfer.left() == u64::from(len);
            let mut head = Head::new(HeadKind::Write, self.port, self.node, node);
            let mut inline = [0; MAX_INLINE_BYTES];
            let mut carried = 0;
            match transfer.direction {
                Direction::Write => {
                    (head.src, head.dst) = (here, there);
                    if transfer.acknowledge {
                        head.flags |= ACKNOWLEDGE;
                    }
                    if last {
                        head.notification = transfer.notification;
                    }
                    if len as usize <= MAX_INLINE_BYTES {
                        head.flags |= INLINED;
                        carried = len as usize;
                        bytes(local, &mut inline[..carried]);
                    }
                }
                Direction::Read => {
                    head.kind = HeadKind::Read;
                    (head.src, head.dst) = (there, here);
                }
            }
            if let Some(lease) = transfer.lease {
                let far = if head.kind == HeadKind::Read { &mut head.src } else { &mut head.dst };
                far.hash.0 = lease.ppn.get();
                head.flags |= LEASED;
                head.op = lease.breaks;
            }
            let counted = match transfer.direction {
                Direction::Read => Some(Counter::Reads),
                Direction::Write => transfer.acknowledge.then_some(Counter::Written),
            };
            if let Some(which) = counted {
                let issued = &mut self.issued[which as usize];
                *issued = issued.wrapping_add(1);
            }
            self.put(head, &inline[..carried]);
            transfer.done += u64::from(len);
        }
        Ok(true)
    }

    /// Number of bytes up to the next page boundary at either end.
    fn fragment(&self, transfer: &Transfer, local: u64, remote: u64) -> Result<u32, LibraryError> {
        let page = u64::from(PAGE);
        let to_boundary = |handle: Handle, offset: u64| {
            let segment = self.segments.get(handle)?.1;
            Ok(page - (segment.address + offset) % page)
        };
        let here = to_boundary(transfer.local.0, local)?;
        let there = match transfer.remote.0 {
            Far::Segment(handle) => to_boundary(handle, remote)?,
            Far::Region(..) => page - remote % page,
        };
        let most = self.split.map_or(page, u64::from);
        Ok(here.min(there).min(transfer.left()).min(most) as u32)
    }

    fn put(&mut self, head: Head, inline: &[u8]) {
        let command = self.issued[0];
        self.issued[0] = command.wrapping_add(1);
        self.memory.put_command(command, &head.encode(), inline);
        self.bell.ring(self.port);
    }

    /// How many operations of a kind are done, as far as this side knows.
    fn count(&self, which: Counter) -> u32 {
        let (counter, seen) = (self.memory.counter(which), self.seen[which as usize]);
        if reached(counter, seen) { counter } else { seen }
    }

    /// A fence behind all operations of this kind that were issued so far.
    pub fn fence(&self, which: Counter) -> Fence {
        Fence { which, count: self.issued[which as usize] }
    }

    /// Whether a fence is passed, as far as this side can see.
    #[inline]
    pub fn passed(&self, fence: Fence) -> bool {
        reached(self.count(fence.which), fence.count)
    }

    /// Asks the NIC to report when a fence is passed. Returns true if it is passed already. There is one
    /// request for each counter: a later one replaces it.
    pub fn want(&mut self, fence: Fence) -> bool {
        if self.passed(fence) {
            return true;
        }
        let met = self.memory.want(fence.which, fence.count);
        if met {
            self.seen[fence.which as usize] = fence.count;
        }
        met
    }

    /// Issues an atomic operation and returns its cookie.
    pub fn atomic(&mut self, at: (Handle, u64), op: HomeOp, args: [u32; 4]) -> Result<u32, LibraryError> {
        let (node, dst) = self.segments.span(at.0, at.1, op.operand_bytes() as u32)?;
        if !usize::from(dst.offset).is_multiple_of(op.alignment()) {
            return Err(LibraryError::Alignment);
        }
        let mut head = Head::new(HeadKind::Atomic, self.port, self.node, node);
        (head.src, head.dst, head.op) = (Span::arguments(args), dst, op as u32);
        self.ask(head)
    }

    /// Asks for a lease of one page of an own export. The reply is (frame, breaks): see
    /// [`lease_of`](Self::lease_of).
    pub fn lease(&mut self, at: (Handle, u64)) -> Result<u32, LibraryError> {
        let (node, dst) = self.segments.span(at.0, at.1, 1)?;
        if node != self.node {
            return Err(LibraryError::Handle);
        }
        let head = Head { dst, ..Head::new(HeadKind::Lease, self.port, self.node, node) };
        self.ask(head)
    }

    /// Ends a lease; the reply's first word is 0 if the lease had been broken.
    pub fn end_lease(&mut self, lease: Lease) -> Result<u32, LibraryError> {
        let mut head = Head::new(HeadKind::EndLease, self.port, self.node, self.node);
        head.dst.hash.0 = lease.ppn.get();
        head.op = lease.breaks;
        self.ask(head)
    }

    /// The lease in the reply to [`lease`](Self::lease).
    pub fn lease_of(reply: [u32; REPLY_WORDS]) -> Option<Lease> {
        Some(Lease { ppn: crate::ids::Ppn::new(reply[0])?, breaks: reply[1] })
    }

    fn ask(&mut self, mut head: Head) -> Result<u32, LibraryError> {
        let bit = 1 << (self.cookie % REPLY_SLOTS);
        if self.replies & bit != 0 || self.room() == 0 {
            return Err(LibraryError::Busy);
        }
        self.replies |= bit;
        head.cookie = self.cookie;
        self.cookie = self.cookie.wrapping_add(1);
        self.put(head, &[]);
        Ok(head.cookie)
    }

    /// Takes the reply to the operation with this cookie, once. The inner option is `None` if it was refused.
    pub fn reply(&mut self, cookie: u32) -> Option<Option<[u32; REPLY_WORDS]>> {
        let reply = self.memory.reply(cookie)?;
        self.replies &= !(1 << (cookie % REPLY_SLOTS));
        Some(reply)
    }

    /// Issues one write that stays in a page at both ends: `len` bytes at `local`, in an own export, to
    /// `remote`. With `how` the bytes are folded into the words there. `notification` follows if it is not 0.
    /// With a trigger the NIC keeps the command, and reads the source when it carries it out.
    pub fn command(
        &mut self,
        when: Option<Trigger>,
        local: (Handle, u64),
        remote: (Handle, u64),
        len: u32,
        how: Option<Operation>,
        notification: u32,
    ) -> Result<(), LibraryError> {
        let (node, dst) = self.segments.span(remote.0, remote.1, len)?;
        let (_, src) = self.segments.span(local.0, local.1, len)?;
        if !src.in_page() || !dst.in_page() || len == 0 {
            return Err(LibraryError::Range);
        }
        let kind = if how.is_some() { HeadKind::Combine } else { HeadKind::Write };
        let op = how.map_or(0, Operation::encode);
        let head = Head { src, dst, op, notification, ..Head::new(kind, self.port, self.node, node) };
        self.put_when(when, head)
    }

    /// Raises an event of the own port, at once or when a trigger fires.
    pub fn raise(&mut self, when: Option<Trigger>, notification: u32) -> Result<(), LibraryError> {
        let head = Head { notification, ..Head::new(HeadKind::Raise, self.port, self.node, self.node) };
        self.put_when(when, head)
    }

    fn put_when(&mut self, when: Option<Trigger>, mut head: Head) -> Result<(), LibraryError> {
        if self.room() == 0 {
            return Err(LibraryError::Busy);
        }
        if let Some(Trigger { event, count }) = when {
            head.flags |= TRIGGERED;
            (head.from, head.seq) = (Node(event), count);
        }
        self.put(head, &[]);
        Ok(())
    }

    /// Issues as much of a message to an appended queue as there is room for, like [`issue`](Self::issue).
    pub fn append(
        &mut self,
        append: &mut Append,
        mut bytes: impl FnMut(u64, &mut [u8]),
    ) -> Result<bool, LibraryError> {
        let (local, at) = append.local;
        let aligned = at % u64::from(PAGE) + room_for(append.total) <= u64::from(PAGE);
        if append.total == 0 || !(aligned || at.is_multiple_of(PAGE.into())) {
            return Err(LibraryError::Range);
        }
        while append.left() > 0 {
            if self.room() == 0 {
                return Ok(false);
            }
            let len = append.left().min(PAGE);
            let from = at + u64::from(append.done);
            let (_, src) = self.segments.span(local, from, len)?;
            if !src.in_page() {
                return Err(LibraryError::Range);
            }
            let (node, segment) = self.segments.get(append.to)?;
            let fragment = AppendPart { queue: append.queue, index: append.done / PAGE, total: append.total };
            let mut head = Head::new(HeadKind::Append, self.port, self.node, *node);
            (head.src, head.dst, head.op) = (src, fragment.span(segment.key, len), append.queue);
            let mut inline = [0; MAX_INLINE_BYTES];
            let mut carried = 0;
            if len as usize <= MAX_INLINE_BYTES {
                head.flags |= INLINED;
                carried = len as usize;
                bytes(from, &mut inline[..carried]);
            }
            self.put(head, &inline[..carried]);
            append.done += len;
        }
        Ok(true)
    }

    /// Tells the own NIC that there is room in an appended queue of this port:
    /// [`QueuePort::free`](crate::append::QueuePort::free) says when.
    pub fn room_freed(&mut self, queue: u32) -> Result<(), LibraryError> {
        let op = queue;
        self.put_when(None, Head { op, ..Head::new(HeadKind::Freed, self.port, self.node, self.node) })
    }

    /// Sends up to 96 bytes, and `tag`, to a port (0: the host) of a node.
    pub fn message(&mut self, to: Node, port: PortId, tag: u32, bytes: &[u8]) -> Result<(), LibraryError> {
        if bytes.len() > MAX_INLINE_BYTES {
            return Err(LibraryError::Long);
        }
        if self.room() == 0 {
            return Err(LibraryError::Busy);
        }
        let mut head = Head::new(HeadKind::Message, port, self.node, to);
        (head.flags, head.cookie, head.src.len) = (INLINED, tag, bytes.len() as u16);
        self.put(head, bytes);
        Ok(())
    }

    /// Sends up to a page of an own segment to a port (0: the host) of a node. The bytes must be in one page.
    pub fn message_from(
        &mut self,
        to: Node,
        port: PortId,
        tag: u32,
        at: (Handle, u64),
        len: u32,
    ) -> Result<(), LibraryError> {
        let (_, src) = self.segments.span(at.0, at.1, len)?;
        if !src.in_page() {
            return Err(LibraryError::Range);
        }
        if self.room() == 0 {
            return Err(LibraryError::Busy);
        }
        let mut head = Head::new(HeadKind::Message, port, self.node, to);
        (head.src, head.cookie) = (src, tag);
        self.put(head, &[]);
        Ok(())
    }
}
