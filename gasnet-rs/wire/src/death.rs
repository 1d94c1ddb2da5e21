//! Ranks that have died, in a job that goes on (`gasnetrun --on-death shrink` or `heal`).
//!
//! **The death of a rank breaks its world**, which is this wire on all ranks. Nothing of it is repaired:
//! survivors start another wire in other memory. `docs/decisions/0017-survivors-start-a-new-world.md` says
//! why. So what remains to be done here is that no call waits for ever, and that nobody touches memory which
//! a caller has taken back.
//!
//! **Who knows.** The launcher writes it into the control file of each host ([`crate::shm::deaths`]). Where
//! ranks may not die all words there are 0, and none of this happens.
//!
//! **Waits** look when they have given up the processor (`waiting.rs`), so a wait that ends while it spins
//! has no load more. A wait for a known rank ends with [`Died`] if that rank is *lost*: it has died, or has
//! given up this world. A wait for several ranks, or an unknown one, ends if any has died. What the rank did
//! before counts: the wait polls once more after it has looked.
//!
//! **Giving up.** By its first `Died` a rank gives the world up, for all its threads. It says so, hence waits
//! of others for it end; and it closes its inboxes, hence no message is handled any more that would write to
//! a buffer which the unwinding has freed. All its later waits in this world end with `Died`.
//!
//! **Messages** to lost ranks are dropped, in `departure.rs`. Who awaits an answer hears of it in the wait.
//!
//! **Unwinding.** A wait ends by a panic with a private payload and without a message, which [`attempt`]
//! turns into an error. A thread that is in no attempt ends the job. An attempt belongs to its thread.

use crate::boot::{Exchange, ToMonitor};
use crate::meeting::LOOK_FOR_DEATHS;
use crate::prim::Ordering;
use crate::shm::HostHeader;
use crate::shm::deaths::{self, Fate, HEALS};
use crate::{Error, RankId, Wire, context};
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How long handlers may take that run while a rank gives up its world.
const LONGEST_HANDLER: Duration = Duration::from_secs(60);

/// How long after a peer was found silent the launcher may take to find that it has died: more than it takes
/// to find a host lost.
const LATEST_VERDICT: Duration = Duration::from_secs(10);

/// A call needed ranks that have died: what [`attempt`] returns then.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Died {
    /// Those that were known to have died, by their numbers in this world, ascending.
    pub ranks: Vec<u32>,
    /// The number of worlds that the job had before this one.
    pub epoch: u32,
    /// How each of them ended.
    how: Vec<String>,
}

