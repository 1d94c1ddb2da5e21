//! The protocol between two ranks, without input or output. It takes datagrams, the time and the program's
//! requests, and returns datagrams and deadlines. The same code runs in tests, in virtual time, and over
//! sockets.
//!
//! **Words.** A *packet* is one transmission of a datagram; its number is never reused, and acknowledgements
//! name packets. A *chunk* is a unit of reliable data: a frame or a part of one, bytes of a put, a request to
//! get, bytes of a get. A chunk whose packet was lost is sent again in another packet; its own number lets
//! the receiver accept it only once. An *op* is a put or a get.
//!
//! **Sending** ([`Link::transmit`], in `send.rs`): an acknowledgement if one is due, then probes, then lost
//! chunks, then new ones, as far as the peer's limits and the congestion window allow. Replies come before
//! requests.
//!
//! **Loss** (`loss.rs`), as in QUIC (RFC 9002): a packet is lost when a later one has been acknowledged and
//! either at least three lie between them or enough time has passed. Without any acknowledgement, probes are
//! sent after a timeout that doubles.
//!
//! **Room.** Each channel has its own *limit*: the receiver announces how far it has memory, counting each
//! frame by the buffer it takes, and only frames that fit are accepted from the program ([`Link::reserve`]).
//! So a chunk that was sent can always be received, and neither channel waits for the other. Data of puts and
//! gets goes directly to its destination and needs no room. The memory of a link is bounded: by the limits
//! for frames, by [`MAX_GETS`] and [`MAX_OPS`] for ops, by [`WINDOW_NUMBERS`] for chunks under way.
//!
//! **Death.** A peer is dead ([`Link::is_dead`]) if nothing was heard from it for [`Setup::patience`] while
//! packets, including probes, were under way to it, unless its host reports that it exists
//! ([`Link::revive`]). A peer that is heard all that time and receives nothing ([`Link::is_unheard`]) is
//! behind something that drops datagrams one way. Time during which this end did not look (its process was
//! stopped, or had no processor) does not count.
//!
//! Calls, in any order: [`Link::handle`] for a datagram, the program's requests, [`Link::timeout`] when
//! [`Link::deadline`] has passed; after each, [`Link::transmit`] until it returns nothing.

mod loss;
mod send;

pub use send::{Batch, LARGE_DATAGRAM_BYTES};

use crate::auth::AuthKey;
use crate::buf::{Buf, MAX_FRAME_BYTES, Pool, charge};
use crate::path::{Congestion, Mtu, NS_PER_MS, Pacer, Rtt, Time};
use crate::share;
use crate::window::{Chunks, Packets, Standing, WINDOW_NUMBERS};
use crate::wire::{ACK, ACK_NOW, Header, Packet, PacketKind, REPLY, WANTS, expand};
use gasnet_wire::conduit::Channel;
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Most gets of one rank that another may have to serve at the same time.
pub const MAX_GETS: usize = 64;
/// Most puts to one rank, and gets from it, under way.
pub const MAX_OPS: usize = 512;
/// How long in nanoseconds an acknowledgement may wait for a packet to carry it.
pub const ACK_DELAY_NS: u64 = NS_PER_MS / 2;
/// An acknowledgement is sent after this many packets or bytes at the latest.
const ACK_PACKETS: u32 = 32;
const ACK_BYTES: usize = 96 << 10;

/// The location of an op's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpLocation {
    /// At an address of this process.
    Own(u64),
    /// At an offset of this rank's segment.
    Segment(u64),
}

/// The surroundings of a link.
pub trait World {
    /// Whether large parts of the program's memory may be sent without a copy; if so, they are.
    fn lend(&mut self) -> bool {
        false
    }
    /// Reads memory.
    fn read(&mut self, from: OpLocation, out: &mut [u8]);
    /// Writes memory; false if it is not in the segment.
    fn write(&mut self, to: OpLocation, data: &[u8]) -> bool;
    /// Whether a range is in the segment.
    fn holds(&self, offset: u64, len: u64) -> bool;
    /// Buffers for frames.
    fn pool(&mut self) -> &mut Pool;
    /// A frame has arrived; [`Link::consumed`] when it has been handled.
    fn deliver(&mut self, channel: Channel, frame: Buf);
    /// An op is complete.
    fn complete(&mut self, token: u64);
}

