//! A link: one direction of message traffic between two ranks of a host, made of a [`ring`](super::ring) of
//! message heads and an arena for payloads.
//!
//! A message head holds up to 16 arguments and, where there is room, the payload itself (up to
//! [`INLINE_BYTES`] bytes); larger payloads lie in the arena, contiguous and 64-byte aligned, and are read
//! there in place by the receiver. The arena has two [parts](Part), one for payloads of up to
//! [`SMALL_BYTES`] and one for the others. Space of a part is handed out in ring order and comes back in ring
//! order, so one number says how much of it is in use: the end of the oldest payload not yet released.
//!
//! **Which lines the next payload gets.** Small payloads lie close together, and when nothing is in flight
//! their part starts over at 0: a ping-pong keeps using the same few lines, and a quiet link touches few
//! pages. For large ones that is slow: the receiver's cache has a copy of each line that it has read, which a
//! sender that writes the line again has to take away first. So they go through their whole part, which with
//! few ranks is [`COOLING`] times what may be in flight: when the sender comes back to a line, both
//! processors have used so many others that the copies have left their caches of the second level. And behind
//! each large payload [`GAP_BYTES`] stay unused: while the receiver reads one payload, its processor fetches
//! that far ahead, and would take lines away from the sender that fills the next.
//!
//! **Two phases.** [`Outbox::claim`] finds room and changes nothing; [`Outbox::publish`] sends. A claim that
//! is dropped costs nothing and loses nothing.
#![expect(
    unsafe_code,
    reason = "writes message heads and payloads into memory shared with one other process"
)]

use super::ring::{Consumer, Producer, ReadPosition, Ring, Slot};
use crate::am::frame::MAX_ARGUMENTS;
use core::ptr::{addr_of, addr_of_mut};

/// Payload bytes that fit in a message head with at most [`INLINE_ARGS`] arguments.
pub(crate) const INLINE_BYTES: usize = 64;
/// Arguments that lie in the first cache line.
pub(crate) const INLINE_ARGS: usize = 12;
/// Bytes of small payloads after which an idle link restarts at 0.
const WARM_BYTES: u64 = 16 << 10;
/// Longer payloads are large.
const SMALL_BYTES: usize = 1 << 10;
/// How far processors read ahead: measured with gaps of 64 to 4096 bytes, of which 256 had no effect.
const GAP_BYTES: u64 = 512;
/// How many times longer the part of large payloads is than what may be in flight, with few ranks.
const COOLING: usize = 4;
/// `Msg::at` of a message whose payload lies in its head.
const AT_INLINE: u32 = u32::MAX;

/// A message head as it lies in a ring slot (behind the 4-byte stamp).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Msg {
    /// The receiver's action; the layer above defines the values.
    pub(crate) kind: u8,
    pub(crate) handler: u8,
    pub(crate) nargs: u8,
    pub(crate) flags: u8,
    /// Payload bytes.
    pub(crate) len: u32,
    at: u32,
    args: [u32; INLINE_ARGS],
    tail: [u32; 16],
}

impl Default for Msg {
    fn default() -> Msg {
        Msg { kind: 0, handler: 0, nargs: 0, flags: 0, len: 0, at: 0, args: [0; INLINE_ARGS], tail: [0; 16] }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Msg>() == 124 && size_of::<Slot<Msg>>() == 128);

/// Where the word of [`Body::Placed`] lies, counted in arguments: in the first cache line if there is room.
#[inline]
fn word_at(nargs: usize) -> usize {
    if nargs <= INLINE_ARGS - 2 { INLINE_ARGS - 2 } else { INLINE_ARGS + 14 }
}

/// The payload of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    /// Nothing.
    Empty,
    /// Payload to be copied into the head: address and length, the claim having no arena space.
    Inline(*const u8, usize),
    /// Payload of this length that was written to [`Claim::payload`].
    Arena(usize),
    /// No payload bytes in the link: a length and a 64-bit word for the layer above (data placed elsewhere).
    Placed { len: usize, word: u64 },
}

/// The shape of every link of a job, a function of the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) slots: usize,
    /// Bytes of the part for large payloads that may be in flight, from the first to the last.
    pub(crate) window: usize,
    /// Bytes of the arena's part for large payloads.
    pub(crate) large: usize,
}

/// Most messages that one link holds.
pub(crate) const MAX_SLOTS: usize = 256;