impl fmt::Display for Died {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (rank, how)) in self.ranks.iter().zip(&self.how).enumerate() {
            write!(f, "{}rank {rank} has died ({how})", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Died {}

/// The payload with which a wait unwinds.
struct Unwinds(Died);

/// Runs `f`. If a wait in it ends since a rank has died, everything up to here is unwound.
///
/// Changes that `f` has made stay. Attempts inside of it would leave the rest of `f` without a world:
/// who gives this to programs refuses them.
///
/// # Errors
/// A rank has died, and this rank has given up its world.
pub fn attempt<T>(f: impl FnOnce() -> T) -> Result<T, Died> {
    let outside = context::set_attempting(true);
    // The caller of `attempt` restores what `f` has begun to change.
    let outcome = catch_unwind(AssertUnwindSafe(f));
    context::set_attempting(outside);
    outcome.or_else(|panic| match panic.downcast::<Unwinds>() {
        Ok(unwinds) => Err(unwinds.0),
        Err(panic) => resume_unwind(panic),
    })
}

/// Runs `f`, which a thread does for another one, in an attempt if that one is in one.
pub fn attempt_for<T>(attempting: bool, f: impl FnOnce() -> T) -> T {
    let own = context::set_attempting(attempting);
    let value = f();
    context::set_attempting(own);
    value
}

/// Who has died in the world with this control file.
fn died(header: &HostHeader, fates: &[Fate]) -> Died {
    // ORDER: Acquire; pairs with Release in `mark` of deaths.rs: how each of them has died.
    let _ = header.left.deaths.load(Ordering::Acquire);
    let words = (0..).zip(fates).map(|(rank, fate)| (rank, fate.died.load(Ordering::Relaxed)));
    let (ranks, how) =
        words.filter(|(_, word)| *word != 0).map(|(rank, word)| (rank, deaths::in_words(word))).unzip();
    Died { ranks, epoch: epoch(header), how }
}

/// The number of worlds before the one with this control file.
fn epoch(header: &HostHeader) -> u32 {
    // Relaxed: written before anybody had the file.
    (header.left.world.load(Ordering::Relaxed) & !HEALS).saturating_sub(1) as u32
}

/// Whether any rank has died.
#[inline]
fn any(header: &HostHeader) -> bool {
    // Relaxed: a hint; `died` looks again.
    header.left.deaths.load(Ordering::Relaxed) != 0
}

/// Called while ranks meet at a start: unwinds to the attempt if one of them has died. Without an attempt it
/// returns who.
pub(crate) fn look_at_start(header: &HostHeader, fates: &[Fate]) -> Option<Died> {
    if !any(header) {
        return None;
    }
    let died = died(header, fates);
    if context::attempting() {
        resume_unwind(Box::new(Unwinds(died)));
    }
    Some(died)
}

/// The launcher's exchange between hosts, in a world whose ranks may die: what one cannot end since a rank
/// has died unwinds to the attempt, as meetings on one host do.
pub(crate) struct MortalExchange {
    pub(crate) inner: Box<dyn Exchange>,
    pub(crate) header: &'static HostHeader,
    pub(crate) fates: &'static [Fate],
}

impl Exchange for MortalExchange {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.inner.all_gather(mine).map_err(|other| match look_at_start(self.header, self.fates) {
            Some(died) => Error::job(format!("{died}, before all ranks had started")),
            None => other,
        })
    }
}

/// Whether ranks may die in the world with this control file.
pub(crate) fn possible(header: &HostHeader) -> bool {
    // Relaxed: written before anybody had the file.
    header.left.world.load(Ordering::Relaxed) != 0
}

impl Wire {
    /// Whether ranks of this job may die, and the others go on.
    pub fn may_survive(&self) -> bool {
        possible(self.header)
    }

    /// Whether another process takes the place of a rank that has died.
    pub fn heals(&self) -> bool {
        // Relaxed: written before anybody had the file.
        self.header.left.world.load(Ordering::Relaxed) & HEALS != 0
    }

    /// The number of worlds that the job had before this one.
    pub fn epoch(&self) -> u32 {
        epoch(self.header)
    }

    /// Tells the launcher that all ranks of this world have done their work, if they may die.
    ///
    /// # One-sided
    /// Any rank may; to be called when all ranks are known to be so far.
    pub fn finish(&self) {
        if self.may_survive() {
            self.tell(&ToMonitor::Finished(self.epoch()));
        }
    }

    /// Who has died in this world, so far; nobody, in a job that ends with its first death.
    pub fn dead(&self) -> Died {
        died(self.header, self.fates)
    }

    /// Whether a rank has died, or lives and has given up this world: it answers nothing any more. If this
    /// rank has given it up, all others are lost to it.
    #[cold]
    pub fn is_lost(&self, rank: RankId) -> bool {
        if !any(self.header) || rank == self.id() {
            return false;
        }
        let Some(fate) = self.fates.get(rank.0 as usize) else { return self.has_given_up() };
        // ORDER: Acquire; pairs with Release in `give_up`: what a rank of this host has sent before is there.
        let gave_up = fate.gave_up.load(Ordering::Acquire) != 0;
        // Relaxed: a hint, which is looked at again and again.
        gave_up || self.has_given_up() || fate.died.load(Ordering::Relaxed) != 0
    }

    /// Whether a wait for this rank, or for none in particular, is in vain: it is for a rank that is lost, or
    /// one has died and it may be for that. The wait ends if polls after this find nothing that ends it.
    #[inline]
    pub(crate) fn is_in_vain(&self, peer: Option<RankId>) -> bool {
        any(self.header) && self.is_in_vain_now(peer)
    }

    #[cold]
    fn is_in_vain_now(&self, peer: Option<RankId>) -> bool {
        // ORDER: Acquire; pairs with Release in `mark` of deaths.rs: what the dead rank has sent is there.
        self.header.left.deaths.load(Ordering::Acquire);
        self.has_given_up() || peer.is_none_or(|peer| self.is_lost(peer))
    }

