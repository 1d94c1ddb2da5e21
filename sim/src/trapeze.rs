//! Trapeze on Myrinet with Alpha hosts (Anderson, Chase and others, 1998): calls whose replies carry a page.
//!
//! **Parts.** Each host has a processor, the NIC's firmware, and a link into the switch; each does one thing
//! at a time. The firmware also drives the DMA engine over the host's bus, so a page keeps it busy. A client
//! and its servers exchange *control messages*, and the last server's reply carries a *payload* into the
//! client's memory before its control message is delivered.
//!
//! ```text
//! client: issue > firmware: send > wire > firmware: receive > server: serve > ... > client: finish
//!                                                 payload: set up, then for each chunk  bus > link > bus
//! ```
//!
//! **Cut-through.** A payload goes in chunks, each of which is on the link as soon as it is on the NIC. A
//! chunk has 1 KiB and a sixteenth of the payload; a payload of up to 1 KiB is one chunk.
//!
//! **Inputs** ([`TrapezeInputs`]) are rows of Table 1 without payload, differences between its rows, the
//! copy, bus and link. The times of steps follow from them ([`TrapezeCosts::new`]).

mod file;

pub use file::{Access, FileCosts, Interface, PageFile};

use crate::cost::CostModel;
use crate::device::{Clock, Device, Station};
use crate::net::Network;
use crate::time::Time;
use std::collections::VecDeque;

/// Inputs of the model, in microseconds where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrapezeInputs {
    /// Table 1: a round trip without payload that ends in a continuation.
    pub round_trip: f64,
    /// Table 1: the same by way of a second server, without the former.
    pub hop: f64,
    /// Table 1: messages without payload in a second.
    pub rate: f64,
    /// Waking a thread that waits for a reply.
    pub wake: f64,
    /// Deferring a continuation to a daemon.
    pub deferral: f64,
    /// A buffer of the ring in place of one that the receiver named.
    pub generic_buffer: f64,
    /// Copying 4 KiB and 8 KiB at the receiver.
    pub copy: [f64; 2],
    /// Work of the client for a page that a single call hides behind its reply, and that of the daemon.
    pub page_work: [f64; 2],
    /// MB/s of the hosts' buses (64 KiB stream) and of the link.
    pub rates: [f64; 2],
    /// The share of the switch, the link and the interrupt in a hop.
    pub wire: f64,
    /// A firmware's time to receive a control message.
    pub receive: f64,
}

impl TrapezeInputs {
    /// As published. Not published and chosen: `wire` (the server's processor then limits messages as the
    /// firmware does), `receive` and `page_work` (from pipelined rates of 8 KiB, and of 4 KiB with a copy).
    pub const PAPER: TrapezeInputs = TrapezeInputs {
        round_trip: 69.0,
        hop: 35.6,
        rate: 64_500.0,
        wake: 4.8,
        deferral: 4.2,
        generic_buffer: 3.0,
        copy: [33.0, 46.5],
        page_work: [12.7, 22.0],
        rates: [126.0, 160.0],
        wire: 4.6,
        receive: 4.0,
    };
}

/// The time of each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrapezeCosts {
    /// The client: making a call, and taking its reply.
    pub issue: Time,
    /// See `issue`.
    pub finish: Time,
    /// The client: what it does for a page meanwhile; its daemon: what it does for a deferred one.
    pub page_work: Time,
    /// See `page_work`.
    pub daemon_work: Time,
    /// A server: taking a request and making the next message.
    pub serve: Time,
    /// Firmware: a control message out, one in, a payload out (without its bytes).
    pub send: Time,
    /// See `send`.
    pub receive: Time,
    /// See `send`.
    pub send_payload: Time,
    /// From one NIC to the other, and the interrupt.
    pub wire: Time,
    /// Each byte over a host's bus.
    pub bus: Time,
    /// Each byte on the link.
    pub link: Time,
    /// Waking a waiting thread.
    pub wake: Time,
    /// Until the daemon's turn comes.
    pub deferral: Time,
    /// Taking a generic buffer.
    pub generic_buffer: Time,
    /// Copying: a call, and each byte.
    pub copy: Time,
    /// See `copy`.
    pub copy_byte: Time,
    /// Whether payloads go in chunks.
    pub cut_through: bool,
}

