//! The start of a rank: its number, and the descriptors that it shares with the rest of the job.
//!
//! A launcher fills in a [`Boot`]; the core turns it into a running rank. This module also holds the few
//! packets that a rank sends to the launcher's *monitor* (the process that watches over all ranks of a host).

use crate::{Error, Gathered};
use core::fmt;
use gasnet_sys::mutex::lock;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// How the ranks of a job exchange a few bytes before they can reach each other.
pub trait Exchange: Send + Sync {
    /// Gives `mine` to all ranks and returns what each of them gave, indexed by rank. Lengths may differ.
    ///
    /// # Collective
    /// Over all ranks, which make the same calls in the same order; acts as a barrier.
    ///
    /// # Errors
    /// The launcher cannot be reached, or the job is ending.
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// [`all_gather`](Self::all_gather) for jobs with many ranks in one process, which may share the result.
    ///
    /// # Collective
    /// As [`all_gather`](Self::all_gather), of which it is one call.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    fn all_gather_shared(&self, mine: &[u8]) -> Result<Arc<Gathered>, Error> {
        Ok(Arc::new(Gathered::new(self.all_gather(mine)?)))
    }

    /// [`all_gather_shared`](Self::all_gather_shared) of a rank that takes turns
    /// ([`Overseer::takes_turns`]) and goes on handling messages: `serve` does that, and returns how many
    /// there were. It is called before each look after the others, and no more when all are here. Where
    /// ranks take no turns it is never called.
    ///
    /// # Collective
    /// As [`all_gather`](Self::all_gather), of which it is one call.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    fn all_gather_serving(
        &self,
        mine: &[u8],
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Arc<Gathered>, Error> {
        let _ = serve;
        self.all_gather_shared(mine)
    }
}

/// A memory file that the ranks of a host share, or their part of one that several hosts share. Clones are
/// one file: all are closed if one is.
#[derive(Debug, Clone)]
pub struct HostFile {
    file: Arc<Mutex<Option<Arc<OwnedFd>>>>,
    /// Where the host's part begins; whole pages.
    pub at: u64,
    /// Bytes of a part that the file has from the start.
    pub room: Option<u64>,
    /// Whether it was the file of the world before, which nobody uses any more: its bytes may not be zero.
    pub used: bool,
}

impl HostFile {
    /// The `room` bytes of a file from `at` on, a multiple of 2 MiB, which the file has already.
    pub fn part(file: Arc<OwnedFd>, at: u64, room: u64) -> HostFile {
        HostFile { at, room: Some(room), ..HostFile::whole(file) }
    }

    /// A file that an earlier world of the job has used.
    pub fn used(file: OwnedFd) -> HostFile {
        HostFile { used: true, ..file.into() }
    }

    fn whole(file: Arc<OwnedFd>) -> HostFile {
        HostFile { file: Arc::new(Mutex::new(Some(file))), at: 0, room: None, used: false }
    }

    /// The file itself.
    ///
    /// # Errors
    /// It is closed: the world that it was for has been given up.
    pub fn file(&self) -> Result<Arc<OwnedFd>, Error> {
        lock(&self.file).clone().ok_or_else(|| Error::op("this world was given up when a rank had died"))
    }

    /// Gives the descriptor back. What is mapped stays so.
    pub fn close(&self) {
        lock(&self.file).take();
    }
}

impl From<OwnedFd> for HostFile {
    fn from(file: OwnedFd) -> HostFile {
        HostFile::whole(Arc::new(file))
    }
}

/// Stands for a monitor that is no process at the other end of a [`Boot::link`].
pub trait Overseer: Send + Sync {
    /// Takes what a monitor would be told.
    fn hear(&self, said: &ToMonitor);

    /// A rank is about to end the job: waits a moment for the others to want that too, and says whether they
    /// do, so that each can leave in order. By default nobody waits: most overseers end a job at any time and
    /// lose nothing of what ranks have written.
    fn all_leave(&self) -> bool {
        false
    }

