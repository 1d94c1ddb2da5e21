//! Segments: attaching them, and taking memory of them.

use super::{Heap, Rank, lock};
use crate::RankId;
use crate::native::Native;
use crate::processes::Processes;
use core::ops::Range;
use core::sync::atomic::AtomicBool;
use gasnet_sys::fd;
use gasnet_sys::process::Pid;
use gasnet_wire::Error;
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::conduit::{Advice, SegmentDesc};
use gasnet_wire::prim::Ordering;
use gasnet_wire::reach::{ATTACHED, BOUND};
use gasnet_wire::segment::{EntryFile, GlobalPtr, Place, SEGMENTS_END, SegmentEntry, SegmentTable, Shared};
use gasnet_wire::shm::{self, map};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Address at which every rank tries to map the segments, far from addresses that kernels and sanitizers use.
const SEGMENT_HINT_ADDRESS: usize = 0x2000_0000_0000;
/// Segments start at multiples of this.
const SEGMENT_ALIGN: u64 = 2 << 20;
/// Naps between two looks for messages of a rank that attaches.
const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// Entries for the table of segments.
enum Entries {
    /// All of them.
    Own(Vec<SegmentEntry>),
    /// A file of those that many ranks of this process have, and where the segments are that only this one
    /// maps.
    Common(Arc<EntryFile>, Vec<(RankId, At)>),
}

/// When ranks attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before any of them can send. All attach as much, which all know.
    AtStart,
    /// Some may wait for answers of others.
    Any,
}

/// Where a segment is mapped.
struct At(*mut u8);

/// Segments of equal ranks on a host, that all of them have mapped.
#[derive(Debug, Clone, Copy)]
struct Lasting {
    /// The file that they lie in, by what the system knows it by.
    file: Option<(u64, u64)>,
    stride: u64,
    /// Bytes of each.
    each: u64,
    slots: u32,
}

/// Those that this process has mapped as a rank that may survive others, and where. They stay as long as it
/// lives, and so does the file.
static LASTING: Mutex<Vec<(Lasting, usize)>> = Mutex::new(Vec::new());

impl Lasting {
    /// Where this process has mapped them, or more of them, already.
    fn base(&self) -> Option<*mut u8> {
        let all = lock(&LASTING);
        let serves = |known: &Lasting| {
            (known.file, known.stride, known.each) == (self.file, self.stride, self.each)
                && known.slots >= self.slots
                && self.file.is_some()
        };
        let at = all.iter().find(|(known, _)| serves(known)).map(|(_, at)| *at)?;
        Some(core::ptr::with_exposed_provenance_mut(at))
    }
}

/// Segments that one call maps. With a call for each segment, the ranks of a host would create as many
/// mappings as there are pairs of ranks.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    /// Number of the first segment's owner among the neighbours.
    first: usize,
    /// Bytes from its start to the end of the last segment.
    bytes: u64,
}

impl Run {
    /// The runs of these neighbours' segments. A gap between two segments that only rounding to
    /// [`SEGMENT_ALIGN`] made is mapped with them; a larger gap stays without access, so that wrong accesses
    /// are detected.
    fn all(neighbours: &[u32], sizes: &[u64], stride: u64) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (i, size) in sizes.iter().copied().enumerate().filter(|(_, size)| *size > 0) {
            let continues = |run: &Run| {
                let end = (i - run.first) as u64 * stride;
                neighbours[i] - neighbours[run.first] == (i - run.first) as u32
                    && end - run.bytes < SEGMENT_ALIGN
            };
            match runs.last_mut().filter(|run| continues(run)) {
                Some(run) => run.bytes = (i - run.first) as u64 * stride + size,
                None => runs.push(Run { first: i, bytes: size }),
            }
        }
        runs
    }
}

/// There is no room for so many bytes.
pub(super) fn no_room(bytes: u64, size: u64, used: u64) -> Error {
    Error::op(format!(
        "no room for {bytes} bytes in a segment of {size} bytes of which {used} are in use: attach a larger one"
    ))
}

