//! The NIC of a NetVM host in the world: its firmware ([`netvm_fw::nic::Nic`]) with one processor and one DMA
//! engine, and the host half ([`netvm_fw::host::Host`]) on a thread of its own.
//!
//! The firmware takes events one at a time. It performs actions in order: a step of work begins when the one
//! before it has ended, and DMA, packets and interrupts begin at their position and run in parallel. The
//! paging thread works the same way.
//!
//! **Memory.** The bytes of a page are always in the rank's memory, where its program uses them; a frame is
//! only the NIC's right to touch them. Bringing a page in takes time and moves nothing.

use crate::event::{Body, Left, WorldEvent};
use crate::firmware::FirmwareCosts;
use crate::memory::RankMemory;
use crate::time::Time;
use crate::world::World;
use core::any::Any;
use firehose::Change;
use gasnet::sync::port::EVENTS;
use netvm_fw::host::{Host, HostAction, HostConfig, HostEvent, HostStats, KeySource, Segment};
use netvm_fw::nic::{HostReply, Interrupt, Nic, NicAction, NicConfig, NicEvent, OpId, Stretch};
use netvm_fw::port::{Doorbell, PortMemory, Post};
use netvm_fw::shadow::{Geometry, Lease, table};
use netvm_fw::wire::{HEAD_BYTES, Head, Span};
use netvm_fw::{FrameAddress, Node, PAGE, PageMemory, PortId, Ppn, Vpn};
use slab::Slab;
use std::collections::VecDeque;
use std::sync::Arc;

/// First event of the core; programs that use the NIC themselves have the events before it.
pub(crate) const FIRST_EVENT: u32 = 64;
/// Event counts of a port.
pub(crate) const EVENT_COUNTS: u32 = FIRST_EVENT + EVENTS;

/// The port of a rank.
pub(crate) const PORT: PortId = PortId(1);
/// Frames beyond those that the pages need, so that the host never has to evict one.
const SPARE_FRAMES: u32 = 160;
/// Smallest payload in bytes for which the head of a packet is examined before the rest has arrived.
const MIN_EARLY_HEAD_BYTES: usize = 256;

/// A later event inside this NIC or its host.
enum Later {
    /// The firmware can take the next event.
    Ready,
    /// A DMA from the host ends.
    Read { op: OpId, from: Stretch, into: Vec<u8> },
    /// A DMA to the host ends.
    Written { op: OpId, to: FrameAddress, data: Vec<u8> },
    /// A post for the port is in host memory.
    Post(Post),
    /// The head of a packet has arrived.
    Head(Head),
    /// The doorbell rings.
    Bell,
    /// The paging thread can take the next event.
    HostReady,
    /// A task for the paging thread.
    Host(HostTask),
    /// The paging thread has woken up.
    HostAwake,
    /// A page that the rank asked for is resident.
    Here(u64),
    /// A reply of the paging thread.
    Reply(HostReply),
}

/// A task of the paging thread.
enum HostTask {
    Event(HostEvent),
    /// Make a page of the rank's resident, and keep it so if the rank holds it.
    Hold(u64),
    Touch(u64),
    /// The rank no longer holds the page.
    Release(u64),
    /// Write these pages out together.
    Out(Vec<Ppn>),
}

/// Tokens of pages that the program waits for: to use them, or to hold them.
const TOKEN_TOUCH: u64 = 1;
const TOKEN_HOLD: u64 = 2;

/// A packet that is ready to be sent.
struct Parcel {
    from: u32,
    /// The time when it became ready, and how much of its head could have left before.
    ready: Time,
    lead: Time,
    head: Head,
    payload: Vec<u8>,
}

/// The memory of a rank by page: its segment, then the memory of its library.
struct Pages {
    segment: RankMemory,
    scratch: RankMemory,
    /// Bytes of the segment.
    len: u64,
    /// The page of each frame.
    of: Vec<u64>,
}