    /// A rank waits for others, before it has a conduit that could be told; `what` names the wait. `changed`:
    /// the rank may have changed memory that it shares with others since it was here last. Gives the
    /// processor to others and returns true where ranks share a thread; the wait then does not sleep.
    fn idle(&self, what: &'static str, changed: bool) -> bool {
        let _ = (what, changed);
        false
    }

    /// Whether ranks share a thread, or one of them runs at a time: then a rank waits for the others by
    /// giving its turn away, and never on a thread of its own.
    fn takes_turns(&self) -> bool {
        false
    }

    /// The world after the one of this epoch, which the rank has given up: waits until all ranks of that
    /// world have given it up that neither die nor leave. `None` where ranks do not survive each other.
    fn next_world(&self, epoch: u32) -> Option<NextBoot> {
        let _ = epoch;
        None
    }

    /// Ends the rank with this code; by default its process, at once.
    fn leave(&self, code: i32) -> ! {
        crate::last_words::leave(code)
    }
}

/// What a rank is told of the world that follows the one it has given up.
#[derive(Debug)]
pub struct NextBoot {
    /// Its rank, and the memory.
    pub boot: Boot,
    /// The number of worlds before it.
    pub epoch: u32,
    /// The number of processes that were this rank before this one.
    pub incarnation: u32,
    /// The members by rank, as the job numbered them first.
    pub members: Vec<u32>,
    /// The file of the segments that ranks of this host had in the first world, if it outlives that.
    pub first_segments: Option<OwnedFd>,
}

/// Everything a rank needs to know about its job before it can map anything.
pub struct Boot {
    /// This rank, `0..size`.
    pub rank: u32,
    /// Number of ranks in the job, at least 1.
    pub size: u32,
    /// The ranks that share the two memory files, in ascending order, this one among them: those of its host.
    pub host_ranks: Vec<u32>,
    /// The exchange between all ranks; needed where the job has ranks on other hosts.
    pub exchange: Option<Box<dyn Exchange>>,
    /// Memory file common to all ranks of the host, of length 0 at start. The core sizes and maps it.
    pub shm: HostFile,
    /// Second memory file of the host, likewise, for the segments; or that of the world before.
    pub segments: HostFile,
    /// `SOCK_SEQPACKET` socket to the monitor, one for all worlds of a process; `None` in a job of one rank
    /// that nobody watches.
    pub link: Option<Arc<OwnedFd>>,
    /// Who is told what a monitor would be told, if there is no link.
    pub overseer: Option<Box<dyn Overseer>>,
    /// Random, the same on all ranks of the job.
    pub job_id: u64,
}

impl fmt::Debug for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Boot");
        all.field("rank", &self.rank).field("size", &self.size).field("host_ranks", &self.host_ranks);
        all.field("job_id", &self.job_id).finish_non_exhaustive()
    }
}

/// A packet on [`Boot::link`], rank to monitor: `u32` kind, `i32` code, both little endian, then UTF-8 text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToMonitor {
    /// End the whole job now with this code; the first such packet wins.
    GlobalExit(i32),
    /// This rank leaves in order with this code; the job goes on.
    Done(i32),
    /// This rank leaves, and the job ends with it. With 0 the others are given time to leave by themselves;
    /// any other code ends the job at once.
    Leaves(i32),
    /// Fatal error, already printed by the rank: end the job now. The text is for the record.
    Abort(i32, String),
    /// The job cannot start, for a reason that this rank has not printed, since as a rule all find the same:
    /// print the first, and end the job.
    Refused(String),
    /// Initialisation has finished: from here on, leaving without `Done` is an abnormal end.
    Attached,
    /// The process has taken up its place as a rank (sent by the launcher's own start-up code).
    Joined,
    /// The wait that a thread of this rank is in: the answer to a question; true if the thread reports by
    /// itself because the wait takes so long.
    Blocked(bool, Blocked),
    /// The same unasked, again and again as long as the wait lasts and nothing happens; the number of the
    /// wait in this rank.
    Waits(u32, Blocked),
    /// This rank has given up the world of this epoch, since one in it has died, or replaces one that was in
    /// it; and waits for the next one. Whether its process may still use the segments of that world.
    NextWorld(u32, bool),
    /// All ranks of the world of this epoch have done their work: nobody needs another world.
    Finished(u32),
    /// This rank has given up the world of this epoch, and answers nobody in it any more: said where the
    /// world has ranks on other hosts, which do not see it.
    GaveUp(u32),
    /// How many barriers this rank has joined, said before `Done`.
    Barriers(u32),
    /// A part of what this rank gives to an exchange between all ranks, at most [`MAX_EXCHANGE`] bytes;
    /// whether it is the last.
    Exchange(bool, Vec<u8>),
}

