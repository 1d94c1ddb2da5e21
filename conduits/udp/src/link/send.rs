//! Decides what a [`Link`] sends next.

use super::{Body, Chunk, Fate, Flow, Link, NO_CHUNK, OpLocation, PeerState, Progress, Sent, World};
use crate::path::Time;
use crate::share::FRESH_NS;
use crate::wire::{
    ACK, ACK_NOW, HEADER_BYTES, Header, MAX_RANGES, PacketKind, REPLY, WANTS, set_tag, tagged,
};
use gasnet_wire::conduit::Channel;

/// A stream yields to others after this many bytes.
const STREAM_TURN_BYTES: u64 = 256 << 10;

/// Bytes of the datagram that is always allowed, however little may be under way.
const MIN_DATAGRAM_BYTES: usize = 1232;

/// Datagrams of at least this many bytes avoid one copy of their payloads, at the sender and at the receiver.
pub const LARGE_DATAGRAM_BYTES: usize = 32 << 10;

/// Datagrams to one peer that are sent together: all of one size, except that the last may be smaller. Or one
/// large datagram, whose payload is still in the program's memory.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    len: usize,
    size: usize,
    closed: bool,
    most: usize,
    count: usize,
    more: bool,
    /// Address and length of a payload that is not in `bytes`.
    lent: Option<(u64, usize)>,
}

impl Batch {
    /// A batch of at most `most` datagrams and `bytes` bytes.
    pub fn new(bytes: usize, most: usize) -> Batch {
        Batch {
            bytes: vec![0; bytes],
            len: 0,
            size: 0,
            closed: false,
            most: most.max(1),
            count: 0,
            more: false,
            lent: None,
        }
    }

    /// Limits the number of datagrams in a batch from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// Makes it empty.
    pub fn clear(&mut self) {
        (self.len, self.size, self.closed, self.count, self.more) = (0, 0, false, 0, false);
        self.lent = None;
    }

    /// Address and length of the only datagram's payload, if [`Batch::bytes`] has only its header: memory
    /// that is lent until the put is complete.
    pub fn lent(&self) -> Option<(u64, usize)> {
        self.lent
    }

    /// Copies the lent payload, for a batch that outlives the link's next call.
    pub fn keep(&mut self, world: &mut dyn World) {
        if let Some((at, len)) = self.lent.take() {
            world.read(OpLocation::Own(at), &mut self.bytes[HEADER_BYTES..HEADER_BYTES + len]);
            self.len = HEADER_BYTES + len;
        }
    }

    /// The datagrams, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Size in bytes of each datagram but the last.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether something did not fit: there is more to send.
    pub fn more(&self) -> bool {
        self.more
    }

    /// How many datagrams there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether a datagram of this size fits into the batch.
    fn fits(&self, size: usize) -> bool {
        self.count == 0
            || !self.closed
                && size <= self.size
                && self.count < self.most
                && self.len + size <= self.bytes.len()
    }

    /// Room for the header of the only datagram, whose payload is elsewhere.
    fn add_lent(&mut self, size: usize, address: u64) -> &mut [u8] {
        (self.size, self.len, self.count, self.closed) = (size, HEADER_BYTES, 1, true);
        self.lent = Some((address, size - HEADER_BYTES));
        &mut self.bytes[..HEADER_BYTES]
    }

    /// Room for a datagram that fits.
    fn add(&mut self, size: usize) -> &mut [u8] {
        if self.count == 0 {
            self.size = size;
        }
        self.closed = size < self.size;
        self.count += 1;
        let start = self.len;
        self.len += size;
        &mut self.bytes[start..self.len]
    }
}

/// The next datagram to send.
enum Next {
    Control { kind: PacketKind, pad: usize },
    Again(u64),
    New(Body),
}

impl Link {
    /// Adds datagrams to an empty batch; returns whether it did. To be called again if the batch then has
    /// more to send.
    pub fn transmit(&mut self, now: Time, world: &mut dyn World, batch: &mut Batch) -> bool {
        while self.state == PeerState::Open
            && let Some((next, size)) = self.next(now, batch)
        {
            if !batch.fits(size) {
                batch.more = true;
                break;
            }
            self.write(now, next, size, world, batch);
        }
        batch.count() > 0
    }

    /// Makes the next [`Link::transmit`] acknowledge everything that arrived: for a rank that leaves.
    pub fn acknowledge(&mut self) {
        self.ack_now = self.state == PeerState::Open && self.packets.largest() > 0;
    }

