//! The state of this image, and how an image starts and ends.
//!
//! An *image* is a rank of the core: image `i` of the initial team is rank `i - 1`. Inside of a `change team`
//! construct images count in the current team, the innermost [`Level`].
#![expect(
    unsafe_code,
    reason = "follows the pointer to the current team, asks the C library for the number of processors"
)]

use crate::heap::{Blocks, Heap};
use crate::peers::{Peers, control_bytes};
use crate::settings::Settings;
use crate::stat::Failure;
use gasnet::coll::Words;
use gasnet::{Error, Handler, RankId, Team, Threading};
use gasnet_conduits::BootOptions;
use gasnet_sys::process::Pid;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

/// The number of the initial team.
pub const INITIAL_TEAM: i32 = -1;

/// One image of a running program.
#[derive(Debug)]
pub struct Image {
    /// The rank that this image is.
    pub rank: &'static gasnet::Rank,
    /// Which coarray memory is free.
    pub heap: Mutex<Heap>,
    /// The memory of components in this segment.
    pub blocks: Mutex<Blocks>,
    /// Whether this library has initialised MPI, for the program.
    pub mpi: bool,
    /// The coarrays and component blocks there are.
    pub tables: Mutex<Tables>,
    /// Questions to other images, and their answers.
    pub calls: Mutex<Calls>,
    /// The accessors of the program: hash and address, in the order of registration.
    pub accessors: Mutex<Vec<(i32, usize)>>,
    /// Far writes that may not be complete yet: rank, first byte and end.
    pub writes: Mutex<Vec<(u32, u64, u64)>>,
    /// The thread that has started this image. What it writes completes when it waits for that.
    pub thread: ThreadId,
    /// Processes of other images that this one may copy from and to, by rank.
    pub processes: Box<[Option<Pid>]>,
    /// Whether the program has begun: all static coarrays exist.
    pub begun: AtomicBool,
    /// Whether there are coarrays whose bounds are not known yet.
    pub fresh: AtomicBool,
    /// Whether this image has warned of a mistake.
    pub warned: AtomicBool,
    /// Whether the end of this image has begun.
    pub leaving: AtomicBool,
    /// Reads of mapped memory since the last poll.
    pub looks: AtomicU32,
    /// What it knows of the others.
    pub peers: Peers,
    level: AtomicPtr<Level>,
}

/// A team, while it is current or around the current one.
#[derive(Debug)]
pub struct Level {
    /// Its images, in order.
    pub team: Team,
    /// What `team_number` says.
    pub number: i32,
    /// The ranks of its images.
    pub ranks: Box<[u32]>,
    /// Where the segments of its images are mapped here; null where they are not.
    pub bases: Box<[AtomicPtr<u8>]>,
    /// The team around it.
    pub outer: Option<&'static Level>,
    /// The coarrays that were allocated while it was the current team, and are not deallocated yet: addresses
    /// of tokens.
    pub coarrays: Mutex<HashSet<usize>>,
    /// Collective operations that this image has begun.
    pub begun: AtomicU32,
}

/// What was registered and is in use.
#[derive(Debug, Default)]
pub struct Tables {
    /// Coarrays by the address of their token.
    pub coarrays: HashSet<usize>,
    /// Coarrays by their first byte: how many they have, and the address of the token.
    pub places: BTreeMap<u64, (u64, usize)>,
    /// Memory of allocatable and pointer components, by address.
    pub blocks: BTreeMap<usize, Block>,
    /// The memory that a component got last, by its token.
    pub by_token: HashMap<usize, usize>,
    /// Where components of coarrays have their pointers, as far as it is known, by their tokens.
    pub pointers: HashMap<usize, usize>,
    /// The component that got memory last, and this memory.
    pub latest: Option<(usize, usize)>,
    /// The teams that were formed, by their handles: what a variable of type `team_type` holds.
    pub teams: HashMap<usize, &'static Level>,
    /// A checksum of the static coarrays so far.
    pub statics: u64,
}

/// Messages of questions that were sent, by number, and their replies as soon as they are there.
#[derive(Debug, Default)]
pub struct Calls {
    /// How many there were.
    pub asked: u64,
    /// Those whose replies are awaited.
    pub replies: HashMap<u64, Option<Vec<u8>>>,
    /// Questions of others of which parts are missing, and answers of which parts were not fetched: by rank
    /// and number.
    pub kept: HashMap<(u32, u64), Kept>,
}

