//! `upc_alloc`, `upc_global_alloc`, `upc_all_alloc` and `upc_free`: which heap serves a call, where, and how
//! heaps grow.
//!
//! Each thread has a *local* heap in its own segment. One *global* heap, whose bookkeeping is in thread 0's
//! segment, returns offsets that are free on all threads. A thread that has the bookkeeping mapped works on
//! it directly, so no other thread has to answer. Otherwise the owner does the work in an active-message
//! handler (the same code, on the same bookkeeping).
//!
//! The heaps share one range: the local heap grows from the bottom, the global one from the top. Each
//! thread's [`Boundary`] records their ends. A local heap grows with one compare-and-swap of its own
//! boundary. The global heap moves the boundary of every thread, under the `grow` lock of thread 0; if one
//! thread's local heap is in the way, the boundaries that were already moved go back.

use crate::control::field;
use crate::heap::{FreeError, Heap, NeedPages, PAGE_BYTES};
use crate::objects::{FreedObject, Spread};
use crate::state::{Upc, upc};
use gasnet::am::{FIRST_LIBRARY_HANDLER, Handler, Message, Token};
use gasnet::atomics::Function;
use gasnet::{Error, Rank};
use gasnet_sys::mutex::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// Active-message handlers: a request to the owner of a heap, and its reply.
const HEAP_REQUEST: u8 = FIRST_LIBRARY_HANDLER;
const HEAP_REPLY: u8 = FIRST_LIBRARY_HANDLER + 1;

/// Pages by which a heap grows beyond the request, so that growing is rare.
const MIN_GROWTH_PAGES: u32 = 256;

/// Pages in use at the bottom (`..local_hi`) and at the top (`global_lo..`) of the heap range of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// First page above the local heap.
    pub local_hi: u32,
    /// First page of the global heap.
    pub global_lo: u32,
}

impl Boundary {
    /// As one word.
    pub fn encode(self) -> u64 {
        u64::from(self.local_hi) << 32 | u64::from(self.global_lo)
    }

    fn decode(word: u64) -> Boundary {
        Boundary { local_hi: (word >> 32) as u32, global_lo: word as u32 }
    }
}

/// A request to the owner of a heap that the requesting thread cannot reach itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapRequest {
    /// Allocate in the global heap, marked if the program is checked.
    Alloc { bytes: u64, marked: bool },
    /// Give pages to the global heap.
    Donate { from: u32, to: u32 },
    /// Free the object at an offset.
    Free { off: u64 },
}

/// The owner's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapReply {
    /// Done; for an allocation, the offset.
    Ok(u64),
    /// The heap has to grow by this many pages first.
    Grow(u32),
    /// Nothing is allocated there.
    NotAllocated,
    /// Inside the object at this offset.
    Inside(u64),
}

impl HeapReply {
    /// As (kind, value).
    pub fn encode(self) -> (u32, u64) {
        match self {
            HeapReply::Ok(off) => (0, off),
            HeapReply::Grow(n) => (1, n.into()),
            HeapReply::NotAllocated => (2, 0),
            HeapReply::Inside(off) => (3, off),
        }
    }

    /// The inverse of [`encode`](Self::encode).
    pub fn decode(kind: u32, value: u64) -> HeapReply {
        match kind {
            0 => HeapReply::Ok(value),
            1 => HeapReply::Grow(value as u32),
            3 => HeapReply::Inside(value),
            _ => HeapReply::NotAllocated,
        }
    }
}

impl HeapRequest {
    /// As (kind, first, second).
    pub fn encode(self) -> (u32, u64, u64) {
        match self {
            HeapRequest::Alloc { bytes, marked } => (0, bytes, marked.into()),
            HeapRequest::Donate { from, to } => (1, from.into(), to.into()),
            HeapRequest::Free { off } => (2, off, 0),
        }
    }