impl TrapezeCosts {
    /// Derives the times from the inputs.
    ///
    /// ```text
    /// hop        = send + wire + receive + serve
    /// 1 / rate   = send + receive = serve           (no part is faster than the slowest)
    /// round_trip = issue + hop + send + wire + receive + finish
    /// ```
    pub fn new(i: &TrapezeInputs) -> TrapezeCosts {
        let us = |v: f64| Time::us(v.max(0.0));
        let each = 1e6 / i.rate;
        let serve = i.hop - i.wire - each;
        let client = i.round_trip - i.hop - i.wire - each;
        let copy_byte = (i.copy[1] - i.copy[0]) / 4096.0;
        TrapezeCosts {
            issue: us(client / 2.0),
            finish: us(client / 2.0),
            page_work: us(i.page_work[0]),
            daemon_work: us(i.page_work[1]),
            serve: us(serve),
            send: us(each - i.receive),
            receive: us(i.receive),
            send_payload: us(each),
            wire: us(i.wire),
            bus: us(1.0 / i.rates[0]),
            link: us(1.0 / i.rates[1]),
            wake: us(i.wake),
            deferral: us(i.deferral),
            generic_buffer: us(i.generic_buffer),
            copy: us(i.copy[0] - 4096.0 * copy_byte),
            copy_byte: us(copy_byte),
            cut_through: true,
        }
    }

    /// The bytes of a chunk of such a payload.
    pub fn chunk(&self, bytes: usize) -> usize {
        if self.cut_through { SMALLEST_CHUNK_BYTES + bytes / 16 } else { bytes }
    }
}

/// Payloads up to this size are one chunk.
const SMALLEST_CHUNK_BYTES: usize = 1024;

/// The way the caller learns of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A thread that sleeps is woken.
    Wait,
    /// A continuation runs in the interrupt handler.
    Continuation,
    /// The continuation finds a lock taken, and a daemon runs it.
    Deferred,
}

/// Where a payload goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// There is none.
    Nothing,
    /// To the memory that the client has named.
    Solicited,
    /// To a buffer of the receive ring.
    Unsolicited,
    /// There, and copied from it.
    Copied,
}

/// Calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Messages of a call: 2, or 3 by way of another server.
    pub hops: u32,
    /// How it ends.
    pub reply: Reply,
    /// Its payload.
    pub payload: Payload,
    /// Bytes of the payload.
    pub bytes: usize,
}

/// A call that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// When it was begun.
    pub begun: Time,
    /// When its reply had been dealt with.
    pub ended: Time,
}

/// The client's number; servers come after it.
const CLIENT: u32 = 0;

/// Something that happens between the hosts.
#[derive(Debug, Clone, Copy)]
pub enum TrapezeEvent {
    /// A host's processor has a message for the firmware.
    Send(Message),
    /// A control message is at its NIC.
    Arrive(Message),
    /// Bytes of a payload are at its NIC.
    Chunk(Message, usize, bool),
    /// A message is in the host's memory.
    Deliver(Message),
    /// A client has dealt with a reply.
    Done(Time),
}

/// A message on its way.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    from: u32,
    to: u32,
    begun: Time,
}

#[derive(Debug, Default)]
struct TrapezeHost {
    processor: Station,
    firmware: Station,
    link: Station,
}

/// A client (program 0) and the servers it calls.
#[derive(Debug)]
pub struct Trapeze {
    costs: TrapezeCosts,
    call: Call,
    hosts: Vec<TrapezeHost>,
    /// Calls that a reply begins by itself, to keep as many under way.
    further: u32,
    finished: VecDeque<Finished>,
}

impl Trapeze {
    /// Hosts for calls of that kind.
    pub fn new(costs: TrapezeCosts, call: Call) -> Trapeze {
        let hosts = (0..call.hops.max(2)).map(|_| TrapezeHost::default()).collect();
        Trapeze { costs, call, hosts, further: 0, finished: VecDeque::new() }
    }

    /// The client makes a call.
    pub fn call(&mut self, clock: &mut Clock<'_, TrapezeEvent>) {
        let now = clock.now();
        let processor = &mut self.hosts[CLIENT as usize].processor;
        let issued = processor.take(now, self.costs.issue);
        if self.call.payload != Payload::Nothing {
            processor.take(issued, self.costs.page_work);
        }
        clock.at(issued, TrapezeEvent::Send(Message { from: CLIENT, to: 1, begun: now }));
    }

    /// That many calls, of which `under_way` are open at a time; the replies begin the later ones.
    pub fn flood(&mut self, clock: &mut Clock<'_, TrapezeEvent>, calls: u32, under_way: u32) {
        let first = under_way.min(calls);
        self.further = calls - first;
        (0..first).for_each(|_| self.call(clock));
    }

    /// The next call that is over, in the order of their ends.
    pub fn finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// How many have ended and were not taken.
    pub fn over(&self) -> usize {
        self.finished.len()
    }