impl Shape {
    /// Rings shrink as ranks multiply: their number grows with the square. Untouched pages cost nothing.
    pub(crate) fn for_ranks(ranks: u32, max_payload: usize) -> Shape {
        let slots = match ranks {
            0..=16 => MAX_SLOTS,
            17..=64 => 128,
            _ => 32,
        };
        let factor = if ranks <= 16 { 4 } else { 2 };
        let window = (max_payload * factor).next_multiple_of(4096);
        Shape { slots, window, large: if ranks <= 8 { window * COOLING } else { window } }
    }

    /// Bytes of the ring.
    fn ring_bytes(&self) -> usize {
        (size_of::<ReadPosition>() + self.slots * size_of::<Slot<Msg>>()).next_multiple_of(4096)
    }

    /// Bytes of the arena's part for small payloads: who has a slot finds room there, even if one payload
    /// does not fit before its end.
    fn small(&self) -> usize {
        ((self.slots + 1) * SMALL_BYTES).next_multiple_of(4096)
    }

    /// Bytes of shared memory one link takes, a multiple of the page size.
    pub(crate) fn bytes(&self) -> usize {
        self.ring_bytes() + self.small() + self.large
    }

    /// # Safety
    /// 1. `base` is page-aligned, valid for [`Shape::bytes`] bytes for the life of the process, zero-filled
    ///    or in use as a link of the same shape (owed by the caller).
    unsafe fn ring(&self, base: *mut u8) -> (Ring<Msg>, *mut u8) {
        let arena = base.wrapping_add(self.ring_bytes());
        // SAFETY: (1); ReadPosition and Slot are atomics and cells, for which any bytes are valid; alignment
        // 128 divides the page's.
        let ring = unsafe {
            let head: &'static ReadPosition = &*base.cast::<ReadPosition>();
            let slots = core::slice::from_raw_parts(
                base.add(size_of::<ReadPosition>()).cast::<Slot<Msg>>(),
                self.slots,
            );
            Ring::new(slots, head)
        };
        (ring, arena)
    }
}

/// A part of the arena. Positions count its bytes since the start, those skipped at its end included.
#[derive(Debug)]
struct Part {
    /// Where it lies in the arena.
    start: u64,
    bytes: u64,
    /// Most bytes in flight.
    window: u64,
    /// Unused behind each payload.
    gap: u64,
    /// Position of its first byte in the present lap.
    lap: u64,
    /// Position behind the last payload sent, of this lap or of the one before.
    used: u64,
    /// Position below which all is known to be released.
    freed: u64,
}

impl Part {
    fn new(start: usize, bytes: usize, window: usize, gap: u64) -> Part {
        Part {
            start: start as u64,
            bytes: bytes as u64,
            window: window as u64,
            gap,
            lap: 0,
            used: 0,
            freed: 0,
        }
    }

    /// Finds room for `len` bytes, which never straddle the end: where they lie in the arena, and the
    /// position behind them.
    #[inline]
    fn find(&mut self, len: u64) -> Option<(u64, u64)> {
        let mut at = self.used - self.lap;
        if at + len > self.bytes {
            at = 0;
            if self.freed == self.used {
                // The bytes skipped at the end are not in flight.
                self.freed = self.lap + self.bytes;
                (self.lap, self.used) = (self.freed, self.freed);
            }
        }
        let lap = if at == 0 && self.used > self.lap { self.lap + self.bytes } else { self.lap };
        let end = at + (len + self.gap).next_multiple_of(64).min(self.bytes - at);
        (lap + at + len - self.freed <= self.window).then_some((self.start + at, lap + end))
    }

    /// A payload that ends at this position was sent.
    #[inline]
    fn send(&mut self, end: u64) {
        if end > self.lap + self.bytes {
            self.lap += self.bytes;
        }
        self.used = end;
    }

    /// Everything is released; the part starts over at 0.
    #[inline]
    fn restart(&mut self) {
        (self.lap, self.used, self.freed) = (0, 0, 0);
    }
}

/// The sending end of a link.
pub(crate) struct Outbox {
    ring: Producer<Msg>,
    arena: *mut u8,
    /// Parts of the arena: [`SMALL`] and [`LARGE`].
    parts: [Part; 2],
    /// `used` of each part after the message in each slot.
    ends: Box<[[u64; 2]]>,
    /// Position up to which `freed` is accounted.
    seen: u64,
    /// `used` of small payloads when a claim last looked whether the link is idle.
    looked: u64,
}