/// Marks a page that is no longer mapped.
const UNMAPPED: u64 = u64::MAX;

impl Pages {
    fn locate(&self, at: FrameAddress) -> Option<(RankMemory, u64)> {
        let page = self.of[at.ppn.index()];
        let address = page.checked_mul(u64::from(PAGE))? + u64::from(at.offset);
        Some(if address < self.len { (self.segment, address) } else { (self.scratch, address - self.len) })
    }

    fn set(&mut self, ppn: Ppn, vpn: Vpn) {
        self.of[ppn.index()] = vpn.page();
    }
}

impl PageMemory for Pages {
    fn read(&self, at: FrameAddress, into: &mut [u8]) {
        if let Some((window, offset)) = self.locate(at) {
            into.copy_from_slice(&window.read(offset, into.len()));
        }
    }
    fn write(&self, at: FrameAddress, from: &[u8]) {
        if let Some((window, offset)) = self.locate(at) {
            window.write(offset, from);
        }
    }
}

/// A NIC and the half of its host.
pub(crate) struct SimCard {
    rank: u32,
    nic: Nic,
    host: Host,
    pub(crate) port: Arc<PortMemory>,
    pub(crate) bell: Arc<Doorbell>,
    /// The rank's export: its segment and the library's memory.
    pub(crate) export: Segment,
    pages: Pages,
    costs: FirmwareCosts,
    queue: VecDeque<NicEvent>,
    busy: bool,
    /// Whether the firmware waits for the processor.
    waits: bool,
    /// Packets that have arrived, each in a receive buffer.
    packets: VecDeque<(Head, Vec<u8>)>,
    /// DMAs that write packets to memory.
    storing: Vec<OpId>,
    /// Receive buffers in use, including those of packets on their way.
    receiving: u32,
    /// Packets that peers hold back until a buffer is free.
    held: VecDeque<Parcel>,
    host_queue: VecDeque<HostTask>,
    host_busy: bool,
    /// Whether the paging thread sleeps and has been told to wake up. Used where only the first of several
    /// tasks has to wake it.
    asleep: bool,
    waking: bool,
    /// Pages to be written out when there is nothing else to do.
    outs: Vec<Ppn>,
    /// Time of its present task that the disk takes.
    disk: Time,
    /// Time of a pin once its page is resident, and time of an unpin.
    pub(crate) pins: [Time; 2],
    /// Pages that became resident since the rank asked for them.
    pub(crate) here: Vec<u64>,
    timer: bool,
    dma_free: Time,
    later: Slab<Later>,
    /// Total time of the firmware's work.
    pub(crate) worked: Time,
    /// How often the host has woken the port's program.
    pub(crate) wakes: u64,
    /// When stages of transfers ended, if somebody wants to know.
    pub(crate) stages: Option<Vec<(Stage, Time)>>,
}

/// The end of a stage of a fragment's way from memory to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Its bytes are in the sender's NIC.
    Fetched,
    /// They are in the receiver's NIC.
    Sent,
    /// They are in the receiver's memory.
    Stored,
}

