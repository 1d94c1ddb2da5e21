//! References to objects of one rank, and how it is known when the last of them is gone.
//!
//! **Weights.** A counter lies on one rank and knows how much weight is out. Every reference has some of it;
//! sending a reference on gives half of its weight away, and dropping it returns what it has. When all is
//! back the counter is done, and so is the object. So copies that are under way count without a word to the
//! counter's rank.
//!
//! **When weight runs out** a rank makes a counter of its own, with new weight, which keeps the old reference
//! until all of the new weight is back. So nobody ever asks for weight, or waits for it.

use crate::args::{Args, Argument, Data, Lend, Lent};
use crate::body;
use crate::pending::Pending;
use crate::remote::{self, On};
use crate::reply::Reply;
use crate::world::World;
use core::any::Any;
use core::marker::PhantomData;
use gasnet_sys::mutex::lock;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use slab::Slab;
use std::sync::{Arc, Mutex};

type Object = Arc<dyn Any + Send + Sync>;

/// The weight that a new counter gives to its references.
const FULL: u64 = 1 << 62;

/// Names a counter, or an object, which has its number from its first counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CounterName {
    rank: u32,
    slot: u32,
    /// No other counter of that slot has had it lately.
    generation: u32,
}

/// Weight of a counter. It is returned, or given on: never dropped.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Weight {
    counter: CounterName,
    amount: u64,
}

/// The thing that a counter keeps as long as references hold weight of it: the object, or weight of the
/// counter that the reference came from.
enum Kept {
    Object(Object),
    Weight(Weight),
}

struct Counter {
    generation: u32,
    out: u64,
    kept: Kept,
}

/// The counters of a rank.
#[derive(Default)]
pub(crate) struct Objects {
    counters: Mutex<(Slab<Counter>, u32)>,
}

impl Objects {
    fn add(&self, world: World, kept: Kept) -> Weight {
        let (counters, next) = &mut *lock(&self.counters);
        *next = next.wrapping_add(1);
        let slot = counters.insert(Counter { generation: *next, out: FULL, kept }) as u32;
        Weight { counter: CounterName { rank: world.rank(), slot, generation: *next }, amount: FULL }
    }

    fn find(&self, place: CounterName) -> Option<Object> {
        let counters = lock(&self.counters);
        match counters
            .0
            .get(place.slot as usize)
            .filter(|counter| counter.generation == place.generation)?
            .kept
        {
            Kept::Object(ref object) => Some(object.clone()),
            Kept::Weight(_) => None,
        }
    }

    /// Takes weight back; what was kept, if that is all. `Err` for weight that is not out.
    fn take_back(&self, Weight { counter: place, amount }: Weight) -> Result<Option<Kept>, ()> {
        let (counters, _) = &mut *lock(&self.counters);
        let slot = place.slot as usize;
        let counter =
            counters.get_mut(slot).filter(|counter| counter.generation == place.generation).ok_or(())?;
        counter.out = counter.out.checked_sub(amount).ok_or(())?;
        let done = counter.out == 0;
        Ok(done.then(|| counters.remove(slot).kept))
    }
}

/// Returns weight to its counter. Never waits.
fn give_back(world: World, weight: Weight) {
    let rank = weight.counter.rank;
    if rank != world.rank() {
        return remote::queue::<Weight>(world, rank, give_back, &weight);
    }
    match world.0.remotes.take_back(weight) {
        Ok(None) => {}
        Ok(Some(Kept::Object(object))) => drop(object),
        Ok(Some(Kept::Weight(weight))) => give_back(world, weight),
        Err(()) => world.abort("references to an object were returned that nobody had"),
    }
}

/// Weight that is returned when it is dropped.
struct Returned(World, Weight);

impl Drop for Returned {
    fn drop(&mut self) {
        give_back(self.0, self.1);
    }
}

/// The references of a rank that were cloned from each other.
struct Handle {
    object: CounterName,
    weight: Mutex<Returned>,
}

