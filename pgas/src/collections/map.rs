//! A hash table whose entries are spread over the ranks by their keys.

use super::own::OwnPart;
use crate::remote::{self, On};
use crate::shared::object;
use crate::{Argument, Data, Pending, Shared, World};
use core::marker::PhantomData;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Whatever can be the key of a [`DistMap`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a `DistMap`",
    label = "a key is `Hash + Eq + Send`, and travels: `serde::Serialize + serde::de::DeserializeOwned + 'static`",
    note = "a borrowed key, such as `&str`, is owned by the table: use `String`"
)]
pub trait Key: Data + Hash + Eq + Send {}
impl<K: Data + Hash + Eq + Send> Key for K {}

/// Keys that make a message of [`DistMap::get_many`].
const BATCH: usize = 256;

/// A hash table whose entries are spread over the ranks by their keys. It is a name, like [`Shared`]: it can
/// be copied, and sent as an argument.
///
/// ```no_run
/// # pgas::run(|world| {
/// let ages = pgas::DistMap::<String, u32>::new(world);
/// ages.insert(format!("rank {}", world.rank()), world.rank());
/// ages.update("all".into(), |sum, n| *sum += n, 1);
/// world.settle(); // all insertions and updates have been made
/// assert_eq!(ages.get("all".into()).wait(), Some(world.size()));
/// # })
/// ```
///
/// Functions run on the rank that has the entry. They may not wait, and may not use the same table by
/// [`DistMap::for_each`].
pub struct DistMap<K: 'static, V: 'static> {
    parts: Shared<OwnPart<HashMap<K, V>>>,
}

impl<K, V> Clone for DistMap<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for DistMap<K, V> {}

impl<K, V> core::fmt::Debug for DistMap<K, V> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "map in {:?}", self.parts)
    }
}

impl<K, V> DistMap<K, V> {
    /// Makes an empty table. It lives as long as the job.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn new(world: World) -> DistMap<K, V>
    where
        K: Key,
        V: Send,
    {
        DistMap { parts: world.share(OwnPart::new(HashMap::new())) }
    }
}

/// The receiver of functions of [`DistMap::update`]: a value.
struct Value<K, V>(PhantomData<(K, V)>);

impl<K: Key, V: Default + Send + 'static, A: Data> On<A> for Value<K, V> {
    type First<'f> = &'f mut V;
    type Sent = (K, A);

    fn apply<U>(
        world: World,
        parts: u32,
        (key, args): (K, A),
        f: impl for<'f> FnOnce(&'f mut V, A) -> U,
    ) -> U {
        object::<OwnPart<HashMap<K, V>>>(world, parts).with(|part| f(part.entry(key).or_default(), args))
    }
}

/// The receiver of functions of [`DistMap::call`]: an entry.
struct MapSlot<K, V>(PhantomData<(K, V)>);

impl<K: Key, V: Send + 'static, A: Data> On<A> for MapSlot<K, V> {
    type First<'f> = Entry<'f, K, V>;
    type Sent = (K, A);

    fn apply<U>(
        world: World,
        parts: u32,
        (key, args): (K, A),
        f: impl for<'f> FnOnce(Entry<'f, K, V>, A) -> U,
    ) -> U {
        object::<OwnPart<HashMap<K, V>>>(world, parts).with(|part| f(part.entry(key), args))
    }
}