impl SimCard {
    /// The NIC of a rank with this memory, of which at most `frames` frames may be resident (0: all of it).
    pub(crate) fn new(
        rank: u32,
        ranks: u32,
        (segment, len): (RankMemory, u64),
        (scratch, scratch_len): (RankMemory, u64),
        frames: u32,
        costs: FirmwareCosts,
    ) -> SimCard {
        let pages = ((len + scratch_len) / u64::from(PAGE)) as u32;
        let library = (scratch_len / u64::from(PAGE)) as u32;
        let (allowed, frames, spare) = match frames {
            0 => (pages + SPARE_FRAMES, pages + SPARE_FRAMES, SPARE_FRAMES),
            // The library's memory is never evicted, and does not count.
            some if costs.synchronous => (some, some + library, some / 8 + 1),
            some => (some, some, SPARE_FRAMES),
        };
        let (host_table, nic_table) = table(Geometry::new(frames), u64::from(rank) + 1);
        let mut config = NicConfig::new(Node(rank), ranks);
        config.operands = costs.operands;
        let mut nic = Nic::new(config, nic_table);
        let port = Arc::new(PortMemory::new(EVENT_COUNTS, 64));
        nic.open_port(PORT, port.clone());
        let mut config = HostConfig::new(allowed);
        if costs.synchronous {
            config.batch = (allowed / 8).clamp(1, 32);
        }
        let mut host = Host::new(config, host_table, KeySource::seeded(rank.into()));
        let export = host.export(PORT, 0, 0, len + scratch_len, &mut Vec::new()).expect("whole pages, once");
        let mut card = SimCard {
            rank,
            nic,
            host,
            port,
            bell: Arc::new(Doorbell::new(1)),
            export,
            pages: Pages { segment, scratch, len, of: vec![0; frames as usize] },
            costs,
            queue: VecDeque::new(),
            busy: false,
            waits: false,
            packets: VecDeque::new(),
            storing: Vec::new(),
            receiving: 0,
            held: VecDeque::new(),
            host_queue: VecDeque::new(),
            host_busy: false,
            asleep: false,
            waking: false,
            outs: Vec::new(),
            disk: Time::ZERO,
            pins: [Time::ZERO; 2],
            here: Vec::new(),
            timer: false,
            dma_free: Time::ZERO,
            later: Slab::new(),
            worked: Time::ZERO,
            wakes: 0,
            stages: None,
        };
        card.bring_in(pages.min(frames.saturating_sub(spare)));
        if costs.synchronous {
            for page in len / u64::from(PAGE)..u64::from(pages) {
                card.host.hold(Vpn::new(PORT, page), 0, &mut Vec::new());
            }
        }
        card
    }

    /// Makes the last pages resident (the library's among them), as the job would have done before it began.
    fn bring_in(&mut self, count: u32) {
        let pages = self.export.pages().1;
        for page in pages - u64::from(count).min(pages)..pages {
            let mut out = Vec::new();
            self.host.touch(Vpn::new(PORT, page), true, 0, &mut out);
            while let Some(action) = out.pop() {
                if let HostAction::PageIn { vpn, ppn } = action {
                    self.pages.set(ppn, vpn);
                    self.host.handle(0, HostEvent::PagedIn(ppn), &self.pages, &mut out);
                }
            }
        }
    }

    /// The counters of the firmware.
    pub(crate) fn nic_stats(&self) -> netvm_fw::nic::NicStats {
        self.nic.stats()
    }

    fn at(&mut self, w: &mut World, at: Time, later: Later) {
        let tag = self.later.insert(later);
        w.at(at, WorldEvent::Nic(self.rank, tag as u64));
    }

    /// The port has rung the doorbell.
    pub(crate) fn ring(&mut self, w: &mut World) {
        self.at(w, w.now, Later::Bell);
    }

    /// Notes the end of a stage.
    fn ended(&mut self, stage: Stage, at: Time) {
        if let Some(stages) = &mut self.stages {
            stages.push((stage, at));
        }
    }

    fn happen(&mut self, w: &mut World, later: Later) {
        match later {
            Later::Ready => self.busy = false,
            Later::HostReady => self.host_busy = false,
            Later::Read { op, from, mut into } => {
                self.ended(Stage::Fetched, w.now);
                into.resize(from.len as usize, 0);
                self.pages.read(from.at, &mut into);
                self.queue.push_back(NicEvent::DmaRead { op, data: into });
            }
            Later::Written { op, to, data } => {
                self.pages.write(to, &data);
                w.tell(self.rank);
                self.queue.push_back(NicEvent::DmaWritten { op, data });
                if let Some(i) = self.storing.iter().position(|o| *o == op) {
                    self.ended(Stage::Stored, w.now);
                    self.storing.swap_remove(i);
                    self.received(w);
                }
            }
            Later::Post(post) => {
                self.port.apply(post);
                w.tell(self.rank);
            }
            Later::Head(head) => self.queue.push_back(NicEvent::Head(head)),
            Later::Bell => {
                while let Some(port) = self.bell.answer() {
                    self.queue.push_back(NicEvent::Doorbell(port));
                }
            }
            Later::Host(task) => self.give_host(w, task),
            Later::HostAwake => (self.asleep, self.waking) = (false, false),
            Later::Here(page) => {
                self.here.push(page);
                w.tell(self.rank);
            }
            Later::Reply(reply) => self.queue.push_back(NicEvent::Host(reply)),
        }
        self.run(w);
        self.run_host(w);
    }

