//! How a program goes on when a rank of its job has died (`gasnetrun --on-death shrink`).
//!
//! A death ends the *world* it happens in: no rank can count on a call there any more. [`World::attempt`]
//! marks what a program is ready to lose, and [`World::shrink`] starts the world of those that are left.
//! Between the two a rank has what is its own: variables, parts of collections, and its part of each old
//! array ([`Array::salvage`]). The page `docs/death.md` has an example, and says what survives.

use crate::args::Plain;
use crate::array::Array;
use crate::kept;
use crate::world::World;
use gasnet::Died;
use gasnet_wire::context;

impl World {
    /// Runs `f`. If a rank has died, and a call in `f` can therefore not end, the call and all of `f` are
    /// unwound (destructors run), and this returns who has died. What `f` has changed stays changed: what it
    /// has begun to change is for the caller to restore.
    ///
    /// Calls notice where they wait: one that is for a single rank, if that rank has died or has noticed a
    /// death itself; one that is for several ranks, if any has died. Where ranks do not survive each other
    /// (without `--on-death shrink`), and outside of an attempt, a death ends the job. An attempt is for what
    /// its own thread does.
    ///
    /// # One-sided
    /// Ranks need not attempt the same. After an error this rank's calls in this world fail at once, and
    /// [`World::shrink`] is what remains to be called.
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
        self.0.rank.survival().dead().epoch
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
        assert!(
            !gasnet_rpc::Engine::is_serving(),
            "a function that another rank has called may not start a world"
        );
        if context::attempting() {
            self.abort("`shrink` in an attempt: call it where the attempt has ended");
        }
        if self.0.next.get().is_some() {
            self.abort(
                "`shrink` was called twice for a world: the first call has returned the one that follows",
            );
        }
        self.0.engine.release_threads();
        let begun =
            gasnet_conduits::shrink(self.0.rank, |rank, members| World::start(rank, Some(members.to_vec())));
        let next = begun.unwrap_or_else(|e| self.abort(&format!("shrink: {e}")));
        *self.0.next.get_or_init(|| next)
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
