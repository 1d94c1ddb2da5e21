//! `upc_collective.h`: moving data, and the exchanges of reductions (their arithmetic is C, in `upcc_lib.h`,
//! since it needs the types of C).
//!
//! If all threads are near, each copies its own share directly between segments: it pulls data that comes to
//! it from several threads, and pushes data whose destination only it knows. In a reduction each thread reads
//! all partial results. That happens between an entry and an exit barrier, as the flags ask; MYSYNC is
//! treated as ALLSYNC there. If some threads are far, the core's collectives move the data
//! ([`gasnet::coll`]): by trees over the hosts, and without an exit barrier for MYSYNC.
//!
//! **Arguments** that must be the same on all threads are checked in the first barrier that the flags ask
//! for, whose name is made of them. Without either barrier they are checked only under `-fsanitize=upc`.
#![expect(unsafe_code, reason = "copies between segments and memory of the caller")]

use crate::barrier::Arguments;
use crate::control::field;
use crate::state::Upc;
use gasnet::atomics::Function;
use gasnet::coll::{ElementType, Reduction, SyncMode, When};
use gasnet::{RankId, Team};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

/// More bytes than any thread has.
const MAX_BYTES_OF_BLOCKS: u64 = 1 << 48;

/// A shared address: thread and offset.
pub type SharedAddress = (u32, u64);

/// Flags of `upc_types.h`.
const IN_NOSYNC: u32 = 4;
const OUT_MYSYNC: u32 = 16;
const OUT_NOSYNC: u32 = 32;
const IN_FLAGS: u32 = 7;
const OUT_FLAGS: u32 = 56;
/// Slots of partial results, so that two operations in a row do not use the same one.
const PARTIAL_SLOTS: u64 = 2;
/// Bytes of the largest partial result.
const MAX_PARTIAL_BYTES: u64 = 16;

/// A collective that only moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataMove {
    /// One block to all threads.
    Broadcast,
    /// The i-th block of one thread to thread i.
    Scatter,
    /// Thread i's block to the i-th block of one thread.
    Gather,
    /// Thread i's block to the i-th block of all threads.
    GatherAll,
    /// Block i of thread j to block j of thread i.
    Exchange,
}

/// Combines the second value into the first; `context` is the caller's.
pub type Mix = unsafe extern "C" fn(context: *const c_void, first: *mut c_void, second: *const c_void);

impl Upc {
    /// Entry of a collective function.
    pub fn enter(&self, function: &str, flags: u32, arguments: Arguments<'_>) {
        if flags & !(IN_FLAGS | OUT_FLAGS) != 0
            || (flags & IN_FLAGS).count_ones() > 1
            || (flags & OUT_FLAGS).count_ones() > 1
        {
            self.fatal(&format!(
                "{function}: {flags:#x} is not a combination of one UPC_IN_ and one UPC_OUT_ flag"
            ));
        }
        self.core.settle();
        if flags & IN_NOSYNC == 0 || self.sanitized() {
            self.meet_agreeing(function, arguments);
        }
    }

    /// Exit of a collective function.
    pub fn exit(&self, function: &str, flags: u32, arguments: Arguments<'_>) {
        // In the core's collectives, a thread's own data is complete when its own part is.
        let parts = if self.all_near() { OUT_NOSYNC } else { OUT_NOSYNC | OUT_MYSYNC };
        if flags & parts == 0 {
            if flags & IN_NOSYNC == 0 || self.sanitized() {
                self.meet(function);
            } else {
                self.meet_agreeing(function, arguments);
            }
        }
    }

    fn all_near(&self) -> bool {
        self.core.all_near()
    }

    /// `upc_all_broadcast` and similar functions; `n` bytes a block.
    pub fn move_all(
        &self,
        what: DataMove,
        (dt, d): SharedAddress,
        (st, s): SharedAddress,
        n: u64,
        flags: u32,
    ) {
        let function = match what {
            DataMove::Broadcast => "upc_all_broadcast",
            DataMove::Scatter => "upc_all_scatter",
            DataMove::Gather => "upc_all_gather",
            DataMove::GatherAll => "upc_all_gather_all",
            DataMove::Exchange => "upc_all_exchange",
        };
        self.check_start(function, what, dt, st);
        self.check_blocks(function, n, self.size);
        let arguments = [
            ("thread of dst", dt.into()),
            ("dst", d),
            ("thread of src", st.into()),
            ("src", s),
            ("nbytes", n),
            ("flags", flags.into()),
        ];
        self.enter(function, flags, &arguments);
        self.check_ends(what, (dt, d), (st, s), n, &self.team);
        if self.all_near() {
            self.move_near(what, (dt, d), (st, s), n);
        } else {
            let (to, from) = ((dt as usize, d), (st as usize, s));
            // SAFETY: waited for; the ranges are checked.
            let event = unsafe { self.start_move(&self.team, what, to, from, n, SyncMode::MY) };
            self.core.wait_event(event);
        }
        self.exit(function, flags, &arguments);
    }