/// The configuration of a link.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The own rank.
    pub rank: u32,
    /// AuthKey of sent datagrams.
    pub send_key: AuthKey,
    /// AuthKey of received datagrams.
    pub receive_key: AuthKey,
    /// Bytes of frames that may wait on each channel, at either end.
    pub window: [u64; 2],
    /// Most bytes under way, from the size of the peer's socket buffer.
    pub in_flight: u64,
    /// Bytes that may be under way unless the peer allows more ([`crate::share`]).
    pub first: u64,
    /// Sizes of datagrams to try, in bytes.
    pub sizes: Vec<usize>,
    /// Silence in nanoseconds after which a peer is dead; 0: never.
    pub patience: u64,
}

/// Why a datagram was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It is not of this protocol, was forged, or has been received before.
    Drop,
    /// The peer, which has the key, violates the protocol.
    Broken(&'static str),
}

/// Counters, for tests and traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub sent: u64,
    /// Packets accepted.
    pub received: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Packets declared lost that arrived after all.
    pub spurious: u64,
    /// Timeouts after which probes were sent.
    pub timeouts: u64,
    /// Chunks that arrived twice.
    pub duplicates: u64,
    /// Datagrams that were refused.
    pub refused: u64,
}

impl Counters {
    /// The sums of both.
    pub fn plus(self, other: Counters) -> Counters {
        Counters {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            spurious: self.spurious + other.spurious,
            timeouts: self.timeouts + other.timeouts,
            duplicates: self.duplicates + other.duplicates,
            refused: self.refused + other.refused,
        }
    }
}

/// A frame that is being sent.
#[derive(Debug)]
struct Outgoing {
    buf: Buf,
    message: u32,
    channel: Channel,
    /// Bytes already put into chunks.
    cut: usize,
    /// Bytes acknowledged.
    acked: usize,
}

/// A put that is being sent, or a get that is being served: bytes for a location at the peer.
#[derive(Debug)]
struct Stream {
    from: OpLocation,
    /// Offset in the segment for puts; 0 for gets.
    to: u64,
    len: u64,
    cut: u64,
    acked: u64,
    /// For a put, the op to complete; for a get, the peer's number.
    what: Flow,
}

#[derive(Debug, Clone, Copy)]
enum Flow {
    Put { token: u64 },
    Serve { id: u32 },
}

/// A get under way.
#[derive(Debug)]
struct Getting {
    dst: u64,
    len: u32,
    arrived: u64,
    token: u64,
}

#[derive(Debug, Clone, Copy)]
enum Body {
    Frame {
        slot: u32,
        at: u32,
        len: u32,
    },
    Stream {
        slot: u32,
        at: u64,
        len: u32,
    },
    /// Complete in itself: the data may arrive before the acknowledgement of the request.
    Get {
        id: u32,
        from: u64,
        len: u32,
    },
}

/// The progress of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Flying,
    Waiting,
    Done,
}

#[derive(Debug)]
struct Chunk {
    body: Body,
    progress: Progress,
    /// The packet in which it was sent last.
    packet: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Flying,
    Acked,
    Lost,
    /// It is not acknowledged.
    Silent,
}

/// A packet that was sent.
#[derive(Debug)]
struct Sent {
    at: Time,
    bytes: u32,
    fate: Fate,
    /// Its chunk, or [`NO_CHUNK`].
    chunk: u64,
    /// It tries a size of datagrams.
    probe: bool,
}

const NO_CHUNK: u64 = u64::MAX;

/// A packet that was not acknowledged in time.
#[derive(Debug)]
struct Overdue {
    packet: u64,
    sent_at: Time,
    probed_at: Time,
}

/// A window in units of 64 bytes; two of the largest frames fit in any.
fn units(window: u64) -> u64 {
    (window / 64).max(2 * charge(MAX_FRAME_BYTES))
}

/// A frame of which some parts have arrived.
#[derive(Debug)]
struct Partial {
    buf: Buf,
    missing: usize,
}

