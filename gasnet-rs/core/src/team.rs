//! Teams: ordered sets of ranks that run collective operations together.
//!
//! A *member* is named by its index in the team. The team of all ranks has every rank at its own number;
//! others come from [`Team::split`] and [`Team::create`]. Making a team is collective over its parent; using
//! one concerns its members only.
//!
//! A team has a number that its messages carry. All members agree on it, and no two teams of one rank share
//! it: it is the largest number that any rank of the parent would have used next.
#![expect(unsafe_code, reason = "declares and forwards operations on raw buffers")]

use crate::atomics::{Function, WordType};
use crate::coll::algorithms::{self, Blocks};
use crate::coll::board::{JOB_BARRIER_TEAM, State};
use crate::coll::mail::{Op, Ptr};
use crate::coll::members::{Members, Ranks, Words};
use crate::coll::record::Signature;
use crate::coll::reduction::{ElementType, Reduction};
use crate::coll::tree::Hosts;
use crate::coll::{Path, Shape, SyncMode, When, flat, nic};
use crate::{Error, Rank, RankId};
use core::future::Future;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use gasnet_sys::mutex::lock;
use gasnet_wire::barrier::central::BarrierByNics;
use gasnet_wire::barrier::{Consensus, Outcome};
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::event::Event;
use std::sync::{Arc, Mutex, OnceLock};

/// An ordered set of ranks, this one among them.
///
/// All members must start the operations of a team in the same order and with arguments that agree; *root* is
/// an index in the team. Every operation exists in a blocking form, and in one that returns at once (`_nb`).
#[derive(Clone)]
pub struct Team {
    members: Arc<Members>,
}

/// As for a [`Rank`].
impl std::panic::UnwindSafe for Team {}
impl std::panic::RefUnwindSafe for Team {}

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Team({} of {}, number {})", self.me(), self.size(), self.members.id)
    }
}

impl Rank {
    /// The team of all ranks of the job.
    pub fn team_all(&'static self) -> Team {
        let members = self.team_all.get_or_init(|| {
            let in_vain = self.config().coll_nic && self.size() > 1 && self.wire.nic_port().is_none();
            if in_vain && self.id().0 == 0 && !self.config().quiet {
                let name = self.conduit_name();
                gasnet_wire::last_words::say(&format!(
                    "gasnet: warning: GASNET_COLL=nic: the NICs of the {name} conduit cannot carry out collectives; the setting has no effect"
                ));
            }
            let all = self.members(0, Ranks::InOrder(self.size()));
            if self.tables.is_some() && all.hosts.one() {
                let _ = all.table.set(0);
            }
            all
        });
        Team { members: members.clone() }
    }

    /// Makes the team whose barrier is the job's, if NICs are to carry that out.
    pub(crate) fn make_barrier_team(&'static self) {
        if self.config().coll_nic && self.size() > 1 && self.wire.nic_port().is_some() {
            let members = self.members(JOB_BARRIER_TEAM, Ranks::InOrder(self.size()));
            self.wire.nic_barrier.get_or_init(|| Box::new(Team { members }));
        }
    }

    fn members(&'static self, id: u32, ranks: Ranks) -> Arc<Members> {
        let names: Vec<u32> = ranks.iter().map(|r| self.topology().neighbourhood_of(r)).collect();
        let members = Arc::new(Members {
            rank: self,
            id,
            record: self.coll.mail.record(id),
            me: ranks.member(self.id()).unwrap_or(0),
            ranks,
            hosts: Hosts::new(&names),
            barrier: Mutex::default(),
            tickets: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            table: OnceLock::new(),
            phase: AtomicU32::new(0),
            nic: State::default(),
        });
        self.coll.add_team(&members);
        members
    }
}

impl BarrierByNics for Team {
    fn notify(&self, id: i32, flags: u32) {
        self.split_barrier().notify(id, flags);
    }

    fn test(&self, id: i32, flags: u32) -> Option<Consensus> {
        self.split_barrier().test(id, flags)?;
        self.split_barrier().result()
    }
}

impl Team {
    /// This rank's index in the team.
    pub fn me(&self) -> usize {
        self.members.me
    }

    /// Members.
    pub fn size(&self) -> usize {
        self.members.ranks.len()
    }

