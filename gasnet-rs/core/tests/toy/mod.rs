//! Whole jobs in one process, a thread per rank, over a toy network with one-sided operations.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use gasnet::{Boot, Config, Error, Rank, RankId, Threading};
use gasnet_sys::fd::{duplicate, memory_file};
use gasnet_wire::boot::Exchange;
use gasnet_wire::conduit::*;
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// A frame on its way: sender, length, bytes.
type Parcel = (u32, usize, Box<[FrameLine]>);

/// The state that all ranks of a job share.
struct Net {
    /// Frames by target and channel.
    queues: Vec<[Mutex<VecDeque<Parcel>>; 2]>,
    /// Where the segments are.
    segments: Vec<AtomicU64>,
    all: Barrier,
    said: Mutex<Vec<Vec<u8>>>,
    /// Calls of `idle`, which are this network's clock.
    time: AtomicU64,
    frames: AtomicU64,
}

impl Net {
    fn new(size: usize) -> Arc<Net> {
        Arc::new(Net {
            queues: (0..size).map(|_| Default::default()).collect(),
            segments: (0..size).map(|_| AtomicU64::new(0)).collect(),
            all: Barrier::new(size),
            said: Mutex::new(vec![Vec::new(); size]),
            time: AtomicU64::new(0),
            frames: AtomicU64::new(0),
        })
    }
}

struct Hall(Arc<Net>, usize);

impl Exchange for Hall {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.0.said.lock().unwrap()[self.1] = mine.to_vec();
        self.0.all.wait();
        let all = self.0.said.lock().unwrap().clone();
        self.0.all.wait();
        Ok(all)
    }
}

/// A one-sided operation under way: a put if `put`; the source of a put has been read when `read`.
struct Transfer {
    put: bool,
    read: bool,
    here: u64,
    there: u64,
    len: usize,
    token: u64,
}

/// The largest one-sided operation, so small that most transfers are cut up.
const PIECE: usize = 1000;

struct Toy {
    me: u32,
    net: Arc<Net>,
    native: bool,
    transfers: Mutex<VecDeque<Transfer>>,
    calls: AtomicU64,
}

impl Toy {
    fn start(&self, put: bool, here: u64, addr: RemoteAddr, len: usize, token: u64) -> bool {
        assert!(len <= PIECE);
        // Every third one would block.
        if self.calls.fetch_add(1, Relaxed).is_multiple_of(3) {
            return false;
        }
        let there = self.net.segments[addr.rank.0 as usize].load(Acquire) + addr.offset;
        self.transfers.lock().unwrap().push_back(Transfer { put, read: false, here, there, len, token });
        true
    }
}

// SAFETY: slots are boxes that the cookie owns until commit or cancel; frames are boxes taken out of a queue.
unsafe impl Conduit for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn limits(&self, _to: RankId, _nargs: usize) -> Limits {
        Limits::new(MIN_FRAME)
    }
    fn reserve(&self, to: RankId, channel: Channel, len: usize, _: bool) -> Result<Option<RawSlot>, Error> {
        let queue = self.net.queues[to.0 as usize][channel as usize].lock().unwrap();
        if queue.len() > 20 {
            return Ok(None);
        }
        let lines: Box<[FrameLine]> = vec![FrameLine([0; 64]); len.div_ceil(64)].into();
        let buf = NonNull::new(Box::into_raw(lines).cast::<u8>()).unwrap();
        Ok(Some(RawSlot { buf, len, cookie: [u64::from(to.0), channel as u64] }))
    }
    unsafe fn commit(&self, slot: RawSlot) {
        let lines =
            std::ptr::slice_from_raw_parts_mut(slot.buf.as_ptr().cast::<FrameLine>(), slot.len.div_ceil(64));
        // SAFETY: made by reserve.
        let parcel = (self.me, slot.len, unsafe { Box::from_raw(lines) });
        self.net.frames.fetch_add(1, Relaxed);
        self.net.queues[slot.cookie[0] as usize][slot.cookie[1] as usize].lock().unwrap().push_back(parcel);
    }
    unsafe fn cancel(&self, slot: RawSlot) {
        let lines =
            std::ptr::slice_from_raw_parts_mut(slot.buf.as_ptr().cast::<FrameLine>(), slot.len.div_ceil(64));
        // SAFETY: made by reserve.
        drop(unsafe { Box::from_raw(lines) });
    }
    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        for n in 0..budget {
            let next = self.net.queues[self.me as usize][channel as usize].lock().unwrap().pop_front();
            let Some((from, len, mut lines)) = next else { return Ok(n) };
            let from = RankId(from);
            deliver(Frame { from, channel, data: lines.as_mut_ptr().cast(), len });
        }
        Ok(budget)
    }
    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        self.net.segments[self.me as usize].store(segment.base as u64, Release);
        Ok(())
    }
    fn rma(&self) -> Option<&dyn Rma> {
        self.native.then_some(self)
    }
    fn idle(&self, _what: &'static str, _: Meanwhile) -> bool {
        self.net.time.fetch_add(1, Relaxed);
        std::thread::yield_now();
        true
    }
    fn clock(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.net.time.load(Relaxed)))
    }
}

