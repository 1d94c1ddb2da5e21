//! Slices of a rank's own part of an array; reads and updates of parts that are mapped here.
#![expect(unsafe_code, reason = "makes slices of memory that phases guard, reads and updates it")]

use crate::args::Plain;
use crate::array::Array;
use gasnet::RankId;
use gasnet::atomics::{self, Function, Operation};
use gasnet::coll::Word;

/// Whether this rank's part can be had as a slice. Elsewhere its pages come and go, and it has to be copied.
pub(crate) fn has_part<T: Plain>(array: &Array<T>) -> bool {
    array.local_len() == 0 || array.world.0.rank.kept().address(array.first, array.local_len()).is_some()
}

/// This rank's part, in a phase in which nobody else touches it.
pub(crate) fn part<T: Plain>(array: &mut Array<T>, len: usize) -> Option<&mut [T]> {
    if len == 0 {
        return Some(&mut []);
    }
    let at = array.world.0.rank.kept().address(array.first, len)?;
    // SAFETY: the memory of the part, which no other array uses before this one is dropped; any bytes are a
    // value. Only phases of this array reach it. The caller is in one of them, `local`, in which ranks use
    // their own parts only, and the array is borrowed for as long as the slice is.
    Some(unsafe { core::slice::from_raw_parts_mut(at, len) })
}

/// This rank's part, in a phase in which nobody writes it.
pub(crate) fn shared_part<T: Plain>(array: &Array<T>, len: usize) -> &[T] {
    let Some(at) = array.world.0.rank.kept().address(array.first, len).filter(|_| len > 0) else {
        return &[];
    };
    // SAFETY: as in `part`; the caller is in the phase `read`, in which nobody writes.
    unsafe { core::slice::from_raw_parts(at, len) }
}

/// Where the parts begin that are mapped here. Only those of neighbours may be, so there is nothing that
/// grows with the job.
struct Parts {
    /// The first neighbour.
    first: u32,
    /// The first byte of each part from that one's to the last neighbour's; null where it is not mapped here.
    starts: Box<[*mut u8]>,
}

impl Parts {
    fn of<T: Plain>(array: &Array<T>) -> Parts {
        let rank = array.world.0.rank;
        // As long as each rank's part may be: all of it is inside the segment.
        let len = array.map.largest_part();
        let start = |of| if len == 0 { None } else { rank.kept().address(array.first.on(RankId(of)), len) };
        let own = array.world.rank();
        let near = rank.neighbours();
        let (first, last) = (near.first().copied().unwrap_or(own), near.last().copied().unwrap_or(own));
        let starts = (first..=last).map(|of| start(of).map_or(core::ptr::null_mut(), |at| at.cast()));
        Parts { first, starts: starts.collect() }
    }

    /// The number of a rank's part, and its first byte, which is not null; `None` where it is not mapped
    /// here.
    #[inline]
    fn start(&self, rank: u32) -> Option<(usize, *mut u8)> {
        let number = rank.wrapping_sub(self.first) as usize;
        let start = *self.starts.get(number)?;
        (!start.is_null()).then_some((number, start))
    }
}

/// Elements whose memory is mapped here, in a phase in which nobody writes them.
pub(crate) struct Mapped<'a, T: Plain> {
    array: &'a Array<T>,
    parts: Parts,
}

// SAFETY: addresses of memory that is only read in this phase, from whatever thread.
unsafe impl<T: Plain> Send for Mapped<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Mapped<'_, T> {}

impl<T: Plain> core::fmt::Debug for Mapped<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mapped").finish_non_exhaustive()
    }
}

impl<'a, T: Plain> Mapped<'a, T> {
    /// In the phase `read` of an array.
    pub(crate) fn new(array: &'a Array<T>) -> Self {
        Mapped { array, parts: Parts::of(array) }
    }

    /// The element of number `at` on a rank, where [`Map::place`](crate::layout::Map::place) has placed one;
    /// `None` if that is not mapped here.
    #[inline]
    pub(crate) fn get(&self, rank: u32, at: usize) -> Option<T> {
        let (_, part) = self.parts.start(rank)?;
        debug_assert!(at < self.array.map.part(rank), "the map places elements in parts");
        // SAFETY: as in `Window::make`: the map has placed the element in its part, ranks have agreed on the
        // map, and `largest_part` elements are mapped as long as the array is borrowed. Any bytes are a
        // value, and parts begin at multiples of 64, so it is aligned. In this phase nobody writes.
        Some(unsafe { part.cast::<T>().add(at).read() })
    }
}

/// Updates that are decided before they are made, and how far ahead of them their words are asked for.
const QUEUE: usize = 512;
const AHEAD: usize = 12;
/// Most words that are combined in memory of this rank's own.
const MOST_SUMS: usize = 1 << 14;

/// Updates of elements whose memory is mapped here. They are queued and made together, in a loop that does
/// nothing else: a processor has some hundreds of instructions in flight, so the fewer there are between one
/// missing word and the next, the more misses wait at the same time. The loop asks for words some updates
/// ahead, and for writing: what comes for reading may have to be asked for again.
///
/// **Few words, many updates.** Ranks would take the same lines from each other for each update. So a phase
/// that has made as many updates as there are words combines what follows in memory of its own: each word
/// there begins with the function's identity, and is applied once, at the end. Only functions whose result
/// does not depend on how updates are grouped are combined, so sums of floats are not.
pub(crate) struct Window<'a, T: Word> {
    array: &'a Array<T>,
    parts: Parts,
    /// The word in `sums` of each part's first element.
    firsts: Box<[usize]>,
    /// Words of all parts that are mapped here.
    words: usize,
    /// Sums of updates that were combined before they are applied; empty while combining does not pay.
    sums: Vec<u64>,
    /// Updates that went straight to their words since the function changed.
    straight: usize,
    function: Function,
    /// Words and values, of which the first `queued` are to be made.
    queue: Box<[(*mut u8, u64); QUEUE]>,
    queued: usize,
}

