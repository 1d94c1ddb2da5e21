//! How the survivors of a rank's death, and those that replace the dead, get the memory and the numbers of
//! their next world, over their links.
//!
//! A rank that has given up its world says so ([`ToMonitor::NextWorld`]), and waits; a replacement does
//! nothing else at first. When all have ([`membership`](crate::job::membership)), the monitor makes two
//! memory files, and sends each member a message in packets, like the result of an exchange: its rank, the
//! world's epoch, its incarnation, a random name of the world, and the members as the job numbers ranks. The
//! files go with the first packet. Nobody else ever has them, so no process that is not a member can reach
//! the world's memory. A third file is that of the first world's segments, which all worlds of the host have
//! in common: what ranks save lies there, behind the segments. A message without members and files says that
//! there is no other world, since all work is done.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use gasnet_sys::fd;
use gasnet_wire::Boot;
use gasnet_wire::boot::{HostFile, MAX_PACKET, NextBoot, ToMonitor};
use gasnet_wire::shm::deaths::DeathBoard;

use crate::Error;
use crate::job::membership::JobWorld;

/// The monitor's side: a world that is to start.
pub(crate) struct NewWorld {
    /// Where its ranks are told of deaths.
    pub(crate) board: DeathBoard,
    /// Memory file of the host, that of the segments, and that of the first world's segments.
    pub(crate) files: Rc<[OwnedFd]>,
    name: u64,
}

impl NewWorld {
    /// Makes its memory.
    ///
    /// # Errors
    /// The system gives none.
    pub(crate) fn new(world: &JobWorld, heals: bool, first: &OwnedFd) -> Result<NewWorld, Error> {
        let shm = fd::memory_file("gasnet-shm").map_err(Error::MemoryFile)?;
        let segments = fd::memory_file("gasnet-segments").map_err(Error::MemoryFile)?;
        let file = HostFile::from(fd::duplicate(shm.as_fd()).map_err(Error::system("dup"))?);
        let board = DeathBoard::new(&file, world.members.len() as u32, world.epoch, heals);
        let board = board.map_err(|e| Error::Survival(e.to_string()))?;
        let first = fd::duplicate(first.as_fd()).map_err(Error::system("dup"))?;
        Ok(NewWorld { board, files: Rc::from([shm, segments, first]), name: gasnet_sys::random() })
    }

    /// The message for this rank of it.
    pub(crate) fn message(&self, rank: u32, world: &JobWorld) -> Vec<u8> {
        let incarnation = world.incarnations.get(rank as usize).copied().unwrap_or_default();
        let head = [rank, world.epoch, incarnation, self.name as u32, (self.name >> 32) as u32];
        head.iter().chain(&world.members).flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The message that says that there is no other world.
pub(crate) const DONE: [u8; 20] = [0; 20];

/// Waits for the world after the one of this epoch, which this rank has given up, or in which the process was
/// that it replaces. `None`: there is none, since all ranks have done their work.
///
/// # Collective
/// Over the ranks of the world that neither die nor leave in order, and the replacements of those that died.
///
/// # Errors
/// The monitor is gone, or the system gives no descriptors.
pub fn next_world(link: BorrowedFd<'_>, epoch: u32) -> Result<Option<NextBoot>, Error> {
    fd::send_waiting(link, &ToMonitor::NextWorld(epoch).encode()).map_err(Error::system("send"))?;
    let (mut message, mut files) = (Vec::new(), Vec::new());
    let mut packet = [0; MAX_PACKET];
    let broken = || Error::Survival("the launcher is gone, or has sent something else".into());
    loop {
        let (n, more) = fd::receive_files(link, &mut packet).map_err(Error::system("recvmsg"))?;
        files.extend(more);
        let (last, part) = packet[..n].split_first().ok_or_else(broken)?;
        message.extend_from_slice(part);
        if *last == 1 {
            break;
        }
    }
    if message == DONE && files.is_empty() {
        return Ok(None);
    }
    let link = fd::duplicate(link).map_err(Error::system("dup"))?;
    decode(&message, files, link).map(Some).ok_or_else(broken)
}

fn decode(message: &[u8], files: Vec<OwnedFd>, link: OwnedFd) -> Option<NextBoot> {
    let (words, rest) = message.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let [rank, epoch, incarnation, low, high, ref members @ ..] = words[..] else { return None };
    let (size, [shm, segments, first]) = (members.len() as u32, <[OwnedFd; 3]>::try_from(files).ok()?);
    let boot = Boot {
        rank,
        size,
        host_ranks: (0..size).collect(),
        exchange: None,
        shm: shm.into(),
        segments: segments.into(),
        link: Some(link),
        overseer: None,
        job_id: u64::from(high) << 32 | u64::from(low),
    };
    (rest.is_empty() && rank < size).then_some(NextBoot {
        boot,
        epoch,
        incarnation,
        members: members.to_vec(),
        first_segments: Some(first),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> OwnedFd {
        fd::memory_file("regroup-test").unwrap()
    }

    #[test]
    fn a_world_survives_the_link() {
        let world = JobWorld { epoch: 3, members: vec![0, 2, 7], incarnations: vec![0, 1, 4] };
        let new = NewWorld::new(&world, true, &file()).unwrap();
        let next = decode(&new.message(2, &world), vec![file(), file(), file()], file()).unwrap();
        assert_eq!((next.epoch, next.members, next.boot.rank, next.boot.size), (3, vec![0, 2, 7], 2, 3));
        assert_eq!(next.incarnation, 4);
        assert_eq!((next.boot.job_id, next.boot.host_ranks), (new.name, vec![0, 1, 2]));
        for (message, files) in
            [(new.message(3, &world), 3), (new.message(2, &world), 2), (vec![0; 19], 3), (vec![0; 21], 3)]
        {
            assert!(decode(&message, (0..files).map(|_| file()).collect(), file()).is_none());
        }
    }

    /// Over a real link, in several packets, with the files.
    #[test]
    fn many_members_get_their_world() {
        let world = JobWorld { epoch: 1, members: (0..3000).collect(), incarnations: vec![0; 3000] };
        let new = NewWorld::new(&world, false, &file()).unwrap();
        let (ours, theirs) = fd::packet_pair().unwrap();
        let rank = std::thread::spawn(move || next_world(theirs.as_fd(), 0).unwrap().unwrap());
        let message = new.message(17, &world);
        for (i, part) in message.chunks(MAX_PACKET - 1).enumerate() {
            let last = (i + 1) * (MAX_PACKET - 1) >= message.len();
            let packet = [&[u8::from(last)], part].concat();
            let files: &[OwnedFd] = if i == 0 { &new.files } else { &[] };
            while fd::send_files(ours.as_fd(), &packet, files).is_err() {
                std::thread::yield_now();
            }
        }
        let next = rank.join().unwrap();
        assert_eq!((next.boot.rank, next.members.len()), (17, 3000));
        // It is the same file: the board of the new world is in it.
        new.board.died(5, gasnet_sys::process::Ended::Code(1));
        let mut bytes = vec![0; 1 << 16];
        let n = fd::read(next.boot.shm.as_fd(), &mut bytes).unwrap();
        assert!(bytes[..n].iter().any(|byte| *byte != 0));
    }
}
