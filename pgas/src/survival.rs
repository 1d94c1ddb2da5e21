//! How a program goes on when a rank of its job has died (`gasnetrun --on-death shrink` or `heal`).
//!
//! A death ends the *world* it happens in: no rank can count on a call there any more. [`World::survive`]
//! runs a function, and runs it again in the next world, which has another process in the place of the dead
//! (`heal`), or is that of the ranks that are left (`shrink`). What ranks have saved with [`World::keep`] is
//! there. Programs that need other rules make them of [`World::attempt`], which marks what may be lost, and
//! [`World::heal`] or [`World::shrink`]; between the two a rank has what is its own: variables, parts of
//! collections, and its part of each old array ([`Array::salvage`]). The page `docs/death.md` has examples,
//! and says what survives.
//!
//! **The end.** All ranks return from [`World::survive`], or none. They meet when their function has ended.
//! A rank that leaves this meeting knows that all have come to it, and tells the launcher before it returns.
//! If another one sees a death there, it asks the launcher for the next world, as ever. The launcher starts
//! none as long as any rank has not asked; so it has heard by then whether a rank has left the meeting. If
//! one has, who asks is told that all is done, and returns the value that its function has had.

use crate::args::Plain;
use crate::array::Array;
use crate::kept;
use crate::world::World;
use gasnet::Died;
use gasnet_conduits::Member;
use gasnet_wire::{context, threads};
use std::sync::atomic::Ordering;

impl World {
    /// Runs `f`. If a rank has died, and a call in `f` can therefore not end, the call and all of `f` are
    /// unwound (destructors run), and this returns who has died. What `f` has changed stays changed: what it
    /// has begun to change is for the caller to restore.
    ///
    /// Calls notice where they wait: one that is for a single rank, if that rank has died or has noticed a
    /// death itself; one that is for several ranks, if any has died. Where ranks do not survive each other
    /// (without `--on-death`), and outside of an attempt, a death ends the job. An attempt is for what its
    /// own thread does.
    ///
    /// # One-sided
    /// Ranks need not attempt the same. After an error this rank's calls in this world fail at once, and
    /// [`World::shrink`] or [`World::heal`] is what remains to be called.
    ///
    /// # Errors
    /// A rank has died. Whether others have an error, too, is not known: some may have got what they waited
    /// for, and will see it in their next attempt.
    ///
    /// # Panics
    /// In a remote function. Ends the job when it is called in an attempt.
    pub fn attempt<T>(self, f: impl FnOnce(World) -> T) -> Result<T, Died> {
        assert!(
            !gasnet_rpc::Engine::is_serving(),
            "a function that another rank has called may not make an attempt"
        );
        if context::attempting() {
            self.abort("an attempt in an attempt: the outer one would go on without a world when the inner one has failed");
        }
        gasnet::attempt(|| f(self))
    }

    /// The number of worlds that the job had before this one.
    pub fn epoch(self) -> u32 {
        self.0.rank.survival().epoch()
    }

    /// The number of processes that were this rank before this one: 0, or more where `--on-death heal` has
    /// replaced some. A replacement's first world is the one that its rank's survivors go on in.
    pub fn incarnation(self) -> u32 {
        self.0.incarnation
    }

    /// The ranks of this world that have died, by their numbers in it, ascending. Always none where ranks do
    /// not survive each other.
    ///
    /// # One-sided
    /// Others may know more or less.
    pub fn dead(self) -> Vec<u32> {
        self.0.rank.survival().dead().ranks
    }

    /// Starts the world of the ranks that are left, and returns it. They are numbered from 0 in the order
    /// they had. It has nothing of this one: teams, arrays, shared objects and everything else that ranks
    /// make together is made anew. This rank's own part of the old ones can still be read. If ranks die
    /// meanwhile, the world is that of those that are left then.
    ///
    /// # Collective Over all ranks of this world that neither die nor end their program. All of them get the
    /// same world, or one that has followed it after another death; those that still work in this one notice
    /// that it is over.
    ///
    /// # Panics
    /// In a remote function. Ends the job when nobody has died, in an attempt, and where ranks do not survive
    /// each other.
    pub fn shrink(self) -> World {
        self.next_by("shrink", false)
    }

    /// Starts a world of as many ranks with the same numbers as this one, and returns it: the launcher has
    /// started a process in the place of each rank that has died. Such a process begins its program at the
    /// start, in this new world, with [`World::incarnation`] above 0. Nothing else is different from
    /// [`World::shrink`].
    ///
    /// # Collective
    /// As [`World::shrink`]. A rank that has ended its program cannot be in the new world, so the job ends.
    ///
    /// # Panics
    /// As [`World::shrink`].
    pub fn heal(self) -> World {
        self.next_by("heal", true)
    }