/// Index of the part for small payloads.
const SMALL: usize = 0;
/// Index of the part for large payloads.
const LARGE: usize = 1;

// SAFETY: the raw pointer is to shared memory that outlives the process; the Outbox has exclusive use of its
// producer side.
unsafe impl Send for Outbox {}

/// Arena bytes of a message with `len` payload bytes and `nargs` arguments. A message that finds no room
/// leaves none for one with as many or more.
#[inline]
pub(crate) fn arena_bytes(len: usize, nargs: usize) -> usize {
    if len <= INLINE_BYTES && nargs <= INLINE_ARGS { 0 } else { len }
}

/// Room for one message: where its payload goes (dangling for none), and the private bookkeeping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) payload: *mut u8,
    at: u32,
    /// Position behind the payload in its part; of no meaning without one.
    end: u64,
}

impl Claim {
    /// The part of the bookkeeping that [`Outbox::reclaim`] needs.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

impl Outbox {
    /// A claim with arena space, put together again from its parts while nothing has been sent since it was
    /// made.
    pub(crate) fn reclaim(&self, payload: *mut u8, end: u64) -> Claim {
        Claim { payload, at: (payload as usize - self.arena as usize) as u32, end }
    }

    /// # Safety
    /// 1. As [`Shape::ring`]. 2. The only outbox of this link in any process, made before any message was
    ///    sent.
    pub(crate) unsafe fn new(shape: Shape, base: *mut u8) -> Outbox {
        // SAFETY: (1), (2).
        let (ring, arena) = unsafe { shape.ring(base) };
        Outbox {
            // SAFETY: (2).
            ring: unsafe { Producer::new(ring) },
            arena,
            parts: [
                Part::new(0, shape.small(), shape.small(), 0),
                Part::new(shape.small(), shape.large, shape.window, GAP_BYTES),
            ],
            ends: vec![[0; 2]; shape.slots].into_boxed_slice(),
            seen: 0,
            looked: 0,
        }
    }

    /// Room for a message with `len` payload bytes and `nargs` arguments, or `None` when the peer has to
    /// release some first. `len` must not exceed [`Shape::window`].
    #[inline]
    pub(crate) fn claim(&mut self, len: usize, nargs: usize) -> Option<Claim> {
        if !self.ring.has_room() {
            return None;
        }
        match arena_bytes(len, nargs) {
            0 => Some(Claim { payload: core::ptr::null_mut(), at: AT_INLINE, end: 0 }),
            len => self.claim_arena(len),
        }
    }

    /// The ring, to see from outside where the receiver is.
    pub(crate) fn ring(&self) -> Ring<Msg> {
        self.ring.ring()
    }

    /// The receiver's position as last seen, and whether no slot was free then. A claim that found no room
    /// has just looked.
    pub(crate) fn receiver_seen(&self) -> (u64, bool) {
        (self.ring.head_seen(), self.ring.is_full())
    }

    fn claim_arena(&mut self, len: usize) -> Option<Claim> {
        let part = if len <= SMALL_BYTES { SMALL } else { LARGE };
        for attempt in 0..2 {
            // Looking at the consumer's head costs a cache miss; every WARM_BYTES it pays, because an idle
            // part of small payloads restarts at 0.
            if attempt == 1 || (part == SMALL && self.parts[SMALL].used - self.looked >= WARM_BYTES) {
                self.ring.refresh();
                self.looked = self.parts[SMALL].used;
            }
            self.account();
            if let Some((at, end)) = self.parts[part].find(len as u64) {
                return Some(Claim { payload: self.arena.wrapping_add(at as usize), at: at as u32, end });
            }
        }
        None
    }

    /// Brings what is freed up to the consumer's head as last seen.
    fn account(&mut self) {
        let head = self.ring.head_seen();
        let [small, large] = &mut self.parts;
        if head == self.ring.tail() {
            small.restart();
            self.looked = 0;
            large.freed = large.used;
        } else if head > self.seen {
            let ends = self.ends[(head - 1) as usize & (self.ends.len() - 1)];
            (small.freed, large.freed) = (small.freed.max(ends[SMALL]), large.freed.max(ends[LARGE]));
        }
        self.seen = head;
    }

