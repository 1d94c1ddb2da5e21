//! Some of the ranks.

use crate::args::{Argument, Data, Lent, Plain};
use crate::pending::PendingAll;
use crate::remote;
use crate::world::World;
use gasnet::RankId;
use gasnet::coll::{ElementType, PendingCollective};

/// Some of the ranks, in an order: see [`World::all`], [`World::team`] and [`Team::split`]. A rank's place in
/// that order is its *member* number.
///
/// Its collective calls are made by all of its members, in the same order.
#[derive(Clone)]
pub struct Team {
    world: World,
    team: gasnet::Team,
}

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.ranks()).finish()
    }
}

impl Team {
    pub(crate) fn all(world: World) -> Team {
        Team { world, team: world.0.rank.team_all() }
    }

    /// The world that it is in.
    pub(crate) fn world(&self) -> World {
        self.world
    }

    /// This rank's member number.
    pub fn member(&self) -> u32 {
        self.team.me() as u32
    }

    /// The number of members.
    pub fn size(&self) -> u32 {
        self.team.size() as u32
    }

    /// The ranks, by member number.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        (0..self.team.size()).filter_map(|member| self.team.rank_of(member)).map(|rank| rank.0)
    }

    /// The rank that is a member.
    ///
    /// # Panics
    /// There is no such member.
    #[track_caller]
    pub fn rank(&self, member: u32) -> u32 {
        match self.team.rank_of(member as usize) {
            Some(rank) => rank.0,
            None => panic!("member {member} of a team of {}: members are numbered from 0", self.size()),
        }
    }

    /// The member number of a rank, if it is one.
    pub fn member_of(&self, rank: u32) -> Option<u32> {
        self.team.member(RankId(rank)).map(|member| member as u32)
    }

    /// Makes teams of the members that give the same color, each ordered by key, then by member number here.
    /// `None` as color: no team.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn split(&self, color: Option<u32>, key: u32) -> Option<Team> {
        // The split waits without serving calls. After this barrier all members are about to split, so none
        // of them waits for a call to be served.
        self.barrier();
        let team = self.team.split(color, key)?;
        Some(Team { world: self.world, team })
    }

    /// Waits for the other members, and serves calls meanwhile.
    fn meet_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.world.0.engine.meet_until(self.team.meeting_place(), what, condition);
    }

    pub(crate) fn create(&self, ranks: &[u32]) -> Option<Team> {
        self.barrier();
        let ranks: Vec<RankId> = ranks.iter().map(|&rank| RankId(rank)).collect();
        let team = self.team.create(&ranks)?;
        Some(Team { world: self.world, team })
    }

    /// Returns when all members have called it. Serves calls meanwhile.
    ///
    /// # Collective
    ///
    /// # Panics
    /// In a remote function.
    pub fn barrier(&self) {
        let rank = self.world.0.rank;
        let event = self.team.barrier_nb();
        self.meet_until("a barrier of a team", || rank.events().test_quietly(event));
    }

    /// [`Team::reduce`] of plain data, element by element; as many on all members. Bytes are sent as they are
    /// in memory.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. A panic in `f` ends the job, and so do slices of different types or lengths.
    pub fn reduce_slice<T: Plain>(
        &self,
        mine: Vec<T>,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.end(self.team.reduce_all_nb(mine, f), "a reduction")
    }

    /// A reduction of blocks: see [`gasnet::Team::reduce_all_values_nb`].
    pub(crate) fn reduce_blocks(
        &self,
        mine: Vec<u8>,
        of: ElementType,
        f: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
    ) -> Vec<u8> {
        self.end(self.team.reduce_all_values_nb(mine, of, f), "a reduction")
    }

    /// Runs the function of a reduction.
    pub(crate) fn combining<T>(&self, f: impl FnOnce() -> T) -> T {
        self.team.combining(f)
    }

    /// [`Team::broadcast`] of plain data: several elements, as many on all members. Bytes are sent as they
    /// are in memory.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. Slices of different types or sizes end the job, and so does a root that is no
    /// member.
    pub fn broadcast_slice<T: Plain>(&self, root: u32, mine: Vec<T>) -> Vec<T> {
        self.end(self.team.broadcast_nb(root as usize, mine), "a broadcast")
    }

    /// [`Team::gather_all`] of plain data: several elements, as many on all members; those of member 0 come
    /// first. Bytes are sent as they are in memory.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. Slices of different types or sizes end the job.
    pub fn gather_all_slice<T: Plain>(&self, mine: Vec<T>) -> Vec<T> {
        self.end(self.team.gather_all_nb(mine), "a gathering")
    }

    /// [`Team::gather_all_slice`] of slices of these lengths, the same on all members.
    pub(crate) fn gather_all_parts<T: Plain>(&self, mine: Vec<T>, lengths: &[usize]) -> Vec<T> {
        self.end(self.team.gather_all_v_nb(mine, lengths), "a gathering")
    }

    /// Waits for the end of an operation, and serves calls meanwhile.
    fn end<T: Plain>(&self, mut all: PendingCollective<T>, what: &'static str) -> Vec<T> {
        self.meet_until(what, || all.test());
        all.wait()
    }

    /// Runs a function on every member, this rank included, with these arguments; the results come back, by
    /// member number. As [`World::call`] for each: what can be sent once, such as a [`Reply`](crate::Reply),
    /// cannot be an argument where there are several.
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call<A: Data, R: Data>(&self, f: fn(World, A) -> R, args: impl Argument<A>) -> PendingAll<R> {
        let args = args.into_argument();
        // Not in a closure: a call has the place of the program's, for reports.
        let mut pending = Vec::with_capacity(self.size() as usize);
        for rank in self.ranks() {
            pending.push(remote::call::<World, A, R>(self.world, rank, 0, f, &args));
        }
        PendingAll::new(pending)
    }

    /// [`Team::call`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_lent<B: Lent + ?Sized, R: Data>(&self, f: fn(World, &B) -> R, value: &B) -> PendingAll<R> {
        let mut pending = Vec::with_capacity(self.size() as usize);
        for rank in self.ranks() {
            pending.push(self.world.call_lent(rank, f, value));
        }
        PendingAll::new(pending)
    }

    /// Runs a function without a result on every member, this rank included. As [`World::send`] for each.
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`Team::call`].
    #[track_caller]
    pub fn send<A: Data>(&self, f: fn(World, A), args: impl Argument<A>) {
        let args = args.into_argument();
        self.ranks().for_each(|rank| remote::send::<World, A>(self.world, rank, 0, f, &args));
    }

    /// [`Team::send`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`Team::call`].
    #[track_caller]
    pub fn send_lent<B: Lent + ?Sized>(&self, f: fn(World, &B), value: &B) {
        self.ranks().for_each(|rank| self.world.send_lent(rank, f, value));
    }
}
