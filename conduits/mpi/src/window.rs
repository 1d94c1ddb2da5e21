//! Puts and gets through a window over all segments.
//!
//! A put's request completes when its source has been read. Only a flush, which waits for all puts to a
//! target, shows that the data is in place there. So a poll flushes once for each target with puts that have
//! completed here, and then reports them all.

use crate::calls::{self, MPI_Comm, MPI_Request, MPI_Win};
use gasnet_wire::Error;
use gasnet_wire::conduit::{Completion, RemoteAddr};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// A put that takes longer than this has a target outside of MPI.
const UNAIDED_PUT_TIME: Duration = Duration::from_micros(20);
/// Empty polls after which the same is assumed of a get: about as long.
const EMPTY_POLLS_BEFORE_NUDGE: u32 = 200;
/// At the start: how long a put without its target's help may take.
const UNAIDED_TRIAL_TIMEOUT: Duration = Duration::from_millis(20);
/// Most operations under way.
const MAX_OPERATIONS_UNDER_WAY: usize = 1024;
/// How long MPI may refuse operations while none is under way that would make room.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes of the largest single operation: MPI counts in C ints.
pub(crate) const MAX_OPERATION_BYTES: usize = 1 << 30;

#[derive(Clone, Copy)]
struct WindowOperation {
    token: u64,
    to: u32,
    put: bool,
}

/// The window and the operations under way.
pub(crate) struct Window {
    window: MPI_Win,
    /// Requests, and in parallel their operations.
    requests: Vec<MPI_Request>,
    ops: Vec<WindowOperation>,
    /// Buffer for MPI's answers.
    indices: Vec<c_int>,
    /// The operation that the next poll tests first: so a slow target does not hide the completions of
    /// others.
    first: usize,
    /// Empty polls since the last completion.
    vain: u32,
    /// Time since which MPI has refused to start operations while none was under way.
    refused: Option<Instant>,
    /// Puts that are complete here, and perhaps not in place yet: token and target.
    unflushed: Vec<(u64, u32)>,
}

impl Window {
    /// A window over this rank's segment. Collective.
    pub(crate) fn open(base: *mut u8, len: usize, comm: MPI_Comm) -> Result<Window, Error> {
        #[expect(unsafe_code, reason = "vouches for the segment")]
        // SAFETY: a segment stays for the rest of the job.
        let window = unsafe { calls::open_window(base, len, comm) }?;
        let (requests, ops) =
            (Vec::with_capacity(MAX_OPERATIONS_UNDER_WAY), Vec::with_capacity(MAX_OPERATIONS_UNDER_WAY));
        Ok(Window {
            window,
            requests,
            ops,
            indices: vec![0; MAX_OPERATIONS_UNDER_WAY],
            first: 0,
            vain: 0,
            refused: None,
            unflushed: Vec::new(),
        })
    }

    /// Number of operations that are not complete.
    pub(crate) fn under_way(&self) -> usize {
        self.ops.len() + self.unflushed.len()
    }