    /// Sends the message claimed last.
    ///
    /// # Safety
    /// 1. `claim` is the result of the last [`Outbox::claim`], with the same payload length and `args.len()`.
    /// 2. `Body::Inline` is valid for its length and used only when `claim.payload` is null; `Body::Arena`
    ///    otherwise.
    #[inline]
    pub(crate) unsafe fn publish(&mut self, claim: Claim, kind: u8, handler: u8, args: &[u32], body: Body) {
        let nargs = args.len();
        debug_assert!(nargs <= MAX_ARGUMENTS);
        let slot = self.ring.tail() as usize & (self.ends.len() - 1);
        if claim.at != AT_INLINE {
            let part = if u64::from(claim.at) < self.parts[LARGE].start { SMALL } else { LARGE };
            self.parts[part].send(claim.end);
        }
        self.ends[slot] = [self.parts[SMALL].used, self.parts[LARGE].used];
        // SAFETY: push hands out a slot that is ours to write; field pointers stay inside it; (2) for the
        // source.
        self.ring.push(|m| unsafe {
            addr_of_mut!((*m).kind).cast::<u32>().write(u32::from_ne_bytes([kind, handler, nargs as u8, 0]));
            addr_of_mut!((*m).at).write(claim.at);
            let first = addr_of_mut!((*m).args).cast::<u32>();
            match <&[u32; INLINE_ARGS]>::try_from(args) {
                // As many as the first cache line holds take a few instructions.
                Ok(all) => first.cast::<[u32; INLINE_ARGS]>().write(*all),
                Err(_) => {
                    for (i, a) in args.iter().take(INLINE_ARGS).enumerate() {
                        first.add(i).write(*a);
                    }
                }
            }
            let tail = addr_of_mut!((*m).tail).cast::<u32>();
            if nargs > INLINE_ARGS {
                for (i, a) in args[INLINE_ARGS..].iter().enumerate() {
                    tail.add(i).write(*a);
                }
            }
            let len = match body {
                Body::Empty => 0,
                Body::Inline(src, len) => {
                    crate::bytes::load(tail.cast(), src, len);
                    len
                }
                Body::Arena(len) => len,
                Body::Placed { len, word } => {
                    first.add(word_at(nargs)).cast::<u64>().write_unaligned(word);
                    len
                }
            };
            addr_of_mut!((*m).len).write(len as u32);
        });
    }
}

/// The receiving end of a link.
pub(crate) struct Inbox {
    ring: Consumer<Msg>,
    arena: *mut u8,
}

// SAFETY: as for Outbox, with the consumer side.
unsafe impl Send for Inbox {}

/// A received message, valid until [`Inbox::release`].
pub(crate) struct Received {
    pub(crate) msg: *const Msg,
    pub(crate) args: [u32; MAX_ARGUMENTS],
    pub(crate) nargs: usize,
    pub(crate) kind: u8,
    pub(crate) handler: u8,
    pub(crate) len: usize,
    /// The payload's bytes (for a message that carries them).
    pub(crate) payload: *mut u8,
}

impl Inbox {
    /// An inbox without payloads, for models.
    #[cfg(all(test, loom))]
    pub(crate) fn model(ring: Consumer<Msg>) -> Inbox {
        Inbox { ring, arena: core::ptr::null_mut() }
    }

    /// # Safety
    /// 1. As [`Shape::ring`]. 2. The only inbox of this link in any process, made before any message was
    ///    received.
    pub(crate) unsafe fn new(shape: Shape, base: *mut u8) -> Inbox {
        // SAFETY: (1), (2).
        let (ring, arena) = unsafe { shape.ring(base) };
        // SAFETY: (2).
        Inbox { ring: unsafe { Consumer::new(ring) }, arena }
    }

    /// The link's ring, to look for messages without exclusive use of the inbox.
    pub(crate) fn ring(&self) -> Ring<Msg> {
        self.ring.ring()
    }

