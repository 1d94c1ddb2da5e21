//! A C program that goes on when ranks of its job have died: the library half of `gasnet_survive.h`.
//!
//! **How a call ends.** A call that waits for a dead rank unwinds, as in Rust programs ([`gasnet::attempt`]):
//! through the library, and through the frames of the client's functions, up to [`gasnetx_attempt`]. So all
//! functions of this crate that may wait are `extern "C-unwind"`, and so is what they call of the client's.
//! The frames of C need the tables that compilers write by default (`-fasynchronous-unwind-tables`); those of
//! C++ have their destructors run. No call has a case of its own for deaths, and none costs more. A jump
//! (`longjmp`) would leave behind what the library's frames hold.
//!
//! **Loops of the client's.** C programs wait by calls that poll in turns, too. In a job that goes on those
//! that find nothing look for deaths ([`not_ready`](crate::wait::not_ready)).
//!
//! **Worlds.** The next world is that of a client which has started and has attached nothing. So a client
//! attaches in the function that it gives to [`gasnetx_survive`], and a process that replaces a dead rank and
//! those that go on do the same. [`job::next_world`] makes it.

#![expect(unsafe_code, reason = "exported to C by name; calls functions of the client")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use gasnet::Died;
use gasnet_wire::context::attempting;

use crate::fatal::die;
use crate::info::{DIED, OK};
use crate::state::{self, ClientJob};
use crate::{abi, context, job};

/// A function of the client, which deaths may unwind.
type Work = unsafe extern "C-unwind" fn(argument: *mut c_void);

/// The job, for calls of the program itself.
fn ready(call: &str) -> &'static ClientJob {
    let state = state::state(call);
    context::unrestricted(state, call);
    if !state.program.survives {
        die(&format!("{call}: no object of this program that calls gasnet_init includes gasnet_survive.h"));
    }
    state
}

/// Runs `work` in an attempt, and then `finally`.
///
/// # Safety
/// 1. The client may call `work` with this argument.
unsafe fn attempt(
    call: &str,
    work: Option<Work>,
    argument: *mut c_void,
    finally: impl FnOnce(),
) -> Result<(), Died> {
    let Some(work) = work else { die(&format!("{call}: the function is a null pointer")) };
    if attempting() {
        die(&format!(
            "{call} in an attempt: the outer one would go on without a world when the inner one has failed"
        ));
    }
    let before = context::of_thread();
    let outcome = gasnet::attempt(|| {
        // SAFETY: (1).
        unsafe { work(argument) };
        finally();
    });
    if outcome.is_err() {
        // The function was left without an end to what it had begun.
        context::restore(before);
    }
    outcome
}

/// Runs a function of the client, and returns `GASNETX_DIED` if a death has ended it.
///
/// # Safety
/// `work` may be called with this argument.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnetx_attempt(work: Option<Work>, argument: *mut c_void) -> c_int {
    const CALL: &str = "gasnetx_attempt";
    ready(CALL);
    // SAFETY: the caller's promise.
    if unsafe { attempt(CALL, work, argument, || ()) }.is_ok() { OK } else { DIED }
}

/// Runs all of a program's work, in one world after another, until no rank dies in it.
///
/// # Safety
/// `work` may be called with this argument, any number of times.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnetx_survive(work: Option<Work>, argument: *mut c_void) -> c_int {
    const CALL: &str = "gasnetx_survive";
    static CALLED: AtomicBool = AtomicBool::new(false);
    let state = ready(CALL);
    if CALLED.swap(true, Relaxed) {
        die(&format!(
            "{CALL} was called twice: what survives is one function, with all of the program's work"
        ));
    }
    if state.attached.load(Relaxed) && (state.legacy || !state.everything) {
        die(&format!(
            "{CALL} was called after the segment was attached: attach it in the function, which runs again in each world"
        ));
    }
    loop {
        let rank = state.rank.now();
        let mut finished = false;
        // SAFETY: the caller's promise.
        let met = unsafe {
            attempt(CALL, work, argument, || {
                finished = true;
                if state.mortal {
                    rank.barrier();
                }
            })
        };
        if met.is_ok() {
            rank.survival().finish();
            return OK;
        }
        match job::next_world(state) {
            Ok(true) => {}
            // Some rank has passed the meeting, so this one has come to it.
            Ok(false) if finished => return OK,
            Ok(false) => die("all ranks have done their work, and this one has not"),
            Err(error) => die(&format!("{CALL}: {error}")),
        }
    }
}

/// Goes on in the next world, by the call of this name.
fn next(call: &str, heals: bool) -> c_int {
    let state = ready(call);
    if attempting() {
        die(&format!("{call} in an attempt: call it where the attempt has ended"));
    }
    let survival = state.rank.survival();
    if survival.is_possible() && survival.heals() != heals {
        let other = if heals { "shrink" } else { "heal" };
        die(&format!("{call} in a job that was started with --on-death {other}: call gasnetx_{other}"));
    }
    match job::next_world(state) {
        Ok(true) => OK,
        Ok(false) => die("all ranks have done their work, and there is no other world"),
        Err(error) => die(&format!("{call}: {error}")),
    }
}

/// Starts the world of the ranks that are left.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnetx_shrink() -> c_int {
    next("gasnetx_shrink", false)
}

/// Starts a world in which other processes replace the dead ranks.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnetx_heal() -> c_int {
    next("gasnetx_heal", true)
}

/// The ranks of this world that have died, ascending: writes as many as there is room for, and returns how
/// many there are.
///
/// # Safety
/// `ranks` has `room` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnetx_dead(ranks: *mut u32, room: usize) -> usize {
    let dead = state::state("gasnetx_dead").rank.survival().dead().ranks;
    for (i, rank) in dead.iter().enumerate().take(room) {
        // SAFETY: the caller's promise.
        unsafe { ranks.add(i).write(*rank) };
    }
    dead.len()
}

/// The number of worlds that the job had before this one.
#[unsafe(no_mangle)]
pub extern "C" fn gasnetx_epoch() -> u32 {
    state::state("gasnetx_epoch").rank.survival().epoch()
}

/// The number of processes that were this rank before this one.
#[unsafe(no_mangle)]
pub extern "C" fn gasnetx_incarnation() -> u32 {
    state::state("gasnetx_incarnation").world.incarnation
}

/// The number that a rank of this world had in the job's first one, by which the launcher names it.
#[unsafe(no_mangle)]
pub extern "C" fn gasnetx_first_number(rank: u32) -> u32 {
    const CALL: &str = "gasnetx_first_number";
    let state = state::state(CALL);
    if rank >= abi::size() {
        die(&format!("{CALL}: there is no rank {rank}: the job has {}, numbered from 0", abi::size()));
    }
    state.world.first_numbers.as_ref().map_or(rank, |numbers| numbers[rank as usize])
}
