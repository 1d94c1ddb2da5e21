//! State of image control: an image's own part, its knowledge of the others, and the words of this library
//! at the start of each segment.
//!
//! ```text
//! own words of an image
//!   0   next       the image that waits for a lock behind this one
//!   8   granted    set when this image gets the lock it waits for
//!   16  pairs      for each image, how often it has executed `sync images` with this one
//! ```

use crate::stat::{Failure, code};
use gasnet::atomics::Operation;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

/// Place of an own word.
pub const NEXT: u64 = 0;
/// Place of an own word.
pub const GRANTED: u64 = 8;
const PAIRS: u64 = 16;

/// Bytes of the own words in a job of so many images.
pub fn control_bytes(images: u32) -> u64 {
    (PAIRS + u64::from(images) * 8).next_multiple_of(4096)
}

/// Place of the word that counts what an image, by its rank, has done together with the owner.
pub fn pair(from: u32) -> u64 {
    PAIRS + u64::from(from) * 8
}

/// How an image has left the program before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gone {
    /// By normal termination.
    Stopped = 1,
    /// By `fail image`.
    Failed = 2,
}

impl Gone {
    /// Of its number; `None` for an image that goes on.
    pub fn of(number: u32) -> Option<Gone> {
        [Gone::Stopped, Gone::Failed].into_iter().find(|gone| *gone as u32 == number)
    }

    /// Why a statement fails in which an image takes part that is gone.
    pub fn failure(self, image: usize) -> Failure {
        match self {
            Gone::Stopped => Failure::new(code::STOPPED_IMAGE, format!("image {image} has stopped")),
            Gone::Failed => Failure::new(code::FAILED_IMAGE, format!("image {image} has failed")),
        }
    }
}

/// A collective operation, as far as an image has to know it to take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A barrier.
    Barrier,
    /// Bytes of each image.
    GatherAll(u64),
    /// Bytes, and the image that has them.
    Broadcast(u64, u32),
    /// Bytes, element, signature, known operation; the image that gets the result.
    Reduce(u64, u32, u64, Option<Operation>, Option<u32>),
    /// Teams are founded.
    Split,
}

/// Words of a [`What`].
pub type Words = [u64; 4];

impl What {
    /// Whether no member can end it before all have begun it.
    pub fn needs_all(self) -> bool {
        !matches!(self, What::Broadcast(..) | What::Reduce(_, _, _, _, Some(_)))
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            What::Barrier => "a synchronisation",
            What::GatherAll(_) | What::Split => "the forming",
            What::Broadcast(..) => "a broadcast",
            What::Reduce(..) => "a collective subroutine or an allocation",
        }
    }

    /// As words.
    pub fn encode(self) -> Words {
        let root = |root: Option<u32>| root.map_or(0, |root| u64::from(root) + 1);
        match self {
            What::Barrier => [1, 0, 0, 0],
            What::GatherAll(n) => [2, n, 0, 0],
            What::Broadcast(n, from) => [3 | root(Some(from)) << 8, n, 0, 0],
            What::Reduce(n, element, signature, known, to) => {
                let known = known.map_or(0, |op| u64::from(op.encode()) + 1);
                [4 | root(to) << 8, n, signature, u64::from(element) << 32 | known]
            }
            What::Split => [5, 0, 0, 0],
        }
    }

    /// Of such words; `None` if they are none.
    pub fn decode([kind, n, signature, more]: Words) -> Option<What> {
        let root = (kind >> 8).checked_sub(1).map(|root| root as u32);
        Some(match kind & 0xff {
            1 => What::Barrier,
            2 => What::GatherAll(n),
            3 => What::Broadcast(n, root?),
            4 => {
                let known = match more as u32 {
                    0 => None,
                    op => Some(Operation::decode(op - 1)?),
                };
                What::Reduce(n, (more >> 32) as u32, signature, known, root)
            }
            5 => What::Split,
            _ => return None,
        })
    }
}

/// An operation of a team: the team's number, and which of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The team.
    pub team: u32,
    /// The number of the operation.
    pub index: u32,
    /// The operation.
    pub what: What,
}

