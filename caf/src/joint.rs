//! What the images of a team do together: collective operations of the core, in which images that are gone
//! take part as well.
//!
//! An image that executes `stop`, or reaches the end of the program, stays until all images have. The others
//! may go on with collective statements, which then give `STAT_STOPPED_IMAGE` and must not hang. A core's
//! operation ends only if every member of its team takes part. So a stopped image takes part in whatever the
//! others do, with zeros for data:
//!
//! ```text
//! image A (stops)                                image B
//! STOP, with the number of operations that A     in operation k of a team
//!   has begun in each team          ------->     notes it; STOPPED answers with "in operation k"
//! begins operation k               <-------
//!                                                begins operation k + 1, knows that A has stopped:
//! begins operation k + 1           <-------        ASK
//! ```
//!
//! An image *misses* operation k of a team if it has begun at most k operations of the team when it stops.
//! All other members find the same: a stopped image begins nothing before every image has answered STOP. So
//! an operation cannot end anywhere before its stopped members are known there.
//!
//! An image that executes `fail image` does the same under another name ([`Gone::Failed`]): to the program
//! it has failed, and statements give `STAT_FAILED_IMAGE`; its process goes on serving the others, which
//! keep their teams and coarrays. The death of a process is another matter, and ends the job.
//!
//! While no image is gone, all this costs an operation one exchange of a word of its own process.
#![expect(unsafe_code, reason = "hands slices to the core's operations on raw memory")]

use crate::image::{Image, Level, current, lock};
use crate::peers::{Asked, Gone, What};
use crate::stat::{Failure, code};
use gasnet::am::{FIRST_LIBRARY_HANDLER, Handler, Message, Token};
use gasnet::atomics::Operation;
use gasnet::coll::{ElementType, Reduction, SyncMode};
use gasnet::{Categories, Event, RankId, Team};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// Active-message handlers.
const STOP: u8 = FIRST_LIBRARY_HANDLER + 8;
const STOPPED: u8 = FIRST_LIBRARY_HANDLER + 9;
const ASK: u8 = FIRST_LIBRARY_HANDLER + 10;
const QUERY: u8 = FIRST_LIBRARY_HANDLER + 11;
const DOING: u8 = FIRST_LIBRARY_HANDLER + 12;

/// The signature of an `allocate`.
pub const ALLOCATE: u8 = 0;

/// Time between two questions of an image that waits for another one.
const TIME_BETWEEN_QUERIES: Duration = Duration::from_secs(1);
/// Steps of a wait between two looks at the clock.
const STEPS_PER_LOOK: u32 = 256;

/// What the end of an image waits for, in reports.
const END: &str = "the end of all images";

/// Bytes of an operand that are copied without asking for memory.
const SMALL_BYTES: usize = 64;

/// Teams in one message of an image that stops.
const TEAMS_PER_MESSAGE: usize = 400;

/// Combines the second vector of elements into the first.
pub type Combine = dyn Fn(&mut [u8], &[u8]) + Send + Sync;

/// How vectors are reduced.
#[derive(Clone)]
pub struct How {
    /// Bytes of an element.
    pub element: usize,
    /// What all images have to agree on beside the size: messages carry
    /// the lowest byte, which says what is called.
    pub signature: u64,
    /// The function, if it is one on words.
    pub known: Option<Operation>,
    /// The function, if it is another one.
    pub combine: Option<Arc<Combine>>,
    /// Whether operands may change places.
    pub commutes: bool,
}

/// A team, and whether images have failed that would belong to one.
pub type Divided = (Option<Team>, Result<(), Failure>);

/// The handlers of this module's messages.
pub fn handlers() -> Vec<(u8, Handler)> {
    // Nothing is sent before all images have started.
    let with = |f: fn(&'static Image, &Token<'_>, &Message<'_>)| {
        Handler::new(move |token, message| {
            if let Some(image) = current() {
                f(image, token, message);
            }
        })
    };
    vec![
        (STOP, with(Image::hear_stop)),
        (STOPPED, with(|image, _, message| image.hear_stopped(message.args))),
        (ASK, with(|image, _, message| image.hear_ask(message.args))),
        (QUERY, with(|image, token, _| image.answer(token, DOING, &image.doing()))),
        (DOING, with(|image, token, message| image.hear_doing(token.source(), message.args))),
    ]
}

