//! Runs of elements of a shared array, moved in few transfers: `upcc` uses them for loops over another
//! thread's memory.
//!
//! A *run* is `n` consecutive elements of an array of block size `b` (0: indefinite). It consists of
//! *pieces*: blocks or parts of them. Piece j + THREADS follows piece j in the memory of the same thread, so
//! all pieces of a thread are one transfer.
//!
//! `gather` copies a run into a buffer of this library (there are [`BUFFER_COUNT`]), `scatter` copies it
//! back. Both use a run that is one piece of a near thread in place.
#![expect(unsafe_code, reason = "copies between segments and buffers")]

use crate::core::Core;
use crate::state::upc;
use std::cell::UnsafeCell;
use std::ffi::{c_uint, c_ulong, c_void};

/// Number of buffers on each thread.
const BUFFER_COUNT: usize = 8;
/// Bytes of each buffer. `upcc` has the same numbers, and uses no more; a test below compares.
const BUFFER_BYTES: usize = 16 << 10;

/// Bit of `how`: the old values are needed.
const READ: c_uint = 1;
/// Bit of `how`: one transfer at a time.
const BLOCKING: c_uint = 2;
/// Bit of `how`: a transfer for every element.
const SINGLY: c_uint = 4;

/// Aligned for every type, vectors included.
#[repr(align(64))]
struct StreamBuffer(UnsafeCell<[u8; BUFFER_BYTES]>);

thread_local! {
    static BUFFER: [StreamBuffer; BUFFER_COUNT] = const { [const { StreamBuffer(UnsafeCell::new([0; BUFFER_BYTES])) }; BUFFER_COUNT] };
}

/// A run of elements; sizes are in bytes.
#[derive(Clone, Copy, Debug)]
struct Run {
    t: u32,
    o: u64,
    phase: u64,
    n: u64,
    b: u64,
    e: u64,
}

/// Consecutive bytes of one thread: their offset there, and in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadRange {
    t: u32,
    o: u64,
    at: u64,
    bytes: u64,
}

impl Run {
    /// Whether the run is one piece.
    fn single(&self) -> bool {
        self.b == 0 || self.n <= self.b - self.phase
    }

    /// Calls `f` for every piece, in order.
    fn pieces(&self, threads: u32, mut f: impl FnMut(ThreadRange)) {
        let Run { mut t, mut o, mut phase, n, b, e } = *self;
        let mut done = 0;
        while done < n {
            let count = if b == 0 { n } else { (b - phase).min(n - done) };
            f(ThreadRange { t, o, at: done * e, bytes: count * e });
            done += count;
            o -= phase * e;
            phase = 0;
            t += 1;
            if t == threads {
                t = 0;
                o += b * e;
            }
        }
    }

    /// The pieces of each thread, in the order of their first pieces.
    fn by_thread(&self, threads: u32) -> Vec<Vec<ThreadRange>> {
        let mut all: Vec<Vec<ThreadRange>> = Vec::new();
        let mut number = 0;
        self.pieces(threads, |piece| {
            let slot = number % threads as usize;
            number += 1;
            match all.get_mut(slot) {
                Some(list) => list.push(piece),
                None => all.push(vec![piece]),
            }
        });
        all
    }
}

/// Moves pieces over the network.
struct Mover<'a> {
    core: &'a Core,
    how: c_uint,
}

impl Mover<'_> {
    /// # Safety
    /// 1. `to` has room for the piece until [`Core::sync`] (owed by the caller).
    unsafe fn get(&self, p: ThreadRange, to: *mut u8) {
        // SAFETY: (1).
        unsafe {
            match self.how & BLOCKING {
                0 => self.core.get_nbi(to, p.t, p.o, p.bytes),
                _ => self.core.get(to, p.t, p.o, p.bytes),
            }
        }
    }

    /// # Safety
    /// 1. `from` is valid for the piece (owed by the caller).
    unsafe fn put(&self, p: ThreadRange, from: *const u8) {
        // SAFETY: (1).
        unsafe {
            match self.how & BLOCKING {
                0 => self.core.put_nbi(p.t, p.o, from, p.bytes),
                _ => self.core.put(p.t, p.o, from, p.bytes),
            }
        }
    }
}

/// Splits a piece into elements if `how` asks for it.
fn parts(how: c_uint, e: u64, p: ThreadRange, mut f: impl FnMut(ThreadRange)) {
    let step = if how & SINGLY != 0 { e } else { p.bytes };
    let mut done = 0;
    while done < p.bytes {
        f(ThreadRange { o: p.o + done, at: p.at + done, bytes: step, ..p });
        done += step;
    }
}