impl Asked {
    /// As arguments of a message.
    pub fn encode(self) -> [u32; 10] {
        let mut args = [0; 10];
        (args[0], args[1]) = (self.team, self.index);
        for (pair, word) in args[2..].as_chunks_mut::<2>().0.iter_mut().zip(self.what.encode()) {
            *pair = [word as u32, (word >> 32) as u32];
        }
        args
    }

    /// Of such arguments; `None` if they are none.
    pub fn decode(args: &[u32]) -> Option<Asked> {
        let &[team, index, ref words @ ..] = args else { return None };
        let mut what = [0; 4];
        if words.len() != 2 * what.len() {
            return None;
        }
        for (word, [low, high]) in what.iter_mut().zip(words.as_chunks().0) {
            *word = u64::from(*low) | u64::from(*high) << 32;
        }
        Some(Asked { team, index, what: What::decode(what)? })
    }
}

/// The operation that this image is in. Its words are valid while `open` is set.
#[derive(Debug, Default)]
pub struct Doing {
    /// Whether it is in one.
    pub open: AtomicBool,
    /// The team.
    pub team: AtomicU32,
    /// The number of the operation.
    pub index: AtomicU32,
    /// The operation, as words.
    pub what: [AtomicU64; 4],
}

/// The part of an image in image control, and its knowledge of the other images.
#[derive(Debug)]
pub struct Peers {
    /// The operation that this image is in.
    pub doing: Doing,
    /// What has become of each image, by rank: 0, or the number of a [`Gone`].
    pub gone: Box<[AtomicU8]>,
    /// How many of the others are gone.
    pub count: AtomicU32,
    /// Operations of teams that images had begun which are gone: by team and rank.
    pub begun: Mutex<HashMap<(u32, u32), u32>>,
    /// Images that have answered that this one leaves.
    pub answers: AtomicU32,
    /// Operations in which this image, which is gone, is asked to take part.
    pub asked: Mutex<Vec<Asked>>,
    /// The answer of the image that was asked for its current operation, with its rank.
    pub heard: Mutex<Option<(u32, Option<Asked>)>>,
    /// How often this image has executed `sync images` with each other one, by rank.
    pub pairs: Box<[AtomicU64]>,
    /// An `allocate` knows that an image is gone, and has said so or goes on. The compiler has a `sync all`
    /// without one follow.
    pub told: AtomicBool,
    /// A word that is the same on all images of a job, and different in each job.
    pub job: u64,
    /// Seeds asked for so far.
    pub seeds: AtomicU64,
    /// Whether the images of this host outnumber its processors.
    pub crowded: bool,
}

impl Peers {
    /// For so many images.
    pub fn new(images: u32, job: u64, crowded: bool) -> Peers {
        Peers {
            doing: Doing::default(),
            gone: (0..images).map(|_| AtomicU8::new(0)).collect(),
            count: AtomicU32::new(0),
            begun: Mutex::default(),
            answers: AtomicU32::new(0),
            asked: Mutex::default(),
            heard: Mutex::default(),
            pairs: (0..images).map(|_| AtomicU64::new(0)).collect(),
            told: AtomicBool::new(false),
            job,
            seeds: AtomicU64::new(0),
            crowded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet::atomics::{Function, WordType};

    #[test]
    fn operations_can_be_told_to_others() {
        let add = Operation { function: Function::Add, word: WordType::F64 };
        let all = [
            What::Barrier,
            What::GatherAll(24),
            What::Broadcast(0, 0),
            What::Broadcast(1 << 40, 719),
            What::Reduce(8, 8, u64::MAX, Some(add), None),
            What::Reduce(1 << 33, 48, 7, None, Some(0)),
            What::Split,
        ];
        for what in all {
            let asked = Asked { team: 3, index: u32::MAX, what };
            assert_eq!(Asked::decode(&asked.encode()), Some(asked));
        }
        assert_eq!(Asked::decode(&[0; 10]), None, "an image that is in no operation");
        assert_eq!(Asked::decode(&[1, 2, 3]), None);
    }
}