/// A place of a program that every rank of the job has to reach before any rank leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeetingPlace {
    /// A barrier of the job.
    Barrier,
    /// A collective operation of the team of all ranks.
    Collective,
    /// The attach of segments.
    Attach,
}

impl MeetingPlace {
    /// All of them, in the order of [`Blocked::reached`].
    const ALL: [MeetingPlace; 3] = [MeetingPlace::Barrier, MeetingPlace::Collective, MeetingPlace::Attach];
}

/// A wait that does not end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocked {
    /// The rank it is for, where that is known.
    pub peer: Option<u32>,
    /// The phase of the barrier that this rank has joined and not left, where the wait is for nobody in
    /// particular.
    pub barrier: Option<u32>,
    /// How long it has been so.
    pub seconds: u64,
    /// Where in the program; empty if unknown.
    pub place: String,
    /// The purpose of the wait.
    pub what: String,
    /// Only other ranks can end it.
    pub for_others: bool,
    /// A thread of the runtime serves messages beside it, so the wait does not see all that happens.
    pub served_beside: bool,
    /// The place where it waits for all ranks, and the number of this place among those of its kind.
    pub meeting: Option<(MeetingPlace, u32)>,
    /// Number of places of each kind that this rank has reached: barriers, collective operations, attaches.
    pub reached: [u32; MeetingPlace::ALL.len()],
}

impl Blocked {
    /// Whether two ranks wait for each other at different places, so that neither ever goes on: each needs
    /// the other at a place that the other can only reach when its own wait is over.
    pub fn never_meets(&self, other: &Blocked) -> bool {
        let (Some((here, _)), Some((there, _))) = (self.meeting, other.meeting) else { return false };
        // Numbers wrap.
        let misses = |who: &Blocked, at: Option<(MeetingPlace, u32)>| {
            at.is_some_and(|(place, number)| who.reached[place as usize].wrapping_sub(number) as i32 <= 0)
        };
        here != there && misses(self, other.meeting) && misses(other, self.meeting)
    }

    /// For people: `waits for rank 3: an operation to complete, for 12 s, in main`.
    pub fn in_words(&self) -> String {
        self.in_words_with(|peer| format!("rank {peer}"))
    }

    /// The same with another name for the rank that is waited for.
    pub fn in_words_with(&self, name: impl Fn(u32) -> String) -> String {
        let whom = match (self.peer, self.barrier) {
            (Some(peer), _) => format!("waits for {}: {}", name(peer), self.what),
            (None, Some(phase)) => format!("waits in barrier {phase}"),
            (None, None) => format!("waits for {}", self.what),
        };
        let place = if self.place.is_empty() { String::new() } else { format!(", in {}", self.place) };
        format!("{whom}, for {} s{place}", self.seconds)
    }