    /// The next event for the firmware. If it takes one packet after the other, a packet waits until the one
    /// before is in memory.
    fn next(&mut self) -> Option<NicEvent> {
        if let Some(event) = self.queue.pop_front() {
            return Some(event);
        }
        if self.costs.serial && !self.storing.is_empty() {
            return None;
        }
        self.packets.pop_front().map(|(head, payload)| NicEvent::Packet { head, payload })
    }

    fn has_next(&self) -> bool {
        let packets = !(self.packets.is_empty() || self.costs.serial && !self.storing.is_empty());
        !self.queue.is_empty() || packets
    }

    /// Gives the firmware events until it is busy.
    fn run(&mut self, w: &mut World) {
        let mut actions = Vec::new();
        while !self.busy {
            // A thread that has waited goes first: else a program that polls all the time would keep the
            // processor for ever.
            if self.has_next()
                && !self.waits
                && let Some(free) = w.taken(self.rank)
            {
                (self.busy, self.waits) = (true, true);
                self.at(w, free, Later::Ready);
                return;
            }
            self.waits = false;
            let Some(event) = self.next() else { return };
            let packet = matches!(event, NicEvent::Packet { .. });
            self.nic.handle(w.now.as_ps() / 1000, event, &mut actions);
            let mut clock = w.now;
            let mut stored = false;
            for action in actions.drain(..) {
                if let (true, NicAction::DmaWrite { op, .. }) = (packet, &action) {
                    self.storing.push(*op);
                    stored = true;
                }
                self.act(w, action, &mut clock);
            }
            if packet && !stored {
                self.received(w);
            }
            self.worked += clock.since(w.now);
            if clock > w.now {
                self.busy = true;
                let end = w.occupy(self.rank, clock.since(w.now));
                self.at(w, end, Later::Ready);
            }
        }
    }

    /// A receive buffer is free.
    fn received(&mut self, w: &mut World) {
        self.receiving = self.receiving.saturating_sub(1);
        if let Some(parcel) = self.held.pop_front() {
            self.transmit(w, parcel);
        }
    }

    /// A packet for this NIC leaves its sender if there is a buffer for it.
    fn accept(&mut self, w: &mut World, parcel: Parcel) {
        if self.receiving >= self.costs.receive_buffers || !self.held.is_empty() {
            self.held.push_back(parcel);
        } else {
            self.transmit(w, parcel);
        }
    }

    fn transmit(&mut self, w: &mut World, p: Parcel) {
        self.receiving += 1;
        let (head, bytes) = (p.head, p.payload.len());
        let body = Body::Firmware(Box::new((p.head, p.payload)));
        let start = p.ready.since(p.lead).max(w.now.since(p.lead));
        let arrives = w.send_at(start, p.from, self.rank, self.costs.head_bytes as usize + bytes, body);
        if bytes >= MIN_EARLY_HEAD_BYTES {
            let head_in = arrives.since(w.network.per_byte.bytes(bytes)).max(w.now);
            self.at(w, head_in, Later::Head(head));
        }
    }

    /// Starts a DMA and returns the time of its end. Without an engine for it the processor copies.
    fn dma(&mut self, clock: &mut Time, bytes: usize, per_byte: Time) -> Time {
        let end = (*clock).max(self.dma_free) + self.costs.dma + per_byte.bytes(bytes);
        self.dma_free = end;
        if self.costs.attended {
            *clock = end;
        }
        end
    }