    /// The oldest message, if any. It stays in place until [`Inbox::release`].
    #[inline]
    pub(crate) fn front(&self) -> Option<Received> {
        self.ring.front(|m| {
            // SAFETY: front hands out a published slot, read-only until release; field pointers stay inside
            // it.
            unsafe {
                let [kind, handler, nargs, _] = addr_of!((*m).kind).cast::<u32>().read().to_ne_bytes();
                let nargs = (nargs as usize).min(MAX_ARGUMENTS);
                let mut args = [0u32; MAX_ARGUMENTS];
                // All of the first cache line: a loop over those that are there would take longer.
                let first = addr_of!((*m).args).read();
                args[..INLINE_ARGS].copy_from_slice(&first);
                let tail = addr_of!((*m).tail).cast::<u32>();
                for (i, a) in args.iter_mut().take(nargs).skip(INLINE_ARGS).enumerate() {
                    *a = tail.add(i).read();
                }
                let at = addr_of!((*m).at).read();
                let payload = if at == AT_INLINE {
                    tail.cast_mut().cast::<u8>()
                } else {
                    self.arena.wrapping_add(at as usize)
                };
                let len = addr_of!((*m).len).read() as usize;
                Received { msg: m, args, nargs, kind, handler, len, payload }
            }
        })
    }

    /// Done with the oldest message: its space goes back to the sender by the next [`Inbox::flush`] at the
    /// latest.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.ring.release();
    }

    /// Gives the space of all released messages back.
    #[inline]
    pub(crate) fn flush(&mut self) {
        self.ring.flush();
    }
}