/// Operations of a team. All images of the team call them in the same order; a failure means that an image
/// is gone, and its data was zeros.
impl Image {
    /// Returns when all images of the team have called it.
    ///
    /// # Errors
    /// An image is gone.
    pub fn meet(&self, level: &Level) -> Result<(), Failure> {
        self.together(level, What::Barrier, |team| team.barrier())
    }

    /// The words of all images, in order.
    ///
    /// # Errors
    /// An image is gone.
    pub fn tell_all(&self, level: &Level, mine: &[u64]) -> Result<Vec<u64>, Failure> {
        self.together(level, What::GatherAll(size_of_val(mine) as u64), |team| team.gather_all(mine))
    }

    /// Makes teams of the images with the same `color`, each ordered by `key`; those that have failed belong
    /// to none. Returns this image's team, and whether an image has failed.
    ///
    /// # Errors
    /// An image has stopped.
    pub fn divide(&self, level: &Level, color: u32, key: u32) -> Result<Divided, Failure> {
        let (team, missing) = self.perform(level, What::Split, |team| team.split(Some(color), key));
        unless_failed(missing.clone())?;
        Ok((team, missing))
    }

    /// All images get the bytes of member `from`.
    ///
    /// # Errors
    /// An image is gone.
    pub fn hand_out(&self, level: &Level, from: u32, bytes: &mut [u8]) -> Result<(), Failure> {
        self.together(level, What::Broadcast(bytes.len() as u64, from), |team| {
            team.broadcast(from as usize, bytes);
        })
    }

    /// Combines the bytes of all images element by element; the result comes to member `to`, or to all.
    ///
    /// # Errors
    /// An image is gone.
    pub fn combine(
        &self,
        level: &Level,
        to: Option<u32>,
        bytes: &mut [u8],
        how: &How,
    ) -> Result<(), Failure> {
        let n = bytes.len();
        let what = What::Reduce(n as u64, how.element as u32, how.signature, how.known, to);
        let (mut small, large);
        let mine = if n <= SMALL_BYTES {
            small = [0; SMALL_BYTES];
            small[..n].copy_from_slice(bytes);
            &small[..n]
        } else {
            large = bytes.to_vec();
            &large[..]
        };
        let (from, into) = (mine.as_ptr(), bytes.as_mut_ptr());
        self.together(level, what, |team| {
            let reduction = reduction(how);
            match to {
                // SAFETY: both slices have `n` bytes, and do not overlap.
                Some(to) => unsafe {
                    team.reduce_raw(to as usize, into, from, n, reduction, SyncMode::MY);
                },
                // SAFETY: as above.
                None => unsafe { team.reduce_all_raw(into, from, n, reduction, SyncMode::MY) },
            }
        })
    }

    /// Whether and how an image is gone: by rank.
    #[inline]
    pub fn gone(&self, rank: RankId) -> Option<Gone> {
        if !self.some_gone() {
            return None;
        }
        // ORDER: Acquire; pairs with the Release in `hear_stop`: what the image had sent before is here.
        Gone::of(self.peers.gone[rank.0 as usize].load(Acquire).into())
    }

    /// Whether any other image is gone.
    #[inline]
    pub fn some_gone(&self) -> bool {
        // ORDER: Acquire; as in `gone`.
        self.peers.count.load(Acquire) != 0
    }

    /// Whether all other images are gone.
    pub fn is_last(&self) -> bool {
        self.peers.count.load(Relaxed) + 1 == self.rank.size() && self.rank.size() > 1
    }

    /// Carries out an operation of a team.
    fn together<R>(
        &self,
        level: &Level,
        what: What,
        operation: impl FnOnce(&Team) -> R,
    ) -> Result<R, Failure> {
        let (result, missing) = self.perform(level, what, operation);
        missing.map(|()| result)
    }