    fn start(&mut self, token: u64, to: u32, put: bool, request: Result<MPI_Request, Error>) -> bool {
        match request {
            Ok(request) => {
                self.refused = None;
                self.requests.push(request);
                self.ops.push(WindowOperation { token, to, put });
                true
            }
            // Probably out of resources: try again.
            Err(error) => {
                if self.under_way() > 0 {
                    self.refused = None;
                } else if self.refused.get_or_insert_with(Instant::now).elapsed() > REFUSAL_TIMEOUT {
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
        if self.ops.len() == MAX_OPERATIONS_UNDER_WAY {
            return false;
        }
        let rank = to.rank.0;
        // SAFETY: owed by the caller.
        let request = unsafe { calls::put(self.window, rank, to.offset, src, len) };
        self.start(token, rank, true, request)
    }

    /// # Safety
    /// As `Rma::get`.
    #[expect(unsafe_code, reason = "passes the obligation on")]
    pub(crate) unsafe fn get(&mut self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        if self.ops.len() == MAX_OPERATIONS_UNDER_WAY {
            return false;
        }
        let rank = from.rank.0;
        // SAFETY: owed by the caller.
        let request = unsafe { calls::get(self.window, rank, from.offset, dst, len) };
        self.start(token, rank, false, request)
    }

    /// Moves completed operations into `done`. Returns a target that keeps puts or gets waiting, if there is
    /// one: it probably sleeps outside of MPI.
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
        // From the back, so that the remaining indices stay valid.
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
            let slow = since.elapsed() > UNAIDED_PUT_TIME;
            self.unflushed.retain(|&(token, target)| {
                if target == to {
                    done.push((token, Completion::Remote));
                }
                target != to
            });
            return Ok(slow.then_some(to));
        }
        self.vain = if done.is_empty() { self.vain.wrapping_add(1) } else { 0 };
        let slow = self.vain > 0 && self.vain.is_multiple_of(EMPTY_POLLS_BEFORE_NUDGE);
        Ok(self.ops.first().filter(|_| slow).map(|op| op.to))
    }

    /// Ends the window. Collective.
    pub(crate) fn close(mut self) {
        calls::close_window(&mut self.window);
    }
}

/// A window for tests: its memory is all zero at first.
struct Trial {
    window: MPI_Win,
    base: *mut u64,
    comm: MPI_Comm,
}

impl Trial {
    /// `None` if it cannot be opened. Collective.
    fn open(words: usize, comm: MPI_Comm) -> Result<Option<Trial>, Error> {
        let base = Vec::leak(vec![0u64; words]).as_mut_ptr();
        #[expect(unsafe_code, reason = "vouches for the memory")]
        // SAFETY: the memory was leaked.
        let window = unsafe { calls::open_window(base.cast(), words * 8, comm) };
        let mine = i32::from(window.is_ok());
        if calls::least(mine, comm)? != -calls::least(-mine, comm)? {
            // A window that only some ranks have cannot be freed, and then MPI cannot be finalised.
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

    /// Puts words from `at` on in another process, and returns when they are in place.
    fn put(&self, to: u32, at: usize, words: &[u64]) -> Result<(), Error> {
        #[expect(unsafe_code, reason = "puts words that stay until that is complete")]
        // SAFETY: the source outlives the request; tests stay inside the window.
        let put =
            unsafe { calls::put(self.window, to, at as u64 * 8, words.as_ptr().cast(), size_of_val(words)) };
        Trial::complete(put?)?;
        calls::flush(self.window, to)
    }

    /// Gets as many words as `words` has room for.
    fn get(&self, from: u32, words: &mut [u64]) -> Result<(), Error> {
        #[expect(unsafe_code, reason = "gets words to where they may be until that is complete")]
        // SAFETY: the destination outlives the request; tests stay inside the window.
        let get = unsafe { calls::get(self.window, from, 0, words.as_mut_ptr().cast(), size_of_val(words)) };
        Trial::complete(get?)
    }

    fn here(&self, at: usize) -> u64 {
        #[expect(unsafe_code, reason = "reads what others write")]
        // SAFETY: inside the memory, as the tests stay inside.
        unsafe {
            self.base.add(at).read_volatile()
        }
    }

    /// Whether it succeeded on all ranks. Collective: a rank that failed calls this as well.
    fn everywhere(&self, went: Result<bool, Error>) -> Result<bool, Error> {
        Ok(calls::least(i32::from(went.unwrap_or(false)), self.comm)? == 1)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        calls::close_window(&mut self.window);
    }
}

/// Whether a small window works as MPI specifies: a put arrives whole and changes nothing else, a get brings
/// it back, and plain loads and stores may run at the same time. Collective.
pub(crate) fn sound(comm: MPI_Comm) -> Result<bool, Error> {
    const WORDS: usize = 512;
    let (me, size) = calls::place()?;
    let pattern = |of: u32, k: usize| u64::from(of) << 32 | k as u64;
    let (left, right) = ((me + size - 1) % size, (me + 1) % size);
    let Some(trial) = Trial::open(2 * WORDS, comm)? else { return Ok(false) };
    let mine: Vec<u64> = (0..WORDS).map(|k| pattern(me, k)).collect();
    let mut back = vec![0u64; WORDS];
    let went = trial.put(right, 0, &mine).and_then(|()| trial.get(right, &mut back));
    // All ranks have put: the left neighbour's words are here.
    let one_memory = calls::has_one_memory(trial.window);
    let all = trial.everywhere(went.and(one_memory).map(|one| one && back == mine))?;
    let arrived = calls::synchronise(trial.window)
        .map(|()| (0..WORDS).all(|k| trial.here(k) == pattern(left, k) && trial.here(WORDS + k) == 0));
    Ok(trial.everywhere(arrived)? && all)
}

/// Whether puts are carried out, and known to be in place, while their target is not in MPI. If the test
/// takes too long, the answer is no. Collective.
pub(crate) fn needs_no_target(comm: MPI_Comm) -> Result<bool, Error> {
    let (me, size) = calls::place()?;
    let Some(trial) = Trial::open(2, comm)? else { return Ok(false) };
    // From ranks of the lower half to ranks of the upper one, which are likely on other hosts.
    let half = size / 2;
    let puts = |at| if me < half { trial.put(me + half, at, &[1]) } else { Ok(()) };
    // Once with all ranks in MPI, so that the cost of a first use is not measured.
    let first = trial.everywhere(puts(0).map(|()| true))?;
    let went = if (half..2 * half).contains(&me) {
        // No call of MPI here. The second word is put when the first one is known to be in place.
        let since = Instant::now();
        while trial.here(1) == 0 && since.elapsed() < UNAIDED_TRIAL_TIMEOUT {
            std::thread::sleep(UNAIDED_TRIAL_TIMEOUT / 400);
        }
        Ok(trial.here(1) != 0)
    } else {
        puts(0).and_then(|()| puts(1)).map(|()| true)
    };
    Ok(trial.everywhere(went)? && first)
}
