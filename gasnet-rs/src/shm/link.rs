//! A link: one direction of message traffic between two ranks of a host, made of a [`ring`](super::ring) of
//! message heads and an arena for payloads.
//!
//! A message head holds up to 16 arguments and, where there is room, the payload itself (up to
//! [`INLINE_BYTES`] bytes); larger payloads lie in the arena, contiguous and 64-byte aligned, and are read
//! there in place by the receiver. Arena space is handed out in ring order and comes back in ring order, so
//! one number says how much of it is in use: the end of the oldest payload not yet released. When nothing is
//! in flight the arena starts over at 0, so a ping-pong keeps using the same warm lines and a quiet link
//! touches few pages.
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
/// Arena bytes after which an idle link restarts at 0.
const WARM_ARENA_BYTES: u64 = 16 << 10;
/// `Msg::at` of a message whose payload lies in its head.
const AT_INLINE: u32 = u32::MAX;

/// A message head as it lies in a ring slot (behind the 4-byte stamp).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Msg {
    /// What the receiver does with it: the layer above defines the values.
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

/// What travels besides the arguments.
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
    pub(crate) arena: usize,
}

impl Shape {
    /// Rings shrink as ranks multiply: their number grows with the square. Untouched pages cost nothing.
    pub(crate) fn for_ranks(ranks: u32, max_payload: usize) -> Shape {
        let slots = match ranks {
            0..=16 => 256,
            17..=64 => 128,
            _ => 32,
        };
        let factor = if ranks <= 16 { 4 } else { 2 };
        Shape { slots, arena: (max_payload * factor).next_multiple_of(4096) }
    }

    /// Bytes of shared memory one link takes, a multiple of the page size.
    pub(crate) fn bytes(&self) -> usize {
        (size_of::<ReadPosition>() + self.slots * size_of::<Slot<Msg>>()).next_multiple_of(4096) + self.arena
    }

    /// # Safety
    /// 1. `base` is page-aligned, valid for [`Shape::bytes`] bytes for the life of the process, zero-filled
    ///    or in use as a link of the same shape (owed by the caller).
    unsafe fn ring(&self, base: *mut u8) -> (Ring<Msg>, *mut u8) {
        let arena = base.wrapping_add(
            (size_of::<ReadPosition>() + self.slots * size_of::<Slot<Msg>>()).next_multiple_of(4096),
        );
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

/// The sending end of a link.
pub(crate) struct Outbox {
    ring: Producer<Msg>,
    arena: *mut u8,
    arena_len: u64,
    /// Arena bytes handed out since the last restart at 0, skips included.
    used: u64,
    /// Arena bytes known to be released.
    freed: u64,
    /// `used` after the message in each slot.
    ends: Box<[u64]>,
    /// Position up to which `freed` is accounted.
    seen: u64,
}

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
    used: u64,
}

impl Claim {
    /// The part of the bookkeeping that [`Outbox::reclaim`] needs.
    pub(crate) fn end(&self) -> u64 {
        self.used
    }
}

impl Outbox {
    /// A claim with arena space, put together again from its parts while nothing has been sent since it was
    /// made.
    pub(crate) fn reclaim(&self, payload: *mut u8, end: u64) -> Claim {
        Claim { payload, at: (payload as usize - self.arena as usize) as u32, used: end }
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
            arena_len: shape.arena as u64,
            used: 0,
            freed: 0,
            ends: vec![0; shape.slots].into_boxed_slice(),
            seen: 0,
        }
    }

    /// Room for a message with `len` payload bytes and `nargs` arguments, or `None` when the peer has to
    /// release some first. `len` must not exceed the arena.
    #[inline]
    pub(crate) fn claim(&mut self, len: usize, nargs: usize) -> Option<Claim> {
        if !self.ring.has_room() {
            return None;
        }
        match arena_bytes(len, nargs) {
            0 => Some(Claim { payload: core::ptr::null_mut(), at: AT_INLINE, used: self.used }),
            len => self.claim_arena(len as u64),
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

    fn claim_arena(&mut self, len: u64) -> Option<Claim> {
        for attempt in 0..2 {
            // Looking at the consumer's head costs a cache miss; every WARM_ARENA_BYTES it pays, because an
            // idle arena restarts at 0.
            if attempt == 1 || self.used >= WARM_ARENA_BYTES {
                self.ring.refresh();
            }
            self.account();
            // In flight: used - freed. A payload never straddles the arena's end.
            let mut start = self.used;
            let in_lap = start % self.arena_len;
            if in_lap + len > self.arena_len {
                start += self.arena_len - in_lap;
            }
            let end = (start + len).next_multiple_of(64);
            if end - self.freed <= self.arena_len {
                let at = start % self.arena_len;
                return Some(Claim {
                    payload: self.arena.wrapping_add(at as usize),
                    at: at as u32,
                    used: end,
                });
            }
        }
        None
    }

    /// Brings `freed` up to the consumer's head as last seen.
    fn account(&mut self) {
        let head = self.ring.head_seen();
        if head == self.ring.tail() {
            (self.used, self.freed) = (0, 0);
        } else if head > self.seen {
            self.freed = self.freed.max(self.ends[((head - 1) % self.ends.len() as u64) as usize]);
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
        self.ends[slot] = claim.used;
        self.used = claim.used;
        // SAFETY: push hands out a slot that is ours to write; field pointers stay inside it; (2) for the
        // source.
        self.ring.push(|m| unsafe {
            addr_of_mut!((*m).kind).cast::<u32>().write(u32::from_ne_bytes([kind, handler, nargs as u8, 0]));
            addr_of_mut!((*m).at).write(claim.at);
            let first = addr_of_mut!((*m).args).cast::<u32>();
            for (i, a) in args.iter().take(INLINE_ARGS).enumerate() {
                first.add(i).write(*a);
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
                    tail.add(14).cast::<u64>().write_unaligned(word);
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
                let first = addr_of!((*m).args).cast::<u32>();
                for (i, a) in args.iter_mut().take(nargs.min(INLINE_ARGS)).enumerate() {
                    *a = first.add(i).read();
                }
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
    pub(crate) fn word(&self) -> u64 {
        // SAFETY: the message is valid until released, and releasing needs the Inbox that lent it.
        unsafe { addr_of!((*self.msg).tail).cast::<u32>().add(14).cast::<u64>().read_unaligned() }
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
        let shape = Shape { slots: 4, arena: 8192 };
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
        let rounds = if cfg!(miri) { 200 } else { 50_000u32 };
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

    #[test]
    fn an_idle_link_stays_on_warm_pages() {
        let shape = Shape { slots: 256, arena: 1 << 20 };
        let base = shared(shape);
        // SAFETY: fresh zero-filled memory, one outbox and one inbox.
        let (mut out, mut inn) = unsafe { (Outbox::new(shape, base), Inbox::new(shape, base)) };
        for _ in 0..10_000 {
            let claim = out.claim(4096, 0).unwrap();
            assert!(u64::from(claim.at) < WARM_ARENA_BYTES + 4096);
            // SAFETY: the claim just made; the payload's bytes do not matter here.
            unsafe { out.publish(claim, 1, 0, &[], Body::Arena(4096)) };
            assert!(inn.front().is_some());
            inn.release();
            inn.flush();
        }
    }
}