impl Handle {
    /// Some weight for a reference that leaves.
    fn split(&self) -> Weight {
        let Returned(world, weight) = &mut *lock(&self.weight);
        if weight.amount < 2 {
            *weight = world.0.remotes.add(*world, Kept::Weight(*weight));
        }
        let half = weight.amount / 2;
        weight.amount -= half;
        Weight { amount: half, ..*weight }
    }
}

/// A counted reference to an object that one rank has made ([`World::remote`]). It can be cloned, kept, and
/// sent to any rank, which can call the object wherever it is. When the last reference anywhere has been
/// dropped, the object is, on its own rank.
///
/// ```no_run
/// use std::sync::Mutex;
/// # pgas::run(|world| {
/// let log = world.remote(Mutex::new(Vec::<String>::new()));
/// world.call(1, |world, log: pgas::Remote<Mutex<Vec<String>>>| {
/// log.send(|log, line: String| log.lock().unwrap().push(line), format!("rank {} was here", world.rank()));
/// }, log.clone()).wait();
/// # })
/// ```
///
/// Calls get a `&T`; other calls and threads of that rank may have one at the same time. References that
/// form a circle over ranks are never dropped, as with [`Arc`]. A reference keeps the object if it was
/// written into a message that was not sent, because a later argument could not be written.
pub struct Remote<T> {
    world: World,
    handle: Arc<Handle>,
    object: PhantomData<fn() -> T>,
}

impl<T> Clone for Remote<T> {
    fn clone(&self) -> Self {
        Remote { world: self.world, handle: self.handle.clone(), object: PhantomData }
    }
}

impl<T> core::fmt::Debug for Remote<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let CounterName { rank, slot, .. } = self.handle.object;
        write!(f, "object {slot} of rank {rank} ({})", core::any::type_name::<T>())
    }
}

impl<T: Send + Sync + 'static> Remote<T> {
    pub(crate) fn new(world: World, value: T) -> Remote<T> {
        let weight = world.0.remotes.add(world, Kept::Object(Arc::new(value)));
        Remote::with(world, weight.counter, weight)
    }

    /// The rank that has the object.
    pub fn rank(&self) -> u32 {
        self.handle.object.rank
    }

    /// The object, on the rank that has it.
    pub fn local(&self) -> Option<Arc<T>> {
        if self.rank() != self.world.rank() {
            return None;
        }
        self.world.0.remotes.find(self.handle.object)?.downcast().ok()
    }

    fn aim<A: Args>(&self, args: A) -> Aimed<T, A> {
        Aimed { target: self.clone(), args }
    }

    /// Runs a function on the object, with these arguments; its result comes back. As [`World::call`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call<A: Data, R: Data>(&self, f: fn(&T, A) -> R, args: impl Argument<A>) -> Pending<R> {
        remote::call::<Remote<T>, A, R>(self.world, self.rank(), 0, f, &self.aim(args.into_argument()))
    }

    /// [`Remote::call`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_lent<B: Lent + ?Sized, R: Data>(&self, f: fn(&T, &B) -> R, value: &B) -> Pending<R> {
        remote::call::<Remote<T>, Lend<'_, B>, R>(self.world, self.rank(), 0, f, &self.aim(Lend(value)))
    }

    /// Runs a function without a result on the object. As [`World::send`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send<A: Data>(&self, f: fn(&T, A), args: impl Argument<A>) {
        remote::send::<Remote<T>, A>(self.world, self.rank(), 0, f, &self.aim(args.into_argument()));
    }

    /// [`Remote::send`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send_lent<B: Lent + ?Sized>(&self, f: fn(&T, &B), value: &B) {
        remote::send::<Remote<T>, Lend<'_, B>>(self.world, self.rank(), 0, f, &self.aim(Lend(value)));
    }

    /// Runs a function on the object that answers later, or has another rank answer. As [`World::ask`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask<A: Data, R: Data>(&self, f: fn(&T, Reply<R>, A), args: impl Argument<A>) -> Pending<R> {
        remote::ask::<Remote<T>, A, R>(self.world, self.rank(), 0, f, &self.aim(args.into_argument()))
    }

    /// [`Remote::ask`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask_lent<B: Lent + ?Sized, R: Data>(&self, f: fn(&T, Reply<R>, &B), value: &B) -> Pending<R> {
        remote::ask::<Remote<T>, Lend<'_, B>, R>(self.world, self.rank(), 0, f, &self.aim(Lend(value)))
    }
}

