//! Puts and gets through a window over all segments.
//!
//! A put's request completes when its source has been read. That it is in place at the target takes a flush, which waits for all puts to
//! that target; so a poll flushes once for each target with puts that have completed here, and then reports them all.

use crate::calls::{self, MPI_Comm, MPI_Request, MPI_Win};
use gasnet::Error;
use gasnet::conduit::{Completion, RemoteAddr};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Longer takes a put whose target is not in MPI.
const SLOW: Duration = Duration::from_micros(20);
/// Polls in vain after which the same is true of a get: about as long.
const IN_VAIN: u32 = 200;
/// Operations that may be under way.
const MOST: usize = 1024;
/// Bytes of the largest single operation: MPI counts in C ints.
pub(crate) const LARGEST: usize = 1 << 30;

#[derive(Clone, Copy)]
struct Op {
    token: u64,
    to: u32,
    put: bool,
}

/// The window and what is under way.
pub(crate) struct Window {
    window: MPI_Win,
    /// What is under way, and what it is, side by side.
    requests: Vec<MPI_Request>,
    ops: Vec<Op>,
    /// Room for the answers of MPI.
    indices: Vec<c_int>,
    /// Polls in vain since something was complete.
    vain: u32,
    /// Puts complete here, not yet known to be in place: token and target.
    unflushed: Vec<(u64, u32)>,
}

impl Window {
    /// A window over this rank's segment. Collective.
    pub(crate) fn open(base: *mut u8, len: usize, comm: MPI_Comm) -> Result<Window, Error> {
        #[expect(unsafe_code, reason = "vouches for the segment")]
        // SAFETY: a segment stays for the rest of the job.
        let window = unsafe { calls::open_window(base, len, comm) }?;
        let (requests, ops) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        Ok(Window { window, requests, ops, indices: vec![0; MOST], vain: 0, unflushed: Vec::new() })
    }

    /// Operations that are not complete.
    pub(crate) fn under_way(&self) -> usize {
        self.ops.len() + self.unflushed.len()
    }

    fn start(&mut self, token: u64, to: u32, put: bool, request: Result<MPI_Request, Error>) -> bool {
        match request {
            Ok(request) => {
                self.requests.push(request);
                self.ops.push(Op { token, to, put });
                true
            }
            // Out of resources, most likely: to be tried again.
            Err(_) => false,
        }
    }

    /// # Safety
    /// As `Rma::put`.
    #[expect(unsafe_code, reason = "passes the obligation on")]
    pub(crate) unsafe fn put(&mut self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        if self.ops.len() == MOST {
            return false;
        }
        let rank = to.peer.rank.0;
        // SAFETY: owed by the caller.
        let request = unsafe { calls::put(self.window, rank, to.offset, src, len) };
        self.start(token, rank, true, request)
    }

    /// # Safety
    /// As `Rma::get`.
    #[expect(unsafe_code, reason = "passes the obligation on")]
    pub(crate) unsafe fn get(&mut self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        if self.ops.len() == MOST {
            return false;
        }
        let rank = from.peer.rank.0;
        // SAFETY: owed by the caller.
        let request = unsafe { calls::get(self.window, rank, from.offset, dst, len) };
        self.start(token, rank, false, request)
    }

    /// Puts what has completed into `done`. A target that keeps puts or gets waiting, if there is one: where MPI needs it, it naps.
    pub(crate) fn poll(
        &mut self,
        budget: usize,
        done: &mut Vec<(u64, Completion)>,
    ) -> Result<Option<u32>, Error> {
        let count = self.ops.len().min(budget);
        let found = calls::test_some(&mut self.requests[..count], &mut self.indices)?;
        let complete = &mut self.indices[..found];
        // From the back, so that the indices that are left stay right.
        complete.sort_unstable_by(|a, b| b.cmp(a));
        for &index in complete.iter() {
            let op = self.ops.swap_remove(index as usize);
            self.requests.swap_remove(index as usize);
            if op.put {
                done.push((op.token, Completion::Local));
                self.unflushed.push((op.token, op.to));
            } else {
                done.push((op.token, Completion::Remote));
            }
        }
        // Not while more puts may be about to complete: one flush serves them all.
        if (done.is_empty() || self.ops.is_empty())
            && let Some(&(_, to)) = self.unflushed.first()
        {
            let since = Instant::now();
            calls::flush(self.window, to)?;
            let slow = since.elapsed() > SLOW;
            self.unflushed.retain(|&(token, target)| {
                if target == to {
                    done.push((token, Completion::Remote));
                }
                target != to
            });
            return Ok(slow.then_some(to));
        }
        self.vain = if done.is_empty() { self.vain.wrapping_add(1) } else { 0 };
        let slow = self.vain > 0 && self.vain.is_multiple_of(IN_VAIN);
        Ok(self.ops.first().filter(|_| slow).map(|op| op.to))
    }

    /// Ends the window. Collective.
    pub(crate) fn close(mut self) {
        calls::close_window(&mut self.window);
    }
}

/// Whether a small window does what MPI says it does: a put arrives, whole and nowhere else, and a get brings it back. Collective.
pub(crate) fn sound(comm: MPI_Comm) -> Result<bool, Error> {
    const WORDS: usize = 512;
    let (me, size) = calls::place()?;
    let pattern = |of: u32, k: usize| u64::from(of) << 32 | k as u64;
    let memory: &'static mut [u64] = Vec::leak(vec![0u64; 2 * WORDS]);
    let base = memory.as_mut_ptr();
    let right = (me + 1) % size;
    let try_it = || -> Result<bool, Error> {
        let mine: Vec<u64> = (0..WORDS).map(|k| pattern(me, k)).collect();
        let mut back = vec![0u64; WORDS];
        #[expect(unsafe_code, reason = "puts and gets of memory that stays until they are complete")]
        // SAFETY: the window's memory is leaked; source and destination live until the requests are complete.
        unsafe {
            let mut window = calls::open_window(base.cast(), 2 * WORDS * 8, comm)?;
            let complete = |mut request| -> Result<(), Error> {
                while !calls::test(&mut request)? {}
                Ok(())
            };
            complete(calls::put(window, right, 0, mine.as_ptr().cast(), WORDS * 8)?)?;
            calls::flush(window, right)?;
            complete(calls::get(window, right, 0, back.as_mut_ptr().cast(), WORDS * 8)?)?;
            // Everyone has put: what the left neighbour sent is here.
            calls::least(0, comm)?;
            calls::synchronise(window)?;
            let left = (me + size - 1) % size;
            let here = |k: usize| base.add(k).read_volatile();
            let arrived = (0..WORDS).all(|k| here(k) == pattern(left, k) && here(WORDS + k) == 0);
            calls::least(0, comm)?;
            calls::close_window(&mut window);
            Ok(arrived && back == mine)
        }
    };
    Ok(calls::least(i32::from(try_it().unwrap_or(false)), comm)? == 1)
}