impl Heap {
    /// Where what is allocated must end: before what the kept memory has taken of the room.
    pub(super) fn room(&self, own: &SegmentEntry) -> u64 {
        self.end.min(own.size as u64).saturating_sub(self.kept)
    }
}

/// Rarer ways to segments than [`Rank::attach`] and [`Rank::allocate`]: [`Rank::segments`].
#[derive(Debug, Clone, Copy)]
pub struct SegmentCalls<'a> {
    pub(crate) rank: &'a Rank,
}

impl Rank {
    /// Sizes of segments, other ways to attach them, and memory of them that ranks agree about.
    #[inline]
    pub fn segments(&self) -> SegmentCalls<'_> {
        SegmentCalls { rank: self }
    }

    /// Attaches a segment of `bytes` bytes, rounded up to pages; ranks may choose different sizes, 0 among
    /// them. The memory is zero-filled and takes space only where it is touched.
    ///
    /// `stride`, the same on all ranks, fixes the distance at which the segments of neighbours lie from each
    /// other in every process; by default it is the largest size. All segments of the host lie in one range
    /// of addresses: rank r's at `base + r * stride`.
    ///
    /// # Collective
    /// Once per job; acts as a barrier.
    ///
    /// # Errors
    /// Attached already, a size above physical limits, or no address space. After the latter two the job
    /// cannot go on: other ranks may be waiting in their call.
    pub fn attach(&self, bytes: usize, stride: Option<u64>) -> Result<&SegmentTable, Error> {
        self.attach_memory(bytes, stride, false, Moment::Any)
    }

    fn attach_memory(
        &self,
        bytes: usize,
        stride: Option<u64>,
        keep: bool,
        moment: Moment,
    ) -> Result<&SegmentTable, Error> {
        let size = bytes
            .checked_next_multiple_of(map::PAGE_BYTES)
            .ok_or_else(|| Error::op(format!("a segment of {bytes} bytes is too large")))?;
        let entries = self.map_segments(size, stride, keep, moment)?;
        if let Some(rma) = self.wire.conduit.as_ref().and_then(|conduit| conduit.rma()) {
            self.native.get_or_init(|| Native::new(rma));
            self.wire.has_completions.store(true, Ordering::Relaxed);
            if let Some(served) = self.wire.conduit.as_ref().and_then(|conduit| conduit.regions()) {
                served.serve(self.regions.clone());
            }
        }
        self.enter_segments(entries, moment)
    }

    /// Whether ranks that attach at this moment meet once only, where they tell their addresses: all share
    /// memory, so what a faster one sends meanwhile needs no segment here.
    fn is_short(&self, moment: Moment) -> bool {
        moment == Moment::AtStart && self.wire.boot.exchange.is_none() && self.wire.conduit.is_none()
    }

    /// Enters segments in the table. The ranks meet, so that no rank accesses a segment before its owner has
    /// entered it, if others than the owner itself could see that.
    fn enter_segments(&self, entries: Entries, moment: Moment) -> Result<&SegmentTable, Error> {
        #[expect(unsafe_code, reason = "enters memory that was mapped")]
        // SAFETY: `map_segments` has mapped what has a local address, or it is the whole memory of this
        // process, as the program has asked for; a mapping stays until the rank is dismantled.
        unsafe {
            match entries {
                Entries::Own(entries) => self.wire.segments.change(|all| all.copy_from_slice(&entries)),
                Entries::Common(file, near) => self.wire.segments.begin_with(&file, |all| {
                    near.iter().for_each(|(rank, at)| all[rank.0 as usize].local = at.0);
                })?,
            }
        }
        self.wire.attaching.store(ATTACHED, Ordering::Relaxed);
        if !self.is_short(moment) {
            self.wire.meet()?;
        }
        Ok(&self.wire.segments)
    }

    /// Serves messages while `meet` waits for the other ranks on a thread of its own: a rank that has not
    /// come yet may wait for room or an answer, and what this rank has sent may need it to arrive.
    fn serve_during<T: Send>(&self, meet: &(dyn Fn() -> T + Sync)) -> T {
        let sends = self.wire.conduit.as_ref().is_none_or(|conduit| conduit.sends_before_attach());
        if self.size() == 1 || !sends {
            return meet();
        }
        let (caller, met) = (std::thread::current(), AtomicBool::new(false));
        let attempting = gasnet_wire::context::attempting();
        std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().name("gasnet-attach".into()).spawn_scoped(scope, || {
                let result = gasnet_wire::death::attempt_for(attempting, meet);
                // Relaxed: `join` hands the result over.
                met.store(true, Ordering::Relaxed);
                caller.unpark();
                result
            });
            // Without a thread, ranks meet all the same, unless one of them waits as above.
            let Ok(beside) = beside else { return meet() };
            let mut nap = SHORTEST_NAP;
            let mut waiter = self.waits().begin(self.wire.policy);
            (waiter.for_others, waiter.meeting) = (true, Some(MeetingPlace::Attach));
            // It ends without having met where a rank has died.
            while !met.load(Ordering::Relaxed) && !beside.is_finished() {
                self.wire.tell_wait(&mut waiter, "all ranks to attach their segments", None);
                nap = if self.poll() > 0 { SHORTEST_NAP } else { LONGEST_NAP.min(2 * nap) };
                std::thread::park_timeout(nap);
            }
            beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// [`Rank::gather_number`], serving messages.
    fn gather_and_serve(&self, mine: u64) -> Result<Arc<Vec<u64>>, Error> {
        if self.wire.takes_turns() {
            return self.wire.gather_number_serving(mine, &|| self.poll());
        }
        self.serve_during(&|| self.wire.gather_number(mine))
    }

    /// Maps the segments of all neighbours, and tells the conduit of this rank's, which has `size` bytes, and
    /// kept memory if `keep`.
    fn map_segments(
        &self,
        size: usize,
        stride: Option<u64>,
        keep: bool,
        moment: Moment,
    ) -> Result<Entries, Error> {
        if self.wire.attaching.swap(BOUND, Ordering::Relaxed) != 0 {
            return Err(Error::op("the segment is attached already"));
        }
        // Once all ranks are here, none of them waits for another's program. Handlers run no more: what
        // arrives later may be meant for a rank that has attached.
        // Sizes are whole pages, so the lowest bit is free to say whether there is kept memory.
        let mine = size as u64 | u64::from(keep);
        let short = self.is_short(moment);
        let said = match short {
            true => Arc::new(vec![mine; self.size() as usize]),
            false => self.gather_and_serve(mine)?,
        };
        if let Some(other) = said.iter().position(|said| (said & 1 == 1) != keep) {
            return Err(Error::job(format!(
                "rank {other} and rank {} attach differently: with kept memory (attach_and_keep) and without",
                self.id()
            )));
        }
        let size_of = |r: u32| said[r as usize] & !1;
        let largest = said.iter().map(|said| said & !1).max().unwrap_or(0);
        let most = if keep { largest.saturating_mul(2) } else { largest };
        let whole_of = |r: u32| if keep { most } else { size_of(r) };
        let whole = whole_of(self.id().0) as usize;
        let stride = stride.unwrap_or(most).max(most).max(1);
        let near = self.wire.neighbourhood.members();
        let (first, last) = (near[0], near[near.len() - 1]);
        let on_host = self.wire.boot.host_ranks.len() as u32;
        let (stride, span) = stride
            .checked_next_multiple_of(SEGMENT_ALIGN)
            .and_then(|stride| Some((stride, stride.checked_mul(u64::from(on_host.max(last - first + 1)))?)))
            .filter(|(_, span)| *span < SEGMENTS_END)
            .ok_or_else(|| {
                Error::op(format!(
                    "{on_host} segments of {stride} bytes are too large: those of a host lie in one range of addresses of less than 64T; \
                     ask for less, or set a smaller GASNET_MAX_SEGSIZE"
                ))
            })?;
        // What an earlier world has mapped here serves this one, too.
        let lasts = short && self.wire.may_survive();
        let lasting = Lasting { file: self.segments_file(), stride, each: most, slots: on_host };
        let known = if lasts { lasting.base() } else { None };
        let owned = self.wire.conduit.as_ref().map_or(Ok(None), |conduit| conduit.segment_memory(whole))?;
        if owned.is_some() && near.len() > 1 {
            return Err(Error::job("a conduit that owns the memory of segments leaves no neighbours"));
        }
        // The leader chooses an address; the others try to map at the same one, which nobody needs.
        let span_here = (stride * u64::from(last - first + 1)) as usize;
        let base = if let Some(owned) = owned {
            self.wire.gather_number(0)?;
            owned.as_ptr()
        } else if let Some(base) = known {
            base
        } else if short {
            // Usually it is free in all of them.
            map::reserve(SEGMENT_HINT_ADDRESS, span_here)?
        } else if self.id().0 == first {
            let base = map::reserve(SEGMENT_HINT_ADDRESS, span_here)?;
            self.wire.gather_number(base as u64)?;
            base
        } else {
            map::reserve(self.wire.gather_number(0)?[first as usize] as usize, span_here)?
        };
        let local = |r: u32| base.wrapping_add((u64::from(r - first) * stride) as usize);
        if owned.is_none() {
            shm::grow(&self.wire.boot.segments, span)?;
            self.clear_taken_over(stride, whole as u64, if keep { most / 2 } else { most });
        }
        if owned.is_none() && known.is_none() {
            lock(&self.wire.mappings).push((base as usize, span_here));
            let file = self.wire.boot.segments.file()?;
            let own_sizes: Vec<u64> = near.iter().map(|r| whole_of(*r)).collect();
            for run in Run::all(near, &own_sizes, stride) {
                let on_host = u64::from(self.wire.neighbourhood.on_host(run.first as u32)) * stride;
                let offset = self.wire.boot.segments.at + on_host;
                #[expect(unsafe_code, reason = "maps into the range reserved above")]
                // SAFETY: inside the reservation of `span_here` bytes made above, which nothing uses yet.
                unsafe {
                    let at = local(near[run.first]);
                    map::map_over(file.as_fd(), offset, at, run.bytes as usize)?;
                    if self.config().dump_used {
                        map::keep_in_dumps(file.as_fd(), offset, at, run.bytes as usize)?;
                    }
                }
            }
        }
        if lasts && known.is_none() {
            lock(&LASTING).push((lasting, base.expose_provenance()));
        }
        let own = local(self.id().0);
        if let Some(conduit) = &self.wire.conduit {
            conduit.attach(&SegmentDesc { base: own, len: whole })?;
        }
        let entries = |addresses: &[u64], local: &dyn Fn(u32) -> *mut u8| -> Vec<SegmentEntry> {
            let entry = |(r, addr): (u32, &u64)| SegmentEntry {
                addr: *addr as usize,
                size: size_of(r) as usize,
                local: local(r),
                whole: whole_of(r) as usize,
            };
            (0..).zip(addresses).map(entry).collect()
        };
        let nowhere = core::ptr::null_mut();
        if let Some(exchange) = &self.wire.boot.exchange {
            let said = exchange.all_gather_shared(&(own as u64).to_le_bytes())?;
            let addresses = said.numbers(self.size())?;
            if said.is_common() {
                let file = said.derive(|_| EntryFile::new(&entries(&addresses, &|_| nowhere)))?;
                let near = near.iter().map(|r| (RankId(*r), At(local(*r)))).collect();
                return Ok(Entries::Common(file, near));
            }
            let local = |r| self.wire.neighbourhood.index(RankId(r)).map_or(nowhere, |_| local(r));
            return Ok(Entries::Own(entries(&addresses, &local)));
        }
        let local = |r| self.wire.neighbourhood.index(RankId(r)).map_or(nowhere, |_| local(r));
        Ok(Entries::Own(entries(&self.wire.gather_number(own as u64)?, &local)))
    }

    /// In a world that has taken over the memory of the one before: has zeros in this rank's segment of so
    /// many bytes, and notes which parts of its kept memory, from byte `kept` on, have something else. The
    /// first rank of the host gives back what nobody has here. To be called before the ranks meet.
    fn clear_taken_over(&self, stride: u64, bytes: u64, kept: u64) {
        let (boot, id) = (&self.wire.boot, self.id().0);
        let number = boot.host_ranks.iter().position(|rank| *rank == id).filter(|_| boot.segments.used);
        let (Some(number), Ok(file)) = (number, boot.segments.file()) else { return };
        let (file, from) = (file.as_fd(), number as u64 * stride);
        fd::give_back(file, from..from + kept.min(bytes));
        let parts = fd::used_parts(file, from + kept.min(bytes)..from + bytes);
        lock(&self.heap).stale = parts.into_iter().map(|part| part.start - from..part.end - from).collect();
        if number == 0 {
            fd::give_back(file, boot.host_ranks.len() as u64 * stride..SEGMENTS_END);
        }
    }

    /// Writes zeros where this part of the kept memory, which is now given out, has something else.
    pub(super) fn clear_stale(&self, given: Range<u64>) {
        let heap = lock(&self.heap);
        for part in &heap.stale {
            let (from, end) = (part.start.max(given.start), part.end.min(given.end));
            let Some(len) = end.checked_sub(from).filter(|len| *len > 0) else { continue };
            if let Some(Place::Near(at)) = self.wire.segments.whole_at(self.id(), from, len as usize) {
                gasnet_sys::memory::populate(at, len as usize);
                #[expect(unsafe_code, reason = "clears memory that nobody has yet")]
                // SAFETY: mapped, as `whole_at` says. No process has anything of the earlier world (owed by
                // the launcher), and nobody has this part in this one: it is given out once, after this.
                unsafe {
                    at.write_bytes(0, len as usize);
                }
            }
        }
    }

    /// What the system knows the file of the segments by.
    fn segments_file(&self) -> Option<(u64, u64)> {
        fd::file_kind(self.wire.boot.segments.file().ok()?.as_fd()).map(|kind| kind.identity)
    }

    /// Finds out which processes of neighbours the system lets this one copy from and to.
    fn try_processes(&self) -> Result<Processes, Error> {
        let mut probes = vec![[0; 3]; self.size() as usize];
        // Who has no neighbours is tried by nobody, and says the same in every run.
        let own = if self.neighbours().len() > 1 { Processes::own_probe() } else { [0; 3] };
        for (i, mine) in own.into_iter().enumerate() {
            for (probe, number) in probes.iter_mut().zip(self.wire.gather_number(mine)?.iter()) {
                probe[i] = *number;
            }
        }
        Ok(Processes::meet(self, &probes))
    }

    /// Takes `bytes` bytes of every rank's segment, at the same offset everywhere, aligned to `align` (a
    /// power of two), and returns the offset.
    ///
    /// # Collective
    /// All ranks call it in the same order with the same arguments; nothing is exchanged and nobody waits. It
    /// succeeds on all of them or on none: the smallest of the attached segments counts. Who trusts in equal
    /// offsets calls [`SegmentCalls::allocate_agreed`].
    ///
    /// # Errors
    /// A segment is too small, or not attached yet.
    pub fn allocate(&self, bytes: u64, align: u64) -> Result<u64, Error> {
        let Some(own) = self.wire.segments.known().and_then(|t| t.get(self.id())) else {
            return Err(Error::op("memory of a segment can be allocated only after Rank::attach"));
        };
        let mut heap = lock(&self.heap);
        let smallest = if self.wire.has_attached() { self.smallest_segment() } else { own.size as u64 };
        let size = heap.room(&SegmentEntry { size: own.size.min(smallest as usize), ..*own });
        let start = heap.used.checked_next_multiple_of(align.max(1));
        match start.and_then(|start| Some((start, start.checked_add(bytes)?))) {
            Some((start, end)) if end <= size => {
                heap.used = end;
                Ok(start)
            }
            _ if smallest < own.size as u64 => Err(Error::op(format!(
                "no room for {bytes} bytes in a segment of {smallest} bytes (the smallest of all ranks') of which {} are in use: \
                 attach a larger one",
                heap.used + heap.kept
            ))),
            _ => Err(no_room(bytes, heap.end.min(own.size as u64), heap.used + heap.kept)),
        }
    }

    /// Bytes that every attached segment has.
    fn smallest_segment(&self) -> u64 {
        self.wire.segments.entries().iter().map(|entry| entry.size as u64).min().unwrap_or(0)
    }

    /// [`Rank::allocate`] of room for `count` elements, all zero at first: the address in this
    /// rank's segment; `on` gives that in another's.
    ///
    /// # Collective
    /// As [`Rank::allocate`].
    ///
    /// # Errors
    /// As [`Rank::allocate`].
    pub fn allocate_array<T: Shared>(&self, count: usize) -> Result<GlobalPtr<T>, Error> {
        let bytes = count.checked_mul(size_of::<T>()).map_or(u64::MAX, |bytes| bytes as u64);
        Ok(GlobalPtr::new(self.id(), self.allocate(bytes, align_of::<T>() as u64)?))
    }

    /// Where `count` elements lie in this process, for programs that work on them in place; `None` where they
    /// are not mapped here or not inside the segment. Peers may write there at any time.
    pub fn address<T: Shared>(&self, at: GlobalPtr<T>, count: usize) -> Option<*mut T> {
        match self.wire.segments.known()?.place_at(
            at.rank(),
            at.offset(),
            count.checked_mul(size_of::<T>())?,
        )? {
            Place::Near(p) => Some(p.cast()),
            Place::Far => None,
        }
    }
}