    /// Adds the message that this rank leaves; nothing may be sent after it.
    pub fn close(&mut self, now: Time, batch: &mut Batch) {
        if self.state == PeerState::Open {
            let header = self.header(now, PacketKind::Close, 0);
            self.finish(header, &[], batch, None);
        }
    }

    /// The next datagram to send, and its size.
    fn next(&mut self, now: Time, batch: &Batch) -> Option<(Next, usize)> {
        // Every packet carries an acknowledgement, as long as no packet is missing.
        let more = !self.lost.is_empty() || self.has_new();
        if self.ack_now && (self.packets.gaps() || !more || !self.may_send(now)) {
            let ranges = self.packets.ranges().take(MAX_RANGES).count();
            return Some((
                Next::Control { kind: PacketKind::Ack, pad: ranges * 4 },
                HEADER_BYTES + ranges * 4,
            ));
        }
        if self.probes > 0 {
            // The oldest chunk under way, unless the peer has been silent for long.
            let oldest = self.chunks.iter().position(|c| c.progress == Progress::Flying);
            if let (Some(index), true) = (oldest, self.backoff <= 2) {
                let size = HEADER_BYTES + body_len(self.chunks[index].body);
                return Some((Next::Again(self.chunk_base + index as u64), size));
            }
            return Some((Next::Control { kind: PacketKind::Ping, pad: 0 }, HEADER_BYTES));
        }
        if !more || !self.may_send(now) {
            return None;
        }
        if self.wants_larger()
            && batch.count() == 0
            && let Some(size) = self.mtu.probe(now, self.congestion.largest() as usize)
        {
            return Some((Next::Control { kind: PacketKind::Probe, pad: size - HEADER_BYTES }, size));
        }
        while let Some(&chunk) = self.lost.front() {
            match chunk.checked_sub(self.chunk_base).and_then(|i| self.chunks.get(i as usize)) {
                Some(entry) if entry.progress == Progress::Waiting => {
                    return Some((Next::Again(chunk), HEADER_BYTES + body_len(entry.body)));
                }
                _ => self.lost.pop_front(),
            };
        }
        let body = self.next_body()?;
        Some((Next::New(body), HEADER_BYTES + body_len(body)))
    }

    fn has_new(&self) -> bool {
        self.chunk_room()
            && (!self.lanes[0].queue.is_empty()
                || !self.lanes[1].queue.is_empty()
                || !self.ask.is_empty()
                || !self.turn.is_empty())
    }

    /// Whether larger datagrams would be useful.
    fn wants_larger(&self) -> bool {
        let payload = self.mtu.size() - HEADER_BYTES;
        let long = |slot: &u32| self.frames[*slot as usize].buf.bytes().len() > payload;
        let stream = |slot: &u32| self.streams[*slot as usize].len > payload as u64;
        self.turn.front().is_some_and(stream) || self.lanes.iter().any(|l| l.queue.front().is_some_and(long))
    }

    /// Bytes of the largest datagram to send now: no larger than what may be under way.
    fn datagram(&self) -> usize {
        self.mtu.size().min((self.congestion.largest() as usize).max(MIN_DATAGRAM_BYTES))
    }

    fn may_send(&mut self, now: Time) -> bool {
        if self.in_flight == 0 && now > self.probe_from + FRESH_NS {
            // The peer's promise is too old to rely on.
            self.allow(0);
        }
        if self.in_flight > 0 && self.in_flight + self.datagram() as u64 > self.congestion.window() {
            return false;
        }
        match self.pacer.ready(now, self.congestion.window(), &self.rtt) {
            Ok(()) => true,
            Err(at) => {
                self.paced_until = Some(at);
                false
            }
        }
    }

    /// The next chunk: replies, requests to get, requests, streams in turn.
    fn next_body(&mut self) -> Option<Body> {
        if !self.chunk_room() {
            return None;
        }
        let most = self.datagram() - HEADER_BYTES;
        let frame = |slot: u32| {
            let f = &self.frames[slot as usize];
            Some(Body::Frame { slot, at: f.cut as u32, len: (f.buf.bytes().len() - f.cut).min(most) as u32 })
        };
        if let Some(&slot) = self.lanes[Channel::Reply as usize].queue.front() {
            return frame(slot);
        }
        if let Some(&(id, from, len)) = self.ask.front() {
            return Some(Body::Get { id, from, len });
        }
        if let Some(&slot) = self.lanes[Channel::Request as usize].queue.front() {
            return frame(slot);
        }
        let slot = *self.turn.front()?;
        let s = &self.streams[slot as usize];
        // Multiples of 64 keep copies aligned.
        let len = (s.len - s.cut).min(if most > 4096 { most as u64 / 64 * 64 } else { most as u64 });
        Some(Body::Stream { slot, at: s.cut, len: len as u32 })
    }