    fn act(&mut self, w: &mut World, action: NicAction, clock: &mut Time) {
        match action {
            NicAction::NicWork(work) => *clock += self.costs.work(work),
            NicAction::DmaRead { op, from, into } => {
                let end = self.dma(clock, from.len as usize, self.costs.dma_read);
                self.at(w, end, Later::Read { op, from, into });
            }
            NicAction::DmaWrite { op, to, data } => {
                let end = self.dma(clock, data.len(), self.costs.dma_write);
                self.at(w, end, Later::Written { op, to, data });
            }
            NicAction::Post(_, post) => {
                let end = self.dma(clock, 4, self.costs.dma_write);
                self.at(w, end, Later::Post(post));
            }
            NicAction::Send { head, payload, overlapped } => self.send(w, *clock, head, payload, overlapped),
            NicAction::Interrupt(interrupt) => {
                let ready = match &interrupt {
                    Interrupt::Bounced { payload, .. } => {
                        self.dma(clock, HEAD_BYTES + payload.len(), self.costs.dma_write)
                    }
                    _ => *clock,
                };
                let cost = match &interrupt {
                    // Not an interrupt of its own: it is sent with the next one.
                    Interrupt::Settled(_) => Time::ZERO,
                    _ => self.notice(),
                };
                self.tell_host(w, ready + cost, HostEvent::Interrupt(interrupt));
            }
        }
    }

    fn send(&mut self, w: &mut World, ready: Time, head: Head, payload: Vec<u8>, overlapped: bool) {
        // The head left while the bytes were on their way to the NIC.
        let head_bytes = self.costs.head_bytes as usize;
        let lead = if overlapped { w.network.per_byte.bytes(head_bytes) } else { Time::ZERO };
        let to = head.to.0;
        let parcel = Parcel { from: self.rank, ready, lead, head, payload };
        if to == self.rank {
            self.accept(w, parcel);
        } else if let Some(mut peer) = w.cards[to as usize].take() {
            peer.accept(w, parcel);
            w.cards[to as usize] = Some(peer);
        }
    }

    fn tell_host(&mut self, w: &mut World, at: Time, event: HostEvent) {
        self.at(w, at, Later::Host(HostTask::Event(event)));
    }

    /// The rank wants to hold one of its pages; [`here`](Self::here) lists it when it is resident.
    pub(crate) fn hold(&mut self, w: &mut World, page: u64) {
        self.at(w, w.now + self.notice(), Later::Host(HostTask::Hold(page)));
    }

    /// The rank wants one of its pages to be resident.
    pub(crate) fn touch(&mut self, w: &mut World, page: u64) {
        self.at(w, w.now + self.notice(), Later::Host(HostTask::Touch(page)));
    }

    /// Whether the program can use a page without telling anybody: it is resident, and has been stored to
    /// since it was last written out.
    pub(crate) fn uses(&mut self, page: u64) -> bool {
        let (vpn, vm) = (Vpn::new(PORT, page), self.host.vm());
        let open = self.costs.synchronous
            && vm.is_resident(vpn)
            && vm.place(vpn).is_some_and(|ppn| vm.is_dirty(ppn));
        open && self.host.touch(vpn, true, TOKEN_TOUCH, &mut Vec::new())
    }

    /// Leases a resident page, as software beside the NIC does.
    pub(crate) fn lease(&mut self, page: u64) -> Option<Lease> {
        self.nic.lease(Span::new(Vpn::new(PORT, page), self.export.key, 0, 0)).ok()
    }

    /// Ends such a lease.
    pub(crate) fn end_lease(&mut self, lease: Lease) {
        self.nic.end_lease(lease);
    }

    /// Time until the paging thread hears of something, if each thing is an interrupt.
    fn notice(&self) -> Time {
        if self.costs.synchronous { Time::ZERO } else { self.costs.interrupt }
    }