    /// The rank this member is.
    pub fn rank(&self) -> &'static Rank {
        self.members.rank
    }

    /// The rank of a member.
    pub fn rank_of(&self, member: usize) -> Option<RankId> {
        self.members.ranks.get(member)
    }

    /// The member that a rank is, if it is in the team. Looked up here: nobody else is asked.
    pub fn member(&self, rank: RankId) -> Option<usize> {
        self.members.ranks.member(rank)
    }

    /// A number that no other team of this rank has, and that all members know the team by.
    pub fn number(&self) -> u32 {
        self.members.id
    }

    /// Makes teams of the members that give the same color, each ordered by key, then by index here. `None`
    /// as color: no team.
    ///
    /// # Collective
    /// Over this team; returns when the new team can be used. Threads of a rank do this one at a time.
    pub fn split(&self, color: Option<u32>, key: u32) -> Option<Team> {
        let mine = [color.map_or(u64::MAX, u64::from), key.into()];
        let (id, all) = self.agree_on_number(mine);
        color?;
        let mut chosen: Vec<(u64, usize)> =
            all.iter().enumerate().filter(|(_, c)| c[0] == mine[0]).map(|(i, c)| (c[1], i)).collect();
        chosen.sort_unstable();
        let ranks = chosen.into_iter().map(|(_, i)| self.members.ranks.of(i)).collect();
        Some(self.found(id, ranks))
    }

    /// Makes a team of these ranks, in this order, this rank among them; or, with an empty list, takes part
    /// in the making of others' teams. All members of a new team give the same list.
    ///
    /// # Collective
    /// Over this team; returns when the new team can be used. Threads of a rank do this one at a time.
    ///
    /// # Panics
    /// Ends the job when a rank of the list is not in this team or is named twice, when this rank is not in
    /// its own list, or when two members of a list give different ones.
    pub fn create(&self, ranks: &[RankId]) -> Option<Team> {
        let rank = self.members.rank;
        let refuse =
            |why: String| -> ! { rank.fatal(&format!("making a team of {} ranks: {why}", ranks.len())) };
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
            refuse(format!("rank {} is named twice", twice[0]));
        }
        if let Some(stranger) = ranks.iter().find(|r| self.member(**r).is_none()) {
            refuse(format!("rank {stranger} is not in the parent team"));
        }
        if !ranks.is_empty() && sorted.binary_search(&rank.id()).is_err() {
            refuse(format!("this is rank {}, which is not among them", rank.id()));
        }
        let (id, all) = self.agree_on_number([ranks.len() as u64, fingerprint(ranks)]);
        if ranks.is_empty() {
            return None;
        }
        let mine = [ranks.len() as u64, fingerprint(ranks)];
        for &other in ranks {
            let said = self.member(other).map(|member| all[member]);
            if said != Some(mine) {
                refuse(format!(
                    "rank {other} is in the list of rank {}, but gives another list, of {} ranks: all members of a team give the same",
                    rank.id(),
                    said.map_or(0, |said| said[0])
                ));
            }
        }
        Some(self.found(id, ranks.to_vec()))
    }

    /// Agrees on the number of the next teams, and tells all members what each says.
    fn agree_on_number(&self, mine: [u64; 2]) -> (u32, Vec<[u64; 2]>) {
        let next_team = &self.members.rank.coll.next_team;
        let all = self.gather_all(&[[mine[0], mine[1], next_team.load(Relaxed).into()]]);
        let id = all.iter().map(|c| c[2]).max().unwrap_or(0) as u32;
        next_team.fetch_max(id + 1, Relaxed);
        (id, all.into_iter().map(|c| [c[0], c[1]]).collect())
    }

    /// A new team of this number and these ranks, this one among them.
    fn found(&self, id: u32, ranks: Vec<RankId>) -> Team {
        let rank = self.members.rank;
        let team = Team { members: rank.members(id, Ranks::new(ranks)) };
        if let Some(tables) = rank.tables
            && team.members.hosts.one()
            && team.size() > 1
        {
            let taken = if team.me() == 0 { tables.take(team.size() as u32) } else { None };
            let mut index = [taken.unwrap_or(0) as u32];
            team.broadcast(0, &mut index);
            if index[0] > 0 {
                let _ = team.members.table.set(index[0] as usize);
            }
        }
        team
    }

    /// The next operation of this member.
    fn op(&self, shape: Shape, root: Option<usize>, mode: SyncMode, elements: ElementType) -> Op {
        let m = &self.members;
        m.rank.wire.check_context("enter a collective operation");
        let (path, what) = (shape.path(m), Signature::new(shape, root, mode, elements));
        let barriers = [mode.enter, mode.leave].into_iter().filter(|w| *w == When::All).count() as u32;
        let steps = if path == Path::Mail { 0 } else { 1 + barriers };
        Op {
            team: m.clone(),
            number: m.record.start(m.rank, what),
            what,
            path,
            steps: AtomicU32::new(0),
            ticket: AtomicU32::new(m.tickets.fetch_add(steps, Relaxed)),
        }
    }

    fn root(&self, what: &str, root: usize) {
        if root >= self.size() {
            self.members
                .rank
                .fatal(&format!("{what}: the root {root} is not a member of a team of {}", self.size()));
        }
    }

    pub(crate) fn start(&self, future: impl Future<Output = ()> + Send + 'static) -> Event {
        self.members.rank.spawn_collective(future)
    }

    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.members.rank.run_collective(self.members.meeting_place(), future)
    }

    /// The place of the program where all ranks of the job wait for each other in an operation of this team;
    /// none if it has other members.
    pub fn meeting_place(&self) -> Option<MeetingPlace> {
        self.members.meeting_place()
    }

    /// Returns when every member has called it.
    ///
    /// # Collective
    pub fn barrier(&self) {
        let op = self.op(Shape::Barrier, None, SyncMode::MY, ElementType::UNKNOWN);
        if op.path == Path::Flat {
            return flat::barrier_now(&op);
        }
        self.run(algorithms::barrier(&op, 0));
    }

    /// Starts a [`barrier`](Self::barrier): the event is done when every member has started it. Any number
    /// may be under way.
    ///
    /// # Collective
    pub fn barrier_nb(&self) -> Event {
        let op = self.op(Shape::Barrier, None, SyncMode::MY, ElementType::UNKNOWN);
        self.start(async move { algorithms::barrier(&op, 0).await })
    }

    /// The team's barrier in two phases, between which a program may compute.
    pub fn split_barrier(&self) -> TeamBarrierCalls<'_> {
        TeamBarrierCalls { team: self }
    }

    /// Gives the team up. Its number is not used again.
    ///
    /// # Errors
    /// It is the team of all ranks.
    pub fn free(self) -> Result<(), Error> {
        if self.members.id == 0 {
            return Err(Error::op("the team of all ranks cannot be given up"));
        }
        Ok(())
    }
}

