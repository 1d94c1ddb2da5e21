//! The shared objects of a program: to which of them a byte belongs, where that one ends, and what it is
//! called.
//!
//! Variables are known from the records of the executable, and of the shared objects that were there when it
//! started; those of an object that `dlopen` has loaded count as one. An object of the heap is found by the
//! descriptor of its page. What the program asked for stands in a [`Label`], the last bytes of the object's
//! block; only programs compiled with `-fsanitize=upc` have labels, and descriptors for all pages of large
//! objects. The bookkeeping of far threads is read by plain gets: their processors have no part in it.
//!
//! In such programs the memory of an object that is freed is not given out at once ([`Freed`]). Its label
//! says that it is freed, so that an access through a pointer that was kept is found, and so is a second
//! `upc_free`.
#![expect(unsafe_code, reason = "reads labels and copies of descriptors")]

use crate::abi::{CHECKED, Shrec, TIMES_THREADS};
use crate::heap::{self, Block, PAGE_BYTES, PageDescriptor};
use crate::state::Upc;
use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::fmt;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes between shared variables in programs that are checked, so that the first byte after one belongs to
/// none.
const GAP_BYTES: u64 = 64;

/// Bytes between the variables of these records.
pub fn gap<'a>(records: impl IntoIterator<Item = &'a Shrec>) -> u64 {
    if records.into_iter().any(|r| r.flags & CHECKED != 0) { GAP_BYTES } else { 0 }
}

/// How the bytes of an object are spread over the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// So many on every thread.
    Each(u64),
    /// So many on one thread.
    On(u32, u64),
    /// So many together, in blocks that go to the threads in turn.
    Dealt { bytes: u64, block: u64 },
}

impl Spread {
    /// Bytes on thread `t` of `threads`.
    pub fn on(self, t: u32, threads: u32) -> u64 {
        match self {
            Spread::Each(bytes) => bytes,
            Spread::On(there, bytes) => bytes * u64::from(there == t),
            Spread::Dealt { bytes, block: 0 } => bytes * u64::from(t == 0),
            Spread::Dealt { bytes, block } => {
                let row = block.saturating_mul(threads.into());
                let (rows, rest) = (bytes / row, bytes % row);
                rows * block + rest.saturating_sub(block.saturating_mul(t.into())).min(block)
            }
        }
    }
}

/// A shared variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    name: String,
    start: u64,
    spread: Spread,
}

/// The variables of a program, by their offsets.
///
/// # Safety
/// 1. The records' names are strings (owed by the caller).
pub unsafe fn variables<'a>(
    records: impl Iterator<Item = &'a Shrec>,
    offsets: &HashMap<usize, u64>,
    threads: u32,
) -> Vec<Variable> {
    let mut found: HashMap<usize, Variable> = HashMap::new();
    for r in records {
        let spread = match r.bytes {
            0 => Spread::Each(r.bytes_per_thread),
            bytes => {
                let times = if r.flags & TIMES_THREADS != 0 { threads } else { 1 };
                Spread::Dealt { bytes: bytes.saturating_mul(times.into()), block: r.block }
            }
        };
        // SAFETY: (1).
        let name = if r.name.is_null() { c"" } else { unsafe { CStr::from_ptr(r.name) } };
        let (name, start) = (name.to_string_lossy().into_owned(), offsets[&(r.proxy as usize)]);
        let new = Variable { name, start, spread };
        // A tentative definition may know less than another.
        let all = |v: &Variable| (0..threads).map(|t| v.spread.on(t, threads)).max();
        let known = found.entry(r.proxy as usize).or_insert_with(|| new.clone());
        if all(known) < all(&new) {
            *known = new;
        }
    }
    let mut all: Vec<Variable> = found.into_values().collect();
    all.sort_unstable_by_key(|v| v.start);
    all
}

/// The parameters of an object's allocation. They take the last bytes of the object's block.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Label {
    /// [`Label::MARK`] with the offset of the object.
    mark: u64,
    /// As in [`Spread::Dealt`].
    bytes: u64,
    block: u64,
    /// Lower half: the only thread that has it, plus one; 0: all have. Upper half: a number of its own, so
    /// that no object that takes its place later has the same word.
    on: u64,
}

impl Label {
    const BYTES: u64 = size_of::<Label>() as u64;
    const MARK: u64 = 0x6c61_6265_6c00_0000;
    /// In place of [`Label::MARK`] once the object is freed.
    const FREED: u64 = 0x6672_6565_6400_0000;
}

/// Objects that this thread has freed and whose memory is not given out again yet, the oldest first.
#[derive(Debug, Default)]
pub struct Freed {
    objects: VecDeque<(u32, Block)>,
    bytes: u64,
}

/// Most objects in [`Freed`].
const MAX_FREED_OBJECTS: usize = 4096;
/// Most bytes of objects in [`Freed`].
const MAX_FREED_BYTES: u64 = 64 << 20;
/// All threads together keep this part of a heap.
const FREED_PART: u64 = 16;

