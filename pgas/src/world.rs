//! The job as a program sees it.

use crate::args::{Argument, Data, Lend, Lent, Plain};
use crate::array::{Array, Arrays};
use crate::layout::Layout;
use crate::matrix::{Matrix, Tiling};
use crate::meeting::Meeting;
use crate::objects::{Objects, Remote};
use crate::pending::Pending;
use crate::remote;
use crate::reply::Reply;
use crate::saved::Copies;
use crate::shared::Shared;
use crate::team::Team;
use core::any::Any;
use core::pin::pin;
use core::task::{Context, Poll};
use gasnet::Rank;
use gasnet_conduits::Member;
use gasnet_rpc::Engine;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};

pub(crate) struct Inner {
    pub(crate) rank: &'static Rank,
    pub(crate) engine: &'static Engine,
    pub(crate) remotes: Objects,
    pub(crate) objects: boxcar::Vec<&'static (dyn Any + Send + Sync)>,
    pub(crate) arrays: Arrays,
    /// Whether a thread is in a collective call.
    pub(crate) meeting: AtomicBool,
    /// The ranks of this world by their numbers in the first one; `None` in that.
    pub(crate) first_numbers: Option<Vec<u32>>,
    /// The number of processes that were this rank before this one.
    pub(crate) incarnation: u32,
    /// What this process has of what ranks have saved, the same in all worlds; and how many places for that
    /// were made in this one.
    pub(crate) copies: Arc<Copies>,
    pub(crate) keeps: AtomicU32,
    /// The world that has followed this one, after deaths.
    pub(crate) next: OnceLock<World>,
}

/// As the engine is; shared objects are given to functions whose panics are caught, so the locks in them (of
/// the standard library) say if a panic has left something half done.
impl std::panic::UnwindSafe for Inner {}
impl std::panic::RefUnwindSafe for Inner {}