    fn encode(&self) -> String {
        let number = |n: Option<u32>| n.map_or("-".to_string(), |n| n.to_string());
        let line = |text: &str| text.replace('\n', " ");
        let (peer, barrier) = (number(self.peer), number(self.barrier));
        let place = number(self.meeting.map(|(place, _)| place as u32));
        let at = number(self.meeting.map(|(_, number)| number));
        let [barriers, collectives, attaches] = self.reached;
        let flags = u32::from(self.for_others) | u32::from(self.served_beside) << 1;
        format!(
            "{peer}\n{barrier}\n{place}\n{at}\n{barriers}\n{collectives}\n{attaches}\n{flags}\n{}\n{}\n{}",
            self.seconds,
            line(&self.place),
            line(&self.what)
        )
    }

    fn decode(text: &str) -> Option<Blocked> {
        let mut lines = text.split('\n');
        let mut number = || match lines.next()? {
            "-" => Some(None),
            n => n.parse::<u32>().ok().map(Some),
        };
        let (peer, barrier, place, at) = (number()?, number()?, number()?, number()?);
        let reached = [number()??, number()??, number()??];
        let flags = number()??;
        let seconds = lines.next()?.parse().ok()?;
        let (whereabouts, what) = (lines.next()?.to_string(), lines.next()?.to_string());
        let meeting = match (place, at) {
            (Some(place), Some(at)) => Some((*MeetingPlace::ALL.get(place as usize)?, at)),
            _ => None,
        };
        lines.next().is_none().then_some(Blocked {
            peer,
            barrier,
            seconds,
            place: whereabouts,
            what,
            for_others: flags & 1 != 0,
            served_beside: flags & 2 != 0,
            meeting,
            reached,
        })
    }
}

/// Longest packet that is ever sent on the link; longer abort texts are cut.
pub const MAX_PACKET: usize = 4096;
/// Longest part of an exchange in one packet.
pub const MAX_EXCHANGE: usize = MAX_PACKET - HEADER_BYTES;

/// The fixed part of a packet.
const HEADER_BYTES: usize = 8;

impl ToMonitor {
    /// The packet's bytes, at most [`MAX_PACKET`].
    pub fn encode(&self) -> Vec<u8> {
        let blocked;
        let (kind, code, text): (u32, i32, &str) = match self {
            ToMonitor::Blocked(unasked, wait) => {
                blocked = wait.encode();
                (7, i32::from(*unasked), &blocked)
            }
            ToMonitor::Waits(number, wait) => {
                blocked = wait.encode();
                (9, *number as i32, &blocked)
            }
            ToMonitor::Barriers(joined) => (10, *joined as i32, ""),
            ToMonitor::NextWorld(epoch, false) => (12, *epoch as i32, ""),
            ToMonitor::NextWorld(epoch, true) => (15, *epoch as i32, ""),
            ToMonitor::Finished(epoch) => (13, *epoch as i32, ""),
            ToMonitor::GaveUp(epoch) => (14, *epoch as i32, ""),
            ToMonitor::Exchange(last, part) => {
                let mut packet = [6u32.to_le_bytes(), u32::from(*last).to_le_bytes()].concat();
                packet.extend_from_slice(&part[..part.len().min(MAX_EXCHANGE)]);
                return packet;
            }
            ToMonitor::GlobalExit(code) => (1, *code, ""),
            ToMonitor::Done(code) => (2, *code, ""),
            ToMonitor::Leaves(code) => (11, *code, ""),
            ToMonitor::Abort(code, text) => (3, *code, text),
            ToMonitor::Refused(text) => (8, 1, text),
            ToMonitor::Attached => (4, 0, ""),
            ToMonitor::Joined => (5, 0, ""),
        };
        let mut cut = text.len().min(MAX_PACKET - HEADER_BYTES);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let mut packet = Vec::with_capacity(HEADER_BYTES + cut);
        packet.extend_from_slice(&kind.to_le_bytes());
        packet.extend_from_slice(&code.to_le_bytes());
        packet.extend_from_slice(&text.as_bytes()[..cut]);
        packet
    }