/// A question or an answer of several parts.
#[derive(Debug, Default)]
pub struct Kept {
    /// Its bytes from the first one on.
    pub joined: Vec<u8>,
    /// Parts of a question that came before others which belong in front of them, by place.
    pub early: BTreeMap<usize, Vec<u8>>,
    /// Bytes of an answer that were handed out.
    pub done: usize,
}

/// Memory of a component.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// How much was asked for.
    pub bytes: usize,
    /// Where the component has its token.
    pub token: usize,
}

static IMAGE: OnceLock<Image> = OnceLock::new();

/// The state of this image, if it has started.
#[inline]
pub fn current() -> Option<&'static Image> {
    IMAGE.get()
}

/// Starts this image, if it has not: its rank of the job, and a segment as large as the memory allows.
/// `handlers` are those of all messages of this library; `words`
/// say that collective operations do not match.
///
/// # Collective
/// Over all images, by the first call of the library.
#[cold]
pub fn start(handlers: impl FnOnce() -> Vec<(u8, Handler)>, words: Words) -> &'static Image {
    let mut first = false;
    let image = IMAGE.get_or_init(|| {
        first = true;
        begin(handlers(), words).unwrap_or_else(|text| refuse(&text))
    });
    if first {
        // Nobody sends to an image whose state is not there yet.
        image.rank.barrier();
    }
    image
}

/// Ends a process that cannot become an image.
fn refuse(text: &str) -> ! {
    eprintln!("Fortran runtime error: {text}");
    std::process::exit(1)
}

fn begin(handlers: Vec<(u8, Handler)>, words: Words) -> Result<Image, String> {
    let options = BootOptions { default_ranks: 1, static_ranks: None };
    // Programs with OpenMP access coarrays from several threads.
    let rank = gasnet_conduits::init(&options, Threading::Parallel).map_err(|e| e.to_string())?;
    // The conduit leaves MPI alone where all images share memory; the program may call it all the same.
    let mpi = gasnet_conduits::wanted().as_deref() == Some("mpi") && gasnet_launch::mpi::initialise();
    // By the job, in which one image says it.
    let refuse =
        |text: String| -> ! { rank.ending().fatal_line(&text, &format!("Fortran runtime error: {text}")) };
    let fail = |e: Error| -> ! { refuse(e.to_string()) };
    let settings = Settings::from_env().unwrap_or_else(|text| refuse(text));
    rank.say_collectives(words);
    for (index, handler) in handlers {
        rank.register_library(index, handler).unwrap_or_else(|e| fail(e));
    }
    let control = control_bytes(rank.size());
    let most = rank.segments().max_global() as u64;
    let bytes = settings.heap.map_or(most, |heap| most.min(heap.saturating_add(control)));
    let bytes = rank.segments().max_global().min(bytes as usize);
    let table = rank.attach(bytes, None).unwrap_or_else(|e| fail(e));
    let ranks: Box<[u32]> = (0..rank.size()).collect();
    let size = table.get(rank.id()).map_or(0, |e| e.size as u64);
    let processes = rank.segments().meet_processes().unwrap_or_else(|e| fail(e));
    let mut job = [gasnet_sys::random()];
    rank.team_all().broadcast(0, &mut job);
    let level = Box::leak(Box::new(Level::new(rank.team_all(), INITIAL_TEAM, ranks, None)));
    Ok(Image {
        rank,
        mpi,
        heap: Mutex::new(Heap::new(control..size)),
        blocks: Mutex::default(),
        tables: Mutex::default(),
        calls: Mutex::default(),
        accessors: Mutex::default(),
        writes: Mutex::default(),
        thread: std::thread::current().id(),
        processes,
        begun: AtomicBool::new(false),
        fresh: AtomicBool::new(false),
        warned: AtomicBool::new(false),
        leaving: AtomicBool::new(false),
        looks: AtomicU32::new(0),
        peers: Peers::new(rank.size(), job[0], is_crowded(rank)),
        level: AtomicPtr::new(level),
    })
}

/// Whether the images of this host outnumber its processors.
fn is_crowded(rank: &gasnet::Rank) -> bool {
    let host = rank.topology().host_of(rank.id());
    let images = rank.ranks().filter(|r| rank.topology().host_of(*r) == host).count();
    // SAFETY: plain query.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    images as i64 > processors
}

impl Level {
    /// The level of a team.
    pub fn new(team: Team, number: i32, ranks: Box<[u32]>, outer: Option<&'static Level>) -> Level {
        let table = team.rank().table();
        let base = |r: &u32| table.get(RankId(*r)).map_or(std::ptr::null_mut(), |e| e.local);
        let bases = ranks.iter().map(|r| AtomicPtr::new(base(r))).collect();
        Level { team, number, ranks, bases, outer, coarrays: Mutex::default(), begun: AtomicU32::new(0) }
    }