/// The run's elements, in place or in buffer `m`; complete at the latest after `__upc_moved`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_gather(
    m: c_uint,
    t: c_uint,
    o: c_ulong,
    phase: c_ulong,
    n: c_ulong,
    b: c_ulong,
    e: c_ulong,
    how: c_uint,
) -> *mut c_void {
    let (core, threads) = (&upc().core, upc().size);
    let run = Run { t, o, phase, n, b, e };
    if run.single()
        && let Some(here) = core.here(t, o, n * e)
    {
        return here.cast();
    }
    let buffer = BUFFER.with(|all| all[m as usize % BUFFER_COUNT].0.get()).cast::<u8>();
    assert!(n * e <= BUFFER_BYTES as u64, "a run is longer than its buffer");
    if how & READ == 0 {
        return buffer.cast();
    }
    let mover = Mover { core, how };
    if how & SINGLY != 0 || run.single() || n.div_ceil(b) <= u64::from(threads) {
        run.pieces(threads, |p| {
            parts(how, e, p, |p| {
                // SAFETY: inside the buffer, which nobody uses before `__upc_moved`.
                unsafe { mover.get(p, buffer.add(p.at as usize)) }
            });
        });
        return buffer.cast();
    }
    // Many small pieces: all those of a thread in one transfer, then each to its position.
    let lists = run.by_thread(threads);
    let mut packed = vec![0u8; (n * e) as usize];
    let mut start = 0;
    for list in &lists {
        let bytes: u64 = list.iter().map(|p| p.bytes).sum();
        // SAFETY: the lists together are as long as the run; nobody reads before `sync`.
        unsafe { mover.get(ThreadRange { bytes, ..list[0] }, packed.as_mut_ptr().add(start)) };
        start += bytes as usize;
    }
    core.sync();
    let mut start = 0;
    for p in lists.iter().flatten() {
        let from = packed[start..start + p.bytes as usize].as_ptr();
        // SAFETY: inside the buffer.
        unsafe { from.copy_to_nonoverlapping(buffer.add(p.at as usize), p.bytes as usize) };
        start += p.bytes as usize;
    }
    buffer.cast()
}

/// Writes back a run that `__upc_gather` returned; complete after `__upc_moved`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_scatter(
    m: c_uint,
    t: c_uint,
    o: c_ulong,
    phase: c_ulong,
    n: c_ulong,
    b: c_ulong,
    e: c_ulong,
    how: c_uint,
) {
    let (core, threads) = (&upc().core, upc().size);
    let run = Run { t, o, phase, n, b, e };
    if run.single() && core.here(t, o, n * e).is_some() {
        return;
    }
    let buffer = BUFFER.with(|all| all[m as usize % BUFFER_COUNT].0.get()).cast::<u8>();
    assert!(n * e <= BUFFER_BYTES as u64, "a run is longer than its buffer");
    let mover = Mover { core, how };
    if how & SINGLY != 0 || run.single() || n.div_ceil(b) <= u64::from(threads) {
        run.pieces(threads, |p| {
            parts(how, e, p, |p| {
                // SAFETY: inside the buffer.
                unsafe { mover.put(p, buffer.add(p.at as usize)) }
            });
        });
        return;
    }
    let mut packed = Vec::new();
    for list in run.by_thread(threads) {
        packed.clear();
        for p in &list {
            // SAFETY: inside the buffer, which only this thread uses.
            packed.extend_from_slice(unsafe {
                std::slice::from_raw_parts(buffer.add(p.at as usize), p.bytes as usize)
            });
        }
        // SAFETY: `packed` holds as many bytes; a put's source may be reused at once.
        unsafe { mover.put(ThreadRange { bytes: packed.len() as u64, ..list[0] }, packed.as_ptr()) };
    }
}

/// Starts to copy element `k`, of `e` bytes, into buffer `m`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_start(m: c_uint, k: c_ulong, t: c_uint, o: c_ulong, e: c_ulong) {
    assert!((k + 1) * e <= BUFFER_BYTES as u64, "a run is longer than its buffer");
    let buffer = BUFFER.with(|all| all[m as usize % BUFFER_COUNT].0.get()).cast::<u8>();
    // SAFETY: inside the buffer, which nobody uses before `__upc_moved`.
    unsafe { upc().core.get_nbi(buffer.add((k * e) as usize), t, o, e) };
}

/// Buffer `m`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_buffer(m: c_uint) -> *mut c_void {
    BUFFER.with(|all| all[m as usize % BUFFER_COUNT].0.get()).cast()
}

/// Waits for everything that was started.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_moved() {
    upc().core.sync();
}

/// Whether the object at an address is private, so that stores to it do not change shared memory.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_is_private(p: *const c_void) -> c_uint {
    upc().core.locate(p.cast()).is_none().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn emitted_code_counts_on_these_buffers() {
        assert_eq!((BUFFER_COUNT, BUFFER_BYTES as u64), (upcc::opt::BUFFERS, upcc::opt::BUFFER_BYTES));
    }

    /// Thread and offset of element i of an array that starts at offset 0.
    fn place(i: u64, b: u64, e: u64, threads: u32) -> (u32, u64) {
        let (block, phase) = (i / b, i % b);
        let (row, t) = (block / u64::from(threads), block % u64::from(threads));
        (t as u32, (row * b + phase) * e)
    }

    proptest! {
        #[test]
        fn pieces_are_the_elements(i in 0..200u64, n in 1..300u64, b in 1..20u64, e in 1..9u64, threads in 1..6u32) {
            let (t, o) = place(i, b, e, threads);
            let run = Run { t, o, phase: i % b, n, b, e };
            let mut next = 0;
            run.pieces(threads, |p| {
                assert_eq!(p.at, next * e);
                for k in 0..p.bytes / e {
                    assert_eq!((p.t, p.o + k * e), place(i + next + k, b, e, threads));
                }
                next += p.bytes / e;
            });
            prop_assert_eq!(next, n);
            // The pieces of a thread are contiguous.
            for list in run.by_thread(threads) {
                for pair in list.windows(2) {
                    prop_assert_eq!(pair[0].t, pair[1].t);
                    prop_assert_eq!(pair[0].o + pair[0].bytes, pair[1].o);
                }
            }
        }
    }
}
