//! How the survivors of a rank's death, and those that replace the dead, get the memory and the numbers of
//! their next world, over their links.
//!
//! A rank that has given up its world says so ([`ToMonitor::NextWorld`]), and waits; a replacement does
//! nothing else at first. When all have ([`membership`](crate::job::membership)), the monitor or the agent of
//! each host makes two memory files, and sends its members a message in packets, like the result of an
//! exchange: its rank, the world's epoch, its incarnation, a random name of the world, the ranks of the host,
//! and the members as the job numbers ranks. The files go with the first packet. Nobody else ever has them,
//! so no process that is not a member can reach the world's memory. A third file is that of the first world's
//! segments, which all worlds of the host have in common: what ranks save lies there, behind the segments. A
//! message without members and files says that there is no other world, since all work is done.
//!
//! **Memory that is taken over.** Pages that a system gives for the first time cost more than what is done
//! with them afterwards. So a world takes over the file of the segments of the world before it, if each
//! process has said, when it asked, that it uses nothing there any more. The dead use nothing. So from then
//! on only members of the new world use that file, for what they do in it, as they would a new one. But its
//! bytes are not zero, and what the dead have left half done is among them: the message says so, and each
//! rank clears its part of what is given out ([`HostFile::used`]). The control file of a world is always new:
//! nobody reads a word of synchronisation that a killed process has left.
//!
//! The monitor decides, and gives [`WorldOrder`]s. Who has the processes of a host, itself or an agent,
//! carries them out ([`LocalWorld`]).

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use gasnet_sys::fd;
use gasnet_sys::process::{Ended, Pid};
use gasnet_wire::Boot;
use gasnet_wire::boot::{Exchange, HostFile, MAX_PACKET, NextBoot, ToMonitor};
use gasnet_wire::shm::deaths::DeathBoard;

use crate::Error;
use crate::crew::{Crew, RankEnd};
use crate::exchange::{BROKEN, LinkExchange};
use crate::job::OnDeath;
use crate::job::membership::JobWorld;

/// What the processes of a host are told of the newest world, and what becomes of them. Ranks have their
/// numbers in that world, and *places* those in the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldOrder {
    /// This rank has died in this way; its host is lost if there is none.
    Died(u32, Option<Ended>),
    /// This rank has given the world up.
    GaveUp(u32),
    /// The exchanges of these places have no result.
    Broken(Vec<u32>),
    /// This world starts, with this name. The last are the places on the host.
    Start(JobWorld, u64, Vec<u32>),
    /// Start another process at this place, to be in the world after the one of this epoch.
    Replace(u32, u32),
    /// All work is done, so these places get no other world.
    Done(Vec<u32>),
}

/// Starts a process at this place, to be in the world after the one of this epoch.
pub(crate) type Recruiter = Box<dyn Fn(u32, u32) -> Result<RankEnd, Error>>;

/// What the launcher has of the newest world on one host.
#[derive(Default)]
pub(crate) struct LocalWorld {
    /// Where ranks are told of a death, if they may survive it.
    board: Option<DeathBoard>,
    /// The file of the first world's segments, if ranks may survive.
    first_segments: Option<OwnedFd>,
    /// That of the segments of the newest world that this host was in, and its epoch.
    segments: Option<(u32, OwnedFd)>,
    on_death: OnDeath,
    /// How the dead are replaced, if they are.
    recruiter: Option<Recruiter>,
}

impl LocalWorld {
    /// The first one: what its deaths do, and where ranks are told of one that they may survive, with the
    /// file of their segments.
    pub(crate) fn new(on_death: OnDeath, told: Option<(DeathBoard, OwnedFd)>) -> LocalWorld {
        let (board, first_segments) = told.unzip();
        LocalWorld { board, first_segments, segments: None, on_death, recruiter: None }
    }

    /// Says how processes are started that replace the dead.
    pub(crate) fn recruit_by(&mut self, recruiter: Recruiter) {
        self.recruiter = Some(recruiter);
    }