    /// What a variable of type `team_type` holds.
    pub fn handle(&'static self) -> usize {
        std::ptr::from_ref(self).expose_provenance()
    }

    /// Images in the team.
    #[inline]
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The number of this image in the team, from 1.
    #[inline]
    pub fn this_image(&self) -> i32 {
        self.team.me() as i32 + 1
    }

    /// The number of the image that is a rank; 0 if the team does not have it.
    pub fn image(&self, rank: RankId) -> usize {
        self.team.member(rank).map_or(0, |member| member + 1)
    }

    /// The rank of an image of the team.
    #[inline]
    pub fn rank_of(&self, image: i32) -> Option<RankId> {
        self.ranks.get((image as usize).wrapping_sub(1)).copied().map(RankId)
    }
}

/// Locks, whatever happened to who held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Image {
    /// The current team.
    #[inline]
    pub fn level(&self) -> &'static Level {
        // Relaxed: the program changes teams on one thread.
        // SAFETY: levels are leaked boxes.
        unsafe { &*self.level.load(Relaxed) }
    }

    /// The initial team.
    pub fn initial(&self) -> &'static Level {
        let mut level = self.level();
        while let Some(outer) = level.outer {
            level = outer;
        }
        level
    }

    /// The team with a number: the current one, one around it, or one that this image has formed.
    ///
    /// # Errors
    /// It is another team than this image's own.
    #[cold]
    pub fn level_numbered(&self, number: i32) -> Result<&'static Level, Failure> {
        let around = std::iter::successors(Some(self.level()), |level| level.outer);
        let mut formed: Vec<_> = lock(&self.tables).teams.values().copied().collect();
        formed.retain(|level| level.outer.is_some_and(|outer| std::ptr::eq(outer, self.level())));
        around.chain(formed).find(|level| level.number == number).ok_or_else(|| {
            Failure::other(format!(
                "team_number={number} is the number of another team than this image's own"
            ))
        })
    }

    /// Makes another team the current one.
    pub fn set_level(&self, level: &'static Level) {
        self.level.store(std::ptr::from_ref(level).cast_mut(), Relaxed);
    }

    /// The rank of an image of the current team.
    ///
    /// # Errors
    /// There is no such image.
    #[inline]
    pub fn rank_of(&self, image: i32) -> Result<RankId, Failure> {
        let level = self.level();
        level.rank_of(image).ok_or_else(|| no_image(image, level))
    }

    /// Begins the program: waits until all images have their static coarrays.
    ///
    /// # Collective
    /// Over all images.
    pub fn begin(&self) {
        if self.begun.swap(true, Relaxed) {
            return;
        }
        let statics = lock(&self.tables).statics;
        match self.rank.unlike(statics) {
            Ok(others) if others.is_empty() => {}
            Ok(others) => {
                let other = others[0].0 + 1;
                self.fatal(&format!(
                    "images {} and {other} run different programs: their static coarrays differ. Copy one executable to all hosts",
                    self.rank.id().0 + 1
                ));
            }
            Err(e) => self.fatal(&e.to_string()),
        }
        self.rank.barrier();
    }

    /// Error termination of all images, with a message in the form of the compiler's library.
    #[cold]
    pub fn fatal(&self, text: &str) -> ! {
        self.say("error", &format!("{text}\n\nError termination."));
        self.rank.global_exit(1)
    }

    /// Says once that the program is wrong, and goes on.
    #[cold]
    pub fn warn(&self, text: &str) {
        if !self.warned.swap(true, Relaxed) && !self.rank.config().quiet {
            self.say("warning", text);
        }
    }

    fn say(&self, what: &str, text: &str) {
        let message = format!("Fortran runtime {what} on image {}: {text}\n", self.rank.id().0 + 1);
        // One write: messages of other images come before or after.
        let _ = std::io::stderr().write_all(message.as_bytes());
    }

    /// Error termination because of a statement that failed.
    #[cold]
    pub fn fail(&self, failure: &Failure) -> ! {
        if failure.shared && self.level().team.me() != 0 {
            // One message is enough; the first image ends the job.
            self.rank.wait_until("image 1", || false);
        }
        self.fatal(&failure.text)
    }
}

/// The failure of an access to an image that is not there.
#[cold]
pub fn no_image(image: i32, level: &Level) -> Failure {
    Failure::other(format!("image index {image} of a coarray with {} images", level.size()))
}
