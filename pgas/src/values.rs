//! Collective calls over any value that `serde` writes.
//!
//! Numbers go as they are, by the operations of the core: nothing is written or read. Of another value each
//! member gives a *block*, which for a type is as long on all members:
//! ```text
//! 0   the type, as a word     8   how many bytes the value has     16  the first of them; then zeros
//! ```
//! The rest follows in a second operation: from the blocks all members know how much it is. A
//! reduction combines blocks. Where a value does not fit, or does not any more, it says so in its block, and
//! all members then get all values and combine them themselves.
//!
//! Members that call with different types are told: numbers by the core, which compares their types and
//! sizes, other values by the word in the block.

use crate::args::{Args, Data};
use crate::body;
use crate::team::Team;
use crate::world::World;
use core::any::{Any, TypeId, type_name};
use core::hash::{Hash, Hasher};
use gasnet::coll::ElementType;
use std::sync::Arc;

/// Bytes of a block before those of the value.
const HEAD: usize = 16;
/// Bytes of the shortest and of the longest block. Numbers have less, so nothing else is taken for one.
const LEAST_BLOCK: usize = 64;
const MOST_BLOCK: usize = 1024;
/// Instead of its length: a value that is too long for a block.
const TOO_LONG: u64 = u64::MAX;

/// Collective calls of values.
impl Team {
    /// Combines the values of all members by `f`, in the order of the team; all members get the result. A
    /// value can be anything that can be an argument of a remote call: numbers, strings, tuples, lists,
    /// types that derive `Serialize` and `Deserialize`.
    ///
    /// `f` has to be associative, and the same on all members. It is called any number of times, on any of
    /// them. It must not wait, nor call anything of this crate.
    ///
    /// Numbers are sent as they are. Other values are combined on their way as long as they have few bytes
    /// (48, and as many as a type has in memory, up to 1,008); longer ones come to all members first, which
    /// combine them each for itself.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. The value cannot be written or read, as in remote calls; what belongs to one
    /// rank at a time, such as a [`Remote`](crate::Remote) or a [`Reply`](crate::Reply), cannot. A panic in
    /// `f` ends the job, and so do members that give values of different types.
    #[track_caller]
    pub fn reduce<T: Data>(&self, mine: T, f: impl Fn(T, T) -> T + Send + Sync + 'static) -> T {
        reduce(self, mine, f)
    }

    /// The value of member `root`, on all members; those that the others give are dropped. Values are those
    /// of [`Team::reduce`].
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. There is no such member, or the value cannot be written or read, as in
    /// [`Team::reduce`]. Members that give values of different types end the job.
    #[track_caller]
    pub fn broadcast<T: Data>(&self, root: u32, mine: T) -> T {
        broadcast(self, root, mine)
    }

    /// The values of all members, on all of them, by member number. Values are those of [`Team::reduce`];
    /// they may have different sizes.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`Team::barrier`]. The value cannot be written or read, as in [`Team::reduce`]. Members that give
    /// values of different types end the job.
    #[track_caller]
    pub fn gather_all<T: Data>(&self, mine: T) -> Vec<T> {
        gather_all(self, mine)
    }
}

/// Evaluates an expression for the number that a type is, and gives `None` for other types.
macro_rules! for_number {
    ($T:ty as $N:ident => $evaluate:expr) => {
        for_number!(@ $T, $N, $evaluate, u64 u32 i64 i32 f64 usize isize f32 u16 i16 u8 i8 u128 i128)
    };
    (@ $T:ty, $N:ident, $evaluate:expr, $($number:ty)*) => {
        'number: {
            $(
                if TypeId::of::<$T>() == TypeId::of::<$number>() {
                    type $N = $number;
                    break 'number Some($evaluate);
                }
            )*
            None
        }
    };
}

/// The value, as one of a type that is known to be the same.
#[inline]
fn same<A: 'static, B: 'static>(value: A) -> B {
    let mut value = Some(value);
    let value: &mut dyn Any = &mut value;
    let value = value.downcast_mut::<Option<B>>().and_then(Option::take);
    value.unwrap_or_else(|| unreachable!("a {} that is no {}", type_name::<A>(), type_name::<B>()))
}

/// A type as a word, the same on all ranks: they run the same executable.
pub(crate) fn word_of<T: 'static>() -> u64 {
    struct Word(u64);
    impl Hasher for Word {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            // FNV-1a.
            let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            self.0 = bytes.iter().fold(self.0, step);
        }
    }
    let mut word = Word(0xcbf2_9ce4_8422_2325);
    TypeId::of::<T>().hash(&mut word);
    word.finish()
}

/// Bytes of the blocks of a type: most values of it fit.
const fn block_bytes<T>() -> usize {
    let whole = HEAD + size_of::<T>();
    let whole = if whole < LEAST_BLOCK { LEAST_BLOCK } else { whole };
    if whole > MOST_BLOCK { MOST_BLOCK } else { whole.next_multiple_of(8) }
}