/// The barrier of a team in two phases: [`Team::split_barrier`].
#[derive(Debug, Clone, Copy)]
pub struct TeamBarrierCalls<'a> {
    team: &'a Team,
}

impl TeamBarrierCalls<'_> {
    /// As [`BarrierCalls::notify`](crate::BarrierCalls::notify), by name or with
    /// [`gasnet_wire::barrier::ANONYMOUS`], once per member and phase.
    ///
    /// # Collective
    ///
    /// # Panics
    /// Ends the job on a second notify in one phase.
    pub fn notify(self, id: i32, flags: u32) {
        if self.team.members.id == 0 {
            return self.team.members.rank.split_barrier().notify(id, flags);
        }
        let words = Words::new(Consensus::of(id, flags).bounds());
        let at = words.at();
        let how = Reduction::known(Function::Max, WordType::U64);
        // SAFETY: the words stay in the barrier's state until the event is done.
        let event = unsafe {
            self.team.reduce_all_raw_nb(at.wrapping_add(1).cast(), at.cast(), 16, how, SyncMode::MY)
        };
        let mut barrier = lock(&self.team.members.barrier);
        if barrier.open.is_some() {
            self.team.members.rank.wire.unwind_if_over("the barrier of a team");
            self.team.members.rank.fatal("barrier of a team: two notifies without a wait between them");
        }
        barrier.open = Some((event, words));
    }

    /// As [`BarrierCalls::test`](crate::BarrierCalls::test): does not poll.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    pub fn test(self, id: i32, flags: u32) -> Option<Outcome> {
        let rank = self.team.members.rank;
        if self.team.members.id == 0 {
            return rank.split_barrier().test(id, flags);
        }
        let mut barrier = lock(&self.team.members.barrier);
        let Some((event, words)) = barrier.open.take() else {
            rank.fatal("barrier of a team: a wait without a notify");
        };
        if !rank.events().test_quietly(event) {
            barrier.open = Some((event, words));
            return None;
        }
        // SAFETY: the reduction is over.
        let result = Consensus::within(unsafe { words.result() });
        barrier.result = Some(result);
        Some(if result.admits(id, flags) { Outcome::Agreed } else { Outcome::Mismatched })
    }

    /// As [`BarrierCalls::wait`](crate::BarrierCalls::wait).
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    pub fn wait(self, id: i32, flags: u32) -> Outcome {
        let mut outcome = None;
        self.team.members.rank.waits().poll_until("the barrier of a team", || {
            outcome = self.test(id, flags);
            outcome.is_some()
        });
        outcome.unwrap_or(Outcome::Mismatched)
    }

    /// As [`BarrierCalls::result`](crate::BarrierCalls::result).
    pub fn result(self) -> Option<Consensus> {
        if self.team.members.id == 0 {
            return self.team.members.rank.split_barrier().result();
        }
        let barrier = lock(&self.team.members.barrier);
        if barrier.open.is_some() { None } else { barrier.result }
    }
}