// SAFETY: addresses of words that are updated by atomic instructions, from whatever thread.
unsafe impl<T: Word> Send for Window<'_, T> {}

impl<T: Word> core::fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Window").finish_non_exhaustive()
    }
}

/// The value that leaves any other as it is, for functions of which two make one.
fn identity<T: Word>(function: Function) -> Option<u64> {
    let op = Operation { function, word: T::TYPE };
    op.neutral().filter(|_| op.combines())
}

impl<'a, T: Word> Window<'a, T> {
    /// In the phase `update` of an array.
    pub(crate) fn new(array: &'a Array<T>) -> Self {
        let (parts, largest) = (Parts::of(array), array.map.largest_part());
        let mut words = 0;
        let firsts = parts.starts.iter().map(|part| {
            let first = words;
            words += if part.is_null() { 0 } else { largest };
            first
        });
        let firsts = firsts.collect();
        Window {
            array,
            parts,
            firsts,
            words,
            sums: Vec::new(),
            straight: 0,
            function: Function::Add,
            queue: Box::new([(core::ptr::null_mut(), 0); QUEUE]),
            queued: 0,
        }
    }

    /// Updates the element of number `at` on a rank, where [`Map::place`](crate::layout::Map::place) has
    /// placed one; `false` if that is not mapped here.
    #[inline]
    pub(crate) fn update(&mut self, rank: u32, at: usize, function: Function, value: u64) -> bool {
        let Some((number, part)) = self.parts.start(rank) else { return false };
        debug_assert!(at < self.array.map.part(rank), "the map places elements in parts");
        if function as u32 != self.function as u32 {
            self.change(function);
        }
        if !self.sums.is_empty() {
            let sum = &mut self.sums[self.firsts[number] + at];
            let op = Operation { function, word: T::TYPE };
            *sum = op.new_value(*sum, value, 0).unwrap_or(*sum);
            return true;
        }
        self.queue[self.queued % QUEUE] = (part.wrapping_add(at * size_of::<T>()), value);
        self.queued += 1;
        if self.queued == QUEUE {
            // Those that stay have been asked for, and come while the queue fills.
            self.make(QUEUE - AHEAD);
            self.combine_if_worth_it();
        }
        true
    }

    #[cold]
    fn combine_if_worth_it(&mut self) {
        self.straight += QUEUE - AHEAD;
        if self.words <= MOST_SUMS.min(self.straight)
            && let Some(identity) = identity::<T>(self.function)
        {
            self.sums = vec![identity; self.words];
        }
    }

    /// Queues what was combined.
    #[cold]
    fn apply_sums(&mut self) {
        let Some(identity) = identity::<T>(self.function) else { return };
        let (sums, largest) = (core::mem::take(&mut self.sums), self.array.map.largest_part());
        for number in 0..self.firsts.len() {
            let (part, first) = (self.parts.starts[number], self.firsts[number]);
            if part.is_null() {
                continue;
            }
            // Elements that were updated were placed in the part; the others are as before.
            for (at, &sum) in
                sums[first..first + largest].iter().enumerate().filter(|(_, sum)| **sum != identity)
            {
                self.queue[self.queued % QUEUE] = (part.wrapping_add(at * size_of::<T>()), sum);
                self.queued += 1;
                if self.queued == QUEUE {
                    self.make(QUEUE - AHEAD);
                }
            }
        }
    }

    /// Makes all updates, and goes on with another function.
    #[cold]
    fn change(&mut self, function: Function) {
        self.flush();
        if !(Operation { function, word: T::TYPE }).is_defined() {
            self.array
                .world
                .abort(&format!("an update by {function:?} of {:?}: it is for integers only", T::TYPE));
        }
        self.function = function;
        self.straight = 0;
    }

    /// Makes all updates.
    pub(crate) fn flush(&mut self) {
        if !self.sums.is_empty() {
            self.apply_sums();
        }
        self.make(self.queued);
    }

    /// Makes the first updates.
    #[inline(never)]
    fn make(&mut self, count: usize) {
        use Function::{Add, And, Max, Min, Or, Xor};
        // A loop for each function, with its instruction in it.
        match self.function {
            Add => self.make_by(Add, count),
            Min => self.make_by(Min, count),
            Max => self.make_by(Max, count),
            And => self.make_by(And, count),
            Or => self.make_by(Or, count),
            Xor => self.make_by(Xor, count),
            other => self.make_by(other, count),
        }
    }

    #[inline(always)]
    fn make_by(&mut self, function: Function, count: usize) {
        let op = Operation { function, word: T::TYPE };
        let queued = &self.queue[..self.queued];
        for (i, &(word, value)) in queued[..count].iter().enumerate() {
            if let Some(&(later, _)) = queued.get(i + AHEAD) {
                ask_to_write(later);
            }
            // The map has placed the word in its part: `Map::place` checks the index, ranks have agreed on
            // the map, and `largest_part` elements are mapped.
            // SAFETY: the word belongs to the array, which is mapped as long as it is borrowed. It is
            // aligned: parts begin at multiples of 64, elements are words. In this phase all accesses are
            // atomic.
            unsafe { atomics::apply(word, op, value, 0) };
        }
        self.queue.copy_within(count..self.queued, 0);
        self.queued -= count;
    }
}

/// Asks for the line of a word, to write it. Processors that do not know the instruction take it as none.
#[inline(always)]
fn ask_to_write(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which accesses nothing and leaves all registers as they are.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
