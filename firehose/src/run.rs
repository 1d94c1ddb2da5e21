//! Nodes, buckets, and the keys under which buckets are registered.

/// A node's number.
pub type Node = u32;

/// Bits of a bucket's number; with them a node's number fits into one word.
pub(crate) const BUCKET_BITS: u32 = 44;

/// A run of consecutive buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Number of the first one.
    pub first: u64,
    /// How many buckets.
    pub count: u64,
}

impl Run {
    /// The buckets' numbers.
    pub fn buckets(self) -> std::ops::Range<u64> {
        self.first..self.first + self.count
    }

    /// Appends a bucket to a list of runs: to the last one if it comes right after it.
    pub fn append(runs: &mut Vec<Run>, bucket: u64) {
        match runs.last_mut() {
            Some(run) if run.first + run.count == bucket => run.count += 1,
            _ => runs.push(Run { first: bucket, count: 1 }),
        }
    }

    /// Whether the bucket is one of them.
    pub fn contains(self, bucket: u64) -> bool {
        bucket.wrapping_sub(self.first) < self.count
    }
}

/// Keys of consecutive buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// All have this key.
    Uniform(u64),
    /// One for each bucket.
    Each(Box<[u64]>),
}

impl Keys {
    /// The key of the `index`th bucket.
    #[inline]
    pub fn of(&self, index: usize) -> u64 {
        match self {
            Keys::Uniform(key) => *key,
            Keys::Each(keys) => keys[index],
        }
    }

    /// The key of the `index`th bucket, if there are that many.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        match self {
            Keys::Uniform(key) => Some(*key),
            Keys::Each(keys) => keys.get(index).copied(),
        }
    }

    /// Whether there is a key for each of that many buckets.
    pub fn cover(&self, buckets: u64) -> bool {
        match self {
            Keys::Uniform(_) => true,
            Keys::Each(keys) => keys.len() as u64 >= buckets,
        }
    }

    /// Collects the keys of at least one bucket; allocates only if they differ.
    #[inline]
    pub fn collect(count: u64, mut key: impl FnMut(u64) -> u64) -> Keys {
        let first = key(0);
        match (1..count).find(|&i| key(i) != first) {
            None => Keys::Uniform(first),
            Some(_) => Keys::Each((0..count).map(key).collect()),
        }
    }
}

/// Buckets that are held under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The buckets.
    pub run: Run,
    /// The key of all of them.
    pub key: u64,
}

impl Held {
    /// Appends a bucket to a list: to the last run if the bucket continues it under the same key.
    pub fn append(held: &mut Vec<Held>, bucket: u64, key: u64) {
        match held.last_mut() {
            Some(last) if last.key == key && last.run.first + last.run.count == bucket => last.run.count += 1,
            _ => held.push(Held { run: Run { first: bucket, count: 1 }, key }),
        }
    }
}
