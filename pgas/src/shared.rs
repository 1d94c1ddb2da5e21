//! Objects that each rank has one of, under one name.

use crate::args::{Args, Argument, Data, Lend, Lent};
use crate::pending::Pending;
use crate::remote::{self, On};
use crate::reply::Reply;
use crate::world::World;
use core::marker::PhantomData;
use core::ops::Deref;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of an object that each rank has one of: see [`World::share`]. It can be copied, and sent as an
/// argument. It derefs to this rank's object.
///
/// Functions get a `&T` of the rank that they run on. Other calls and this rank's own threads may have one
/// at the same time, so a `T` that changes has to be a `Mutex`, an atomic or the like.
pub struct Shared<T> {
    world: World,
    number: u32,
    object: PhantomData<fn() -> T>,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T> core::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "shared object {} ({})", self.number, core::any::type_name::<T>())
    }
}

/// The object of a number.
pub(crate) fn object<T: 'static>(world: World, number: u32) -> &'static T {
    match world.object(number) {
        Some(object) => object,
        None => world.abort(&format!(
            "there is no shared object {number} of type {} on rank {}: all ranks must share the same objects in the same order",
            core::any::type_name::<T>(),
            world.rank()
        )),
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    pub(crate) fn new(world: World, number: u32) -> Shared<T> {
        Shared { world, number, object: PhantomData }
    }

    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// The world that the object is in.
    pub fn world(self) -> World {
        self.world
    }

    /// This rank's object.
    pub fn local(self) -> &'static T {
        object(self.world, self.number)
    }

    /// Runs a function on a rank's object, with these arguments; its result comes back. As [`World::call`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call<A: Data, R: Data>(
        self,
        rank: u32,
        f: fn(&'static T, A) -> R,
        args: impl Argument<A>,
    ) -> Pending<R> {
        remote::call::<Shared<T>, A, R>(self.world, rank, self.number, f, &args.into_argument())
    }

    /// [`Shared::call`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_lent<B: Lent + ?Sized, R: Data>(
        self,
        rank: u32,
        f: fn(&'static T, &B) -> R,
        value: &B,
    ) -> Pending<R> {
        remote::call::<Shared<T>, Lend<'_, B>, R>(self.world, rank, self.number, f, &Lend(value))
    }

    /// Runs a function without a result on a rank's object. As [`World::send`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send<A: Data>(self, rank: u32, f: fn(&'static T, A), args: impl Argument<A>) {
        remote::send::<Shared<T>, A>(self.world, rank, self.number, f, &args.into_argument());
    }

    /// [`Shared::send`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn send_lent<B: Lent + ?Sized>(self, rank: u32, f: fn(&'static T, &B), value: &B) {
        remote::send::<Shared<T>, Lend<'_, B>>(self.world, rank, self.number, f, &Lend(value));
    }

    /// Runs a function on a rank's object that answers later, or has another rank answer. As [`World::ask`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask<A: Data, R: Data>(
        self,
        rank: u32,
        f: fn(&'static T, Reply<R>, A),
        args: impl Argument<A>,
    ) -> Pending<R> {
        remote::ask::<Shared<T>, A, R>(self.world, rank, self.number, f, &args.into_argument())
    }

    /// [`Shared::ask`] with an argument that the function borrows from the message, as [`World::call_lent`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn ask_lent<B: Lent + ?Sized, R: Data>(
        self,
        rank: u32,
        f: fn(&'static T, Reply<R>, &B),
        value: &B,
    ) -> Pending<R> {
        remote::ask::<Shared<T>, Lend<'_, B>, R>(self.world, rank, self.number, f, &Lend(value))
    }

    /// Runs an `async` function on a rank's object, as a task there. As [`World::call_async`].
    ///
    /// # One-sided
    ///
    /// # Panics
    /// As [`World::call`].
    #[track_caller]
    pub fn call_async<A: Data, R: Data, U>(
        self,
        rank: u32,
        f: fn(&'static T, A) -> U,
        args: impl Argument<A>,
    ) -> Pending<R>
    where
        U: Future<Output = R> + Send + 'static,
    {
        remote::call_async::<Shared<T>, A, R, U>(self.world, rank, self.number, f, &args.into_argument())
    }
}

impl<T: 'static, A: Args> On<A> for Shared<T> {
    type First<'f> = &'static T;
    type Sent = A;

    #[inline]
    fn apply<U>(
        world: World,
        number: u32,
        sent: A::Of<'_>,
        f: impl for<'f, 'a> FnOnce(&'static T, A::Of<'a>) -> U,
    ) -> U {
        f(object(world, number), sent)
    }
}

impl<T: Send + Sync + 'static> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.local()
    }
}

impl<T> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.number.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        let world = World::reading()
            .ok_or_else(|| de::Error::custom("a shared object's name outside a remote call"))?;
        Ok(Shared { world, number, object: PhantomData })
    }
}