    /// Gives the paging thread a task. Only a task that cannot wait wakes a sleeping thread; the thread takes
    /// the others with it.
    fn give_host(&mut self, w: &mut World, task: HostTask) {
        let lazy = matches!(
            task,
            HostTask::Release(_) | HostTask::Event(HostEvent::Interrupt(Interrupt::Settled(_)))
        );
        let lazy = lazy && self.host.starved() == 0;
        self.host_queue.push_back(task);
        if self.asleep && !self.waking && !lazy {
            self.waking = true;
            // A change of threads takes time of the processor that they share.
            let awake = w.occupy(self.rank, self.costs.interrupt);
            self.at(w, awake, Later::HostAwake);
        }
    }

    /// Ends a [`hold`](Self::hold).
    pub(crate) fn release(&mut self, w: &mut World, page: u64) {
        self.at(w, w.now + self.notice(), Later::Host(HostTask::Release(page)));
    }

    fn has_task(&self) -> bool {
        !self.host_queue.is_empty() || !self.outs.is_empty()
    }

    /// The next task of the paging thread. A due timer alone is not a task: the timer may be due again by the
    /// end of each look, and the frame it looks at may have a page that is still to be written out.
    /// what it looks for may be a frame whose page is to be written out.
    fn next_task(&mut self) -> Option<HostTask> {
        let idle = matches!(self.host_queue.front(), None | Some(HostTask::Event(HostEvent::Timer)));
        if idle && !self.outs.is_empty() {
            return Some(HostTask::Out(core::mem::take(&mut self.outs)));
        }
        self.host_queue.pop_front()
    }

    /// Gives the paging thread events until it is busy.
    fn run_host(&mut self, w: &mut World) {
        let mut actions = Vec::new();
        while !self.host_busy && !self.asleep {
            // The firmware goes first if it has waited: a thread whose timer is due again by the end of each
            // task would keep it out.
            let taken = w.taken(self.rank).or(self.waits.then_some(w.now));
            if let Some(free) = taken.filter(|_| self.has_task()) {
                self.host_busy = true;
                self.at(w, free, Later::HostReady);
                break;
            }
            let Some(task) = self.next_task() else {
                // An operation under way wakes it without a task.
                self.asleep = self.costs.synchronous && self.host.next_deadline().is_none();
                break;
            };
            let mut clock = w.now;
            self.disk = Time::ZERO;
            let out = &mut actions;
            match task {
                HostTask::Event(event) => {
                    if matches!(event, HostEvent::Timer) {
                        self.timer = false;
                    }
                    self.host.handle(w.now.as_ps() / 1000, event, &self.pages, out);
                }
                HostTask::Hold(page) => {
                    if self.host.hold(Vpn::new(PORT, page), TOKEN_HOLD, out) {
                        clock += self.pins[0];
                        self.at(w, clock, Later::Here(page));
                    }
                    self.host.tidy(out);
                }
                HostTask::Touch(page) => {
                    if self.host.touch(Vpn::new(PORT, page), true, TOKEN_TOUCH, out) {
                        self.at(w, clock, Later::Here(page));
                    }
                    self.host.tidy(out);
                }
                HostTask::Release(page) => {
                    clock += self.pins[1];
                    self.host.release(Vpn::new(PORT, page));
                    self.host.tidy(out);
                }
                HostTask::Out(frames) => {
                    self.disk = self.costs.page_out + self.costs.page_out_page * frames.len() as u64;
                    clock += self.disk;
                    for ppn in frames {
                        self.host.handle(w.now.as_ps() / 1000, HostEvent::PagedOut(ppn), &self.pages, out);
                    }
                }
            }
            actions.drain(..).for_each(|action| self.host_act(w, action, &mut clock));
            if clock > w.now {
                self.host_busy = true;
                // The processor is free while the disk works.
                let end = w.occupy(self.rank, clock.since(w.now).since(self.disk));
                self.at(w, clock.max(end), Later::HostReady);
            }
            self.set_timer(w);
        }
    }