/// The two words at the beginning of a block.
fn head(block: &[u8]) -> [u64; 2] {
    bytemuck::pod_read_unaligned(&block[..HEAD])
}

fn set_head(block: &mut [u8], head: [u64; 2]) {
    block[..HEAD].copy_from_slice(bytemuck::bytes_of(&head));
}

/// Makes a buffer the block of a value; what does not fit is still behind it.
fn write<T: Data>(value: &T, block: &mut Vec<u8>) -> Result<(), String> {
    block.clear();
    block.resize(HEAD, 0);
    body::apart(|| value.write(block))?;
    let len = block.len() - HEAD;
    set_head(block, [word_of::<T>(), len as u64]);
    if block.len() < block_bytes::<T>() {
        block.resize(block_bytes::<T>(), 0);
    }
    Ok(())
}

/// A value's bytes, as they came.
fn read<T: Data>(world: World, bytes: &[u8]) -> Result<T, String> {
    world.read(Vec::new(), || <T as Args>::read(bytes))
}

/// The value in a block, if it is there as a whole.
fn read_block<T: Data>(world: World, block: &[u8]) -> Option<Result<T, String>> {
    let [_, len] = head(block);
    let bytes = block[HEAD..].get(..usize::try_from(len).ok()?)?;
    Some(read(world, bytes))
}

/// This member's block, and what does not fit into it.
#[track_caller]
fn own<T: Data>(what: &str, mine: &T) -> (Vec<u8>, Vec<u8>) {
    let mut block = Vec::new();
    match write(mine, &mut block) {
        Ok(()) => {
            let rest = block.split_off(block_bytes::<T>());
            (block, rest)
        }
        Err(why) => panic!("{what}: {why}"),
    }
}

/// Ends the job if a member's block is of another type.
fn check<T: 'static>(team: &Team, what: &str, member: usize, block: &[u8]) {
    if head(block)[0] != word_of::<T>() {
        of_other_types::<T>(team, what, member);
    }
}

#[cold]
fn of_other_types<T>(team: &Team, what: &str, member: usize) -> ! {
    team.world().abort(&format!(
        "{what}: rank {} gives a value of type `{}`, and rank {} one of another type: all members must give values of one type",
        team.world().rank(),
        type_name::<T>(),
        team.rank(member as u32)
    ))
}

/// Bytes of the value of a block that are not in it.
fn missing(block: &[u8]) -> usize {
    let [_, len] = head(block);
    usize::try_from(len).unwrap_or(usize::MAX).saturating_sub(block.len() - HEAD)
}

/// The value of a block, and of what did not fit.
#[track_caller]
fn whole<T: Data>(team: &Team, what: &str, member: usize, block: &[u8], rest: &[u8]) -> T {
    let read = read_block(team.world(), block)
        .unwrap_or_else(|| read(team.world(), &[&block[HEAD..], rest].concat()));
    match read {
        Ok(value) => value,
        Err(why) => panic!("{what}: of rank {}: {why}", team.rank(member as u32)),
    }
}

#[track_caller]
fn gather_all<T: Data>(team: &Team, mine: T) -> Vec<T> {
    /// The number is sent as it is.
    fn numbers<T: Data>(team: &Team, mine: T) -> Result<Vec<T>, T> {
        let mut mine = Some(mine);
        let all = for_number!(T as N => {
            same::<Vec<N>, Vec<T>>(team.gather_all_slice(mine.take().map(same::<T, N>).into_iter().collect()))
        });
        all.ok_or_else(|| mine.unwrap_or_else(|| unreachable!("it was sent")))
    }
    const WHAT: &str = "a gathering of values";
    let mine = match numbers(team, mine) {
        Ok(all) => return all,
        Err(mine) => mine,
    };
    let (block, rest) = own(WHAT, &mine);
    let blocks = team.gather_all_slice(block);
    let blocks: Vec<&[u8]> = blocks.chunks_exact(block_bytes::<T>()).collect();
    blocks.iter().enumerate().for_each(|(member, block)| check::<T>(team, WHAT, member, block));
    let counts: Vec<usize> = blocks.iter().map(|block| missing(block)).collect();
    let rests = if counts.iter().all(|n| *n == 0) { rest } else { team.gather_all_parts(rest, &counts) };
    let mut left = &rests[..];
    let parts = counts.iter().map(|n| left.split_off(..*n).unwrap_or_default());
    let all = blocks.iter().zip(parts).enumerate();
    all.map(|(member, (block, rest))| whole(team, WHAT, member, block, rest)).collect()
}