// SAFETY: completions are reported after the copies they stand for.
unsafe impl Rma for Toy {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        self.start(true, src as u64, to, len, token)
    }
    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        self.start(false, dst as u64, from, len, token)
    }
    fn max_transfer(&self) -> usize {
        PIECE
    }
    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        // The source is read at one poll, and the data arrives at another: who reuses a source too early is
        // found out.
        let mut done = 0;
        let waiting = self.transfers.lock().unwrap().len();
        for _ in 0..budget.min(waiting) {
            let Some(t) = self.transfers.lock().unwrap().pop_front() else { break };
            done += 1;
            let (here, there) = (t.here as *mut u8, t.there as *mut u8);
            match (t.put, t.read) {
                // SAFETY: the core keeps the source until Local, and the destination is a segment of this
                // process.
                (true, false) => unsafe {
                    std::ptr::copy_nonoverlapping(here, there, t.len);
                    complete(t.token, Completion::Local);
                    self.transfers.lock().unwrap().push_back(Transfer { read: true, ..t });
                },
                (true, true) => complete(t.token, Completion::Remote),
                // SAFETY: as above, the other way.
                (false, _) => unsafe {
                    std::ptr::copy_nonoverlapping(there, here, t.len);
                    complete(t.token, Completion::Remote);
                },
            }
        }
        done
    }
}

/// Runs a job on these hosts, `body` on every rank. Returns how many frames the network carried.
pub fn job(hosts: &[&[u32]], native: bool, neighborhood: u32, body: fn(&'static Rank, &[&[u32]])) -> u64 {
    let size = hosts.iter().map(|h| h.len()).sum::<usize>();
    let net = Net::new(size);
    std::thread::scope(|s| {
        for host in hosts {
            let (shm, segments) = (memory_file("one-process").unwrap(), memory_file("one-process").unwrap());
            for &rank in *host {
                let boot = Boot {
                    rank,
                    size: size as u32,
                    host_ranks: host.to_vec(),
                    exchange: Some(Box::new(Hall(net.clone(), rank as usize))),
                    shm: duplicate(shm.as_fd()).unwrap().into(),
                    segments: duplicate(segments.as_fd()).unwrap().into(),
                    link: None,
                    overseer: None,
                    job_id: 7,
                };
                let net = net.clone();
                let net_of_all = net.clone();
                s.spawn(move || {
                    let open = |cx: &OpenContext<'_>| -> Result<Option<Box<dyn Conduit>>, Error> {
                        let said = cx.exchange().all_gather(&cx.rank.0.to_le_bytes())?;
                        assert_eq!(said[1], 1u32.to_le_bytes());
                        let toy = Toy {
                            me: cx.rank.0,
                            net: net.clone(),
                            native,
                            transfers: Mutex::default(),
                            calls: AtomicU64::new(0),
                        };
                        Ok(Some(Box::new(toy)))
                    };
                    let config =
                        Config { neighborhood, quiet: true, max_segment: Some(1 << 30), ..Config::default() };
                    // SAFETY: new memory files, and each rank starts once.
                    let rank = unsafe { Rank::start(boot, config, Threading::Parallel, &open) }.unwrap();
                    body(rank, hosts);
                    if rank.neighbours().len() == 1 {
                        // Nobody may be taken apart while others still send.
                        net_of_all.all.wait();
                        // SAFETY: the job is over, and nothing of the rank is used any more.
                        unsafe { Rank::dismantle(rank) };
                    } else {
                        net_of_all.all.wait();
                    }
                });
            }
        }
    });
    net.frames.load(Relaxed)
}