    fn set_timer(&mut self, w: &mut World) {
        if let (Some(due), false) = (self.host.next_deadline(), self.timer) {
            self.timer = true;
            self.tell_host(w, Time::ns(due), HostEvent::Timer);
        }
    }

    fn host_act(&mut self, w: &mut World, action: HostAction, clock: &mut Time) {
        match action {
            HostAction::Work(work) => *clock += self.costs.host_work(work),
            HostAction::Nic(reply) => self.at(w, *clock, Later::Reply(reply)),
            HostAction::PageIn { vpn, ppn } => {
                self.pages.set(ppn, vpn);
                let there = *clock + self.costs.page_in;
                if self.costs.synchronous {
                    *clock = there;
                    self.disk += self.costs.page_in;
                }
                self.tell_host(w, there, HostEvent::PagedIn(ppn));
            }
            HostAction::PageOut { ppn, .. } if self.costs.synchronous => self.outs.push(ppn),
            HostAction::PageOut { ppn, .. } => {
                let there = *clock + self.costs.page_out + self.costs.page_out_page;
                self.tell_host(w, there, HostEvent::PagedOut(ppn));
            }
            HostAction::Message { head, .. } => self.tell_host(w, *clock, HostEvent::Consumed(head)),
            HostAction::Wake(_) => {
                self.wakes += 1;
                w.tell(self.rank);
            }
            HostAction::Ready { vpn, token } => {
                // The page is pinned here, before anybody hears of it.
                if token == TOKEN_HOLD {
                    *clock += self.pins[0];
                }
                self.at(w, *clock, Later::Here(vpn.page()));
            }
            HostAction::Recalled(vpn) => {
                let (addr, len) = (vpn.page() * u64::from(PAGE), u64::from(PAGE));
                w.changed(self.rank, Change::Removed { addr, len });
            }
            HostAction::Evict { .. } | HostAction::Unexported(_) => {}
        }
    }

    /// The program unmaps pages of its segment. A DMA that is under way ends in frames without a page.
    pub(crate) fn unmap(&mut self, w: &mut World, offset: u64, len: u64) {
        let mut actions = Vec::new();
        for page in offset / u64::from(PAGE)..(offset + len) / u64::from(PAGE) {
            let vpn = Vpn::new(PORT, page);
            if let Some(ppn) = self.host.vm().place(vpn) {
                self.pages.of[ppn.index()] = UNMAPPED;
                self.host.discard(vpn, &mut actions);
            }
        }
        let mut clock = w.now;
        actions.into_iter().for_each(|action| self.host_act(w, action, &mut clock));
        self.set_timer(w);
    }

    /// The counters of the host.
    pub(crate) fn host_stats(&self) -> HostStats {
        self.host.stats()
    }
}

impl World {
    /// Handles what an event left for a NIC.
    pub(crate) fn nic(&mut self, left: Left) {
        let rank = match &left {
            Left::Nic(rank, _) => *rank,
            Left::Firmware { to, .. } => *to,
            // No NIC's affair.
            Left::Dies(_) => return,
        };
        let Some(mut card) = self.cards[rank as usize].take() else { return };
        match left {
            Left::Dies(_) => {}
            Left::Nic(_, tag) => {
                if let Some(later) = card.later.try_remove(tag as usize) {
                    card.happen(self, later);
                }
            }
            Left::Firmware { message, .. } => {
                if let Some((head, payload)) = unpack(message) {
                    if !payload.is_empty() {
                        card.ended(Stage::Sent, self.now);
                    }
                    card.packets.push_back((head, payload));
                    card.run(self);
                    card.run_host(self);
                }
            }
        }
        self.cards[rank as usize] = Some(card);
    }
}

fn unpack(message: Box<dyn Any + Send>) -> Option<(Head, Vec<u8>)> {
    message.downcast().ok().map(|packet| *packet)
}