    /// Total work of the client's processor.
    pub fn client_work(&self) -> Time {
        self.hosts[CLIENT as usize].processor.worked()
    }

    /// The server that makes the last message, which carries the payload.
    fn last(&self) -> u32 {
        self.call.hops - 1
    }

    fn send(&mut self, clock: &mut Clock<'_, TrapezeEvent>, m: Message) {
        let (c, bytes) = (self.costs, self.call.bytes);
        let host = &mut self.hosts[m.from as usize];
        if m.to != CLIENT || self.call.payload == Payload::Nothing {
            let sent = host.firmware.take(clock.now(), c.send);
            return clock.at(sent + c.wire, TrapezeEvent::Arrive(m));
        }
        let mut fetched = host.firmware.take(clock.now(), c.send_payload);
        let mut left = bytes;
        while left > 0 {
            let chunk = c.chunk(bytes).min(left);
            left -= chunk;
            fetched = host.firmware.take(fetched, c.bus.bytes(chunk));
            let sent = host.link.take(fetched, c.link.bytes(chunk));
            clock.at(sent + c.wire, TrapezeEvent::Chunk(m, chunk, left == 0));
        }
    }

    /// The work of the client's processor for a reply.
    fn finish(&mut self, clock: &mut Clock<'_, TrapezeEvent>, m: Message) {
        let (c, call) = (self.costs, self.call);
        let mut work = c.finish;
        if matches!(call.payload, Payload::Unsolicited | Payload::Copied) {
            work += c.generic_buffer;
        }
        if call.payload == Payload::Copied {
            work += c.copy + c.copy_byte.bytes(call.bytes);
        }
        if call.reply == Reply::Wait {
            work += c.wake;
        }
        let processor = &mut self.hosts[CLIENT as usize].processor;
        let mut ended = processor.take(clock.now(), work);
        if call.reply == Reply::Deferred {
            if call.payload != Payload::Nothing {
                processor.take(ended, c.daemon_work);
            }
            // The processor serves interrupts until the daemon's turn comes.
            ended += c.deferral;
        }
        clock.at(ended, TrapezeEvent::Done(m.begun));
    }
}

impl Device for Trapeze {
    type Event = TrapezeEvent;

    fn happen(&mut self, clock: &mut Clock<'_, TrapezeEvent>, event: TrapezeEvent) {
        let (now, c) = (clock.now(), self.costs);
        match event {
            TrapezeEvent::Send(m) => self.send(clock, m),
            TrapezeEvent::Arrive(m) => {
                let there = self.hosts[m.to as usize].firmware.take(now, c.receive);
                clock.at(there, TrapezeEvent::Deliver(m));
            }
            TrapezeEvent::Chunk(m, bytes, last) => {
                let firmware = &mut self.hosts[m.to as usize].firmware;
                firmware.take(now, c.bus.bytes(bytes));
                if last {
                    let there = firmware.take(now, c.receive);
                    clock.at(there, TrapezeEvent::Deliver(m));
                }
            }
            TrapezeEvent::Deliver(m) if m.to == CLIENT => self.finish(clock, m),
            TrapezeEvent::Deliver(m) => {
                let served = self.hosts[m.to as usize].processor.take(now, c.serve);
                let to = if m.to == self.last() { CLIENT } else { m.to + 1 };
                clock.at(served, TrapezeEvent::Send(Message { from: m.to, to, begun: m.begun }));
            }
            TrapezeEvent::Done(begun) => {
                self.finished.push_back(Finished { begun, ended: now });
                if self.further > 0 {
                    self.further -= 1;
                    self.call(clock);
                }
                clock.tell(CLIENT);
            }
        }
    }
}

impl CostModel {
    /// `trapeze-alpha`: the machines of the Trapeze paper. Its hosts register nothing, and the paper prices
    /// no registration: those costs are of hosts five years younger (`lanai9-netvm`).
    pub fn trapeze_alpha() -> CostModel {
        let c = TrapezeCosts::new(&TrapezeInputs::PAPER);
        let younger = CostModel::lanai9_netvm();
        let mut model = CostModel {
            name: "trapeze-alpha",
            network: Network::new(c.wire + c.receive, c.bus, c.send),
            inline: 128,
            page: 8192,
            ..younger
        };
        model.host.am_send = c.issue;
        model.host.am_handle = c.serve;
        model.host.post = c.issue;
        model.host.put_back = c.send + c.wire + c.receive;
        model.host.copy = c.copy_byte;
        model
    }
}