    /// Records that the chunk has been made.
    fn cut(&mut self, body: Body) {
        match body {
            Body::Frame { slot, len, .. } => {
                if let Some(f) = self.frames.get_mut(slot as usize) {
                    f.cut += len as usize;
                    if f.cut == f.buf.bytes().len() {
                        self.lanes[f.channel as usize].queue.pop_front();
                    }
                }
            }
            Body::Get { .. } => {
                self.ask.pop_front();
            }
            Body::Stream { slot, at, len } => {
                if let Some(s) = self.streams.get_mut(slot as usize) {
                    s.cut = at + u64::from(len);
                    if s.cut == s.len {
                        self.serving -= usize::from(matches!(s.what, Flow::Serve { .. }));
                        self.turn.pop_front();
                    } else if s.cut / STREAM_TURN_BYTES != at / STREAM_TURN_BYTES {
                        self.turn.rotate_left(1);
                    }
                }
            }
        }
    }

    fn write(&mut self, now: Time, next: Next, size: usize, world: &mut dyn World, batch: &mut Batch) {
        match next {
            Next::Control { kind, pad } => {
                let mut header = self.header(now, kind, pad as u32);
                let mut payload = [0; 4 * MAX_RANGES];
                if kind == PacketKind::Ack {
                    let pairs = payload.chunks_exact_mut(4);
                    for (out, (gap, run)) in pairs.zip(self.packets.ranges()) {
                        out[..2].copy_from_slice(&gap.to_le_bytes());
                        out[2..].copy_from_slice(&run.to_le_bytes());
                    }
                    self.finish(header, &payload[..pad], batch, None);
                } else {
                    header.flags |= ACK_NOW;
                    self.probes = self.probes.saturating_sub(u32::from(kind == PacketKind::Ping));
                    let sent = (NO_CHUNK, kind == PacketKind::Probe);
                    self.finish(header, &payload[..0], batch, Some((now, sent)));
                    // A packet that tries a size travels alone.
                    batch.closed |= kind == PacketKind::Probe;
                }
            }
            Next::Again(chunk) => {
                let probing = self.probes > 0;
                if probing {
                    self.probes -= 1;
                } else {
                    self.lost.pop_front();
                }
                let index = (chunk - self.chunk_base) as usize;
                let packet = self.next_packet;
                let entry = &mut self.chunks[index];
                (entry.progress, entry.packet) = (Progress::Flying, packet);
                let body = entry.body;
                self.write_chunk(now, chunk, body, size, world, batch);
            }
            Next::New(body) => {
                let chunk = self.chunk_base + self.chunks.len() as u64;
                let packet = self.next_packet;
                self.cut(body);
                self.chunks.push_back(Chunk { body, progress: Progress::Flying, packet });
                self.write_chunk(now, chunk, body, size, world, batch);
            }
        }
    }

    fn write_chunk(
        &mut self,
        now: Time,
        chunk: u64,
        body: Body,
        size: usize,
        world: &mut dyn World,
        batch: &mut Batch,
    ) {
        let mut header = self.header(now, PacketKind::Get, (size - HEADER_BYTES) as u32);
        header.seq = chunk as u32;
        // The last for now: its acknowledgement is waited for.
        let full = self.in_flight + 2 * self.datagram() as u64 > self.congestion.window();
        // A chunk that is sent again may be the only one that a put still waits for.
        let again = chunk + 1 < self.chunk_base + self.chunks.len() as u64;
        let lent = if size >= LARGE_DATAGRAM_BYTES && batch.count() == 0 {
            self.may_lend(body, world)
        } else {
            None
        };
        let datagram = match lent {
            Some(address) => batch.add_lent(size, address),
            None => batch.add(size),
        };
        let (head, payload) = halves(datagram);
        match body {
            Body::Frame { slot, at, len } => {
                let f = &self.frames[slot as usize];
                let bytes = f.buf.bytes();
                header.kind = PacketKind::Frame;
                header.flags |= if f.channel == Channel::Reply { REPLY } else { 0 };
                header.flags |= if full { ACK_NOW } else { 0 };
                (header.id, header.total, header.at) = (f.message, bytes.len() as u32, u64::from(at));
                payload.copy_from_slice(&bytes[at as usize..(at + len) as usize]);
            }
            Body::Get { id, from, len } => (header.id, header.total, header.at) = (id, len, from),
            Body::Stream { slot, at, len } => {
                let s = &self.streams[slot as usize];
                let from = match s.from {
                    OpLocation::Own(address) => OpLocation::Own(address + at),
                    OpLocation::Segment(offset) => OpLocation::Segment(offset + at),
                };
                header.at = s.to + at;
                let last = at + u64::from(len) == s.len;
                match s.what {
                    Flow::Put { .. } => header.kind = PacketKind::Put,
                    Flow::Serve { id } => (header.kind, header.id) = (PacketKind::Data, id),
                }
                // A put is complete when it is acknowledged; data of gets need not be acknowledged soon.
                let hurry = full || (last || again) && header.kind == PacketKind::Put;
                header.flags |= if hurry { ACK_NOW } else { 0 };
                if lent.is_none() {
                    world.read(from, payload);
                }
            }
        }
        header.emit(head);
        let tag = self.setup.send_key.tag(tagged(head), payload);
        set_tag(head, tag);
        self.note(now, size, chunk, false);
    }