#[track_caller]
fn broadcast<T: Data>(team: &Team, root: u32, mine: T) -> T {
    fn numbers<T: Data>(team: &Team, root: u32, mine: T) -> Result<T, T> {
        let mut mine = Some(mine);
        let of_root = for_number!(T as N => {
            let mine = mine.take().map(same::<T, N>);
            same::<N, T>(team.broadcast_slice(root, mine.into_iter().collect())[0])
        });
        of_root.ok_or_else(|| mine.unwrap_or_else(|| unreachable!("it was sent")))
    }
    const WHAT: &str = "a broadcast of a value";
    let mine = match numbers(team, root, mine) {
        Ok(of_root) => return of_root,
        Err(mine) => mine,
    };
    let is_root = team.member() == root;
    let (block, rest) = if is_root { own(WHAT, &mine) } else { (vec![0; block_bytes::<T>()], Vec::new()) };
    let block = team.broadcast_slice(root, block);
    check::<T>(team, WHAT, root as usize, &block);
    let rest = match missing(&block) {
        0 => rest,
        n => team.broadcast_slice(root, if is_root { rest } else { vec![0; n] }),
    };
    whole(team, WHAT, root as usize, &block, &rest)
}

#[track_caller]
fn reduce<T: Data>(team: &Team, mine: T, f: impl Fn(T, T) -> T + Send + Sync + 'static) -> T {
    const WHAT: &str = "a reduction of values";
    let (mut mine, mut f) = (Some(mine), Some(f));
    let sum = for_number!(T as N => {
        let (mine, f) = (mine.take().map(same::<T, N>), f.take().unwrap_or_else(|| unreachable!("it is here")));
        let of_numbers = move |a: N, b: N| same::<T, N>(f(same::<N, T>(a), same::<N, T>(b)));
        same::<N, T>(team.reduce_slice(mine.into_iter().collect(), of_numbers)[0])
    });
    if let Some(sum) = sum {
        return sum;
    }
    let (Some(mine), Some(f)) = (mine, f) else { unreachable!("a value that was sent is no number") };
    let (mut block, rest) = own(WHAT, &mine);
    if !rest.is_empty() {
        set_head(&mut block, [word_of::<T>(), TOO_LONG]);
    }
    let (f, world) = (Arc::new(f), team.world());
    let combine = f.clone();
    let sum = team.reduce_blocks(block, ElementType::of::<T>(), move |first, second| {
        let (a, b) = (head(first), head(second));
        if a[0] != b[0] {
            world.abort(&format!(
                "{WHAT}: ranks give values of different types, rank {} of type `{}`",
                world.rank(),
                type_name::<T>()
            ));
        }
        if let Some(sum) = combined(world, first, second, &*combine) {
            first.copy_from_slice(&sum);
        } else {
            set_head(first, [a[0], TOO_LONG]);
        }
    });
    match read_block(world, &sum) {
        Some(Ok(sum)) => sum,
        Some(Err(why)) => panic!("{WHAT}: {why}"),
        None => {
            let all = gather_all(team, mine);
            // Not empty: this member is one.
            let sum = team.combining(|| all.into_iter().reduce(|a, b| f(a, b)));
            sum.unwrap_or_else(|| unreachable!("a team without members"))
        }
    }
}

/// The block that combines the values of two blocks; `None` if one of the three does not fit. A value that
/// cannot be read or written is a panic, which ends the job: some members have the result already.
fn combined<T: Data>(world: World, first: &[u8], second: &[u8], f: &impl Fn(T, T) -> T) -> Option<Vec<u8>> {
    let value = |block| Some(read_block(world, block)?.unwrap_or_else(|why| panic!("a reduction: {why}")));
    let sum = f(value(first)?, value(second)?);
    let mut block = Vec::new();
    write(&sum, &mut block).unwrap_or_else(|why| panic!("a reduction: {why}"));
    (block.len() == first.len()).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_room_for_most_values() {
        assert_eq!(block_bytes::<bool>(), LEAST_BLOCK);
        assert_eq!(block_bytes::<String>(), LEAST_BLOCK);
        assert_eq!(block_bytes::<[u64; 10]>(), HEAD + 80);
        assert_eq!(block_bytes::<[u8; 61]>(), 80);
        assert_eq!(block_bytes::<[u64; 1000]>(), MOST_BLOCK);
    }

    #[test]
    fn a_block_says_what_is_missing() {
        for len in [0, 1, 46, 47, 48, 300] {
            let text = "x".repeat(len);
            let (block, rest) = own("a test", &text);
            assert_eq!((block.len(), missing(&block)), (LEAST_BLOCK, rest.len()), "{len}");
            assert_eq!(head(&block)[0], word_of::<String>());
            assert_eq!(rest.is_empty(), len < 48, "{len}");
        }
    }

    #[test]
    fn types_have_words_of_their_own() {
        let words = [word_of::<u8>(), word_of::<bool>(), word_of::<String>(), word_of::<Option<u8>>()];
        assert!((0..words.len()).all(|i| !words[..i].contains(&words[i])), "{words:x?}");
    }

    #[test]
    fn numbers_stay_themselves() {
        fn number<T: Data>() -> Option<usize> {
            for_number!(T as N => size_of::<N>())
        }
        assert_eq!((number::<u16>(), number::<f64>(), number::<u128>()), (Some(2), Some(8), Some(16)));
        assert_eq!((number::<bool>(), number::<(u64,)>(), number::<String>()), (None, None, None));
        assert_eq!(same::<u32, u32>(7), 7);
    }
}
