//! How a launcher tells the ranks of its host that a rank of their world has died, here or elsewhere: words
//! in the control file, which it maps, too.
//!
//! The launcher writes when a process was reaped, or its host is lost: how it ended, and then how many have
//! died. Of ranks on other hosts it also writes that they have given the world up. Ranks look in the middle
//! of waits, and before they send to a rank that is not there ([`crate::death`]). A file to which no launcher
//! has said that ranks may die has zeros there, no [fates](Fate), and nothing of this happens.
#![expect(unsafe_code, reason = "uses the header of a control file that it maps")]

use super::{Host, HostHeader, map};
use crate::boot::HostFile;
use crate::error::Error;
use crate::prim::{AtomicU64, Ordering};
use gasnet_sys::memory::Mapping;
use gasnet_sys::process::Ended;
use gasnet_sys::signals;
use std::os::fd::AsFd;

/// What has become of a rank, in a world whose ranks may die.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Fate {
    /// How it died, as the launcher writes it; 0 while it has not.
    pub(crate) died: AtomicU64,
    /// Whether it lives and has given this world up, since another rank has died: 1, or 0. It writes this
    /// itself, and on other hosts the launcher does.
    pub(crate) gave_up: AtomicU64,
}

impl Fate {
    /// Bytes of those of a world.
    pub(crate) fn bytes(size: u32) -> u64 {
        (size as usize * size_of::<Fate>()).next_multiple_of(map::PAGE_BYTES) as u64
    }

    /// Maps those of a world of `size` ranks, of which `on_host` share the file, in which ranks may die.
    pub(crate) fn map(file: &HostFile, on_host: u32, size: u32) -> Result<&'static [Fate], Error> {
        let (at, len) = (Host::bytes(on_host), Fate::bytes(size));
        super::grow(file, at + len)?;
        let base = map::map_shared(file.file()?.as_fd(), file.at + at, len as usize)?;
        // SAFETY: the mapping has this length, is page-aligned, and lives as long as the process; the type is
        // made of atomics, valid for any bytes.
        Ok(unsafe { core::slice::from_raw_parts(base.cast::<Fate>(), size as usize) })
    }
}

/// The launcher's hand in the control file of a world. It is unmapped when this is dropped.
#[derive(Debug)]
pub struct DeathBoard {
    mapping: Mapping,
    on_host: u32,
    size: u32,
}

impl DeathBoard {
    /// Says in the control file of a world of `size` ranks, so many of them on this host, that they may die.
    /// `epoch`: the number of worlds that the job had before. `heals`: the dead are replaced. To be called
    /// before any of the ranks has the file.
    ///
    /// # Errors
    /// The file cannot be mapped.
    pub fn new(
        file: &HostFile,
        on_host: u32,
        size: u32,
        epoch: u32,
        heals: bool,
    ) -> Result<DeathBoard, Error> {
        let len = Host::bytes(on_host) + Fate::bytes(size);
        super::grow(file, len)?;
        let mapping = Mapping::shared(file.file()?.as_fd(), file.at, len as usize);
        let mapping = mapping.map_err(map::not_mapped(len as usize))?;
        let board = DeathBoard { mapping, on_host, size };
        // Relaxed: the file is handed over after this.
        let heals = if heals { HEALS } else { 0 };
        board.header().left.world.store(heals | (u64::from(epoch) + 1), Ordering::Relaxed);
        Ok(board)
    }

    fn header(&self) -> &HostHeader {
        // SAFETY: mapped with enough bytes, as long as `self` is there; the type is made of atomics.
        unsafe { &*self.mapping.base().cast::<HostHeader>() }
    }

    fn fate(&self, rank: u32) -> Option<&Fate> {
        let at = Host::bytes(self.on_host) as usize + rank as usize * size_of::<Fate>();
        // SAFETY: as above; the file has one for each rank of the world.
        (rank < self.size).then(|| unsafe { &*self.mapping.base().add(at).cast::<Fate>() })
    }

    /// This rank has died in this way; nothing of it runs any more. `None`: its host is lost, so nobody knows
    /// more. Only the first death of a rank counts: another one is that of a process that was never in this
    /// world.
    pub fn died(&self, rank: u32, how: Option<Ended>) {
        let Some(fate) = self.fate(rank) else { return };
        let left = &self.header().left;
        mark(&fate.died, [&left.deaths, &left.count], encode(how));
    }

    /// This rank, which is on another host, has given the world up. A death was told before.
    pub fn gave_up(&self, rank: u32) {
        if let Some(fate) = self.fate(rank) {
            // ORDER: Release; pairs with Acquire in `is_lost`: as where a rank says it itself.
            fate.gave_up.store(1, Ordering::Release);
        }
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
/// Bit that says that nobody has seen how.
const WITH_HOST: u64 = 1 << 61;

fn encode(how: Option<Ended>) -> u64 {
    match how {
        Some(Ended::Code(code)) => DEAD | u64::from(code as u32),
        Some(Ended::Signal(signal)) => DEAD | BY_SIGNAL | u64::from(signal as u32),
        None => DEAD | WITH_HOST,
    }
}

/// The meaning of a word, in words.
pub(crate) fn in_words(word: u64) -> String {
    let number = word as u32 as i32;
    if word & WITH_HOST != 0 {
        "its host is lost".to_string()
    } else if word & BY_SIGNAL != 0 {
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
                mark(died, [deaths, count], encode(Some(Ended::Code(7))));
                mark(died, [deaths, count], encode(Some(Ended::Code(8))));
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
        // Two of them are here.
        let board = DeathBoard::new(&file, 2, 4, 4, true).unwrap();
        let (host, fates) = (Host::map(&file, 2).unwrap(), Fate::map(&file, 2, 4).unwrap());
        let left = &host.header.left;
        let counts = || [&left.world, &left.deaths, &left.count].map(|word| word.load(Ordering::Relaxed));
        assert_eq!(counts(), [HEALS | 5, 0, 0]);
        board.died(2, Some(Ended::Signal(libc::SIGKILL)));
        board.died(0, Some(Ended::Code(7)));
        board.died(4, Some(Ended::Code(7)));
        board.died(2, Some(Ended::Code(1)));
        board.died(3, None);
        board.gave_up(1);
        board.gave_up(4);
        assert_eq!(counts(), [HEALS | 5, 3, 3]);
        let words: Vec<u64> = fates.iter().map(|fate| fate.died.load(Ordering::Relaxed)).collect();
        let said = ["exit code 7", "exit code 0", "signal 9, SIGKILL", "its host is lost"];
        assert_eq!(words.iter().map(|word| in_words(*word)).collect::<Vec<_>>(), said);
        assert_eq!(words[1], 0);
        assert_eq!([0, 1, 2, 3].map(|r| fates[r as usize].gave_up.load(Ordering::Relaxed)), [0, 1, 0, 0]);
    }
}
