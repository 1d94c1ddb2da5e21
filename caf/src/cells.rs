//! Words that images operate on atomically: the cells of locks and events, and this library's own words
//! ([`crate::peers`]).

use crate::coarray::Coarray;
use crate::image::Image;
use crate::memory::CELL_BYTES;
use crate::stat::Failure;
use gasnet::RankId;
use gasnet::atomics::{Function, Operation, WordType};

/// A word of 64 bits in some segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Whose segment.
    pub rank: RankId,
    /// From its start.
    pub offset: u64,
}

impl Word {
    /// A word of this library of some image.
    pub fn own(rank: RankId, offset: u64) -> Word {
        Word { rank, offset }
    }

    /// The word `bytes` behind this one.
    pub fn after(self, bytes: u64) -> Word {
        Word { offset: self.offset + bytes, ..self }
    }
}

impl Image {
    /// The cell of element `index` of locks or events on an image of the current team; 0 is this one.
    ///
    /// # Errors
    /// There is no such image or element.
    pub fn cell(&self, token: &Coarray, index: usize, image: i32) -> Result<Word, Failure> {
        if index as u64 >= token.count {
            return Err(Failure::other(format!(
                "element {} of {} locks or events does not exist",
                index.wrapping_add(1),
                token.count
            )));
        }
        let image = if image == 0 { self.level().this_image() } else { image };
        let place = self.locate(token, index * CELL_BYTES as usize, image)?;
        Ok(Word { rank: place.rank, offset: place.offset })
    }

    /// An operation on a word; returns what it was. It acquires and releases.
    pub fn word(&self, at: Word, function: Function, a: u64, b: u64) -> u64 {
        self.rank.atomics().apply(at.rank, at.offset, Operation { function, word: WordType::U64 }, a, b)
    }

    /// Reads a word.
    pub fn read_word(&self, at: Word) -> u64 {
        self.word(at, Function::Get, 0, 0)
    }

    /// Sets a word if it is `old`; returns what it was.
    pub fn swap_word(&self, at: Word, old: u64, new: u64) -> u64 {
        self.word(at, Function::CompareSwap, old, new)
    }
}