impl<T: Send + Sync + 'static, A: Args> On<A> for Remote<T> {
    type First<'f> = &'f T;
    type Sent = Aimed<T, A>;

    fn apply<U>(
        _: World,
        _: u32,
        (object, args): (CalledObject<T>, A::Of<'_>),
        f: impl for<'f, 'a> FnOnce(&'f T, A::Of<'a>) -> U,
    ) -> U {
        f(&object.0, args)
    }
}

impl<T> Remote<T> {
    fn with(world: World, object: CounterName, weight: Weight) -> Remote<T> {
        let handle = Handle { object, weight: Mutex::new(Returned(world, weight)) };
        Remote { world, handle: Arc::new(handle), object: PhantomData }
    }
}

/// The object's place, and the weight that travels.
impl<T> Serialize for Remote<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !body::is_written() {
            return Err(ser::Error::custom("a reference to an object outside a remote call"));
        }
        (self.handle.object, self.handle.split()).serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Remote<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (object, weight) = <(CounterName, Weight)>::deserialize(deserializer)?;
        let world = World::reading()
            .ok_or_else(|| de::Error::custom("a reference to an object outside a remote call"))?;
        if object.rank.max(weight.counter.rank) >= world.size() {
            return Err(de::Error::custom("a reference to an object of no rank"));
        }
        Ok(Remote::with(world, object, weight))
    }
}

/// Arguments of a call of an object. The reference travels with them, so the object stays until the call is
/// over.
pub(crate) struct Aimed<T, A> {
    target: Remote<T>,
    args: A,
}

/// The object of a call.
pub(crate) struct CalledObject<T>(Arc<T>, #[expect(dead_code, reason = "dropped with the call")] Returned);

/// Bytes of [`Aimed::target`].
const TARGET: usize = 32;

impl<T: Send + Sync + 'static, A: Args> Args for Aimed<T, A> {
    type Of<'a> = (CalledObject<T>, A::Of<'a>);

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let object = self.target.handle.object;
        let Weight { counter, amount } = self.target.handle.split();
        let words = [object.slot, object.generation, counter.rank, counter.slot, counter.generation, 0];
        out.extend_from_slice(bytemuck::bytes_of(&words));
        out.extend_from_slice(&amount.to_ne_bytes());
        self.args.write(out)
    }

    fn read(bytes: &[u8]) -> Result<Self::Of<'_>, String> {
        let (head, args) = bytes.split_at_checked(TARGET).ok_or("a call of an object without the object")?;
        let word = |i: usize| u32::from_ne_bytes(head[4 * i..4 * i + 4].try_into().unwrap_or_default());
        let world = World::reading().ok_or("a call of an object outside a remote call")?;
        let object = CounterName { rank: world.rank(), slot: word(0), generation: word(1) };
        let counter = CounterName { rank: word(2), slot: word(3), generation: word(4) };
        if counter.rank >= world.size() {
            return Err("a reference to an object of no rank".into());
        }
        let amount = u64::from_ne_bytes(head[24..].try_into().unwrap_or_default());
        let returned = Returned(world, Weight { counter, amount });
        let found = world.0.remotes.find(object).and_then(|object| object.downcast().ok());
        let object = found.ok_or_else(|| {
            format!("a call of an object that is none of type {}", core::any::type_name::<T>())
        })?;
        Ok((CalledObject(object, returned), A::read(args)?))
    }
}
