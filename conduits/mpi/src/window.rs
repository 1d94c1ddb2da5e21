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
/// How long a put without its target's help may take at the start.
const UNAIDED: Duration = Duration::from_millis(20);
/// Operations that may be under way.
const MOST: usize = 1024;
/// So long an operation may be refused while nothing is under way that would make room for it.
const REFUSALS: Duration = Duration::from_secs(3);
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
    /// The operation that the next poll asks about first: what one target keeps waiting does not hide what others have done.
    first: usize,
    /// Polls in vain since something was complete.
    vain: u32,
    /// Since when MPI has refused to start operations while none was under way.
    refused: Option<Instant>,
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
        Ok(Window {
            window,
            requests,
            ops,
            indices: vec![0; MOST],
            first: 0,
            vain: 0,
            refused: None,
            unflushed: Vec::new(),
        })
    }

    /// Operations that are not complete.
    pub(crate) fn under_way(&self) -> usize {
        self.ops.len() + self.unflushed.len()
    }

    fn start(&mut self, token: u64, to: u32, put: bool, request: Result<MPI_Request, Error>) -> bool {
        match request {
            Ok(request) => {
                self.refused = None;
                self.requests.push(request);
                self.ops.push(Op { token, to, put });
                true
            }
            // Out of resources, most likely: to be tried again.
            Err(error) => {
                if self.under_way() > 0 {
                    self.refused = None;
                } else if self.refused.get_or_insert_with(Instant::now).elapsed() > REFUSALS {
                    eprintln!("gasnet: {error}");
                    std::process::abort();
                }
                false
            }
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
        let first = if self.first < self.ops.len() { self.first } else { 0 };
        let end = self.ops.len().min(first + budget);
        let found = calls::test_some(&mut self.requests[first..end], &mut self.indices)?;
        self.first = if found == 0 { end } else { first };
        let complete = &mut self.indices[..found];
        // From the back, so that the indices that are left stay right.
        complete.sort_unstable_by(|a, b| b.cmp(a));
        for &index in complete.iter() {
            let op = self.ops.swap_remove(first + index as usize);
            self.requests.swap_remove(first + index as usize);
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

/// A window that is tried out: its memory is all zero at first.
struct Trial {
    window: MPI_Win,
    base: *mut u64,
    comm: MPI_Comm,
}

impl Trial {
    /// `None` where it cannot be opened. Collective.
    fn open(words: usize, comm: MPI_Comm) -> Result<Option<Trial>, Error> {
        let base = Vec::leak(vec![0u64; words]).as_mut_ptr();
        #[expect(unsafe_code, reason = "vouches for the memory")]
        // SAFETY: the memory was leaked.
        let window = unsafe { calls::open_window(base.cast(), words * 8, comm) };
        let mine = i32::from(window.is_ok());
        if calls::least(mine, comm)? != -calls::least(-mine, comm)? {
            // What some have cannot be ended without the others, nor MPI without that.
            return Err(window.err().unwrap_or_else(|| {
                Error::Conduit(
                    "mpi: MPI_Win_create failed on other processes, and not on this one".to_string(),
                )
            }));
        }
        Ok(window.ok().map(|window| Trial { window, base, comm }))
    }

    /// Waits for a request.
    fn complete(mut request: MPI_Request) -> Result<(), Error> {
        while !calls::test(&mut request)? {}
        Ok(())
    }

    /// Puts words from `at` on in another process, and returns when they are there.
    fn put(&self, to: u32, at: usize, words: &[u64]) -> Result<(), Error> {
        #[expect(unsafe_code, reason = "puts words that stay until that is complete")]
        // SAFETY: the source outlives the request; tries stay inside the window.
        let put =
            unsafe { calls::put(self.window, to, at as u64 * 8, words.as_ptr().cast(), size_of_val(words)) };
        Trial::complete(put?)?;
        calls::flush(self.window, to)
    }

    /// Gets as many words as there is room for.
    fn get(&self, from: u32, words: &mut [u64]) -> Result<(), Error> {
        #[expect(unsafe_code, reason = "gets words to where they may be until that is complete")]
        // SAFETY: the destination outlives the request; tries stay inside the window.
        let get = unsafe { calls::get(self.window, from, 0, words.as_mut_ptr().cast(), size_of_val(words)) };
        Trial::complete(get?)
    }

    fn here(&self, at: usize) -> u64 {
        #[expect(unsafe_code, reason = "reads what others write")]
        // SAFETY: inside the memory, as tries are.
        unsafe {
            self.base.add(at).read_volatile()
        }
    }

    /// Whether it went well everywhere. Collective: who fails comes here as well.
    fn everywhere(&self, went: Result<bool, Error>) -> Result<bool, Error> {
        Ok(calls::least(i32::from(went.unwrap_or(false)), self.comm)? == 1)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        calls::close_window(&mut self.window);
    }
}

/// Whether a small window does what MPI says it does: a put arrives, whole and nowhere else, and a get brings it back; and plain loads and
/// stores may go on beside. Collective.
pub(crate) fn sound(comm: MPI_Comm) -> Result<bool, Error> {
    const WORDS: usize = 512;
    let (me, size) = calls::place()?;
    let pattern = |of: u32, k: usize| u64::from(of) << 32 | k as u64;
    let (left, right) = ((me + size - 1) % size, (me + 1) % size);
    let Some(trial) = Trial::open(2 * WORDS, comm)? else { return Ok(false) };
    let mine: Vec<u64> = (0..WORDS).map(|k| pattern(me, k)).collect();
    let mut back = vec![0u64; WORDS];
    let went = trial.put(right, 0, &mine).and_then(|()| trial.get(right, &mut back));
    // Everyone has put: what the left neighbour sent is here.
    let one_memory = calls::has_one_memory(trial.window);
    let all = trial.everywhere(went.and(one_memory).map(|one| one && back == mine))?;
    let arrived = calls::synchronise(trial.window)
        .map(|()| (0..WORDS).all(|k| trial.here(k) == pattern(left, k) && trial.here(WORDS + k) == 0));
    Ok(trial.everywhere(arrived)? && all)
}

/// Whether puts are carried out, and known to be in place, while their target is not in MPI. Where it takes longer than it should to see
/// that, the answer is no. Collective.
pub(crate) fn needs_no_target(comm: MPI_Comm) -> Result<bool, Error> {
    let (me, size) = calls::place()?;
    let Some(trial) = Trial::open(2, comm)? else { return Ok(false) };
    // From ranks of the lower half to ranks of the upper one: likely on other hosts.
    let half = size / 2;
    let puts = |at| if me < half { trial.put(me + half, at, &[1]) } else { Ok(()) };
    // Once with all in MPI: what only a first use takes is not asked for.
    let first = trial.everywhere(puts(0).map(|()| true))?;
    let went = if (half..2 * half).contains(&me) {
        // Nothing of MPI's here. The second word is put when the first one is known to be in place.
        let since = Instant::now();
        while trial.here(1) == 0 && since.elapsed() < UNAIDED {
            std::thread::sleep(UNAIDED / 400);
        }
        Ok(trial.here(1) != 0)
    } else {
        puts(0).and_then(|()| puts(1)).map(|()| true)
    };
    Ok(trial.everywhere(went)? && first)
}