impl Received {
    /// The 64-bit word of the head.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        // SAFETY: the message is valid until released, and releasing needs the Inbox that lent it; inside the
        // head.
        unsafe {
            addr_of!((*self.msg).args).cast::<u32>().add(word_at(self.nargs)).cast::<u64>().read_unaligned()
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn shared(shape: Shape) -> *mut u8 {
        let layout = std::alloc::Layout::from_size_align(shape.bytes(), 4096).unwrap();
        // SAFETY: the layout has a size.
        unsafe { std::alloc::alloc_zeroed(layout) }
    }

    /// Random lengths and argument counts through a tiny link, two threads, against the generator itself.
    #[test]
    fn random_messages_arrive_whole() {
        let shape = Shape { slots: 4, window: 8192, large: 12288 };
        let base = shared(shape);
        // SAFETY: fresh zero-filled memory, one outbox and one inbox.
        let (mut out, mut inn) = unsafe { (Outbox::new(shape, base), Inbox::new(shape, base)) };
        let seed = 1;
        // Length and arguments of the next message.
        let next = |random: &mut fastrand::Rng| {
            let nargs = random.u64(..) % 17;
            let len = match random.u64(..) % 3 {
                0 => 0,
                1 => random.u64(..) % 100,
                _ => random.u64(..) % 8193,
            };
            (len as usize, (0..nargs).map(|_| random.u64(..) as u32).collect::<Vec<_>>())
        };
        let rounds = if cfg!(miri) { 20 } else { 50_000u32 };
        let sender = std::thread::spawn(move || {
            let mut x = fastrand::Rng::with_seed(seed);
            for i in 0..rounds {
                let (len, args) = next(&mut x);
                let data: Vec<u8> = (0..len).map(|k| (k as u32 ^ i) as u8).collect();
                let claim = loop {
                    match out.claim(len, args.len()) {
                        Some(c) => break c,
                        None => std::thread::yield_now(),
                    }
                };
                let body = match (len, claim.payload.is_null()) {
                    (0, _) => Body::Empty,
                    (_, true) => Body::Inline(data.as_ptr(), len),
                    (_, false) => {
                        // SAFETY: the claim has room for len bytes.
                        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), claim.payload, len) };
                        Body::Arena(len)
                    }
                };
                // SAFETY: the claim just made.
                unsafe { out.publish(claim, 1, i as u8, &args, body) };
            }
        });
        let mut x = fastrand::Rng::with_seed(seed);
        for i in 0..rounds {
            let (len, args) = next(&mut x);
            let m = loop {
                match inn.front() {
                    Some(m) => break m,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!((m.handler, m.nargs, m.len), (i as u8, args.len(), len), "message {i}, seed {seed}");
            assert_eq!(m.args[..args.len()], args[..]);
            for k in 0..len {
                // SAFETY: inside the payload of a message not yet released.
                assert_eq!(unsafe { *m.payload.add(k) }, (k as u32 ^ i) as u8);
            }
            inn.release();
            inn.flush();
        }
        sender.join().unwrap();
    }

    /// Sends a payload through an idle link; where it lay in the arena.
    fn exchange(out: &mut Outbox, inn: &mut Inbox, len: usize) -> u64 {
        let claim = out.claim(len, 0).unwrap();
        // SAFETY: the claim just made; the payload's bytes do not matter here.
        unsafe { out.publish(claim, 1, 0, &[], Body::Arena(len)) };
        assert_eq!(inn.front().map(|m| m.len), Some(len));
        inn.release();
        inn.flush();
        u64::from(claim.at)
    }

    /// Small payloads stay on warm pages, whatever is between them; large ones go through their whole part,
    /// with gaps.
    #[test]
    fn an_idle_link_reuses_lines_of_small_payloads_only() {
        let shape = Shape { slots: 256, window: 1 << 18, large: 1 << 20 };
        let base = shared(shape);
        // SAFETY: fresh zero-filled memory, one outbox and one inbox.
        let (mut out, mut inn) = unsafe { (Outbox::new(shape, base), Inbox::new(shape, base)) };
        let mut large = Vec::new();
        for i in 0..if cfg!(miri) { 2500 } else { 10_000 } {
            let small = SMALL_BYTES;
            assert!(exchange(&mut out, &mut inn, small) < WARM_BYTES + small as u64);
            if i % 8 == 0 {
                large.push(exchange(&mut out, &mut inn, 4096) - shape.small() as u64);
            }
        }
        assert!(large.windows(2).all(|w| w[1] == 0 || w[1] == w[0] + 4096 + GAP_BYTES), "{large:?}");
        assert!(large.iter().any(|at| *at > shape.large as u64 - 2 * 4608));
    }

    /// A payload as long as the window fits into it wherever the last one ended, and as many small ones as
    /// there are slots.
    #[test]
    fn what_is_promised_fits() {
        for (window, large) in [(8192, 8192), (8192, 12288), (12288, 49152)] {
            let shape = Shape { slots: 4, window, large };
            let base = shared(shape);
            // SAFETY: fresh zero-filled memory, one outbox and one inbox.
            let (mut out, mut inn) = unsafe { (Outbox::new(shape, base), Inbox::new(shape, base)) };
            for len in (0..170).flat_map(|i| [1025 + 40 * i, window]) {
                exchange(&mut out, &mut inn, len);
            }
            for lap in 0..50 {
                for slot in 0..4 {
                    let len = 1024 - (lap * 7 + slot) % 900;
                    let claim = out.claim(len, 0).expect("a slot, and no room");
                    // SAFETY: as above.
                    unsafe { out.publish(claim, 1, 0, &[], Body::Arena(len)) };
                }
                assert!(out.claim(0, 0).is_none());
                for _ in 0..4 {
                    assert!(inn.front().is_some());
                    inn.release();
                    if lap % 3 == 0 {
                        inn.flush();
                        exchange_one_more(&mut out);
                        break;
                    }
                }
                while inn.front().is_some() {
                    inn.release();
                }
                inn.flush();
            }
        }
    }

    /// Fills the slot that just became free, so that the link is never seen idle.
    fn exchange_one_more(out: &mut Outbox) {
        let claim = out.claim(1000, 0).expect("a slot, and no room");
        // SAFETY: the claim just made; the payload's bytes do not matter here.
        unsafe { out.publish(claim, 1, 0, &[], Body::Arena(1000)) };
    }

    /// The word of a message whose payload is elsewhere, beside every number of arguments.
    #[test]
    fn a_word_lies_beside_the_arguments() {
        let shape = Shape { slots: 4, window: 4096, large: 4096 };
        let base = shared(shape);
        // SAFETY: fresh zero-filled memory, one outbox and one inbox.
        let (mut out, mut inn) = unsafe { (Outbox::new(shape, base), Inbox::new(shape, base)) };
        for nargs in 0..=MAX_ARGUMENTS {
            let (args, word) = (vec![u32::MAX; nargs], 0x0123_4567_89ab_cdef - nargs as u64);
            let claim = out.claim(0, nargs).unwrap();
            // SAFETY: the claim just made.
            unsafe { out.publish(claim, 2, 0, &args, Body::Placed { len: 9, word }) };
            let m = inn.front().unwrap();
            assert_eq!((m.len, m.word(), &m.args[..m.nargs]), (9, word, &args[..]));
            inn.release();
            inn.flush();
        }
    }
}