/// The job, on this rank. It is a handle that can be copied freely; wherever it came from it is the same.
#[derive(Clone, Copy)]
pub struct World(pub(crate) &'static Inner);

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// Runs a program: `body` on every rank. The process ends with it.
///
/// # Collective
/// A rank whose `body` has returned serves calls until all have, and all calls everywhere are served then
/// ([`World::settle`]). A process runs once. In a `#[test]` use [`crate::testing`]. The exit status is 0; 1
/// when the job could not start; 101 when a rank has panicked, which ends the whole job.
pub fn run(body: impl FnOnce(World)) -> ! {
    gasnet_conduits::run_and_keep(World::first, |world| program(world, body))
}

/// The program of a rank from its first world to its end.
pub(crate) fn program(world: World, body: impl FnOnce(World)) {
    run_in(world, body);
    let world = world.newest();
    if let Some([asked, messages]) = world.0.engine.counted() {
        let (me, size) = (world.rank(), world.size());
        eprintln!(
            "pgas: rank {me} of {size}: {asked} calls, sends and far elements asked for, {messages} messages sent"
        );
    }
}

/// Runs `body` on a rank that was started by other means, as [`run`] does; the rank goes on afterwards. Once
/// for each rank. Arrays need segments with [kept memory](gasnet::SegmentCalls::attach_and_keep), as
/// `gasnet_conduits::run_and_keep` attaches them.
///
/// # Collective
/// Returns when the `body` of all ranks has returned and all calls everywhere are served.
pub fn run_on<T>(rank: &'static Rank, body: impl FnOnce(World) -> T) -> T {
    if Engine::has_started(rank) {
        rank.fatal("`run_on` was called twice on one rank: call it once, and pass on the world that it gives to the body");
    }
    run_in(World::first(rank, Member::default()), body)
}

fn run_in<T>(world: World, body: impl FnOnce(World) -> T) -> T {
    let value = body(world);
    let world = world.newest();
    // Who dies now may be missed by others in the middle of their program, and they are told. This rank is at
    // its end, as it is where it has given up its world.
    let survival = world.0.rank.survival();
    if !survival.is_over() {
        let met = gasnet::attempt(|| world.0.engine.finish(Meeting::End as i32, Meeting::End.name()));
        if met.is_ok() {
            survival.finish();
        }
    }
    world.0.engine.stop_threads();
    value
}

impl World {
    /// The first world of this process.
    pub(crate) fn first(rank: &'static Rank, member: Member<'_>) -> World {
        World::start(rank, member, Arc::new(Copies::new(member, rank.size())))
    }

    pub(crate) fn start(rank: &'static Rank, member: Member<'_>, copies: Arc<Copies>) -> World {
        let engine = Engine::start(rank).unwrap_or_else(|e| rank.fatal(&e.to_string()));
        let inner: &'static Inner = Box::leak(Box::new(Inner {
            rank,
            engine,
            remotes: Objects::default(),
            objects: boxcar::Vec::new(),
            arrays: Arrays::default(),
            meeting: AtomicBool::new(false),
            first_numbers: member.members.map(Into::into),
            incarnation: member.incarnation,
            copies,
            keeps: AtomicU32::new(0),
            next: OnceLock::new(),
        }));
        engine.set_context(inner);
        // Nobody calls a rank that does not know its world yet.
        rank.barrier();
        World(inner)
    }

    /// The last world of this job so far: this one, if none has followed it.
    pub(crate) fn newest(self) -> World {
        let mut world = self;
        while let Some(next) = world.0.next.get() {
            world = *next;
        }
        world
    }

    /// Runs a function on a rank, with these arguments; its result comes back.
    ///
    /// The function is a plain function or a closure that captures nothing; it does not compile otherwise. It
    /// runs when the called rank makes progress (see [the front page](crate#where-calls-run)), and must not
    /// wait.
    ///
    /// # One-sided
    /// Returns when the call is on its way.
    ///
    /// # Panics
    /// There is no such rank, or the arguments cannot be written.
    #[track_caller]
    pub fn call<A: Data, R: Data>(
        self,
        rank: u32,
        f: fn(World, A) -> R,
        args: impl Argument<A>,
    ) -> Pending<R> {
        remote::call::<World, A, R>(self, rank, 0, f, &args.into_argument())
    }

    /// [`World::call`] with an argument that the function borrows from the message: a string or a slice of
    /// plain data, which is not copied on its way.
    ///
    /// # One-sided
    /// As [`World::call`].
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_lent<B: Lent + ?Sized, R: Data>(
        self,
        rank: u32,
        f: fn(World, &B) -> R,
        value: &B,
    ) -> Pending<R> {
        remote::call::<World, Lend<'_, B>, R>(self, rank, 0, f, &Lend(value))
    }

    /// Runs a function without a result on a rank. Sent functions travel together: they leave when enough of
    /// them are there, or when this rank makes progress.
    ///
    /// # One-sided
    /// Nothing tells that the function has run but [`World::settle`]. Waits while very much is under way to
    /// that rank.
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send<A: Data>(self, rank: u32, f: fn(World, A), args: impl Argument<A>) {
        remote::send::<World, A>(self, rank, 0, f, &args.into_argument());
    }

    /// [`World::send`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    /// As [`World::send`].
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send_lent<B: Lent + ?Sized>(self, rank: u32, f: fn(World, &B), value: &B) {
        remote::send::<World, Lend<'_, B>>(self, rank, 0, f, &Lend(value));
    }

    /// Runs a function on a rank that answers later, or has another rank answer: see [`Reply`].
    ///
    /// # One-sided
    /// As [`World::call`].
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask<A: Data, R: Data>(
        self,
        rank: u32,
        f: fn(World, Reply<R>, A),
        args: impl Argument<A>,
    ) -> Pending<R> {
        remote::ask::<World, A, R>(self, rank, 0, f, &args.into_argument())
    }

    /// [`World::ask`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    /// As [`World::call`].
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask_lent<B: Lent + ?Sized, R: Data>(
        self,
        rank: u32,
        f: fn(World, Reply<R>, &B),
        value: &B,
    ) -> Pending<R> {
        remote::ask::<World, Lend<'_, B>, R>(self, rank, 0, f, &Lend(value))
    }

    /// Runs an `async` function on a rank, as a task there: it may call others and await them.
    ///
    /// # One-sided
    /// As [`World::call`].
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_async<A: Data, R: Data, T>(
        self,
        rank: u32,
        f: fn(World, A) -> T,
        args: impl Argument<A>,
    ) -> Pending<R>
    where
        T: Future<Output = R> + Send + 'static,
    {
        remote::call_async::<World, A, R, T>(self, rank, 0, f, &args.into_argument())
    }

    /// Runs a future on this rank, beside everything else: whenever the rank makes progress.
    pub fn spawn(self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.engine.spawn(future);
    }

    /// Runs a future to its end, and serves calls meanwhile.
    ///
    /// # Panics
    /// In a remote function: it must not wait.
    #[track_caller]
    pub fn block_on<T>(self, future: impl Future<Output = T>) -> T {
        struct Flag(AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                // ORDER: Release; pairs with Acquire below: what was done before the wake is seen by the poll
                // after it.
                self.0.store(true, Ordering::Release);
            }
        }
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(flag.clone());
        let mut future = pin!(future);
        let mut outcome = None;
        self.0.engine.wait_until("a future", || {
            // ORDER: Acquire; pairs with Release in `wake`.
            if flag.0.swap(false, Ordering::Acquire)
                && let Poll::Ready(value) =
                    Engine::driving(|| future.as_mut().poll(&mut Context::from_waker(&waker)))
            {
                outcome = Some(value);
            }
            outcome.is_some()
        });
        outcome.unwrap_or_else(|| self.0.rank.fatal("a wait for a future has ended without it"))
    }

    /// Has `n` more threads of this rank serve calls, beside the program: calls then run while the program
    /// computes, and at the same time as each other. Functions that take long or block hold up one thread
    /// each. With `GASNET_PROGRESS=thread` there is one such thread from the start; without it, each of them
    /// looks at the network every 100 microseconds.
    ///
    /// # Panics
    /// Ends the job when the system refuses a thread, or for more than 1,024 of them.
    pub fn serve_by_threads(self, n: usize) {
        self.0.engine.serve_by_threads(n).unwrap_or_else(|e| self.abort(&e.to_string()));
    }

    /// Returns when all ranks have called it. Serves calls meanwhile.
    ///
    /// # Collective
    ///
    /// # Panics
    /// In a remote function. Ends the job when ranks are in different collective calls.
    pub fn barrier(self) {
        self.meet(Meeting::Barrier, 0);
    }

    /// Makes an object on each rank, under one name. It lives as long as the job.
    ///
    /// # Collective
    /// Each rank gives its own value; on return it can be called from everywhere.
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn share<T: Send + Sync + 'static>(self, value: T) -> Shared<T> {
        let number = self.register(value);
        self.meet(Meeting::Share, number);
        Shared::new(self, number)
    }

    /// Makes an object on this rank that others can call as long as they have a reference: see [`Remote`].
    pub fn remote<T: Send + Sync + 'static>(self, value: T) -> Remote<T> {
        Remote::new(self, value)
    }

    /// The team of all ranks: what is called or sent goes to each of them.
    pub fn all(self) -> Team {
        Team::all(self)
    }

    /// Makes a team of these ranks, in this order, this rank among them; or, with an empty list, takes part
    /// in the making of others' teams. All members of a team give the same list. [`Team::split`] makes teams
    /// by color.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`]. Ends the job when the list is none, or members give different ones.
    pub fn team(self, ranks: &[u32]) -> Option<Team> {
        Team::all(self).create(ranks)
    }

    /// Makes an array of `len` elements, all zero, spread over the ranks.
    ///
    /// # Collective
    /// With the same length and layout on all ranks.
    ///
    /// # Panics
    /// As [`World::barrier`], and for a layout that is none of that length. Ends the job when ranks differ,
    /// or the segments have no room for it.
    #[track_caller]
    pub fn array<T: Plain>(self, len: usize, layout: Layout<'_>) -> Array<T> {
        Array::new(self, len, layout)
    }

    /// Makes a matrix, all zero, spread over the ranks.
    ///
    /// # Collective
    /// With the same numbers and tiling on all ranks.
    ///
    /// # Panics
    /// As [`World::array`].
    #[track_caller]
    pub fn matrix<T: Plain>(self, rows: usize, columns: usize, tiling: Tiling) -> Matrix<T> {
        Matrix::new(self, rows, columns, tiling)
    }

    /// Combines the values of all ranks by `f`, in the order of the ranks; all ranks get the result.
    /// [`Team::reduce`] documents which types have values, and the requirements on `f`.
    /// ```no_run
    /// # pgas::run(|world| {
    /// let total = world.reduce(world.rank(), |a, b| a + b);
    /// // The longest name, and who has it.
    /// let mine = (std::env::args().next().unwrap_or_default(), world.rank());
    /// let (name, rank) = world.reduce(mine, |a, b| if b.0.len() > a.0.len() { b } else { a });
    /// # let _ = (total, name, rank);
    /// # })
    /// ```
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::reduce`].
    #[track_caller]
    pub fn reduce<T: Data>(self, mine: T, f: impl Fn(T, T) -> T + Send + Sync + 'static) -> T {
        self.all().reduce(mine, f)
    }

    /// [`World::reduce`] of plain data, element by element; as many on all ranks.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::reduce_slice`].
    pub fn reduce_slice<T: Plain>(
        self,
        mine: Vec<T>,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.all().reduce_slice(mine, f)
    }

    /// The value of rank `root`, on all ranks; those that the others give are dropped.
    /// ```no_run
    /// # pgas::run(|world| {
    /// let first = world.rank() == 0;
    /// let text = if first { std::fs::read_to_string("settings").unwrap_or_default() } else { String::new()
    /// }; let settings: String = world.broadcast(0, text);
    /// # let _ = settings;
    /// # })
    /// ```
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::broadcast`].
    #[track_caller]
    pub fn broadcast<T: Data>(self, root: u32, mine: T) -> T {
        self.all().broadcast(root, mine)
    }

    /// [`World::broadcast`] of plain data: several elements, as many on all ranks.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::broadcast_slice`].
    pub fn broadcast_slice<T: Plain>(self, root: u32, mine: Vec<T>) -> Vec<T> {
        self.all().broadcast_slice(root, mine)
    }

    /// The values of all ranks, on all ranks, by rank. They may have different sizes.
    /// ```no_run
    /// # pgas::run(|world| {
    /// let names: Vec<String> = world.gather_all(format!("rank {} of {}", world.rank(), world.size()));
    /// let found: Vec<Option<(u64, char)>> = world.gather_all(None);
    /// # let _ = (names, found);
    /// # })
    /// ```
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::gather_all`].
    #[track_caller]
    pub fn gather_all<T: Data>(self, mine: T) -> Vec<T> {
        self.all().gather_all(mine)
    }

    /// [`World::gather_all`] of plain data: several elements, as many on all ranks; those of rank 0 come
    /// first.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`] and [`Team::gather_all_slice`].
    pub fn gather_all_slice<T: Plain>(self, mine: Vec<T>) -> Vec<T> {
        self.all().gather_all_slice(mine)
    }

    /// Ends the whole job with this status.
    pub fn exit(self, status: i32) -> ! {
        self.0.rank.global_exit(status)
    }

    /// Ends the job, with a message on standard error.
    pub fn abort(self, text: &str) -> ! {
        self.0.rank.fatal(text)
    }
}