impl Freed {
    /// Adds an object of thread `t`.
    pub fn push(&mut self, t: u32, block: Block) {
        self.objects.push_back((t, block));
        self.bytes += block.bytes;
    }

    /// Takes the oldest object out if there are too many, of a heap of so many bytes and so many threads.
    pub fn too_many(&mut self, heap: u64, threads: u32) -> Option<(u32, Block)> {
        let most = (heap / FREED_PART / u64::from(threads)).min(MAX_FREED_BYTES);
        if self.bytes > most || self.objects.len() > MAX_FREED_OBJECTS { self.pop() } else { None }
    }

    /// Takes the oldest object out.
    pub fn pop(&mut self) -> Option<(u32, Block)> {
        let (t, block) = self.objects.pop_front()?;
        self.bytes -= block.bytes;
        Some((t, block))
    }
}

/// The result of [`Upc::keep_freed`] for an object that is to be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreedObject {
    /// It was freed before.
    Freed,
    /// It is marked as freed now, and has this memory.
    Kept(Block),
    /// No object that has a label begins there.
    Unknown,
}

/// An object.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// Its offset, on all threads that have it.
    pub start: u64,
    /// Where it is.
    pub spread: Spread,
    /// If it is a variable.
    name: Option<&'a str>,
    /// Whether it is freed.
    pub freed: bool,
    /// Where the last word of its label is, if that is near, and what it holds.
    pub alive: Option<(*const AtomicU64, u64)>,
}

impl Object<'_> {
    /// Whether `n` bytes from offset `o` of thread `t` on are its own; `threads` are all.
    pub fn has(&self, (t, o): (u32, u64), n: u64, threads: u32) -> bool {
        let bytes = self.spread.on(t, threads);
        o >= self.start && n <= bytes && o - self.start <= bytes - n
    }
}

/// The object in words, for a message.
impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, self.spread) {
            (Some(name), _) => write!(f, "the shared variable '{name}'"),
            (None, Spread::On(thread, bytes)) => write!(f, "{bytes} bytes of upc_alloc on thread {thread}"),
            (None, Spread::Dealt { bytes, block }) => {
                let blocks = bytes / block.max(1);
                write!(f, "{blocks} blocks of {block} bytes of upc_global_alloc or upc_all_alloc")
            }
            (None, Spread::Each(bytes)) => write!(f, "an allocated object of {bytes} bytes"),
        }
    }
}

impl Upc {
    /// The bytes of the heap that an object of `bytes` bytes takes, with its label if it gets one.
    pub fn with_label(&self, bytes: u64) -> u64 {
        if self.sanitized() { bytes.saturating_add(Label::BYTES) } else { bytes }
    }

    /// Gives an object its label, if the program is checked. `room`: what was asked of the heap of thread
    /// `t`.
    pub fn label(&self, (t, start): (u32, u64), room: u64, spread: Spread) {
        if !self.sanitized() {
            return;
        }
        let (bytes, block, on) = match spread {
            Spread::Each(bytes) => (bytes, bytes, 0),
            Spread::On(thread, bytes) => (bytes, bytes, u64::from(thread) + 1),
            Spread::Dealt { bytes, block } => (bytes, block, 0),
        };
        // ORDER: Relaxed: a number that this process has not given before.
        let number = self.labels.fetch_add(1, Relaxed) * u64::from(self.size) + u64::from(self.me) + 1;
        let label = Label { mark: Label::MARK ^ start, bytes, block, on: on | number << 32 };
        self.put_label(t, Block { start, bytes: heap::block_bytes(room) }, label);
    }

    /// Marks the object at a place as freed, if the program is checked.
    pub fn keep_freed(&self, t: u32, o: u64) -> FreedObject {
        let block = if self.sanitized() { self.block_at(t, o) } else { None };
        let Some(block) = block.filter(|block| block.start == o && block.bytes > Label::BYTES) else {
            return FreedObject::Unknown;
        };
        let label = self.get_label(t, block);
        match label.mark ^ block.start {
            Label::FREED => FreedObject::Freed,
            Label::MARK => {
                // Without its number, so that nobody who knows the object takes it for alive.
                let on = u64::from(label.on as u32);
                self.put_label(t, block, Label { mark: Label::FREED ^ block.start, on, ..label });
                FreedObject::Kept(block)
            }
            _ => FreedObject::Unknown,
        }
    }

    /// Takes the label of an object away whose memory is about to be given back.
    pub fn unlabel(&self, t: u32, block: Block) {
        self.put_label(t, block, Label::default());
    }

    fn get_label(&self, t: u32, block: Block) -> Label {
        let mut label = Label::default();
        let at = (block.start + block.bytes).saturating_sub(Label::BYTES);
        if block.bytes > Label::BYTES {
            // SAFETY: room for a label, for which any bytes are a value.
            unsafe { self.core.get((&raw mut label).cast(), t, at, Label::BYTES) };
        }
        label
    }