    /// Called where a program may wait by a loop of its own, a turn of which has found nothing: unwinds to
    /// the attempt if any rank has died.
    #[inline]
    pub fn unwind_if_any_died(&self, what: &str) {
        if self.is_in_vain(None) {
            self.unwind(what);
        }
    }

    /// Called where a call was refused that may follow one which was unwound: ends the attempt if this rank
    /// has given up the world.
    pub fn unwind_if_over(&self, what: &str) {
        if self.has_given_up() {
            self.unwind(what);
        }
    }

    /// Called where something is awaited from a rank that is lost: unwinds to the attempt.
    #[cold]
    pub(crate) fn unwind(&self, what: &str) -> ! {
        let died = self.dead();
        if !context::attempting() {
            self.fatal(&format!(
                "waits for {what}, and {died}: outside of an attempt (World::attempt of pgas, gasnetx_attempt of C) a death ends the job"
            ));
        }
        if std::thread::panicking() {
            self.fatal(&format!("waits for {what} while a panic unwinds, and {died}"));
        }
        self.give_up();
        resume_unwind(Box::new(Unwinds(died)))
    }

    /// Gives this world up, for all threads of the rank. When it returns, no message is handled any more.
    pub fn give_up(&self) {
        self.giving_up.call_once(|| {
            if let Some(progress) = &self.progress {
                progress.stop();
            }
            if let Some(fate) = self.fates.get(self.id().0 as usize) {
                // ORDER: Release; pairs with Acquire in `is_lost`: what this rank has sent is there.
                fate.gave_up.store(1, Ordering::Release);
            }
            if self.boot.host_ranks.len() < self.size as usize {
                self.tell(&ToMonitor::GaveUp(self.epoch()));
            }
            let survival = self.conduit.as_ref().and_then(|conduit| conduit.survival());
            let handled = survival.is_none_or(|survival| survival.give_up(LONGEST_HANDLER))
                && self.grid.as_ref().is_none_or(|grid| grid.close(LONGEST_HANDLER));
            if !handled {
                self.fatal("a rank has died, and this one cannot leave its world: one of its handlers waits, or does not end");
            }
        });
    }

    /// The conduit has failed. Returns if that is because a peer is lost, which the conduit then forgets;
    /// else the job ends. A peer may be found silent a moment before the launcher has said why.
    #[cold]
    pub(crate) fn conduit_failed(&self, error: &Error) {
        let survival = self.conduit.as_ref().and_then(|conduit| conduit.survival());
        if let (Error::Peer(peer, _), Some(survival), true) = (error, survival, self.may_survive()) {
            let begun = Instant::now();
            while !self.is_lost(*peer) && begun.elapsed() < LATEST_VERDICT {
                std::thread::sleep(LOOK_FOR_DEATHS);
            }
            if self.is_lost(*peer) {
                return survival.forget(*peer);
            }
        }
        self.fatal(&error.to_string())
    }

    /// Whether a destructor would wait in vain for what this rank awaits from others: it is to leave their
    /// buffers, and not to wait. A panic ends the job, or the attempt that it unwinds to.
    pub fn waits_in_vain(&self) -> bool {
        std::thread::panicking() || self.has_given_up()
    }

    /// Whether this rank has given up the world.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        self.giving_up.is_completed()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn other_panics_pass_through() {
        assert_eq!(attempt(|| 7), Ok(7));
        let died =
            Died { ranks: vec![1, 4], epoch: 2, how: vec!["signal 9, SIGKILL".into(), "exit code 3".into()] };
        let inner: Result<(), Died> = attempt(|| resume_unwind(Box::new(Unwinds(died.clone()))));
        let said = "rank 1 has died (signal 9, SIGKILL), rank 4 has died (exit code 3)";
        assert_eq!(inner.map_err(|e| e.to_string()), Err(said.to_string()));
        let other = catch_unwind(|| attempt(|| -> () { resume_unwind(Box::new(17)) }));
        assert_eq!(other.unwrap_err().downcast_ref(), Some(&17));
        assert!(!context::attempting());
    }
}