    /// Distributed sides must start on thread 0.
    fn check_start(&self, function: &str, what: DataMove, dt: u32, st: u32) {
        let distributed = match what {
            DataMove::Broadcast | DataMove::Scatter => dt,
            DataMove::Gather => st,
            DataMove::GatherAll | DataMove::Exchange => dt.max(st),
        };
        if distributed != 0 {
            self.fatal(&format!(
                "{function}: a distributed side starts on thread {distributed}, it must start on thread 0"
            ));
        }
    }

    /// Refuses blocks whose addresses would wrap. Smaller ones that do not fit are found where they are
    /// accessed.
    fn check_blocks(&self, function: &str, n: u64, threads: u32) {
        if n.checked_mul(threads.into()).is_none_or(|all| all > MAX_BYTES_OF_BLOCKS) {
            self.fatal(&format!(
                "{function}: blocks of {n} bytes for {threads} threads: no memory is so large"
            ));
        }
    }

    /// The same of a reduction's array, whose block size may be any that its type can have.
    pub fn check_elements(&self, function: &str, elements: u64, block: u64) {
        if elements > MAX_BYTES_OF_BLOCKS || block > MAX_BYTES_OF_BLOCKS {
            self.fatal(&format!(
                "{function}: {elements} elements in blocks of {block}: no memory is so large"
            ));
        }
    }

    /// Checks what this member has of both ends, if the program is checked. For a one-sided end, the thread
    /// is the number of the member that it is on.
    fn check_ends(
        &self,
        what: DataMove,
        (dt, d): SharedAddress,
        (st, s): SharedAddress,
        n: u64,
        team: &Team,
    ) {
        let (me, all) = (team.me() as u32, n * team.size() as u64);
        let (to, from) = match what {
            DataMove::Broadcast => (n, if me == st { n } else { 0 }),
            DataMove::Scatter => (n, if me == st { all } else { 0 }),
            DataMove::Gather => (if me == dt { all } else { 0 }, n),
            DataMove::GatherAll => (all, n),
            DataMove::Exchange => (all, all),
        };
        self.check_transfer("fills", self.me, d, to);
        self.check_transfer("reads", self.me, s, from);
    }

    fn move_near(&self, what: DataMove, (dt, d): SharedAddress, (st, s): SharedAddress, n: u64) {
        let me = u64::from(self.me);
        match what {
            DataMove::Broadcast => self.core.copy((self.me, d), (st, s), n),
            DataMove::Scatter => self.core.copy((self.me, d), (st, s + me * n), n),
            DataMove::Gather => self.core.copy((dt, d + me * n), (self.me, s), n),
            DataMove::GatherAll => {
                for t in self.threads_from_here() {
                    self.core.copy((self.me, d + u64::from(t) * n), (t, s), n);
                }
            }
            DataMove::Exchange => {
                for t in self.threads_from_here() {
                    self.core.copy((self.me, d + u64::from(t) * n), (t, s + me * n), n);
                }
            }
        }
    }

    /// Starts a movement among the members of a team. For a one-sided end, the first number is the member it
    /// is on.
    ///
    /// # Safety
    /// 1. The ranges stay allocated until the operation is complete (owed by the program).
    unsafe fn start_move(
        &self,
        team: &Team,
        what: DataMove,
        (dt, d): (usize, u64),
        (st, s): (usize, u64),
        n: u64,
        mode: SyncMode,
    ) -> u64 {
        let (me, all) = (team.me(), n * team.size() as u64);
        let (root, to, from) = match what {
            DataMove::Broadcast => (st, n, n),
            DataMove::Scatter => (st, n, all),
            DataMove::Gather => (dt, all, n),
            DataMove::GatherAll => (0, all, n),
            DataMove::Exchange => (0, all, all),
        };
        // Ends that do not concern this member are ignored.
        let dst =
            if what == DataMove::Gather && me != root { std::ptr::null_mut() } else { self.core.own(d, to) };
        let one_sided = matches!(what, DataMove::Broadcast | DataMove::Scatter);
        let src = if one_sided && me != root { std::ptr::null_mut() } else { self.core.own(s, from) };
        let n = n as usize;
        // SAFETY: (1); the ranges are inside the own segment.
        unsafe {
            let event = match what {
                DataMove::Broadcast => team.broadcast_raw_nb(root, dst, src, n, mode),
                DataMove::Scatter => team.scatter_raw_nb(root, dst, src, n, mode),
                DataMove::Gather => team.gather_raw_nb(root, dst, src, n, mode),
                DataMove::GatherAll => team.gather_all_raw_nb(dst, src, n, mode),
                DataMove::Exchange => team.exchange_raw_nb(dst, src, n, mode),
            };
            event.into_raw()
        }
    }