    /// The address of a chunk that can be sent without a copy.
    fn may_lend(&self, body: Body, world: &mut dyn World) -> Option<u64> {
        let Body::Stream { slot, at, .. } = body else { return None };
        let OpLocation::Own(address) = self.streams[slot as usize].from else { return None };
        (self.setup.send_key.spares(PacketKind::Put, LARGE_DATAGRAM_BYTES - HEADER_BYTES) && world.lend())
            .then_some(address + at)
    }

    /// A header with the fields of all kinds; the acknowledgement in it counts as sent.
    fn header(&mut self, now: Time, kind: PacketKind, len: u32) -> Header {
        let number = self.next_packet;
        self.next_packet += 1;
        let largest = self.packets.largest();
        let wants = !self.lost.is_empty() || self.has_new();
        let delay = now.saturating_sub(self.received_at) / 16_000;
        let limits = [0, 1].map(|c| self.limit_to_tell(c));
        for (lane, limit) in self.lanes.iter_mut().zip(limits) {
            lane.told = limit;
        }
        if kind == PacketKind::Ack || !self.ack_now || !self.packets.gaps() {
            (self.ack_now, self.ack_at) = (false, None);
            (self.unacked_packets, self.unacked_bytes) = (0, 0);
        }
        Header {
            kind,
            flags: if largest > 0 { ACK } else { 0 } | if wants { WANTS } else { 0 },
            share: self.share,
            sender: self.setup.rank,
            number,
            seq: 0,
            len,
            acked: largest as u32,
            run: self.packets.run(),
            delay: delay.min(u64::from(u16::MAX)) as u16,
            limits: limits.map(|l| l as u32),
            id: 0,
            total: 0,
            at: 0,
        }
    }

    /// Writes a datagram without a chunk, its payload filled with zeros.
    fn finish(
        &mut self,
        header: Header,
        payload: &[u8],
        batch: &mut Batch,
        sent: Option<(Time, (u64, bool))>,
    ) {
        let size = HEADER_BYTES + header.len as usize;
        let datagram = batch.add(size);
        let (head, rest) = halves(datagram);
        rest[..payload.len()].copy_from_slice(payload);
        rest[payload.len()..].fill(0);
        header.emit(head);
        let tag = self.setup.send_key.tag(tagged(head), rest);
        set_tag(head, tag);
        match sent {
            Some((now, (chunk, probe))) => self.note(now, size, chunk, probe),
            None => {
                self.counters.sent += 1;
                self.sent.push_back(Sent {
                    at: 0,
                    bytes: 0,
                    fate: Fate::Silent,
                    chunk: NO_CHUNK,
                    probe: false,
                });
                self.trim();
            }
        }
    }

    /// Records a packet that will be acknowledged.
    fn note(&mut self, now: Time, size: usize, chunk: u64, probe: bool) {
        self.counters.sent += 1;
        self.sent.push_back(Sent { at: now, bytes: size as u32, fate: Fate::Flying, chunk, probe });
        if !probe {
            self.look(now);
            self.in_flight += size as u64;
            self.probe_from = now;
            self.pacer.sent(size as u64);
        }
        self.trim();
    }

    /// Forgets the first packets that will not be acknowledged.
    fn trim(&mut self) {
        while self.sent.front().is_some_and(|s| s.fate == Fate::Silent || s.fate == Fate::Acked) {
            self.sent.pop_front();
            self.sent_base += 1;
        }
    }
}

fn body_len(body: Body) -> usize {
    match body {
        Body::Frame { len, .. } | Body::Stream { len, .. } => len as usize,
        Body::Get { .. } => 0,
    }
}

fn halves(datagram: &mut [u8]) -> (&mut [u8; HEADER_BYTES], &mut [u8]) {
    datagram.split_first_chunk_mut().expect("every datagram has room for a header")
}