    /// Carries an order out. Returns the process that it has started.
    ///
    /// # Errors
    /// The system refuses, and the job cannot go on.
    pub(crate) fn obey(&mut self, crew: &mut Crew, order: &WorldOrder) -> Result<Option<Pid>, Error> {
        match order {
            WorldOrder::Died(rank, how) => self.board.iter().for_each(|board| board.died(*rank, *how)),
            WorldOrder::GaveUp(rank) => self.board.iter().for_each(|board| board.gave_up(*rank)),
            WorldOrder::Broken(places) => places.iter().for_each(|place| crew.tell_broken(*place, BROKEN)),
            WorldOrder::Start(world, name, here) => {
                let near: Vec<u32> = here.iter().filter_map(|place| world.rank_of(*place)).collect();
                let nothing = || Error::Survival("this launcher keeps nothing of the first world".into());
                let first = self.first_segments.as_ref().ok_or_else(nothing)?;
                let former = match &self.segments {
                    Some((epoch, file)) => (epoch + 1 == world.epoch).then_some(file),
                    None => (world.epoch == 1).then_some(first),
                };
                let former = former.filter(|_| world.takes_over);
                let new = NewWorld::new(world, *name, near, self.on_death.heals(), (first, former))?;
                for place in here {
                    if let Some(rank) = world.rank_of(*place) {
                        crew.hand(*place, &new.message(rank, world), &new.files);
                    }
                }
                let segments = fd::duplicate(new.files[1].as_fd()).map_err(Error::system("dup"))?;
                self.segments = Some((world.epoch, segments));
                self.board = Some(new.board);
            }
            WorldOrder::Replace(place, epoch) => {
                let refused =
                    || Error::Survival("ranks that a program starts by itself are not replaced".into());
                let end = self.recruiter.as_ref().ok_or_else(refused)?(*place, *epoch)?;
                let pid = end.pid;
                crew.replace(end).map_err(Error::system("watching a rank"))?;
                return Ok(Some(pid));
            }
            WorldOrder::Done(places) => {
                places.iter().for_each(|place| crew.hand(*place, &DONE, &Rc::from([])));
            }
        }
        Ok(None)
    }
}

/// The launcher's side of a world that starts, on one host.
struct NewWorld {
    /// Where its ranks are told of deaths.
    board: DeathBoard,
    /// Memory file of the host, that of the segments, and that of the first world's segments.
    files: Rc<[OwnedFd]>,
    name: u64,
    /// Its ranks on the host.
    near: Vec<u32>,
    /// The segments' file is that of the world before.
    takes_over: bool,
}

impl NewWorld {
    /// Makes its memory. The files are that of the first world's segments, and that of the segments of the
    /// world before if they are taken over.
    ///
    /// # Errors
    /// The system gives none.
    fn new(
        world: &JobWorld,
        name: u64,
        near: Vec<u32>,
        heals: bool,
        (first, former): (&OwnedFd, Option<&OwnedFd>),
    ) -> Result<NewWorld, Error> {
        let shm = fd::memory_file("gasnet-shm").map_err(Error::MemoryFile)?;
        let segments = match former {
            Some(former) => fd::duplicate(former.as_fd()).map_err(Error::system("dup"))?,
            None => fd::memory_file("gasnet-segments").map_err(Error::MemoryFile)?,
        };
        let file = HostFile::from(fd::duplicate(shm.as_fd()).map_err(Error::system("dup"))?);
        let (on_host, size) = (near.len() as u32, world.members.len() as u32);
        let board = DeathBoard::new(&file, on_host, size, world.epoch, heals);
        let board = board.map_err(|e| Error::Survival(e.to_string()))?;
        let first = fd::duplicate(first.as_fd()).map_err(Error::system("dup"))?;
        let files = Rc::from([shm, segments, first]);
        Ok(NewWorld { board, files, name, near, takes_over: former.is_some() })
    }