    /// `upc_all_permute`; `perm` is the offset of this thread's target on every thread.
    pub fn permute(&self, d: SharedAddress, s: SharedAddress, perm: SharedAddress, n: u64, flags: u32) {
        let function = "upc_all_permute";
        if d.0.max(s.0).max(perm.0) != 0 {
            self.fatal("upc_all_permute: all three arguments must start on thread 0");
        }
        let arguments =
            [("dst", d.1), ("src", s.1), ("perm", perm.1), ("nbytes", n), ("flags", flags.into())];
        self.enter(function, flags, &arguments);
        self.check_transfer("reads", self.me, perm.1, 4);
        self.check_transfer("fills", self.me, d.1, n);
        self.check_transfer("reads", self.me, s.1, n);
        let mut target = [0u8; 4];
        // SAFETY: a buffer of 4 bytes.
        unsafe { self.core.get(target.as_mut_ptr(), self.me, perm.1, 4) };
        let target = u32::from_ne_bytes(target);
        if target >= self.size {
            self.fatal(&format!(
                "upc_all_permute: perm[{}] is {}, which is not a thread",
                self.me, target as i32
            ));
        }
        self.core.copy((target, d.1), (self.me, s.1), n);
        // Another thread changes the own data here.
        let flags = if flags & OUT_MYSYNC != 0 { flags & !OUT_FLAGS } else { flags };
        self.exit(function, flags, &arguments);
    }

    /// The team of a handle of `bupc_team_split`, 0 for all threads.
    ///
    /// # Safety
    /// 1. `handle` is 0 or comes from [`Upc::team_split`] (owed by the caller).
    unsafe fn team_of(&self, handle: *const Team) -> &Team {
        // SAFETY: (1); teams are not freed.
        unsafe { handle.as_ref() }.unwrap_or(&self.team)
    }

    /// `bupc_team_split`.
    ///
    /// # Safety
    /// As [`Upc::team_of`].
    pub unsafe fn team_split(&self, parent: *const Team, color: u32, key: u32) -> *const Team {
        // SAFETY: as promised.
        let team = unsafe { self.team_of(parent) }.split(Some(color), key);
        team.map_or(std::ptr::null(), |t| Box::into_raw(Box::new(t)))
    }

    /// `bupc_team_broadcast` and similar functions: starts the movement; returns the word of its event.
    ///
    /// # Safety
    /// As [`Upc::team_of`].
    pub unsafe fn team_move(
        &self,
        team: *const Team,
        what: DataMove,
        (dt, d): SharedAddress,
        (st, s): SharedAddress,
        n: u64,
        flags: u32,
    ) -> u64 {
        // SAFETY: as promised.
        let team = unsafe { self.team_of(team) };
        let member = |t: u32| {
            team.member(RankId(t)).unwrap_or_else(|| {
                self.fatal(&format!("a collective function of a team: thread {t} is not in the team"))
            })
        };
        // Only a one-sided end names a thread; a distributed one is at the same offset on all members.
        let dt = if what == DataMove::Gather { member(dt) } else { 0 };
        let st = if matches!(what, DataMove::Broadcast | DataMove::Scatter) { member(st) } else { 0 };
        let when = |no: u32, my: u32| match flags {
            f if f & no != 0 => When::No,
            f if f & my != 0 => When::My,
            _ => When::All,
        };
        let mode = SyncMode { enter: when(IN_NOSYNC, 2), leave: when(OUT_NOSYNC, OUT_MYSYNC) };
        self.check_blocks("a collective function of a team", n, team.size() as u32);
        self.check_ends(what, (dt as u32, d), (st as u32, s), n, team);
        // SAFETY: the program keeps the data until it has waited.
        unsafe { self.start_move(team, what, (dt, d), (st, s), n, mode) }
    }