impl<'a> SegmentCalls<'a> {
    /// Largest segment this rank can attach, in bytes, a multiple of the page size: `GASNET_MAX_SEGSIZE`,
    /// else this rank's share of physical memory.
    pub fn max_local(self) -> usize {
        let bytes = self
            .rank
            .config()
            .max_segment
            .unwrap_or(map::physical_memory() / self.rank.wire.boot.host_ranks.len() as u64);
        (bytes as usize & !(map::PAGE_BYTES - 1)).max(map::PAGE_BYTES)
    }

    /// Largest segment that every rank can attach: the smallest [`SegmentCalls::max_local`] of the job.
    pub fn max_global(self) -> usize {
        self.rank.max_global_segment.get().copied().unwrap_or_else(|| self.max_local())
    }

    /// [`Rank::attach`] of a segment with *kept memory* behind it: as much as the largest segment of
    /// the job has, at the same offsets on all ranks. Only
    /// [`KeptCalls::allocate`](crate::KeptCalls::allocate) gives it out, and no safe call of the runtime
    /// reaches it. So a crate may lend references to what it has there. Segment and kept memory together hold
    /// no more than the segment does: what one has taken, the other has not. Pages that nobody touches cost
    /// nothing.
    ///
    /// # Collective
    /// As [`Rank::attach`], on all ranks alike.
    ///
    /// # Errors
    /// As [`Rank::attach`], and if another rank attaches without.
    pub fn attach_and_keep(self, bytes: usize, stride: Option<u64>) -> Result<&'a SegmentTable, Error> {
        self.rank.attach_memory(bytes, stride, true, Moment::Any)
    }

    /// [`SegmentCalls::attach_and_keep`] of [`SegmentCalls::max_global`] bytes, as the first call of all
    /// ranks: none has sent anything or has handlers, so on one host they meet once instead of four times.
    ///
    /// # Collective
    /// As [`Rank::attach`].
    ///
    /// # Errors
    /// As [`Rank::attach`].
    pub fn attach_at_start(self) -> Result<&'a SegmentTable, Error> {
        self.rank.attach_memory(self.max_global(), None, true, Moment::AtStart)
    }

    /// The processes of neighbours that this one may copy from and to, by
    /// [`read_process`](gasnet_sys::memory::read_process) and its like, by rank; `None` for others, this rank
    /// among them. Each was tried. It runs no handlers.
    ///
    /// # Collective
    /// Over all ranks.
    ///
    /// # Errors
    /// The launcher cannot be reached, or the job is ending.
    pub fn meet_processes(self) -> Result<Box<[Option<Pid>]>, Error> {
        Ok(self.rank.try_processes()?.into_list())
    }

    /// Makes memory of the program this rank's segment, in place of [`Rank::attach`]. No other rank maps it.
    /// Ranks that have learned of it ([`SegmentCalls::learn`]) access it by messages.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads and writes as long as the rank lives, and are accessed by means only
    ///    that may meet accesses of others: calls of the runtime, atomics, raw pointers where the program
    ///    keeps them apart (owed by the caller).
    ///
    /// # Errors
    /// This rank has a segment already.
    #[expect(unsafe_code, reason = "declares and forwards the obligation")]
    pub unsafe fn bind(self, at: *mut u8, len: usize) -> Result<(), Error> {
        use Ordering::Relaxed;
        if self.rank.wire.attaching.compare_exchange(0, BOUND, Relaxed, Relaxed).is_err() {
            return Err(Error::op("the segment is attached already"));
        }
        self.rank.regions.reaches_far();
        let own = SegmentEntry { addr: at as usize, size: len, local: at, whole: len };
        // SAFETY: (1).
        unsafe { self.rank.wire.segments.change(|all| all[self.rank.id().0 as usize] = own) };
        Ok(())
    }

    /// Makes all memory of every rank its segment, in place of [`Rank::attach`]: byte `a - e.addr`, which
    /// wraps, of the segment `e` of a rank is the byte at address `a` of its process. Nobody maps it.
    /// Neighbours copy from and to it by system calls, if the system allows that; all other accesses are
    /// messages. [`Rank::allocate`] fails.
    ///
    /// # Collective
    /// Once per job; acts as a barrier.
    ///
    /// # Safety
    /// 1. No rank reaches for memory of another that is not there, or that its owner accesses by other means
    ///    than may meet accesses of others (as for [`SegmentCalls::bind`]; owed by the program).
    ///
    /// # Errors
    /// This rank has a segment already.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn attach_everything(self) -> Result<&'a SegmentTable, Error> {
        // Conduits carry messages once they have a segment. Their own puts and gets know only that segment,
        // and are not used.
        self.rank.map_segments(0, None, false, Moment::Any)?;
        lock(&self.rank.heap).end = 0;
        self.rank.regions.reaches_far();
        // A null local address means that a segment is not mapped, so a segment does not begin at address 0.
        let base = core::ptr::with_exposed_provenance_mut::<u8>(map::PAGE_BYTES);
        let local = |r: u32| if r == self.rank.id().0 { base } else { core::ptr::null_mut() };
        let entry =
            |r| SegmentEntry { addr: base.addr(), size: usize::MAX, local: local(r), whole: usize::MAX };
        let processes = self.rank.try_processes()?;
        self.rank.processes.get_or_init(|| processes);
        self.rank.enter_segments(Entries::Own((0..self.rank.size()).map(entry).collect()), Moment::Any)
    }

    /// Records the place of another rank's segment, which that rank bound by [`SegmentCalls::bind`]. If the
    /// place is wrong, that rank detects it.
    ///
    /// # Errors
    /// There is no such rank, or its segment was attached.
    pub fn learn(self, rank: RankId, addr: usize, len: usize) -> Result<(), Error> {
        let known = self.rank.wire.segments.get(rank).is_some_and(|e| !e.local.is_null());
        if rank.0 >= self.rank.size() || known || self.rank.wire.has_attached() {
            return Err(Error::op(format!(
                "rank {rank} is not a rank of the job, or its segment was attached: only bound segments can be announced"
            )));
        }
        self.rank.regions.reaches_far();
        let entry = SegmentEntry { addr, size: len, local: core::ptr::null_mut(), whole: len };
        #[expect(unsafe_code, reason = "enters a segment that is not mapped here")]
        // SAFETY: it has no local address.
        unsafe {
            self.rank.wire.segments.change(|all| all[rank.0 as usize] = entry);
        }
        Ok(())
    }

    /// Has [`Rank::allocate`] take from this part of the segments from now on: for programs that
    /// use the rest as they like.
    ///
    /// # Collective
    /// As [`Rank::allocate`].
    pub fn allocate_from(self, part: core::ops::Range<u64>) {
        let mut heap = lock(&self.rank.heap);
        (heap.used, heap.end) = (part.start, part.end);
    }

    /// Says how this rank will use `count` elements of its own segment next. Where segments are paged (netvm)
    /// a block can so be brought in as a whole ahead of its use, or given up after it; elsewhere nothing
    /// happens. Programs that stream through blocks name the next one `Coming`, or `Overwrite`, and the last
    /// one `Leaving`; two blocks of 256 KiB are usual (Trapeze's mapped blocks).
    ///
    /// Pages that find no room in memory stay out, and come when they are used. `Coming` and `Leaving` change
    /// no contents. After `Overwrite` the elements hold what they held or zeros until they are written, for
    /// other ranks too; and so do those that others write while this call runs.
    ///
    /// # One-sided
    /// # Completion
    /// On return of `Overwrite` the elements may be written. `Coming` and `Leaving` do not wait.
    ///
    /// # Panics
    /// Ends the job when the elements are not in this rank's segment.
    pub fn advise<T: Shared>(self, at: GlobalPtr<T>, count: usize, advice: Advice) {
        let (owner, len) = (at.rank(), count.saturating_mul(size_of::<T>()));
        if owner != self.rank.id() {
            self.rank
                .fatal(&format!("advice on the segment of rank {owner}: a rank gives it on its own segment"));
        }
        if self.rank.table().place_at(owner, at.offset(), len).is_none() {
            self.rank.wire.fatal_outside("advice", owner, at.offset(), len);
        }
        if let Some(conduit) = &self.rank.wire.conduit {
            conduit.advise(at.offset(), len as u64, advice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal segments are one mapping, however many there are; a hole wider than what rounding makes stays
    /// one.
    #[test]
    fn equal_segments_are_mapped_together() {
        let stride = 2 * SEGMENT_ALIGN;
        let run = |first, bytes| Run { first, bytes };
        let near: Vec<u32> = (7..1007).collect();
        let size = stride - 4096;
        assert_eq!(Run::all(&near, &[size; 1000], stride), [run(0, 999 * stride + size)]);
        assert_eq!(Run::all(&near, &[0; 1000], stride), []);
        let sizes = [stride, stride, stride - SEGMENT_ALIGN, stride, 0, 4096];
        let runs = [run(0, 2 * stride + stride - SEGMENT_ALIGN), run(3, stride), run(5, 4096)];
        assert_eq!(Run::all(&near[..6], &sizes, stride), runs);
        // The place of another rank, on another host, is between.
        assert_eq!(Run::all(&[0, 1, 3], &[stride; 3], stride), [run(0, 2 * stride), run(2, stride)]);
    }
}