    /// The inverse of [`encode`](Self::encode).
    pub fn decode(kind: u32, a: u64, b: u64) -> HeapRequest {
        match kind {
            0 => HeapRequest::Alloc { bytes: a, marked: b != 0 },
            1 => HeapRequest::Donate { from: a as u32, to: b as u32 },
            _ => HeapRequest::Free { off: a },
        }
    }
}

/// At most one request to a heap's owner is under way.
#[derive(Default)]
pub struct HeapCalls {
    turn: Mutex<()>,
    answered: AtomicBool,
    kind: AtomicU64,
    value: AtomicU64,
}

/// Registers the handlers. To be called before peers can send to them.
pub fn register(rank: &Rank) -> Result<(), Error> {
    rank.register_library(HEAP_REQUEST, Handler::new(|token, m| upc().handle_request(token, m)))?;
    rank.register_library(HEAP_REPLY, Handler::new(|_, m| upc().handle_reply(m)))
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Upc {
    /// Lets the owner of a heap serve a request, in a handler.
    fn call(&self, t: u32, request: HeapRequest) -> HeapReply {
        let _turn = lock(&self.calls.turn);
        self.calls.answered.store(false, Relaxed);
        let (kind, a, b) = request.encode();
        let args = [kind, (a >> 32) as u32, a as u32, (b >> 32) as u32, b as u32];
        self.core.request(t, HEAP_REQUEST, &args);
        // ORDER: Acquire; pairs with the Release in `handle_reply`; the answer is seen.
        self.core.wait_until("an answer of the owner of a heap", || self.calls.answered.load(Acquire));
        HeapReply::decode(self.calls.kind.load(Relaxed) as u32, self.calls.value.load(Relaxed))
    }

    fn handle_request(&self, token: &Token<'_>, message: &Message<'_>) {
        let &[kind, a1, a0, b1, b0] = message.args else { return };
        let reply = self.serve(self.me, HeapRequest::decode(kind, wide(a1, a0), wide(b1, b0)));
        let (kind, value) = reply.encode();
        if let Err(e) = token.reply_short(HEAP_REPLY, &[kind, (value >> 32) as u32, value as u32]) {
            self.core.abort(&e.to_string());
        }
    }

    fn handle_reply(&self, message: &Message<'_>) {
        let &[kind, high, low] = message.args else { return };
        self.calls.kind.store(kind.into(), Relaxed);
        self.calls.value.store(wide(high, low), Relaxed);
        // ORDER: Release; pairs with the Acquire in `call`.
        self.calls.answered.store(true, Release);
    }

    /// Prepares this thread's heaps; every thread does so before the barrier that precedes user code.
    pub fn init_heaps(&self) {
        let (lo, hi) = ((self.layout.heap_lo / PAGE_BYTES) as u32, (self.layout.heap_hi / PAGE_BYTES) as u32);
        self.local_heap(self.me).init(lo, false);
        let boundary = Boundary { local_hi: lo, global_lo: hi };
        self.store_word(self.me, field!(boundary), boundary.encode());
        if self.me == 0 {
            self.global_heap().init(hi, true);
        }
    }

    /// `upc_alloc`.
    pub fn alloc_local(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let room = self.aligned(self.with_label(bytes));
        loop {
            match self.local_heap(self.me).alloc(room) {
                Ok(off) => {
                    if self.sanitized() {
                        self.local_heap(self.me).mark(off);
                    }
                    self.label((self.me, off), room, Spread::On(self.me, bytes));
                    return off;
                }
                Err(NeedPages(n)) => {
                    if !self.grow_local(n) && !self.give_back() {
                        self.out_of_memory("upc_alloc", &format!("{bytes} bytes"), bytes);
                    }
                }
            }
        }
    }

    /// `upc_global_alloc`, and `upc_all_alloc` if `collective`.
    pub fn alloc_global(&self, nblocks: u64, block: u64, collective: bool) -> u64 {
        if nblocks == 0 || block == 0 {
            return 0;
        }
        let per_thread = nblocks.div_ceil(self.size.into()).checked_mul(block);
        if !collective {
            return self.alloc_everywhere("upc_global_alloc", nblocks, block, per_thread);
        }
        self.collective("upc_all_alloc", &[("nblocks", nblocks), ("nbytes", block)], || {
            self.alloc_everywhere("upc_all_alloc", nblocks, block, per_thread)
        })
    }

    /// Bytes to allocate so that the object starts at the alignment of `UPC_SHARED_ALLOC_ALIGN`. Slab objects
    /// whose size is a power of two are at multiples of their size, and larger objects have pages of their
    /// own.
    fn aligned(&self, bytes: u64) -> u64 {
        let align = self.settings.align;
        if align > 16 && bytes >= align && bytes <= PAGE_BYTES / 2 {
            bytes.next_power_of_two()
        } else {
            bytes
        }
    }

    /// Allocates `per_thread` bytes at the same offset of all threads, or ends the job in the name of
    /// `function`.
    pub fn alloc_everywhere(&self, function: &str, nblocks: u64, block: u64, per_thread: Option<u64>) -> u64 {
        let what = || format!("{nblocks} blocks of {block} bytes");
        let Some(bytes) = per_thread else { self.out_of_memory(function, &what(), u64::MAX) };
        let bytes = self.aligned(self.with_label(bytes));
        let again = || if self.give_back() { self.try_everywhere(bytes) } else { None };
        let off = self.try_everywhere(bytes).or_else(again);
        let off = off.unwrap_or_else(|| self.out_of_memory(function, &what(), bytes));
        self.label((0, off), bytes, Spread::Dealt { bytes: nblocks.saturating_mul(block), block });
        off
    }

    /// Allocates `bytes` on every thread, if there is room.
    fn try_everywhere(&self, bytes: u64) -> Option<u64> {
        let request = HeapRequest::Alloc { bytes, marked: self.sanitized() };
        if let HeapReply::Ok(off) = self.ask(0, request) {
            return Some(off);
        }
        self.growing(|| {
            loop {
                // The first retry needs no growth: another thread may have made room while we waited for our
                // turn.
                match self.ask(0, request) {
                    HeapReply::Ok(off) => return Some(off),
                    HeapReply::Grow(n) if self.grow_global(n) => {}
                    _ => return None,
                }
            }
        })
    }

    /// Runs `f` while no other thread makes the global heap grow.
    fn growing<R>(&self, f: impl FnOnce() -> R) -> R {
        let me = u64::from(self.me) + 1;
        self.core.wait_until("growth of the global heap", || {
            self.amo(0, field!(grow), Function::CompareSwap, 0, me) == 0
        });
        let result = f();
        self.store_word(0, field!(grow), 0);
        result
    }

    /// `upc_free`, and `upc_all_free` if `collective`.
    pub fn free(&self, t: u32, off: u64, collective: bool) {
        if t == 0 && off == 0 {
            return;
        }
        if collective {
            // The object must stay until all threads have entered.
            self.meet_agreeing("upc_all_free", &[("thread", t.into()), ("ptr", off)]);
            if self.me != 0 {
                return;
            }
        }
        if t >= self.size || off >= self.layout.total {
            self.fatal(&format!(
                "upc_free: thread {t}, offset {off:#x} is not a shared address (a corrupted pointer?)"
            ));
        }
        if (crate::layout::STATICS_OFFSET..self.layout.heap_lo).contains(&off) {
            self.fatal("upc_free: the pointer is to a shared variable, not to something that upc_alloc, upc_global_alloc or upc_all_alloc returned");
        }
        match self.keep_freed(t, off) {
            FreedObject::Unknown => self.free_now(t, off),
            FreedObject::Freed => self.fatal(&format!(
                "upc_free: the object at the pointer has been freed before (thread {t}, offset {off:#x})"
            )),
            FreedObject::Kept(block) => {
                lock(&self.freed).push(t, block);
                let heap = self.layout.heap_hi - self.layout.heap_lo;
                let oldest = || lock(&self.freed).too_many(heap, self.size);
                while let Some((t, block)) = oldest() {
                    self.unlabel(t, block);
                    self.free_now(t, block.start);
                }
            }
        }
    }

    /// Gives the memory of objects back that this thread has freed and that are kept: whether there were any.
    fn give_back(&self) -> bool {
        let mut any = false;
        loop {
            let oldest = lock(&self.freed).pop();
            let Some((t, block)) = oldest else { return any };
            self.unlabel(t, block);
            self.free_now(t, block.start);
            any = true;
        }
    }

    fn free_now(&self, t: u32, off: u64) {
        match self.ask(t, HeapRequest::Free { off }) {
            HeapReply::Ok(_) => {}
            HeapReply::Inside(start) => self.fatal(&format!(
                "upc_free: the pointer is {} bytes inside an allocated object; only the start of an object can be freed (thread {t}, offset {off:#x})",
                off - start
            )),
            _ => self.fatal(&format!(
                "upc_free: nothing is allocated at the pointer: freed twice, or never allocated? (thread {t}, offset {off:#x})"
            )),
        }
    }

    /// Lets thread `t` serve `request`: directly if its bookkeeping is mapped, else by a message.
    fn ask(&self, t: u32, request: HeapRequest) -> HeapReply {
        if self.core.near(t) { self.serve(t, request) } else { self.call(t, request) }
    }

    /// Serves a request on the heaps of thread `t`, which are mapped. Never blocks, because handlers call it.
    pub fn serve(&self, t: u32, request: HeapRequest) -> HeapReply {
        match request {
            HeapRequest::Alloc { bytes, marked } => match self.global_heap().alloc(bytes) {
                Ok(off) => {
                    if marked {
                        self.global_heap().mark(off);
                    }
                    HeapReply::Ok(off)
                }
                Err(NeedPages(n)) => HeapReply::Grow(n),
            },
            HeapRequest::Donate { from, to } => {
                self.global_heap().donate(from, to);
                HeapReply::Ok(0)
            }
            HeapRequest::Free { off } => {
                let local = self.local_heap(t);
                let heap = if t == 0 && !local.covers(off) { self.global_heap() } else { local };
                match heap.free(off) {
                    Ok(()) => HeapReply::Ok(0),
                    Err(FreeError::Inside(start)) => HeapReply::Inside(start),
                    Err(FreeError::Outside | FreeError::NotAllocated) => HeapReply::NotAllocated,
                }
            }
        }
    }

    fn local_heap(&self, t: u32) -> Heap<'_> {
        let (control, pages) = self.bookkeeping(t);
        Heap::new(&control.local, pages)
    }

    fn global_heap(&self) -> Heap<'_> {
        let (control, pages) = self.bookkeeping(0);
        Heap::new(&control.global, pages)
    }

    fn boundary(&self, t: u32) -> Boundary {
        Boundary::decode(self.amo(t, field!(boundary), Function::Get, 0, 0))
    }

    /// Moves this thread's boundary up by about `n` pages; fewer may be enough next to free ones. Returns
    /// false if that is impossible.
    fn grow_local(&self, n: u32) -> bool {
        loop {
            let b = self.boundary(self.me);
            let room = b.global_lo - b.local_hi;
            if room == 0 {
                return false;
            }
            let to = b.local_hi + n.max(MIN_GROWTH_PAGES).min(room);
            let new = Boundary { local_hi: to, ..b };
            if self.amo(self.me, field!(boundary), Function::CompareSwap, b.encode(), new.encode())
                == b.encode()
            {
                self.local_heap(self.me).donate(b.local_hi, to);
                return true;
            }
        }
    }

    /// Moves every thread's boundary down by about `n` pages; fewer may be enough next to free ones. Returns
    /// false if that is impossible. To be called only inside [`growing`](Self::growing).
    fn grow_global(&self, n: u32) -> bool {
        loop {
            let from = self.boundary(0).global_lo;
            let room = (0..self.size).map(|t| from - self.boundary(t).local_hi).min().unwrap_or(0);
            if room == 0 {
                return false;
            }
            let to = from - n.max(MIN_GROWTH_PAGES).min(room);
            let moved = (0..self.size).take_while(|&t| self.lower(t, from, to)).count() as u32;
            if moved == self.size {
                self.ask(0, HeapRequest::Donate { from: to, to: from });
                return true;
            }
            // A local heap grew meanwhile.
            for t in 0..moved {
                self.raise(t, to, from);
            }
        }
    }

    /// Moves the lower end of the global heap on thread `t` from page `from` down to `to`, unless the local
    /// heap is already there.
    fn lower(&self, t: u32, from: u32, to: u32) -> bool {
        loop {
            let b = self.boundary(t);
            debug_assert_eq!(b.global_lo, from);
            if b.local_hi > to {
                return false;
            }
            let new = Boundary { global_lo: to, ..b };
            if self.amo(t, field!(boundary), Function::CompareSwap, b.encode(), new.encode()) == b.encode() {
                return true;
            }
        }
    }

    fn raise(&self, t: u32, from: u32, to: u32) {
        loop {
            let b = self.boundary(t);
            debug_assert_eq!(b.global_lo, from);
            let new = Boundary { global_lo: to, ..b };
            if self.amo(t, field!(boundary), Function::CompareSwap, b.encode(), new.encode()) == b.encode() {
                return;
            }
        }
    }

    #[cold]
    fn out_of_memory(&self, function: &str, what: &str, per_thread: u64) -> ! {
        let heap = self.layout.heap_hi - self.layout.heap_lo;
        let b = self.boundary(self.me);
        let mut free =
            u64::from(b.global_lo - b.local_hi) * PAGE_BYTES + self.local_heap(self.me).free_bytes();
        if function != "upc_alloc" && self.core.near(0) {
            free = u64::from(b.global_lo - b.local_hi) * PAGE_BYTES + self.global_heap().free_bytes();
        }
        let want = heap.saturating_add(per_thread).div_ceil(1 << 20);
        let advice = if per_thread == u64::MAX || want > self.max_heap >> 20 {
            let wide = if self.struct_pts {
                ""
            } else {
                " with packed pointers-to-shared (-fupc-pts=struct lifts that)"
            };
            format!("at most {} MB per thread are possible{wide}", self.max_heap >> 20)
        } else {
            format!("raise UPC_SHARED_HEAP_SIZE (or upcc -shared-heap) to {want}MB or more")
        };
        let text = format!(
            "out of shared memory: {function} of {what} on thread {}: {} of {} free per thread, not always in one piece; {advice}",
            self.me,
            human(free),
            human(heap),
        );
        // Threads run out of memory together; only one prints the message.
        self.fatal_about(Some("out of shared memory"), &text)
    }
}

/// A size for people.
fn human(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} KB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_survive_the_wire() {
        for r in [
            HeapRequest::Alloc { bytes: 1 << 40, marked: false },
            HeapRequest::Alloc { bytes: 1, marked: true },
            HeapRequest::Donate { from: 3, to: u32::MAX },
            HeapRequest::Free { off: (1 << 34) - 16 },
        ] {
            let (k, a, b) = r.encode();
            assert_eq!(HeapRequest::decode(k, a, b), r);
        }
        for r in
            [HeapReply::Ok(1 << 33), HeapReply::Grow(7), HeapReply::NotAllocated, HeapReply::Inside(4096)]
        {
            let (k, v) = r.encode();
            assert_eq!(HeapReply::decode(k, v), r);
        }
        let b = Boundary { local_hi: 17, global_lo: u32::MAX };
        assert_eq!(Boundary::decode(b.encode()), b);
    }
}
