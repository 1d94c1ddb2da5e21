//! Programs over many ranks, in Rust: remote calls, shared objects, arrays in phases, collections. One
//! dependency, no `unsafe`, no macros, nothing to register.
//!
//! # Ten minutes
//! **Hello.** A program is started once on each *rank*; ranks are processes, on one machine or on many.
//! `Cargo.toml` names one dependency, `pgas`, and `main` is:
//! ```no_run
//! pgas::run(|world| {
//!     println!("rank {} of {}", world.rank(), world.size());
//! })
//! ```
//! `gasnetrun -n 4 target/release/hello` starts four; so does `GASNET_PSHM_NODES=4 cargo run --release`, on
//! one machine, without a launcher.
//!
//! **Remote calls.** [`World::call`] runs a function on another rank and brings its result back:
//! ```no_run
//! # pgas::run(|world| {
//! let there = world.call(1, |world, x: u32| x * 2 + world.rank(), 20).wait();
//! assert_eq!(there, 41);
//! # })
//! ```
//! The function is a closure that captures nothing, or a plain function. All values that it needs are
//! arguments: anything that `serde` can write and read, several as a tuple. A `&str` may be passed where
//! the function takes a `String`. Many calls can be in progress at a time; wait for each [`Pending`] when
//! you need its result:
//! ```no_run
//! # pgas::run(|world| {
//! let squares: Vec<_> = world.ranks().map(|rank| world.call(rank, |_, x: u32| x * x, 7 + rank)).collect();
//! let sum: u32 = squares.into_iter().map(pgas::Pending::wait).sum();
//! # let _ = sum;
//! # })
//! ```
//! In an `async` function `.await` is what `.wait()` is elsewhere:
//! [one rule](#waiting-and-awaiting) for both.
//!
//! [`World::send`] is for functions without a result; it is cheaper, since many of them travel together.
//! [`World::settle`] returns when all that was called or sent anywhere has run, and all that this has called
//! and sent in turn.
//!
//! **All ranks together.** [`World::gather_all`], [`World::broadcast`] and [`World::reduce`] take what can be
//! an argument of a call, of another size on each rank:
//! ```no_run
//! # pgas::run(|world| {
//! let names = world.gather_all(format!("rank {}", world.rank())); // a String of each
//! let (most, who) = world.reduce((names.len(), world.rank()), |a, b| if b.0 > a.0 { b } else { a });
//! # let _ = (most, who);
//! # })
//! ```
//! Numbers are sent as they are, and so is plain data in slices ([`World::reduce_slice`] and its like).
//!
//! **Shared objects.** What does a called function work on? [`World::share`] makes an object on each rank,
//! under one name:
//! ```no_run
//! # pgas::run(|world| {
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! let count = world.share(AtomicU64::new(0));
//! for rank in world.ranks() {
//!     count.send(rank, |count, n: u64| _ = count.fetch_add(n, Relaxed), 5); // the count of that rank
//! }
//! world.settle();
//! assert_eq!(count.load(Relaxed), 5 * u64::from(world.size())); // the count of this one
//! # })
//! ```
//! The function is given the object of the rank that it runs on. The name itself, [`Shared`], is a small
//! value that can be copied, and sent as an argument. An object of one rank only is made by
//! [`World::remote`]; it is dropped with the last reference to it, wherever that is.
//!
//! **A distributed hash table** is a table on each rank, and a rule which rank has which key:
//! ```no_run
//! use std::collections::HashMap;
//! use std::sync::Mutex;
//! # let words: Vec<String> = Vec::new();
//! fn owner(word: &str, world: pgas::World) -> u32 {
//!     word.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte)) % world.size()
//! }
//! # pgas::run(move |world| {
//! let table = world.share(Mutex::new(HashMap::<String, u32>::new()));
//! for word in words {
//!     table.send(owner(&word, world), |t, w: String| *t.lock().unwrap().entry(w).or_default() += 1, word);
//! }
//! world.settle();
//! let n = table.call_lent(owner("the", world), |t, w| t.lock().unwrap().get(w).copied(), "the").wait();
//! # let _ = n;
//! # })
//! ```
//! That is all there is to it. (What is [lent](World::call_lent) is not copied on its way: the function reads
//! it in the message.)
//!
//! **Collections.** [`DistMap`] is that table, ready-made; [`DistVec`] grows on all ranks and can be sorted
//! as a whole; [`WorkPool`] shares work that makes more work among the ranks:
//! ```no_run
//! # let words: Vec<String> = Vec::new();
//! # pgas::run(move |world| {
//! let table = pgas::DistMap::<String, u32>::new(world);
//! words.iter().for_each(|word| table.update(word.clone(), |count, n: u32| *count += n, 1));
//! world.settle();
//! let counts = table.get_many(["the".to_string(), "a".to_string()]);
//! # let _ = counts;
//! # })
//! ```
//!
//! **Arrays.** [`World::array`] spreads elements over the ranks. They are used in *phases*: a closure, with a
//! barrier of all ranks at both ends, in which all elements are only read, or only updated by operations that
//! may come in any order, or each rank has its own part for itself:
//! ```no_run
//! # use pgas::{Layout, World};
//! # let samples: Vec<usize> = Vec::new();
//! # pgas::run(move |world| {
//! let mut bins = world.array::<u64>(1 << 20, Layout::Cyclic);
//! bins.update(|bins| samples.iter().for_each(|&s| bins.add(s, 1)));
//! let some = bins.read(|bins| bins.gather(&[5, 7, 11]));
//! bins.local(|mine: &mut [u64]| mine.sort());
//! # let _ = some;
//! # })
//! ```
//! The borrow checker sees to it that a rank is in one phase at a time; the barriers see to it that all ranks
//! are in the same. So there is no data race to be had.
//!
//! An array has any [`Layout`], is copied to others ([`Array::copy_to`]), made longer or shorter
//! ([`Array::resize`]), read from one end to the other ([`Reading::iter`]), and kept in files
//! ([`Array::save`], [`World::load`]). [`Matrix`] has two dimensions; a block of it, such as a
//! halo, is read in one call ([`ReadingMatrix::block`]).
//!
//! **Much data, few objects, some ranks.** [`Bulk`] data goes straight from the memory of one rank to that of
//! another. [`Remote`] is a counted reference to an object that one rank has made. A [`Team`] is some of the
//! ranks: what is called on it runs on each.
//!
//! # Where calls run
//! On the called rank, one after the other, whenever that rank waits for something in this crate: an answer,
//! a phase, [`World::settle`], [`World::progress`]. Or beside the program, on threads for that
//! ([`World::serve_by_threads`], `GASNET_PROGRESS=thread`). They must not wait themselves. A function that
//! needs to is called with [`World::call_async`] and awaits: it becomes a task of the rank.
//!
//! **Closures capture nothing**, not even a value without bytes. A *token* type may stand for a fact such
//! as "this processor has AVX2" or "the library was initialised", which is true of one process only. If a
//! closure could capture a token, the rank that runs the closure would have the token too, although nobody
//! has checked the fact on that rank. A call therefore takes a pointer to a function: plain functions and
//! closures that capture nothing convert to one, and other closures do not. The program may choose the
//! function at run time.
//!
//! A [`Pending`] may be awaited in any executor. World's own ([`World::block_on`], tasks) serve between two
//! polls. Threads of others (tokio's, smol's) sleep, so the first that awaits starts one that serves, as
//! [`World::serve_by_threads`] does; it looks at the network every 100 microseconds.
//!
//! Sends travel together: a batch leaves when it is full, when the rank makes progress, and with threads that
//! serve, after some milliseconds. From 64 ranks on they go in two hops, so that batches fill.
//! `GASNET_STATS=1` says at the end how much was asked for, and how many messages it took.
//!
//! # Waiting and awaiting
//! One rule: what has `.wait()` is a future, too, and `.await` gives what `.wait()` gives.
//!
//! | | `.wait()` and `.await` give | where there is no result |
//! |---|---|---|
//! | [`Pending`] | the result | they panic |
//! | [`Pending::result`] | a `Result` | a [`CallError`] |
//! | [`PendingAll`] | the results, by member | they panic |
//! | [`PendingAll::results`] | a `Result` of each | a [`CallError`] |
//!
//! `.wait()` serves calls meanwhile; it is for the program, and panics in a called function. `.await` is for
//! `async` functions: tasks, and futures given to [`World::block_on`] or to any executor. A panic at an
//! `.await` in a task is the task's, so its caller is told. Collective calls (barriers, phases,
//! [`World::settle`], [`World::reduce`] and its like) only wait: they are no futures.
//!
//! # What travels
//! Arguments and results are values that `serde` writes and reads. Messages do not say what their bytes are,
//! so a few of its attributes cannot be carried. None of them changes a value silently:
//!
//! | Attribute | |
//! |---|---|
//! | `rename`, `rename_all`, `alias`, `default`, `with`, `serialize_with`, `deserialize_with`, `from`,
//! `into`, `try_from`, `transparent`, `skip`, `bound`, `other`, `deny_unknown_fields`, `remote` | carried |
//! | `skip_serializing_if` on a field with a name | carried; where a field is left out, names travel with
//! the others. The field is an `Option` or has a `default`, as for other formats |
//! | `skip_serializing_if` in a tuple struct | carried as long as nothing is left out; else an error |
//! | `skip_serializing`, `skip_deserializing` on a field | an error |
//! | `skip_serializing`, `skip_deserializing` on a variant | the other variants are carried; this one is an
//! error |
//! | a `rename` of a variant for one side | an error |
//! | `tag` and `content`, if all variants have fields, and without names | carried |
//! | `tag` and `content` on other enums; `tag` alone; `untagged`; `flatten`; values of any type, such as
//! JSON's | an error |
//! | sequences and maps that do not know how long they are | carried |
//! | a `Serialize` that says one length and writes another | an error |
//! | values that lie in each other 1,000 deep (lists and trees of boxes), or take more than 1 MiB of stack |
//! an error |
//!
//! Collective calls of values follow the same rules. Their values go to several ranks, so what belongs to one
//! at a time cannot be in them: a [`Remote`], a [`Reply`].
//!
//! A type that can never be read is refused where it is sent: the call panics, and names the type. Where only
//! a value shows it, the caller gets [`CallError::Codec`] (or the panic, if it is the sender who can see it).
//! Of a function without a result nobody can be told: the job ends, with a message that names the type.
//!
//! # Errors
//! A function that panics, or whose task does, answers with [`CallError::Panicked`];
//! [`Pending::wait`] then panics here, [`Pending::result`] has the error. A function without a result has
//! nobody to tell: if it panics the job ends, with a message that names both ranks and says what the panic
//! said.
//!
//! **A rank that ends.** No rank leaves a job alone. A rank whose function has returned from [`run`]'s
//! `body` keeps serving calls until all others have returned too. Calls to it still run; but if another
//! rank then makes a barrier, a phase or another collective call of all ranks, the job ends with a message.
//! All ranks leave together. A call without an answer by then ends with [`CallError::Gone`], and so does a
//! call that is made after [`run_on`] has returned; a `send` then does nothing. A rank that dies, panics or
//! exits ends the whole job, with a message that names the rank, and with its exit status: nobody waits for
//! a dead rank. A job that is to go on says so: [`World::survive`], [`World::keep`].
//!
//! # Tests
//! [`testing::run`] runs a closure on ranks in a `#[test]`: a job of its own for each call.
//! ```no_run
//! # fn main() {
//! pgas::testing::run(4, |world| {
//!     assert_eq!(world.reduce(1u32, |a, b| a + b), 4);
//! });
//! # }
//! ```
//! [`run`] ends the process with its own status, so in a test it is refused: the harness would end with it,
//! and report nothing.
//!
//! # Features
//! `udp`, the network between hosts, is on by default. A program that shall run with `GASNET_CONDUIT=netvm`,
//! `mpi` or `ofi` names the feature `netvm`, `mpi` or `ofi`; mpi and ofi are plugins, too, which
//! `cargo xtask install` builds. `simulate`: the program runs under `gasnetrun --simulate`, too. `hwloc`:
//! ranks are bound to cores as the library hwloc sees them. `rand`: `World::random`, streams of random
//! numbers for the crate `rand`. `tracing`: spans of the crate `tracing` around waits and around what others
//! call. The crate `serde` is there as [`serde`]: a program that derives its traits depends on it itself, or
//! says `#[serde(crate = "pgas::serde")]`.
//!
//! # Vocabulary
//! *Rank*, *job*, *team*: as in the crate `gasnet`. *World*: the job as a program sees it. *Phase*: a closure
//! between two barriers. *Part*: the elements of an array that lie on one rank.