    /// The next world, by the call of this name.
    fn next_by(self, call: &str, heals: bool) -> World {
        assert!(
            !gasnet_rpc::Engine::is_serving(),
            "a function that another rank has called may not start a world"
        );
        if context::attempting() {
            self.abort(&format!("`{call}` in an attempt: call it where the attempt has ended"));
        }
        if self.0.next.get().is_some() {
            self.abort(&format!(
                "`{call}` was called twice for a world: the first call has returned the one that follows"
            ));
        }
        let survival = self.0.rank.survival();
        if survival.is_possible() && survival.heals() != heals {
            let other = if heals { "shrink" } else { "heal" };
            self.abort(&format!(
                "`{call}` in a job that was started with --on-death {other}: call World::{other}"
            ));
        }
        let next = self.next_world().unwrap_or_else(|e| self.abort(&format!("{call}: {e}")));
        next.unwrap_or_else(|| self.abort("all ranks have done their work, and there is no other world"))
    }

    fn next_world(self) -> Result<Option<World>, gasnet::Error> {
        self.0.engine.release_threads();
        let begin = |rank, member: Member<'_>| World::start(rank, member, self.0.copies.clone());
        // The next world may take over the memory of arrays if nobody can reach it from this one: arrays give
        // access, and so does what another thread is in the middle of, a call that it serves or a phase.
        let holds = self.0.arrays.are_there() || !threads::is_single();
        let next = gasnet_conduits::next_world(self.0.rank, holds, begin)?;
        match &next {
            Some(next) if next.0.rank.survival().took_over() => self.0.arrays.leave_dropped(),
            Some(_) => {
                self.0.arrays.release_dropped(self);
                kept::release_dead(self);
            }
            None => {}
        }
        Ok(next.map(|next| *self.0.next.get_or_init(|| next)))
    }

    /// Runs `f`, all of a program's work, until no rank dies in it. If one dies, what `f` was doing is
    /// unwound on all ranks, and it is run again in the next world: with `--on-death heal` that has a new
    /// process in the place of each that has died, which begins its program at the start and so comes to
    /// this call; with `--on-death shrink` it is that of the ranks that are left. With neither a death ends
    /// the job.
    ///
    /// `f` begins by restoring what it has saved before ([`World::keep`]). Arrays, teams and shared objects
    /// are those of one world, so it makes them each time.
    ///
    /// ```no_run
    /// # use pgas::{Layout, World};
    /// fn work(world: World) {
    ///     let mut bins = world.array::<u64>(1 << 20, Layout::Block);
    ///     let keep = world.keep();
    ///     let mut step = keep.restore(|saved| saved.part(&mut bins)).unwrap_or(0);
    ///     while step < 100 {
    ///         bins.local(|mine| mine.iter_mut().for_each(|n| *n += 1));
    ///         step += 1;
    ///         if step % 10 == 0 {
    ///             keep.save(step, |save| save.part(&bins));
    ///         }
    ///     }
    /// }
    /// pgas::run(|world| world.survive(work))
    /// ```
    ///
    /// # Collective
    /// All ranks return, or none: as long as any has not finished `f` when one dies, all run it again. What
    /// follows this call is to need no other rank, since who dies then is not replaced.
    ///
    /// # Panics
    /// In a remote function. Ends the job when it is called in an attempt, or a second time.
    pub fn survive<T>(self, mut f: impl FnMut(World) -> T) -> T {
        if !self.0.rank.survival().is_possible() {
            return f(self);
        }
        if self.0.copies.survived.swap(true, Ordering::Relaxed) {
            self.abort(
                "`survive` was called twice: what survives is one function, with all of the program's work",
            );
        }
        let mut world = self;
        loop {
            let mut value = None;
            let met = world.attempt(|world| {
                value = Some(f(world));
                world.barrier();
            });
            let next = match met {
                Ok(()) => {
                    world.0.rank.survival().finish();
                    None
                }
                Err(_) => world.next_world().unwrap_or_else(|e| world.abort(&format!("survive: {e}"))),
            };
            match (next, value) {
                (Some(next), _) => world = next,
                (None, Some(value)) => return value,
                // Some rank has passed the meeting, so this one has come to it.
                (None, None) => world.abort("all ranks have done their work, and this one has not"),
            }
        }
    }

    /// The number that a rank of this world had in the job's first one, by which the launcher names it.
    ///
    /// # Panics
    /// There is no such rank.
    pub fn first_number(self, rank: u32) -> u32 {
        assert!(rank < self.size(), "rank {rank} of {}: ranks are numbered from 0", self.size());
        self.0.first_numbers.as_ref().map_or(rank, |numbers| numbers[rank as usize])
    }
}

impl<T: Plain> Array<T> {
    /// A copy of this rank's part of an array whose world is over: [`World::shrink`] has returned another
    /// one. It has what was there when the last phase on it ended or was interrupted, in the middle of that
    /// if it changed elements.
    ///
    /// # One-sided
    ///
    /// # Panics
    /// The array's world goes on.
    pub fn salvage(&self) -> Vec<T> {
        assert!(
            self.world.0.next.get().is_some(),
            "this array's world goes on: its phases give access to it. `salvage` is for those that `shrink` has left behind"
        );
        let mut part = vec![T::zeroed(); self.local_len()];
        kept::read(self.world, self.first, &mut part);
        part
    }
}