    /// All threads, this one first, so that they do not all access the same one at the same time.
    fn threads_from_here(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, size) = (self.me, self.size);
        (0..size).map(move |i| (me + i) % size)
    }

    /// Combines the values of `n` bytes of the threads that have one, with `mix`. The result goes to `root`,
    /// or to all threads; returns whether this thread has one.
    ///
    /// # Safety
    /// 1. `value` is valid for `n <= MAX_PARTIAL_BYTES` bytes, `mix` can be called with `context` and values
    ///    (owed by the caller).
    pub unsafe fn combine(
        &self,
        value: *mut u8,
        n: u64,
        have: bool,
        root: Option<u32>,
        (mix, context): (Mix, *const c_void),
    ) -> bool {
        let wanted = root.is_none_or(|r| r == self.me);
        let n = n as usize;
        let mut mine = Partial::default();
        // SAFETY: (1).
        unsafe {
            if have {
                mine.have = 1;
                std::ptr::copy_nonoverlapping(value, mine.value.as_mut_ptr(), n);
            }
            let mut sum = Partial::default();
            if self.all_near() {
                self.publish_partial(if have { value } else { std::ptr::null() }, n as u64);
                for t in (0..self.size).take_while(|_| wanted) {
                    let mut other = Partial::default();
                    other.have = self.partial(t, other.value.as_mut_ptr(), n as u64).into();
                    mix_partials(mix, context, &mut sum, &other);
                }
            } else {
                let context = context as usize;
                let how = Reduction {
                    combine: Arc::new(move |a, b, _| {
                        mix_partials(
                            mix,
                            context as *const c_void,
                            &mut *a.cast::<Partial>(),
                            &*b.cast::<Partial>(),
                        );
                    }),
                    commutes: true,
                    element: size_of::<Partial>(),
                    element_type: ElementType::UNKNOWN,
                    known: None,
                };
                // Buffers of the core are bytes; these are aligned.
                let (to, from) = ((&raw mut sum).cast(), (&raw const mine).cast());
                match root {
                    Some(r) => {
                        self.team.reduce_raw(r as usize, to, from, size_of::<Partial>(), how, SyncMode::MY);
                    }
                    None => self.team.reduce_all_raw(to, from, size_of::<Partial>(), how, SyncMode::MY),
                }
            }
            if wanted && sum.have != 0 {
                std::ptr::copy_nonoverlapping(sum.value.as_ptr(), value, n);
                return true;
            }
        }
        false
    }

    /// Collects `n` bytes of every thread, in the order of threads.
    ///
    /// # Safety
    /// 1. `mine` is valid for `n` bytes, `all` for `n` of every thread (owed by the caller).
    pub unsafe fn gather_private(&self, mine: *const u8, all: *mut u8, n: u64) {
        // SAFETY: (1).
        unsafe { self.team.gather_all_raw(all, mine, n as usize, SyncMode::MY) }
    }

    /// Offset of the words for the present exchange, the same on all threads.
    pub fn partial_slot(&self) -> u64 {
        self.layout.control
            + field!(partials)
            + self.partials.load(Relaxed) % PARTIAL_SLOTS * 2 * MAX_PARTIAL_BYTES
    }

    /// Publishes this thread's partial result of a reduction (none if it has no elements) and meets the
    /// others. Then [`Upc::partial`] reads the result of any thread, until the next call but one.
    ///
    /// # Safety
    /// 1. `value` is null or valid for `n <= MAX_PARTIAL_BYTES` bytes (owed by the caller).
    unsafe fn publish_partial(&self, value: *const u8, n: u64) {
        self.partials.fetch_add(1, Relaxed);
        let at = self.partial_slot();
        let have = !value.is_null();
        self.core.store_word(self.me, at, have.into());
        if have {
            // SAFETY: (1).
            unsafe { self.core.put(self.me, at + MAX_PARTIAL_BYTES, value, n) };
        }
        self.meet("a reduction");
    }

    /// Reads thread `t`'s partial result; false if it had none.
    ///
    /// # Safety
    /// 1. `value` is valid for `n <= MAX_PARTIAL_BYTES` bytes (owed by the caller).
    unsafe fn partial(&self, t: u32, value: *mut u8, n: u64) -> bool {
        let at = self.partial_slot();
        if self.core.amo(t, at, Function::Get, 0, 0) == 0 {
            return false;
        }
        // SAFETY: (1).
        unsafe { self.core.get(value, t, at + MAX_PARTIAL_BYTES, n) };
        true
    }
}

/// The partial result of one thread.
#[repr(C, align(16))]
#[derive(Default, Clone, Copy)]
struct Partial {
    value: [u8; MAX_PARTIAL_BYTES as usize],
    /// Whether there is one.
    have: u64,
}

/// Combines two partial results.
///
/// # Safety
/// 1. `mix` can be called with `context` and these values (owed by the caller).
unsafe fn mix_partials(mix: Mix, context: *const c_void, first: &mut Partial, second: &Partial) {
    match (first.have, second.have) {
        (_, 0) => {}
        (0, _) => *first = *second,
        // SAFETY: (1).
        _ => unsafe { mix(context, first.value.as_mut_ptr().cast(), second.value.as_ptr().cast()) },
    }
}
