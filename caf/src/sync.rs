//! `sync all`, `sync images` and `sync memory`.
//!
//! **Pairs.** Each image counts how often it has executed `sync images` with each other image, and keeps the
//! count in a word of that image, too. The k-th statement of A with B ends when B's count for A, which is in
//! A's memory, is at least k. Counts go on from team to team, because two images execute the statements that
//! concern both in one order.

use crate::cells::Word;
use crate::image::{Image, lock};
use crate::joint::Watch;
use crate::peers::pair;
use crate::stat::{Failure, code};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{Categories, RankId};
use std::sync::atomic::{Ordering::*, fence};

const SET: Operation = Operation { function: Function::Set, word: WordType::U64 };

impl Image {
    /// Completes what this image has written.
    pub fn settle(&self) {
        self.rank.implicit().wait(Categories::PUTS);
        let mut writes = lock(&self.writes);
        if !writes.is_empty() && std::thread::current().id() == self.thread {
            writes.clear();
        }
    }

    /// `sync memory`: completes what this image has written, and orders its accesses.
    pub fn sync_memory(&self) {
        self.note_shapes();
        self.settle();
        // ORDER: SeqCst; pairs with the fences of other images, on both sides of a word or message by which
        // they learn of this one.
        fence(SeqCst);
    }

    /// `sync all`.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// An image of the team is gone.
    pub fn sync_all(&self) -> Result<(), Failure> {
        self.sync_memory();
        let result = self.meet(self.level());
        // ORDER: SeqCst; as in `sync_memory`.
        fence(SeqCst);
        result
    }

    /// `sync images` with these images of the current team, or with all (`*`).
    ///
    /// # Errors
    /// An image does not exist, is named twice, or is gone. With the first two nothing is waited for.
    pub fn sync_images(&self, images: Option<&[i32]>) -> Result<(), Failure> {
        let level = self.level();
        if let Some(images) = images {
            check_images(images, level.size() as i32)?;
        }
        self.sync_memory();
        let me = self.rank.id();
        let partners = || {
            let all = if images.is_none() { &level.ranks[..] } else { &[] };
            let named = images.unwrap_or_default().iter().filter_map(|image| level.rank_of(*image));
            all.iter().copied().map(RankId).chain(named).filter(|r| *r != me)
        };
        for other in partners() {
            let count = self.peers.pairs[other.0 as usize].fetch_add(1, Relaxed) + 1;
            self.start_set(Word::own(other, pair(me.0)), count);
        }
        let mut missing = None;
        for other in partners() {
            let word = Word::own(me, pair(other.0));
            let count = self.peers.pairs[other.0 as usize].load(Relaxed);
            let here = || self.read_word(word) >= count;
            let mut watch = Watch::default();
            self.rank.waits().wait_for("sync images", Some(other), || {
                self.watch(other, &mut watch);
                here() || self.gone(other).is_some()
            });
            // It may have come here before it left.
            if let Some(gone) = self.gone(other).filter(|_| !here())
                && missing.is_none_or(|(first, _)| gone < first)
            {
                missing = Some((gone, other));
            }
        }
        self.rank.implicit().wait(Categories::PUTS);
        // ORDER: SeqCst; as in `sync_memory`.
        fence(SeqCst);
        missing.map_or(Ok(()), |(gone, other)| Err(gone.failure(level.image(other))))
    }

    /// Starts to set a word of another image; done at the latest when the implicit puts are.
    #[expect(unsafe_code, reason = "the operation could write an old value")]
    fn start_set(&self, at: Word, value: u64) {
        // SAFETY: the old value goes nowhere.
        unsafe { self.rank.atomics().apply_nbi(at.rank, at.offset, SET, [value, 0], std::ptr::null_mut()) };
    }
}

/// Whether these are images of a team of `size`, each named once.
fn check_images(images: &[i32], size: i32) -> Result<(), Failure> {
    if let Some(image) = images.iter().find(|image| !(1..=size).contains(*image)) {
        return Err(Failure::other(format!("sync images with image {image} of a team of {size} images")));
    }
    let mut sorted = images.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(Failure::new(code::DUPLICATE_IMAGE, format!("sync images names image {} twice", pair[0])))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_exist_and_are_named_once() {
        assert_eq!(check_images(&[], 1), Ok(()));
        assert_eq!(check_images(&[3, 1, 2], 3), Ok(()));
        let code_of = |images: &[i32]| check_images(images, 3).unwrap_err();
        assert_eq!(code_of(&[2, 1, 2]).code, code::DUPLICATE_IMAGE);
        assert!(code_of(&[2, 1, 2]).text.contains("image 2 twice"));
        for wrong in [0, 4, -1, i32::MIN, i32::MAX] {
            // Not the code of an image that is named twice.
            assert_eq!(code_of(&[1, wrong, wrong]).code, code::OTHER, "{wrong}");
        }
    }
}