    fn put_label(&self, t: u32, block: Block, label: Label) {
        let at = block.start + block.bytes - Label::BYTES;
        // SAFETY: a variable of that size.
        unsafe { self.core.put(t, at, (&raw const label).cast(), Label::BYTES) };
    }

    /// The object that offset `o` of thread `t` belongs to, or, among variables, follows.
    pub fn object_at(&self, t: u32, o: u64) -> Option<Object<'_>> {
        if o < self.layout.heap_lo {
            let all: &[Variable] = self.variables.get().map_or(&[], |all| all);
            let v = &all[all.partition_point(|v| v.start <= o).checked_sub(1)?];
            return Some(Object {
                start: v.start,
                spread: v.spread,
                name: Some(&v.name),
                freed: false,
                alive: None,
            });
        }
        if o >= self.layout.heap_hi {
            return None;
        }
        if let Some(block) = self.block_at(t, o) {
            return Some(self.object_in(t, block));
        }
        if t == 0 {
            return None;
        }
        // One that all threads have is known to thread 0, as are its own.
        let block = self.block_at(0, o)?;
        Some(self.object_in(0, block)).filter(|object| !matches!(object.spread, Spread::On(..)))
    }

    /// The block in use that the bookkeeping of thread `t` has at offset `o`.
    fn block_at(&self, t: u32, o: u64) -> Option<Block> {
        let page = o / PAGE_BYTES;
        if self.core.near(t) {
            return self.bookkeeping(t).1.get(page as usize)?.block(o);
        }
        const BYTES: u64 = size_of::<PageDescriptor>() as u64;
        let mut copy = PageDescriptor::default();
        // SAFETY: room for a descriptor, which is made of atomics: any bytes are a value.
        unsafe { self.core.get((&raw mut copy).cast(), t, self.layout.table() + page * BYTES, BYTES) };
        copy.block(o)
    }

    /// The object in a block of thread `t`.
    fn object_in(&self, t: u32, block: Block) -> Object<'static> {
        let label = self.get_label(t, block);
        let at = (block.start + block.bytes).saturating_sub(Label::BYTES);
        let freed = label.mark == Label::FREED ^ block.start;
        let known = freed || label.mark == Label::MARK ^ block.start;
        let spread = match label {
            _ if !known => Spread::Each(block.bytes),
            Label { bytes, block, on, .. } if on as u32 == 0 => Spread::Dealt { bytes, block },
            Label { bytes, on, .. } => Spread::On(on as u32 - 1, bytes),
        };
        let word = self.core.here(t, at + offset_of!(Label, on) as u64, 8).filter(|_| known);
        Object {
            start: block.start,
            spread,
            name: None,
            freed,
            alive: word.map(|word| (word.cast_const().cast(), label.on)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_thread_has_what_is_dealt_to_it(n in 0..400u64, block in 1..20u64, threads in 1..9u32) {
            let mut each = vec![0; threads as usize];
            for byte in 0..n {
                each[(byte / block % u64::from(threads)) as usize] += 1;
            }
            let dealt = Spread::Dealt { bytes: n, block };
            for t in 0..threads {
                prop_assert_eq!(dealt.on(t, threads), each[t as usize]);
                prop_assert_eq!(Spread::Dealt { bytes: n, block: 0 }.on(t, threads), if t == 0 { n } else { 0 });
            }
        }
    }

    #[test]
    fn freed_objects_are_kept_until_there_are_too_many() {
        let mut freed = Freed::default();
        for start in 1..=3 {
            freed.push(0, Block { start, bytes: 100 });
        }
        assert_eq!(freed.too_many(300 * FREED_PART, 1), None);
        assert_eq!(freed.too_many(598 * FREED_PART, 2), Some((0, Block { start: 1, bytes: 100 })));
        assert_eq!(freed.too_many(598 * FREED_PART, 2), None);
        assert_eq!(freed.pop().map(|(_, block)| block.start), Some(2));
        for _ in 0..=MAX_FREED_OBJECTS {
            freed.push(0, Block { start: 9, bytes: 16 });
        }
        assert_eq!(freed.too_many(u64::MAX, 1).map(|(_, block)| block.start), Some(3));
        freed.push(0, Block { start: 9, bytes: MAX_FREED_BYTES });
        while freed.too_many(u64::MAX, 1).is_some() {}
        assert_eq!((freed.objects.len(), freed.bytes), (1, MAX_FREED_BYTES));
    }

    #[test]
    fn an_object_has_its_bytes_and_no_other() {
        let object = Object { start: 4096, spread: Spread::On(1, 10), name: None, freed: false, alive: None };
        assert!(object.has((1, 4096), 10, 2) && object.has((1, 4105), 1, 2));
        for (place, n) in
            [((1, 4096), 11), ((1, 4106), 1), ((1, 4095), 2), ((0, 4096), 1), ((1, 4097), u64::MAX)]
        {
            assert!(!object.has(place, n, 2), "{place:?} {n}");
        }
    }
}