/// A word that lists of ranks have in common that are equal, and others as a rule do not (FNV-1a).
fn fingerprint(ranks: &[RankId]) -> u64 {
    let step = |hash: u64, rank: &RankId| (hash ^ u64::from(rank.0)).wrapping_mul(0x100_0000_01b3);
    ranks.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A blocking and a non-blocking method for one algorithm; and perhaps a function that does it at once by a
/// table.
macro_rules! operation {
    ($(#[$doc:meta])* $raw:ident $raw_nb:ident $raw_around:ident $of:ident $of_around:ident ($($arg:ident : $ty:ty),*) $(, $how:ident)? => $shape:expr, $root:expr, $call:expr $(, at once: $now:expr)?) => {
        $(#[$doc])*
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the call returns (owed by the caller).
        pub unsafe fn $raw(&self, $($arg: $ty,)* $($how: Reduction,)? mode: SyncMode) {
            // SAFETY: (1).
            unsafe { self.$of($($arg,)* $($how,)? (ElementType::UNKNOWN, mode)) }
        }

        /// The same of elements of a type, on which all members have to agree; a reduction names it itself.
        ///
        /// # Safety
        /// 1. As without a type (owed by the caller).
        pub(crate) unsafe fn $of(&self, $($arg: $ty,)* $($how: Reduction,)? (elements, mode): (ElementType, SyncMode)) {
            let elements = [elements, $($how.element_type)?];
            let op = self.op($shape, $root, mode, elements[elements.len() - 1]);
            // Tuples: what is repeated cannot be named inside another repetition.
            let (_args, _how) = (($($arg,)*), ($(&$how,)?));
            $(
                if op.path == Path::Flat && mode == SyncMode::MY {
                    // SAFETY: (1).
                    return unsafe { ($now)(&op, _args, _how) };
                }
            )?
            // SAFETY: (1).
            let body = unsafe { ($call)(self, &op, $($arg,)* $(&$how)?) };
            self.run(algorithms::synchronised(&op, mode, body));
        }

        $(#[$doc])*
        /// Returns at once.
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the event is done (owed by the caller).
        pub unsafe fn $raw_nb(&self, $($arg: $ty,)* $($how: Reduction,)? mode: SyncMode) -> Event {
            // SAFETY: (1).
            unsafe { self.$raw_around($($arg,)* $($how,)? mode, || (), || ()) }
        }

        $(#[$doc])*
        /// Returns at once. `first` is called before this member's data is read, after others have begun
        /// where all wait for all at the beginning; `then` when its data has come, before others may take the
        /// operation for over where all wait for all at the end. Both are called in this or another call of
        /// the runtime, and must not wait.
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the event is done (owed by the caller).
        #[allow(clippy::too_many_arguments, reason = "those of the operation, and what goes around it")]
        pub unsafe fn $raw_around(
            &self,
            $($arg: $ty,)*
            $($how: Reduction,)?
            mode: SyncMode,
            first: impl FnOnce() + Send + 'static,
            then: impl FnOnce() + Send + 'static,
        ) -> Event {
            // SAFETY: (1).
            unsafe { self.$of_around($($arg,)* $($how,)? (ElementType::UNKNOWN, mode), first, then) }
        }

        /// The same of elements of a type, on which all members have to agree.
        ///
        /// # Safety
        /// 1. As without a type (owed by the caller).
        #[allow(clippy::too_many_arguments, reason = "those of the operation, its type, and what goes around it")]
        pub(crate) unsafe fn $of_around(
            &self,
            $($arg: $ty,)*
            $($how: Reduction,)?
            (elements, mode): (ElementType, SyncMode),
            first: impl FnOnce() + Send + 'static,
            then: impl FnOnce() + Send + 'static,
        ) -> Event {
            let elements = [elements, $($how.element_type)?];
            let op = self.op($shape, $root, mode, elements[elements.len() - 1]);
            $(let $arg = Sendable($arg);)*
            let team = self.clone();
            self.start(async move {
                // SAFETY: (1).
                let body = unsafe { ($call)(&team, &op, $($arg.get(),)* $(&$how)?) };
                let body = async move {
                    first();
                    body.await;
                    then();
                };
                algorithms::synchronised(&op, mode, body).await;
            })
        }
    };
}

/// The same where the blocks of members differ: `blocks` say (offset, bytes) of each.
macro_rules! operation_v {
    ($(#[$doc:meta])* $raw:ident $raw_nb:ident $raw_around:ident $of:ident $of_around:ident ($($arg:ident : $ty:ty),*; $($blocks:ident),*) => $shape:expr, $root:expr, $call:expr) => {
        $(#[$doc])*
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the call returns (owed by the caller).
        pub unsafe fn $raw(&self, $($arg: $ty,)* $($blocks: &[(usize, usize)],)* mode: SyncMode) {
            // SAFETY: (1).
            unsafe { self.$of($($arg,)* $($blocks,)* (ElementType::UNKNOWN, mode)) }
        }

        /// The same of elements of a type, on which all members have to agree.
        ///
        /// # Safety
        /// 1. As without a type (owed by the caller).
        pub(crate) unsafe fn $of(&self, $($arg: $ty,)* $($blocks: &[(usize, usize)],)* (elements, mode): (ElementType, SyncMode)) {
            let op = self.op($shape, $root, mode, elements);
            // SAFETY: (1).
            let body = unsafe { ($call)(self, &op, $($arg,)* $($blocks),*) };
            self.run(algorithms::synchronised(&op, mode, body));
        }

        $(#[$doc])*
        /// Returns at once.
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the event is done (owed by the caller).
        pub unsafe fn $raw_nb(&self, $($arg: $ty,)* $($blocks: &[(usize, usize)],)* mode: SyncMode) -> Event {
            // SAFETY: (1).
            unsafe { self.$raw_around($($arg,)* $($blocks,)* mode, || (), || ()) }
        }

        $(#[$doc])*
        /// Returns at once. `first` and `then` are called as in the other operations.
        ///
        /// # Collective
        /// # Safety
        /// 1. The buffers are as described, valid until the event is done (owed by the caller).
        #[allow(clippy::too_many_arguments, reason = "those of the operation, and what goes around it")]
        pub unsafe fn $raw_around(
            &self,
            $($arg: $ty,)*
            $($blocks: &[(usize, usize)],)*
            mode: SyncMode,
            first: impl FnOnce() + Send + 'static,
            then: impl FnOnce() + Send + 'static,
        ) -> Event {
            // SAFETY: (1).
            unsafe { self.$of_around($($arg,)* $($blocks,)* (ElementType::UNKNOWN, mode), first, then) }
        }

        /// The same of elements of a type, on which all members have to agree.
        ///
        /// # Safety
        /// 1. As without a type (owed by the caller).
        #[allow(clippy::too_many_arguments, reason = "those of the operation, its type, and what goes around it")]
        pub(crate) unsafe fn $of_around(
            &self,
            $($arg: $ty,)*
            $($blocks: &[(usize, usize)],)*
            (elements, mode): (ElementType, SyncMode),
            first: impl FnOnce() + Send + 'static,
            then: impl FnOnce() + Send + 'static,
        ) -> Event {
            let op = self.op($shape, $root, mode, elements);
            $(let $arg = Sendable($arg);)*
            $(let $blocks: Blocks = $blocks.into();)*
            let team = self.clone();
            self.start(async move {
                // SAFETY: (1).
                let body = unsafe { ($call)(&team, &op, $($arg.get(),)* $(&$blocks),*) };
                let body = async move {
                    first();
                    body.await;
                    then();
                };
                algorithms::synchronised(&op, mode, body).await;
            })
        }
    };
}

/// Carries an argument of a non-blocking operation into its task.
struct Sendable<T>(T);
// SAFETY: addresses and numbers; following the addresses is unsafe elsewhere, and one task at a time does.
unsafe impl<T> Send for Sendable<T> {}
impl<T: Copy> Sendable<T> {
    fn get(&self) -> T {
        self.0
    }
}

/// Operations on raw memory: for C, and for what [`Team`]'s typed methods are made of.
impl Team {
    operation! {
        /// Copies the root's `n` bytes at `src` to every member's `dst`. Only the root's `src` counts.
        broadcast_raw broadcast_raw_nb broadcast_raw_around broadcast_of broadcast_of_around (root: usize, dst: *mut u8, src: *const u8, n: usize) => Shape::Broadcast(n), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, src: *const u8, n| {
            team.root("broadcast", root);
            algorithms::broadcast(op, root, Ptr(dst), Ptr::of(src), n)
        }
    }
    operation! {
        /// Gives member i the i-th block of `n` bytes of the root's `src`. Only the root's `src` counts.
        scatter_raw scatter_raw_nb scatter_raw_around scatter_of scatter_of_around (root: usize, dst: *mut u8, src: *const u8, n: usize) => Shape::Scatter(n), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, src: *const u8, n| {
            team.root("scatter", root);
            algorithms::scatter(op, root, Ptr(dst), Ptr::of(src), n)
        }
    }
    operation! {
        /// Collects the members' `n` bytes at `src` in the root's `dst`, in the order of the team. Only the
        /// root's `dst` counts.
        gather_raw gather_raw_nb gather_raw_around gather_of gather_of_around (root: usize, dst: *mut u8, src: *const u8, n: usize) => Shape::Gather(n), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, src: *const u8, n| {
            team.root("gather", root);
            algorithms::gather(op, root, Ptr(dst), Ptr::of(src), n)
        }
    }
    operation! {
        /// Collects the members' `n` bytes at `src` in every member's `dst`, in the order of the team.
        gather_all_raw gather_all_raw_nb gather_all_raw_around gather_all_of gather_all_of_around (dst: *mut u8, src: *const u8, n: usize) => Shape::GatherAll(n), None,
        |_: &Team, op, dst: *mut u8, src: *const u8, n| algorithms::gather_all(op, Ptr(dst), Ptr::of(src), n)
    }
    operation! {
        /// Block j, of `n` bytes, of member i's `src` becomes block i of member j's `dst`.
        exchange_raw exchange_raw_nb exchange_raw_around exchange_of exchange_of_around (dst: *mut u8, src: *const u8, n: usize) => Shape::Exchange(n), None,
        |_: &Team, op, dst: *mut u8, src: *const u8, n| algorithms::exchange(op, Ptr(dst), Ptr::of(src), n)
    }
    operation! {
        /// Combines the members' vectors of `n` bytes at `src`; the result comes to the root's `dst`, the
        /// only one that counts.
        reduce_raw reduce_raw_nb reduce_raw_around reduce_of reduce_of_around (root: usize, dst: *mut u8, src: *const u8, n: usize), how => Shape::Reduce(n, nic::knows(&how, n)), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, src: *const u8, n, how| {
            team.root("reduce", root);
            algorithms::reduce(op, root, Ptr(dst), Ptr::of(src), n, how)
        }
    }
    operation! {
        /// Combines the members' vectors of `n` bytes at `src`; the result comes to every member's `dst`.
        reduce_all_raw reduce_all_raw_nb reduce_all_raw_around reduce_all_of reduce_all_of_around (dst: *mut u8, src: *const u8, n: usize), how => Shape::ReduceAll(n, nic::knows(&how, n)), None,
        |_: &Team, op, dst: *mut u8, src: *const u8, n, how| algorithms::reduce_all(op, Ptr(dst), Ptr::of(src), n, how),
        at once: |op: &Op, (dst, src, n): (*mut u8, *const u8, usize), (how,): (&Reduction,)|
            flat::reduce_all_now(op, Ptr(dst), Ptr::of(src), n, how)
    }
    operation! {
        /// Member i's `dst` becomes the combination of the vectors of members 0 to i, or to i - 1 if not
        /// `inclusive`: then member 0's is left alone.
        scan_raw scan_raw_nb scan_raw_around scan_of scan_of_around (dst: *mut u8, src: *const u8, n: usize, inclusive: bool), how => Shape::Scan(n), None,
        |_: &Team, op, dst: *mut u8, src: *const u8, n, inclusive, how|
            algorithms::scan(op, Ptr(dst), Ptr::of(src), n, inclusive, how)
    }
    operation_v! {
        /// Gives member i the i-th of the root's blocks of `src`; this member's has `n` bytes. Only the
        /// root's `src` and `blocks` count.
        scatter_v_raw scatter_v_raw_nb scatter_v_raw_around scatter_v_of scatter_v_of_around (root: usize, dst: *mut u8, n: usize, src: *const u8; blocks) => Shape::ScatterV(root), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, n: usize, src: *const u8, blocks| {
            team.root("scatter", root);
            team.blocks("scatter", blocks, root);
            algorithms::scatter_v(op, root, Ptr(dst), n, Ptr::of(src), blocks)
        }
    }
    operation_v! {
        /// Collects the members' bytes at `src`, `n` of this one, in the root's `dst` where its blocks say.
        /// Only the root's `dst` and `blocks` count.
        gather_v_raw gather_v_raw_nb gather_v_raw_around gather_v_of gather_v_of_around (root: usize, dst: *mut u8, src: *const u8, n: usize; blocks) => Shape::GatherV(root), Some(root),
        |team: &Team, op, root: usize, dst: *mut u8, src: *const u8, n: usize, blocks| {
            team.root("gather", root);
            team.blocks("gather", blocks, root);
            algorithms::gather_v(op, root, Ptr(dst), Ptr::of(src), n, blocks)
        }
    }
    operation_v! {
        /// Collects the members' blocks in every member's `dst`. All give the same sizes; this member's own
        /// block is what it brings.
        gather_all_v_raw gather_all_v_raw_nb gather_all_v_raw_around gather_all_v_of gather_all_v_of_around (dst: *mut u8, src: *const u8; blocks) =>
            Shape::GatherAllV(blocks.iter().map(|b| b.1).sum()), None,
        |team: &Team, op, dst: *mut u8, src: *const u8, blocks| {
            team.blocks("gather_all", blocks, team.me());
            algorithms::gather_all_v(op, Ptr(dst), Ptr::of(src), blocks)
        }
    }
    operation_v! {
        /// Sends member i the i-th of the blocks `to` of `src`, and takes from it the i-th of the blocks
        /// `from` of `dst`. The block that i sends to j is as long as the block that j takes from i.
        exchange_v_raw exchange_v_raw_nb exchange_v_raw_around exchange_v_of exchange_v_of_around (dst: *mut u8, src: *const u8; from, to) => Shape::ExchangeV, None,
        |team: &Team, op, dst: *mut u8, src: *const u8, from, to| {
            team.blocks("exchange", from, team.me());
            team.blocks("exchange", to, team.me());
            algorithms::exchange_v(op, Ptr(dst), from, Ptr::of(src), to)
        }
    }

    /// There is a block for every member, where blocks count.
    fn blocks(&self, what: &str, blocks: &[(usize, usize)], root: usize) {
        if root == self.me() && blocks.len() != self.size() {
            let (n, size) = (blocks.len(), self.size());
            self.members.rank.fatal(&format!("{what}: {n} blocks for a team of {size}"));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn modes_default_to_my() {
        assert_eq!(SyncMode::default(), SyncMode::MY);
        assert_ne!(SyncMode::ALL, SyncMode::MY);
    }
}