    /// Carries out an operation of a team; also says whether a member misses it.
    fn perform<R>(
        &self,
        level: &Level,
        what: What,
        operation: impl FnOnce(&Team) -> R,
    ) -> (R, Result<(), Failure>) {
        let index = level.begun.fetch_add(1, Relaxed);
        if level.size() == 1 {
            return (operation(&level.team), Ok(()));
        }
        let doing = &self.peers.doing;
        doing.team.store(level.team.number(), Relaxed);
        doing.index.store(index, Relaxed);
        for (word, value) in doing.what.iter().zip(what.encode()) {
            word.store(value, Relaxed);
        }
        // ORDER: SeqCst; pairs with the read-modify-write in `hear_stop`: either this image sees that another
        // is gone, or the answer to that one says what this image does.
        doing.open.swap(true, SeqCst);
        if self.peers.count.load(SeqCst) != 0 {
            self.ask_gone(level, Asked { team: level.team.number(), index, what });
        }
        let result = operation(&level.team);
        doing.open.store(false, Relaxed);
        let missing = if self.some_gone() { self.missing(level, index) } else { Vec::new() };
        // If some have stopped and others have failed, the standard wants the former told.
        let gone = missing.iter().filter_map(|(rank, _)| Some((self.gone(RankId(*rank))?, *rank))).min();
        (result, gone.map_or(Ok(()), |(gone, rank)| Err(gone.failure(level.image(RankId(rank))))))
    }

    /// The members of a team that miss an operation: rank, and how many they had begun.
    fn missing(&self, level: &Level, index: u32) -> Vec<(u32, u32)> {
        let begun = lock(&self.peers.begun);
        let missing = |rank: &u32| Some((*rank, *begun.get(&(level.team.number(), *rank))?));
        level.ranks.iter().filter_map(missing).filter(|(_, begun)| *begun <= index).collect()
    }

    /// Asks the members that are gone to take part.
    #[cold]
    fn ask_gone(&self, level: &Level, asked: Asked) {
        for (rank, _) in self.missing(level, asked.index) {
            self.send(RankId(rank), ASK, &asked.encode());
        }
    }

    fn send(&self, to: RankId, handler: u8, args: &[u32]) {
        if let Err(e) = self.rank.request_short(to, handler, args) {
            self.fatal(&e.to_string());
        }
    }

    fn hear_stop(&self, token: &Token<'_>, message: &Message<'_>) {
        let from = token.source();
        let mut begun = lock(&self.peers.begun);
        for [team, number] in message.bytes().as_chunks::<4>().0.as_chunks::<2>().0 {
            begun.insert((u32::from_le_bytes(*team), from.0), u32::from_le_bytes(*number));
        }
        drop(begun);
        let Some(gone) = message.args.first().and_then(|number| Gone::of(*number)) else {
            return self.answer(token, STOPPED, &[0; 10]);
        };
        // ORDER: Release; pairs with Acquire in `gone`.
        self.peers.gone[from.0 as usize].store(gone as u8, Release);
        // ORDER: SeqCst; pairs with the exchange in `together`.
        self.peers.count.fetch_add(1, SeqCst);
        self.answer(token, STOPPED, &self.doing());
    }

    /// The operation that this image is in, as arguments of a message.
    fn doing(&self) -> [u32; 10] {
        let doing = &self.peers.doing;
        // ORDER: SeqCst; pairs with the exchange in `together`.
        if !doing.open.load(SeqCst) {
            return [0; 10];
        }
        let words = std::array::from_fn(|i| doing.what[i].load(Relaxed));
        let (team, index) = (doing.team.load(Relaxed), doing.index.load(Relaxed));
        What::decode(words).map_or([0; 10], |what| Asked { team, index, what }.encode())
    }

    fn answer(&self, token: &Token<'_>, handler: u8, args: &[u32]) {
        if let Err(e) = token.reply_short(handler, args) {
            self.fatal(&e.to_string());
        }
    }

    fn hear_doing(&self, from: RankId, args: &[u32]) {
        *lock(&self.peers.heard) = Some((from.0, Asked::decode(args)));
    }

    fn hear_stopped(&self, args: &[u32]) {
        self.hear_ask(args);
        // ORDER: Release; pairs with Acquire in `say_stop`: what was asked is in the list.
        self.peers.answers.fetch_add(1, Release);
    }

    fn hear_ask(&self, args: &[u32]) {
        if let Some(asked) = Asked::decode(args) {
            lock(&self.peers.asked).push(asked);
        }
    }
}

/// The end of an image.
impl Image {
    /// Normal termination of this image: tells the others, and takes part in what they do until all have
    /// initiated theirs. The job's code is the first one that is not 0; the caller then ends the process
    /// with it.
    ///
    /// # Collective
    /// Over all images.
    pub fn end(&self, code: i32) {
        if !self.rank.is_own_process() || self.leaving.swap(true, Relaxed) {
            return;
        }
        self.leave(Gone::Stopped);
        self.rank.done(code);
        if self.mpi {
            gasnet_launch::mpi::finalise();
        }
    }

