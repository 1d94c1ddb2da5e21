//! How a launcher tells the ranks of its host that one of them has died: words in the control file, which it
//! maps, too.
//!
//! The launcher writes when it has reaped the process: how it ended, and then how many have died. Ranks look
//! in the middle of waits, and before they send to a rank that is not there ([`crate::death`]). A file to
//! which no launcher has said that ranks may die has zeros there, and nothing of this happens.
#![expect(unsafe_code, reason = "uses the header of a control file that it maps")]

use super::{Host, map};
use crate::boot::HostFile;
use crate::error::Error;
use crate::prim::{AtomicU64, Ordering};
use gasnet_sys::memory::Mapping;
use gasnet_sys::process::Ended;
use gasnet_sys::signals;
use std::os::fd::AsFd;

/// The launcher's hand in the control file of a world. It is unmapped when this is dropped.
#[derive(Debug)]
pub struct DeathBoard {
    mapping: Mapping,
    size: u32,
}

impl DeathBoard {
    /// Says in the control file of a world of `size` ranks, all on this host, that they may die. `epoch`: the
    /// number of worlds that the job had before. `heals`: the dead are replaced. To be called before any of
    /// the ranks has the file.
    ///
    /// # Errors
    /// The file cannot be mapped.
    pub fn new(file: &HostFile, size: u32, epoch: u32, heals: bool) -> Result<DeathBoard, Error> {
        let len = Host::bytes(size);
        super::grow(file, len)?;
        let mapping =
            Mapping::shared(file.as_fd(), file.at, len as usize).map_err(map::not_mapped(len as usize))?;
        let board = DeathBoard { mapping, size };
        // Relaxed: the file is handed over after this.
        let heals = if heals { HEALS } else { 0 };
        board.host().header.left.world.store(heals | (u64::from(epoch) + 1), Ordering::Relaxed);
        Ok(board)
    }

    /// The words. Not to be kept.
    fn host(&self) -> Host {
        // SAFETY: mapped with this many bytes, as long as `self` is there.
        unsafe { Host::at(self.mapping.base(), self.size) }
    }

    /// This rank has died in this way; nothing of it runs any more. Only the first death of a rank counts:
    /// another one is that of a process that was never in this world.
    pub fn died(&self, rank: u32, how: Ended) {
        let host = self.host();
        let Some(block) = host.ranks.get(rank as usize) else { return };
        mark(&block.died, [&host.header.left.deaths, &host.header.left.count], encode(how));
    }
}

/// Writes how a rank has died, and then that one more has.
fn mark(died: &AtomicU64, counts: [&AtomicU64; 2], how: u64) {
    // Relaxed, both: the counts hand it over, and only this process writes it.
    if died.load(Ordering::Relaxed) != 0 {
        return;
    }
    died.store(how, Ordering::Relaxed);
    for count in counts {
        // ORDER: Release; pairs with Acquire in `died` of death.rs: how it died.
        count.fetch_add(1, Ordering::Release);
    }
}

/// Bit of the word of a world whose dead are replaced.
pub(crate) const HEALS: u64 = 1 << 63;

/// Bit that says that a rank has died, and the one that says by a signal.
const DEAD: u64 = 1 << 63;
const BY_SIGNAL: u64 = 1 << 62;

fn encode(how: Ended) -> u64 {
    match how {
        Ended::Code(code) => DEAD | u64::from(code as u32),
        Ended::Signal(signal) => DEAD | BY_SIGNAL | u64::from(signal as u32),
    }
}

/// The meaning of a word, in words.
pub(crate) fn in_words(word: u64) -> String {
    let number = word as u32 as i32;
    if word & BY_SIGNAL != 0 {
        format!("signal {number}, {}", signals::signal_name(number))
    } else {
        format!("exit code {number}")
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// A rank that sees the count of deaths knows how the dead has died, whatever it looks at first.
    #[test]
    fn loom_who_sees_a_death_knows_how() {
        loom::model(|| {
            let words = Arc::new([(); 3].map(|()| AtomicU64::new(0)));
            let launcher = words.clone();
            let told = loom::thread::spawn(move || {
                let [died, deaths, count] = &*launcher;
                mark(died, [deaths, count], encode(Ended::Code(7)));
                mark(died, [deaths, count], encode(Ended::Code(8)));
            });
            let [died, deaths, count] = &*words;
            // As in `some_left` and `is_in_vain` of the wire: a hint, and then the look that counts.
            if count.load(Ordering::Relaxed) != 0 || deaths.load(Ordering::Relaxed) != 0 {
                let seen = deaths.load(Ordering::Acquire);
                assert!(seen == 0 || in_words(died.load(Ordering::Relaxed)) == "exit code 7");
            }
            told.join().unwrap();
            assert_eq!([deaths, count].map(|word| word.load(Ordering::Relaxed)), [1, 1]);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use gasnet_sys::fd::memory_file;

    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn ranks_read_what_the_launcher_writes() {
        let file = HostFile::from(memory_file("deaths-test").unwrap());
        let board = DeathBoard::new(&file, 3, 4, true).unwrap();
        let ranks = Host::map(&file, 3).unwrap();
        let left = &ranks.header.left;
        let counts = || [&left.world, &left.deaths, &left.count].map(|word| word.load(Ordering::Relaxed));
        assert_eq!(counts(), [HEALS | 5, 0, 0]);
        board.died(2, Ended::Signal(libc::SIGKILL));
        board.died(0, Ended::Code(7));
        board.died(3, Ended::Code(7));
        board.died(2, Ended::Code(1));
        assert_eq!(counts(), [HEALS | 5, 2, 2]);
        let words: Vec<u64> = ranks.ranks.iter().map(|block| block.died.load(Ordering::Relaxed)).collect();
        assert_eq!((words[1], in_words(words[0])), (0, "exit code 7".to_string()));
        assert_eq!(in_words(words[2]), "signal 9, SIGKILL");
    }
}