    /// Reads a packet back; `None` if it is too short or of an unknown kind.
    pub fn decode(packet: &[u8]) -> Option<ToMonitor> {
        let kind = u32::from_le_bytes(packet.get(0..4)?.try_into().ok()?);
        let code = i32::from_le_bytes(packet.get(4..8)?.try_into().ok()?);
        match kind {
            1 => Some(ToMonitor::GlobalExit(code)),
            2 => Some(ToMonitor::Done(code)),
            3 => Some(ToMonitor::Abort(code, String::from_utf8_lossy(&packet[HEADER_BYTES..]).into_owned())),
            8 => Some(ToMonitor::Refused(String::from_utf8_lossy(&packet[HEADER_BYTES..]).into_owned())),
            4 => Some(ToMonitor::Attached),
            5 => Some(ToMonitor::Joined),
            7 => {
                let wait = Blocked::decode(&String::from_utf8_lossy(&packet[HEADER_BYTES..]))?;
                Some(ToMonitor::Blocked(code == 1, wait))
            }
            6 => Some(ToMonitor::Exchange(code == 1, packet[HEADER_BYTES..].to_vec())),
            9 => {
                let wait = Blocked::decode(&String::from_utf8_lossy(&packet[HEADER_BYTES..]))?;
                Some(ToMonitor::Waits(code as u32, wait))
            }
            10 => Some(ToMonitor::Barriers(code as u32)),
            11 => Some(ToMonitor::Leaves(code)),
            12 | 15 => Some(ToMonitor::NextWorld(code as u32, kind == 15)),
            13 => Some(ToMonitor::Finished(code as u32)),
            14 => Some(ToMonitor::GaveUp(code as u32)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_survive_the_wire() {
        for packet in [
            ToMonitor::GlobalExit(-1),
            ToMonitor::Done(7),
            ToMonitor::Leaves(300),
            ToMonitor::Abort(3, "put outside the segment: é".into()),
            ToMonitor::Attached,
            ToMonitor::Refused("no such network".into()),
            ToMonitor::Joined,
            ToMonitor::Exchange(true, vec![0, 255]),
            ToMonitor::Blocked(true, Blocked { peer: Some(3), what: "x".into(), ..Blocked::default() }),
            ToMonitor::Blocked(
                false,
                Blocked { barrier: Some(9), place: "main (a.c:1)".into(), ..Blocked::default() },
            ),
            ToMonitor::Exchange(false, vec![7; MAX_EXCHANGE]),
            ToMonitor::Waits(u32::MAX, Blocked { peer: Some(0), what: "x".into(), ..Blocked::default() }),
            ToMonitor::Barriers(u32::MAX),
            ToMonitor::NextWorld(3, false),
            ToMonitor::NextWorld(4, true),
            ToMonitor::Finished(u32::MAX),
            ToMonitor::GaveUp(4),
        ] {
            assert_eq!(ToMonitor::decode(&packet.encode()), Some(packet));
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let packet = ToMonitor::Abort(1, "é".repeat(MAX_PACKET)).encode();
        assert!(packet.len() <= MAX_PACKET);
        let Some(ToMonitor::Abort(1, text)) = ToMonitor::decode(&packet) else { panic!("not an abort") };
        assert!(text.chars().all(|c| c == 'é'));
    }

    /// Random packets: what is read is what its re-encoding says.
    #[test]
    fn any_packet_is_handled() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
            let mut packet: Vec<u8> = (0..random.u32(..16)).map(|_| random.u8(..)).collect();
            if packet.len() >= 4 {
                packet[..4].copy_from_slice(&random.u32(..17).to_le_bytes());
            }
            if let Some(read) = ToMonitor::decode(&packet) {
                assert_eq!(ToMonitor::decode(&read.encode()), Some(read));
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(ToMonitor::decode(&[]), None);
        assert_eq!(ToMonitor::decode(&[1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(ToMonitor::decode(&[16, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