    /// `fail image`, by an image that holds no locks any more: as [`Image::end`], but to the others this
    /// image has failed. The code is 0, unless no image has stopped otherwise. The caller then ends the
    /// process, without hooks of the program.
    pub fn fail_image(&self) {
        if self.leaving.swap(true, Relaxed) {
            return;
        }
        self.leave(Gone::Failed);
        let none_stopped = self.rank.ranks().all(|rank| self.gone(rank) != Some(Gone::Stopped));
        self.rank.done(none_stopped.into());
    }

    /// Tells the others that this image is gone, and takes part in what they do until all are.
    fn leave(&self, how: Gone) {
        self.rank.implicit().wait(Categories::PUTS);
        if self.rank.size() == 1 {
            return;
        }
        let others = self.rank.size() - 1;
        let mut levels: Vec<&'static Level> = lock(&self.tables).teams.values().copied().collect();
        levels.push(self.initial());
        self.say_stop(how, &levels);
        let peers = &self.peers;
        let mut served = Served::default();
        loop {
            // ORDER: Acquire; pairs with the increment in `hear_stop`.
            let all = || peers.count.load(Acquire) == others;
            self.rank.wait_until(END, || all() || !lock(&peers.asked).is_empty());
            let asked = std::mem::take(&mut *lock(&peers.asked));
            // All have stopped, and so ended all operations.
            if asked.is_empty() && all() {
                served.forget();
                return;
            }
            for asked in asked {
                served.waiting.entry((asked.team, asked.index)).or_insert(asked.what);
            }
            self.serve(&mut served, &levels);
        }
    }

    /// Tells all others, and waits for their answers.
    fn say_stop(&self, how: Gone, levels: &[&'static Level]) {
        let words = |to: RankId| -> Vec<u8> {
            let common = levels.iter().filter(|level| level.team.member(to).is_some());
            common
                .flat_map(|level| [level.team.number(), level.begun.load(Relaxed)])
                .flat_map(u32::to_le_bytes)
                .collect()
        };
        let others = self.rank.ranks().filter(|r| *r != self.rank.id());
        let all: Vec<(RankId, Vec<u8>)> = others.map(|to| (to, words(to))).collect();
        let (mut sent, mut round) = (0, 0);
        loop {
            let before = sent;
            for (to, words) in &all {
                let mut parts = words.chunks(TEAMS_PER_MESSAGE * 8).skip(round);
                let Some(part) = parts.next() else { continue };
                let how = if parts.next().is_none() { how as u32 } else { 0 };
                if let Err(e) = self.rank.request_medium(*to, STOP, &[how], part) {
                    self.fatal(&e.to_string());
                }
                sent += 1;
            }
            if sent == before {
                return;
            }
            // The last message of each image comes after the others.
            // ORDER: Acquire; pairs with Release in `hear_stopped`.
            self.rank.wait_until(END, || self.peers.answers.load(Acquire) == sent);
            round += 1;
        }
    }

    /// Begins those of the operations asked for whose turn it is in their team.
    fn serve(&self, served: &mut Served, levels: &[&'static Level]) {
        served.under_way.retain(|part| !self.rank.test(part.event));
        for level in levels {
            let number = level.team.number();
            loop {
                let index = level.begun.load(Relaxed);
                served.waiting.retain(|(team, i), _| *team != number || *i >= index);
                let Some(what) = served.waiting.remove(&(number, index)) else { break };
                level.begun.store(index + 1, Relaxed);
                served.under_way.extend(take_part(&level.team, what));
            }
        }
    }
}

/// What an image that waits for another one has learned of it.
#[derive(Debug, Default)]
pub struct Watch {
    steps: u32,
    asked: Option<Instant>,
    last: Option<Asked>,
}

impl Image {
    /// A step of a wait for another image, which asks it from time to time what it does. Ends the job if
    /// that image waits in an operation of a team that cannot end without this one.
    pub fn watch(&self, other: RankId, watch: &mut Watch) {
        watch.steps = watch.steps.wrapping_add(1);
        if watch.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.watch_closely(other, watch);
        }
    }

    #[cold]
    fn watch_closely(&self, other: RankId, watch: &mut Watch) {
        let now = Instant::now();
        let asked = *watch.asked.get_or_insert(now);
        if now - asked < TIME_BETWEEN_QUERIES {
            return;
        }
        watch.asked = Some(now);
        let heard = lock(&self.peers.heard).take();
        let said = heard.filter(|(from, _)| *from == other.0).and_then(|(_, asked)| asked);
        // Twice the same: it is not on its way.
        if let Some(said) = said.filter(|_| said == watch.last)
            && let Some(level) = self.team_with(said.team)
            && level.begun.load(Relaxed) <= said.index
            && said.what.needs_all()
        {
            self.fatal(&format!(
                "statements of images do not match: this image waits in sync images for image {} of the initial team, which waits in {} of a \
                 team of {} images for this one",
                other.0 + 1,
                said.what.name(),
                level.size()
            ));
        }
        watch.last = said;
        self.send(other, QUERY, &[]);
    }

    /// The team with this number, among those that this image belongs to.
    fn team_with(&self, number: u32) -> Option<&'static Level> {
        let initial = self.initial();
        let formed = lock(&self.tables).teams.values().copied().find(|level| level.team.number() == number);
        if initial.team.number() == number { Some(initial) } else { formed }
    }
}