    /// The message for this rank of it.
    fn message(&self, rank: u32, world: &JobWorld) -> Vec<u8> {
        let incarnation = world.incarnations.get(rank as usize).copied().unwrap_or_default();
        let (low, high) = (self.name as u32, (self.name >> 32) as u32);
        let head =
            [rank, world.epoch, incarnation, low, high, self.takes_over.into(), self.near.len() as u32];
        let words = head.iter().chain(&self.near).chain(&world.members);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The message that says that there is no other world.
const DONE: [u8; 24] = [0; 24];

/// Waits for the world after the one of this epoch, which this rank has given up, or in which the process was
/// that it replaces. `holds`: this process may still use the segments of that world. `None`: there is none,
/// since all ranks have done their work.
///
/// # Collective
/// Over the ranks of the world that neither die nor leave in order, and the replacements of those that died.
///
/// # Errors
/// The monitor is gone, or the system gives no descriptors.
pub fn next_world(link: &Arc<OwnedFd>, epoch: u32, holds: bool) -> Result<Option<NextBoot>, Error> {
    fd::send_waiting(link.as_fd(), &ToMonitor::NextWorld(epoch, holds).encode())
        .map_err(Error::system("send"))?;
    let (mut message, mut files) = (Vec::new(), Vec::new());
    let mut packet = [0; MAX_PACKET];
    let broken = || Error::Survival("the launcher is gone, or has sent something else".into());
    loop {
        let (n, more) = fd::receive_files(link.as_fd(), &mut packet).map_err(Error::system("recvmsg"))?;
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
    decode(&message, files, link.clone()).map(Some).ok_or_else(broken)
}

fn decode(message: &[u8], files: Vec<OwnedFd>, link: Arc<OwnedFd>) -> Option<NextBoot> {
    let (words, rest) = message.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let [rank, epoch, incarnation, low, high, taken, on_host, ref lists @ ..] = words[..] else {
        return None;
    };
    let (near, members) = lists.split_at_checked(on_host as usize)?;
    let (size, [shm, segments, first]) = (members.len() as u32, <[OwnedFd; 3]>::try_from(files).ok()?);
    let sound = near.is_sorted_by(|a, b| a < b) && near.last().is_some_and(|last| *last < size);
    if !rest.is_empty() || !sound || near.binary_search(&rank).is_err() {
        return None;
    }
    let exchange: Option<Box<dyn Exchange>> = match on_host < size {
        true => Some(Box::new(LinkExchange::new(link.clone(), size))),
        false => None,
    };
    let boot = Boot {
        rank,
        size,
        host_ranks: near.to_vec(),
        exchange,
        shm: shm.into(),
        segments: if taken != 0 { HostFile::used(segments) } else { segments.into() },
        link: Some(link),
        overseer: None,
        job_id: u64::from(high) << 32 | u64::from(low),
    };
    Some(NextBoot { boot, epoch, incarnation, members: members.to_vec(), first_segments: Some(first) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> OwnedFd {
        fd::memory_file("regroup-test").unwrap()
    }

    #[test]
    fn a_world_survives_the_link() {
        let (members, incarnations) = (vec![0, 2, 7], vec![0, 1, 4]);
        let world = JobWorld { epoch: 3, members, incarnations, takes_over: true };
        let (first, former) = (file(), file());
        for (near, former) in [(vec![0, 1, 2], Some(&former)), (vec![1, 2], None)] {
            let new = NewWorld::new(&world, 77 << 32, near.clone(), true, (&first, former)).unwrap();
            let next = decode(&new.message(2, &world), vec![file(), file(), file()], file().into()).unwrap();
            assert_eq!((next.epoch, next.members, next.boot.rank, next.boot.size), (3, vec![0, 2, 7], 2, 3));
            assert_eq!((next.incarnation, next.boot.exchange.is_some()), (4, near.len() < 3));
            assert_eq!((next.boot.job_id, next.boot.host_ranks), (new.name, near));
            assert_eq!(next.boot.segments.used, former.is_some());
        }
        let new = NewWorld::new(&world, 1, vec![1, 2], true, (&first, None)).unwrap();
        for (message, files) in [
            (new.message(0, &world), 3),
            (new.message(3, &world), 3),
            (new.message(2, &world), 2),
            (vec![0; 27], 3),
            (vec![0; 29], 3),
        ] {
            assert!(decode(&message, (0..files).map(|_| file()).collect(), file().into()).is_none());
        }
    }

    /// Over a real link, in several packets, with the files.
    #[test]
    fn many_members_get_their_world() {
        let (members, incarnations) = ((0..3000).collect(), vec![0; 3000]);
        let world = JobWorld { epoch: 1, members, incarnations, takes_over: false };
        let new = NewWorld::new(&world, 5, (0..3000).collect(), false, (&file(), None)).unwrap();
        let (ours, theirs) = fd::packet_pair().unwrap();
        let theirs = Arc::new(theirs);
        let rank = std::thread::spawn(move || next_world(&theirs, 0, false).unwrap().unwrap());
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
        new.board.died(5, Some(Ended::Code(1)));
        let mut bytes = vec![0; 1 << 16];
        let n = fd::read(next.boot.shm.file().unwrap().as_fd(), &mut bytes).unwrap();
        assert!(bytes[..n].iter().any(|byte| *byte != 0));
    }
}