/// The state of a channel.
#[derive(Debug, Default)]
struct Lane {
    /// Frames that are not completely in chunks.
    queue: VecDeque<u32>,
    /// Room used by frames reserved here, in units.
    used: u64,
    /// The peer's limit.
    limit: u64,
    next_message: u32,
    /// With hashes of its own: the standard ones take numbers from a sequence of the thread's, and those of a
    /// program that is recorded are not to depend on its network.
    partial: HashMap<u32, Partial, BuildHasherDefault<DefaultHasher>>,
    /// Units received, and units handled.
    charged: u64,
    consumed: u64,
    /// The last announced limit.
    told: u64,
}

/// One end of the connection of two ranks.
#[derive(Debug)]
pub struct Link {
    setup: Setup,
    // ---- what was sent
    sent: VecDeque<Sent>,
    /// Packet number of the first in `sent`.
    sent_base: u64,
    next_packet: u64,
    /// No packet before this one is under way.
    flying_from: u64,
    /// Packets declared lost, in order, while they are in `sent`.
    missing: VecDeque<u64>,
    in_flight: u64,
    chunks: VecDeque<Chunk>,
    /// Number of the first in `chunks`.
    chunk_base: u64,
    lost: VecDeque<u64>,
    /// The frames and streams that chunks are parts of. An entry stays until all of its chunks are done.
    frames: Slab<Outgoing>,
    streams: Slab<Stream>,
    /// Streams with bytes that are not in chunks.
    turn: VecDeque<u32>,
    /// Puts that are not complete, and gets of the peer with bytes that are not in chunks: the peer waits for
    /// those.
    putting: usize,
    serving: usize,
    gets: Slab<Getting>,
    /// Requests to be sent: op, offset, length.
    ask: VecDeque<(u32, u64, u32)>,
    lanes: [Lane; 2],
    // ---- what was received
    packets: Packets,
    received_at: Time,
    taken: Chunks,
    ack_now: bool,
    ack_at: Option<Time>,
    unacked_packets: u32,
    unacked_bytes: usize,
    // ---- the path
    rtt: Rtt,
    congestion: Congestion,
    pacer: Pacer,
    paced_until: Option<Time>,
    mtu: Mtu,
    /// The share that the peer is told it may have under way, and whether it wants more.
    share: u8,
    peer_wants: bool,
    // ---- timers
    largest_acked: u64,
    lost_after: Option<Time>,
    probe_from: Time,
    backoff: u32,
    probes: u32,
    /// The oldest packet of the last timeout, until it is known whether it arrived.
    overdue: Option<Overdue>,
    /// Packets that may lie between a lost one and an acknowledged one.
    reordering: u64,
    /// While packets are under way: when this end last looked, and for how much of its looking time the peer
    /// has been silent.
    looked_at: Option<Time>,
    silence: u64,
    /// The largest packet that the peer says it has received, and for how long it was heard and said no more.
    heard_by_peer: u64,
    unheard: u64,
    /// The first chunk that had not arrived when the peer was last heard, and for how long that has been so.
    missed: u64,
    missing_for: u64,
    wants_room: Option<Time>,
    state: PeerState,
    counters: Counters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeerState {
    Open,
    /// The peer left at that time.
    Left(Time),
    Dead,
}

impl Link {
    /// A link to a peer that has made its own link with the same window.
    pub fn new(setup: Setup) -> Link {
        let lane = |window: u64| Lane { limit: units(window), told: units(window), ..Lane::default() };
        Link {
            lanes: setup.window.map(lane),
            congestion: Congestion::new(setup.first.min(setup.in_flight)),
            mtu: Mtu::new(&setup.sizes),
            setup,
            sent: VecDeque::new(),
            sent_base: 1,
            next_packet: 1,
            flying_from: 1,
            missing: VecDeque::new(),
            in_flight: 0,
            chunks: VecDeque::new(),
            chunk_base: 0,
            lost: VecDeque::new(),
            frames: Slab::new(),
            streams: Slab::new(),
            turn: VecDeque::new(),
            putting: 0,
            serving: 0,
            gets: Slab::new(),
            ask: VecDeque::new(),
            packets: Packets::default(),
            received_at: 0,
            taken: Chunks::default(),
            ack_now: false,
            ack_at: None,
            unacked_packets: 0,
            unacked_bytes: 0,
            rtt: Rtt::default(),
            pacer: Pacer::default(),
            paced_until: None,
            share: 0,
            peer_wants: false,
            largest_acked: 0,
            lost_after: None,
            probe_from: 0,
            backoff: 0,
            probes: 0,
            overdue: None,
            reordering: 3,
            looked_at: None,
            silence: 0,
            heard_by_peer: 0,
            unheard: 0,
            missed: 0,
            missing_for: 0,
            wants_room: None,
            state: PeerState::Open,
            counters: Counters::default(),
        }
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether the peer has been silent for so long that it is dead, unless something else shows that it is
    /// alive.
    pub fn is_dead(&self) -> bool {
        self.state == PeerState::Dead
    }

    /// The silent peer is known to be alive: continue.
    pub fn revive(&mut self, now: Time) {
        if self.state == PeerState::Dead {
            (self.state, self.silence, self.probe_from) = (PeerState::Open, 0, now);
        }
    }

    /// When the peer left in order, if it has. Operations that it had not served by then never complete.
    pub fn left_at(&self) -> Option<Time> {
        match self.state {
            PeerState::Left(at) => Some(at),
            _ => None,
        }
    }

    /// Whether [`Link::transmit`] has something that should not wait for the next datagram or timer.
    #[inline]
    pub fn has_urgent(&self) -> bool {
        self.ack_now
    }

    /// Whether the peer has more to send than it may.
    #[inline]
    pub fn peer_wants(&self) -> bool {
        self.peer_wants
    }

    /// Sets what the peer may have under way; 0: the share without a request. The next packet tells it.
    #[inline]
    pub fn set_share(&mut self, bytes: u64) {
        self.share = if bytes == 0 { 0 } else { share::encode(bytes) };
    }

    /// Sets what the peer allows to be under way; 0: the share without a request.
    #[inline]
    fn allow(&mut self, share: u64) {
        let most = share.max(self.setup.first).min(self.setup.in_flight);
        if most != self.congestion.largest() {
            self.congestion.bound(most);
        }
    }

    /// Whether large datagrams seem to vanish on the way, so that the network should fragment them.
    #[inline]
    pub fn suspects_path(&self) -> bool {
        self.mtu.is_suspicious()
    }

    /// Whether everything that the program sent has been acknowledged.
    pub fn is_drained(&self) -> bool {
        self.chunks.is_empty()
            && self.lanes.iter().all(|l| l.queue.is_empty())
            && self.turn.is_empty()
            && self.ask.is_empty()
    }

    /// Takes room for a frame of `len` bytes, if the peer has it; each success is followed by
    /// [`Link::send_frame`] or [`Link::unreserve`]. A peer that has left accepts no requests; replies to it
    /// are dropped.
    #[inline]
    pub fn reserve(&mut self, now: Time, channel: Channel, len: usize) -> bool {
        if self.left_at().is_some() && channel == Channel::Request {
            return false;
        }
        let lane = &mut self.lanes[channel as usize];
        let used = lane.used + charge(len);
        if used > lane.limit && self.state == PeerState::Open {
            // The packet that announced more room may have been lost.
            self.wants_room.get_or_insert(now);
            return false;
        }
        lane.used = used;
        true
    }

    /// Gives room back.
    pub fn unreserve(&mut self, channel: Channel, len: usize) {
        self.lanes[channel as usize].used -= charge(len);
    }

    /// Sends a frame whose room was reserved.
    #[inline]
    pub fn send_frame(&mut self, channel: Channel, frame: Buf, pool: &mut Pool) {
        if self.state != PeerState::Open {
            return pool.give(frame);
        }
        let lane = &mut self.lanes[channel as usize];
        let message = lane.next_message;
        lane.next_message = message.wrapping_add(1);
        let slot = self.frames.insert(Outgoing { buf: frame, message, channel, cut: 0, acked: 0 }) as u32;
        lane.queue.push_back(slot);
    }

    /// Starts a put of `len > 0` bytes from an address of this process to an offset of the peer's segment;
    /// `false` if there are too many, or the peer has left.
    pub fn put(&mut self, src: u64, len: u64, to: u64, token: u64) -> bool {
        if self.putting >= MAX_OPS || self.left_at().is_some() {
            return false;
        }
        self.putting += 1;
        let what = Flow::Put { token };
        let stream = Stream { from: OpLocation::Own(src), to, len, cut: 0, acked: 0, what };
        self.turn.push_back(self.streams.insert(stream) as u32);
        true
    }

    /// Starts a get of `len > 0` bytes from an offset of the peer's segment to an address of this process;
    /// `false` if there are too many.
    pub fn get(&mut self, dst: u64, from: u64, len: u32, token: u64) -> bool {
        if self.gets.len() >= MAX_GETS || self.left_at().is_some() {
            return false;
        }
        let id = self.gets.insert(Getting { dst, len, arrived: 0, token }) as u32;
        self.ask.push_back((id, from, len));
        true
    }

    /// A delivered frame of `len` bytes has been handled: its room goes back to the peer.
    #[inline]
    pub fn consumed(&mut self, now: Time, channel: Channel, len: usize) {
        self.lanes[channel as usize].consumed += charge(len);
        let untold = self.limit_to_tell(channel as usize) - self.lanes[channel as usize].told;
        if untold > units(self.setup.window[channel as usize]) / 4 {
            self.ack_now = true;
        } else if self.ack_at.is_none() {
            self.ack_at = Some(now + ACK_DELAY_NS);
        }
    }

    fn limit_to_tell(&self, channel: usize) -> u64 {
        self.lanes[channel].consumed + units(self.setup.window[channel])
    }

    /// The offset in the segment for the payload of this datagram, if it is a part of a put that has not
    /// arrived before, whatever the payload is. The next [`Link::handle`] of the datagram then writes the
    /// payload there.
    pub fn expects_put(&self, datagram: &Packet<'_>) -> Option<u64> {
        let key = &self.setup.receive_key;
        let fresh = self.state == PeerState::Open && self.packets.fresh(datagram.number());
        // A datagram can only be verified without its payload if the tag does not cover the payload.
        let spared =
            datagram.kind() == Some(PacketKind::Put) && key.spares(PacketKind::Put, datagram.payload().len());
        if !fresh || !spared || !key.verify(datagram) {
            return None;
        }
        let header = datagram.header().ok()?;
        let standing = self.taken.standing(expand(header.seq, self.taken.next()));
        (header.kind == PacketKind::Put && standing == Standing::New).then_some(header.at)
    }

    /// Handles a datagram that claims to come from the peer.
    ///
    /// # Errors
    /// It was refused; [`Refused::Broken`] ends the job.
    pub fn handle(&mut self, now: Time, datagram: &Packet<'_>, world: &mut dyn World) -> Result<(), Refused> {
        if !self.packets.fresh(datagram.number()) || !self.setup.receive_key.verify(datagram) {
            self.counters.refused += 1;
            return Err(Refused::Drop);
        }
        // From here on the datagram is known to be the peer's.
        let broken = |what| Err(Refused::Broken(what));
        let Ok(header) = datagram.header() else { return broken("a header that contradicts itself") };
        if self.left_at().is_some() {
            return Ok(());
        }
        let chunk = expand(header.seq, self.taken.next());
        let standing = if header.kind.reliable() { self.taken.standing(chunk) } else { Standing::Seen };
        if standing == Standing::Beyond {
            return broken("a chunk beyond the window");
        }
        self.revive(now);
        self.counters.received += 1;
        let in_order = self.packets.enter(header.number);
        if header.number == self.packets.largest() {
            self.note_hearing(now, &header);
            self.received_at = now;
            self.peer_wants = header.flags & WANTS != 0 && header.kind != PacketKind::Close;
            self.allow(share::decode(header.share));
        }
        self.silence = 0;
        if self.looked_at.is_some() {
            self.looked_at = Some(now);
        }
        for (lane, limit) in self.lanes.iter_mut().zip(header.limits) {
            let limit = expand(limit, lane.limit);
            if limit > lane.limit {
                lane.limit = limit;
                self.wants_room = None;
            }
        }
        if header.flags & ACK != 0 {
            let ranges = datagram.ranges();
            let ranges = (header.kind == PacketKind::Ack).then_some(ranges).into_iter().flatten();
            self.acknowledged(now, &header, ranges, world)?;
        }
        if header.kind == PacketKind::Close {
            self.left(now, world);
            return Ok(());
        }
        if header.kind.eliciting() {
            self.unacked_packets += 1;
            self.unacked_bytes += datagram.payload().len();
            if header.flags & ACK_NOW != 0
                || !in_order
                || self.unacked_packets >= ACK_PACKETS
                || self.unacked_bytes >= ACK_BYTES
            {
                self.ack_now = true;
            } else if self.ack_at.is_none() {
                self.ack_at = Some(now + ACK_DELAY_NS);
            }
        }
        match standing {
            Standing::New => {
                self.taken.enter(chunk);
                self.take(&header, datagram.payload(), world)
            }
            _ => {
                self.counters.duplicates += u64::from(header.kind.reliable());
                Ok(())
            }
        }
    }

    /// Notes what the peer says it has received. It goes on sending, so it runs; if it does not receive what
    /// is sent meanwhile, or the large datagrams of that, they are dropped. A peer that runs is heard at
    /// least as often as probes are sent, so a longer time without a packet counts no more than that: the
    /// peer was stopped, and what it sends first when it goes on says nothing of what waits for it to be
    /// read.
    #[inline]
    fn note_hearing(&mut self, now: Time, header: &Header) {
        let passed = match self.received_at {
            0 => 0,
            at => now.saturating_sub(at).min(loss::MAX_PROBE_INTERVAL_NS),
        };
        let acked = if header.flags & ACK != 0 { expand(header.acked, self.next_packet) } else { 0 };
        if acked > self.heard_by_peer || acked + 1 >= self.next_packet {
            (self.heard_by_peer, self.unheard) = (acked, 0);
        } else {
            self.unheard += passed;
        }
        if self.chunks.is_empty() || self.chunk_base != self.missed {
            (self.missed, self.missing_for) = (self.chunk_base, 0);
        } else {
            self.missing_for += passed;
        }
    }

    /// Whether the peer is heard, and has not received what was sent for [`Setup::patience`].
    #[inline]
    pub fn is_unheard(&self) -> bool {
        let patience = self.setup.patience;
        patience > 0 && self.unheard.max(self.missing_for) > patience && self.state == PeerState::Open
    }

    /// Accepts a chunk for the first time.
    fn take(&mut self, header: &Header, payload: &[u8], world: &mut dyn World) -> Result<(), Refused> {
        let broken = |what| Err(Refused::Broken(what));
        match header.kind {
            PacketKind::Frame => self.take_frame(header, payload, world),
            PacketKind::Put => {
                if world.write(OpLocation::Segment(header.at), payload) {
                    Ok(())
                } else {
                    broken("a put outside the segment")
                }
            }
            PacketKind::Get => {
                if self.serving >= MAX_GETS {
                    return broken("too many gets");
                }
                if !world.holds(header.at, u64::from(header.total)) {
                    return broken("a get outside the segment");
                }
                self.serving += 1;
                let slot = self.streams.insert(Stream {
                    from: OpLocation::Segment(header.at),
                    to: 0,
                    len: u64::from(header.total),
                    cut: 0,
                    acked: 0,
                    what: Flow::Serve { id: header.id },
                });
                self.turn.push_back(slot as u32);
                Ok(())
            }
            PacketKind::Data => {
                let Some(get) = self.gets.get_mut(header.id as usize) else {
                    return broken("data nobody asked for");
                };
                if header.at + payload.len() as u64 > u64::from(get.len) {
                    return broken("data beyond what was asked for");
                }
                world.write(OpLocation::Own(get.dst + header.at), payload);
                get.arrived += payload.len() as u64;
                if get.arrived == u64::from(get.len) {
                    world.complete(get.token);
                    self.gets.remove(header.id as usize);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_frame(&mut self, header: &Header, payload: &[u8], world: &mut dyn World) -> Result<(), Refused> {
        let channel = if header.flags & REPLY == 0 { Channel::Request } else { Channel::Reply };
        let limit = self.limit_to_tell(channel as usize);
        let lane = &mut self.lanes[channel as usize];
        let (total, at) = (header.total as usize, header.at as usize);
        if total > MAX_FRAME_BYTES {
            return Err(Refused::Broken("a frame that is too long"));
        }
        let whole = payload.len() == total;
        if whole || !lane.partial.contains_key(&header.id) {
            lane.charged += charge(total);
            if lane.charged > limit {
                return Err(Refused::Broken("more frames than there is room for"));
            }
        }
        if whole {
            let mut buf = world.pool().take(total);
            buf.bytes_mut().copy_from_slice(payload);
            world.deliver(channel, buf);
            return Ok(());
        }
        let partial = lane
            .partial
            .entry(header.id)
            .or_insert_with(|| Partial { buf: world.pool().take(total), missing: total });
        if partial.buf.bytes().len() != total || payload.len() > partial.missing {
            return Err(Refused::Broken("parts of a frame that do not fit together"));
        }
        partial.buf.bytes_mut()[at..at + payload.len()].copy_from_slice(payload);
        partial.missing -= payload.len();
        if partial.missing == 0
            && let Some(whole) = lane.partial.remove(&header.id)
        {
            world.deliver(channel, whole.buf);
        }
        Ok(())
    }

    /// The peer has left: nothing more is sent, and nothing is waited for. It has acknowledged before what it
    /// accepted, so outstanding operations stay outstanding, and callers that wait for them use
    /// [`Link::left_at`].
    fn left(&mut self, now: Time, world: &mut dyn World) {
        self.state = PeerState::Left(now);
        for frame in self.frames.drain() {
            world.pool().give(frame.buf);
        }
        self.streams.clear();
        self.gets.clear();
        (self.putting, self.serving) = (0, 0);
        self.chunk_base += self.chunks.len() as u64;
        self.chunks.clear();
        self.lost.clear();
        self.turn.clear();
        self.ask.clear();
        self.lanes.iter_mut().for_each(|lane| lane.queue.clear());
        self.sent_base = self.next_packet;
        self.sent.clear();
        self.missing.clear();
        self.in_flight = 0;
        (self.lost_after, self.looked_at, self.wants_room) = (None, None, None);
        (self.ack_now, self.ack_at, self.probes) = (false, None, 0);
    }

    /// A chunk has arrived at the peer.
    fn arrived(&mut self, chunk: u64, world: &mut dyn World) {
        let Some(index) = chunk.checked_sub(self.chunk_base) else { return };
        let Some(entry) = self.chunks.get_mut(index as usize) else { return };
        if entry.progress == Progress::Done {
            return;
        }
        entry.progress = Progress::Done;
        match entry.body {
            Body::Frame { slot, len, .. } => {
                if let Some(frame) = self.frames.get_mut(slot as usize) {
                    frame.acked += len as usize;
                    if frame.acked == frame.buf.bytes().len()
                        && let Some(frame) = self.frames.try_remove(slot as usize)
                    {
                        world.pool().give(frame.buf);
                    }
                }
            }
            Body::Stream { slot, len, .. } => {
                if let Some(stream) = self.streams.get_mut(slot as usize) {
                    stream.acked += u64::from(len);
                    if stream.acked == stream.len {
                        if let Flow::Put { token } = stream.what {
                            world.complete(token);
                            self.putting -= 1;
                        }
                        self.streams.remove(slot as usize);
                    }
                }
            }
            Body::Get { .. } => {}
        }
        while self.chunks.front().is_some_and(|c| c.progress == Progress::Done) {
            self.chunks.pop_front();
            self.chunk_base += 1;
        }
    }

    /// Whether another chunk may be numbered.
    fn chunk_room(&self) -> bool {
        (self.chunks.len() as u64) < WINDOW_NUMBERS
    }
}