/// What an image that is gone is asked for and does.
#[derive(Default)]
struct Served {
    waiting: BTreeMap<(u32, u32), What>,
    under_way: Vec<Part>,
}

impl Served {
    /// Leaves buffers of operations that may still be under way.
    fn forget(self) {
        std::mem::forget(self.under_way);
    }
}

/// An operation under way, and its buffers.
struct Part {
    event: Event,
    _buffers: [Vec<u8>; 2],
}

/// Begins an operation in the place of an image that is gone.
fn take_part(team: &Team, what: What) -> Option<Part> {
    let (n, all) = match what {
        What::GatherAll(n) => (n as usize, team.size()),
        What::Broadcast(n, _) | What::Reduce(n, ..) => (n as usize, 1),
        What::Barrier | What::Split => (0, 0),
    };
    let mut buffers = [vec![0u8; n], vec![0u8; n * all]];
    let (mine, into) = (buffers[0].as_ptr(), buffers[1].as_mut_ptr());
    // SAFETY: in all operations, the buffers have the size that the operation uses, and live until the event
    // is done: `Served` keeps them.
    let event = unsafe {
        match what {
            What::Barrier => team.barrier_nb(),
            What::GatherAll(_) => team.gather_all_raw_nb(into, mine, n, SyncMode::MY),
            What::Broadcast(_, from) => team.broadcast_raw_nb(from as usize, into, mine, n, SyncMode::MY),
            What::Reduce(_, element, signature, known, to) => {
                let element = element as usize;
                let how = How { element, signature, known, combine: None, commutes: known.is_some() };
                match to {
                    Some(to) => team.reduce_raw_nb(to as usize, into, mine, n, reduction(&how), SyncMode::MY),
                    None => team.reduce_all_raw_nb(into, mine, n, reduction(&how), SyncMode::MY),
                }
            }
            // Others found a team; there is no form of this that returns at once.
            What::Split => {
                team.split(None, 0);
                return None;
            }
        }
    };
    Some(Part { event, _buffers: buffers })
}

/// The core's form of a reduction. Without a function, the result is one of the operands.
fn reduction(how: &How) -> Reduction {
    let element_type = ElementType::of_language(how.signature as u8);
    if let Some(known) = how.known {
        return Reduction { element_type, ..Reduction::known(known.function, known.word) };
    }
    let combine: Arc<gasnet::coll::Combine> = match how.combine.clone() {
        None => Arc::new(|_, _, _| ()),
        Some(f) => Arc::new(move |first, second, n| {
            // Copies: others may still write where the operands lie.
            let (mut a, mut b) = (vec![0u8; n], vec![0u8; n]);
            // SAFETY: vectors of `n` bytes, as the copies.
            unsafe {
                first.copy_to_nonoverlapping(a.as_mut_ptr(), n);
                second.copy_to_nonoverlapping(b.as_mut_ptr(), n);
            }
            f(&mut a, &b);
            // SAFETY: as above.
            unsafe { first.copy_from_nonoverlapping(a.as_ptr(), n) };
        }),
    };
    Reduction { combine, commutes: how.commutes, element: how.element.max(1), element_type, known: None }
}

/// What images that have failed are to a statement that goes on without them: no failure.
pub fn unless_failed(result: Result<(), Failure>) -> Result<(), Failure> {
    result.or_else(|failure| if failure.code == code::FAILED_IMAGE { Ok(()) } else { Err(failure) })
}