mod args;
mod array;
mod body;
mod bulk;
mod codec;
mod collections;
mod copies;
mod file;
mod heap;
mod job;
mod keep;
mod kept;
mod layout;
mod matrix;
mod meeting;
mod memory;
mod objects;
mod pending;
mod phases;
#[cfg(feature = "rand")]
mod random;
mod remote;
mod reply;
mod saved;
mod shared;
mod states;
mod survival;
mod team;
pub mod testing;
mod trace;
mod values;
mod world;

pub use args::{Argument, Data, Lent, Plain};
pub use array::Array;
pub use bulk::Bulk;
pub use collections::{DistMap, DistVec, Key, Todo, WorkPool};
pub use gasnet::Died;
pub use gasnet_rpc::CallError;
pub use keep::{Keep, Lost, Restorer, Saver};
pub use layout::Layout;
pub use matrix::{ExchangingMatrix, Matrix, ReadingMatrix, Tile, Tiling, UpdatingMatrix};
pub use objects::Remote;
pub use pending::{Pending, PendingAll, PendingResult, PendingResults};
pub use phases::{Exchanging, Number, Reading, Updating};
pub use reply::Reply;
pub use serde;
pub use shared::Shared;
pub use team::Team;
pub use world::{World, run, run_on};

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::sync::Mutex;

    /// A closure that uses these may be called by `catch_unwind` as it is.
    #[test]
    fn a_panic_breaks_nothing() {
        fn whole<T: UnwindSafe + RefUnwindSafe>() {}
        whole::<gasnet::Rank>();
        whole::<gasnet::Team>();
        whole::<gasnet_rpc::Engine>();
        whole::<World>();
        whole::<Team>();
        whole::<Shared<Mutex<Vec<u8>>>>();
        whole::<Remote<Mutex<Vec<u8>>>>();
        whole::<Pending<String>>();
        whole::<PendingAll<String>>();
        whole::<PendingResult<String>>();
        whole::<PendingResults<String>>();
        whole::<Reply<String>>();
        whole::<DistMap<String, u64>>();
        whole::<DistVec<String>>();
        whole::<WorkPool<String>>();
        whole::<Bulk<u64>>();
        whole::<Array<u64>>();
        whole::<Matrix<f64>>();
    }
}