impl<K: Key, V: Send + 'static> DistMap<K, V> {
    /// The rank that has a key's entry, or would have it.
    pub fn owner(self, key: &K) -> u32 {
        // The same on all ranks, which run the same build; another one than that of the parts, whose tables
        // would have all their entries in a few places otherwise.
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        ((u128::from(hasher.finish()) * u128::from(self.parts.world().size())) >> 64) as u32
    }

    /// Sets the value of a key.
    ///
    /// # One-sided
    /// As [`World::send`]. Of several insertions of a key that no [`World::settle`] is between, any may be
    /// the last.
    #[track_caller]
    pub fn insert(self, key: K, value: V)
    where
        V: Data,
    {
        let rank = self.owner(&key);
        self.parts.send(
            rank,
            |part, (key, value): (K, V)| part.with(|part| _ = part.insert(key, value)),
            (key, value),
        );
    }

    /// Changes the value of a key, which is the default where there is none.
    ///
    /// # One-sided
    /// As [`World::send`].
    #[track_caller]
    pub fn update<A: Data>(self, key: K, f: fn(&mut V, A), args: impl Argument<A>)
    where
        V: Default,
    {
        let (world, rank) = (self.parts.world(), self.owner(&key));
        remote::send::<Value<K, V>, A>(world, rank, self.parts.number(), f, &(key, args.into_argument()));
    }

    /// Runs a function on the entry of a key, which may be vacant, and brings its result back.
    ///
    /// # One-sided
    /// As [`World::call`].
    #[track_caller]
    pub fn call<A: Data, R: Data>(
        self,
        key: K,
        f: fn(Entry<'_, K, V>, A) -> R,
        args: impl Argument<A>,
    ) -> Pending<R> {
        let (world, rank) = (self.parts.world(), self.owner(&key));
        remote::call::<MapSlot<K, V>, A, R>(world, rank, self.parts.number(), f, &(key, args.into_argument()))
    }

    /// The value of a key.
    ///
    /// # One-sided
    /// As [`World::call`].
    #[track_caller]
    pub fn get(self, key: K) -> Pending<Option<V>>
    where
        V: Data + Clone,
    {
        let rank = self.owner(&key);
        self.parts.call(rank, |part, key: K| part.with(|part| part.get(&key).cloned()), key)
    }

    /// The values of these keys, in this order. Keys of one rank travel together.
    ///
    /// # One-sided
    /// Waits for the answers, and serves calls meanwhile.
    ///
    /// # Panics
    /// In a remote function, which must not wait.
    #[track_caller]
    pub fn get_many(self, keys: impl IntoIterator<Item = K>) -> Vec<Option<V>>
    where
        V: Data + Clone,
    {
        let mut lanes: Vec<(Vec<usize>, Vec<K>)> =
            self.parts.world().ranks().map(|_| Default::default()).collect();
        let mut coming = Vec::new();
        let mut asked = 0;
        let find = |rank, keys: Vec<K>| {
            self.parts.call(
                rank,
                |part, keys: Vec<K>| -> Vec<Option<V>> {
                    part.with(|part| keys.iter().map(|key| part.get(key).cloned()).collect())
                },
                keys,
            )
        };
        for key in keys {
            let rank = self.owner(&key);
            let (places, batch) = &mut lanes[rank as usize];
            places.push(asked);
            batch.push(key);
            asked += 1;
            if batch.len() == BATCH {
                let (places, batch) = core::mem::take(&mut lanes[rank as usize]);
                coming.push((places, find(rank, batch)));
            }
        }
        for (rank, (places, batch)) in (0..).zip(lanes).filter(|(_, (places, _))| !places.is_empty()) {
            coming.push((places, find(rank, batch)));
        }
        let mut values: Vec<Option<V>> = (0..asked).map(|_| None).collect();
        for (places, pending) in coming {
            places.into_iter().zip(pending.wait()).for_each(|(at, value)| values[at] = value);
        }
        values
    }

    /// Removes the entry of a key; its value.
    ///
    /// # One-sided
    /// As [`World::call`].
    #[track_caller]
    pub fn remove(self, key: K) -> Pending<Option<V>>
    where
        V: Data,
    {
        let rank = self.owner(&key);
        self.parts.call(rank, |part, key: K| part.with(|part| part.remove(&key)), key)
    }

    /// Entries of this rank's part.
    pub fn local_len(self) -> usize {
        self.parts.with(|part| part.len())
    }

    /// Entries of all ranks together.
    ///
    /// # Collective
    /// Counts what was inserted before the last [`World::settle`].
    pub fn len(self) -> usize {
        self.parts.world().reduce(self.local_len() as u64, |a, b| a + b) as usize
    }

    /// Whether there are none.
    ///
    /// # Collective
    /// As [`DistMap::len`].
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Runs a closure on each entry of this rank's part.
    ///
    /// # Panics
    /// The closure waits, or uses the table.
    #[track_caller]
    pub fn for_each(self, mut f: impl FnMut(&K, &mut V)) {
        self.parts.with(|part| part.iter_mut().for_each(|(key, value)| f(key, value)));
    }

    /// Takes this rank's part out, and leaves none.
    pub fn take_local(self) -> HashMap<K, V> {
        self.parts.take()
    }
}

impl<K, V> Serialize for DistMap<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.serialize(serializer)
    }
}

impl<'de, K, V> Deserialize<'de> for DistMap<K, V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(DistMap { parts: Shared::deserialize(deserializer)? })
    }
}
