//! The stale-registration adversary, live: one thread changes real mappings with system calls, another puts
//! into them through a card that holds the frames it was given.
//!
//! The card is `io_uring` with registered buffers, which the kernel pins: a read into a registered buffer
//! goes to the frames from its registration, wherever they are mapped by then. So a stale put does not arrive
//! at the address, and is seen.

#![expect(unsafe_code, reason = "maps, unmaps and forks")]

use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use firehose::*;
use firehose_live::{MappingMonitor, Mlock, Watched};
use io_uring::{IoUring, opcode, types};

const PAGE: u64 = 4096;
/// Pages that the adversary plays with.
const PAGES: u64 = 64;
/// Values to be put; the file holds them one after the other.
const VALUES: u64 = 4096;

/// The card: a slot for each page.
struct Card {
    ring: Mutex<IoUring>,
    base: u64,
    file: std::fs::File,
}

impl Card {
    fn new(base: u64) -> std::io::Result<Card> {
        let ring = IoUring::new(8)?;
        ring.submitter().register_buffers_sparse(PAGES as u32)?;
        let path = std::env::temp_dir().join(format!("firehose-live-{}", std::process::id()));
        let mut file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        let values: Vec<u8> = (0..VALUES).flat_map(|i| value(i).to_le_bytes()).collect();
        file.write_all(&values)?;
        Ok(Card { ring: Mutex::new(ring), base, file })
    }

    fn slot(&self, bucket: u64) -> u32 {
        (bucket - self.base / PAGE) as u32
    }

    fn set(&self, bucket: u64, buffer: libc::iovec) -> std::io::Result<()> {
        let ring = self.ring.lock().expect("no panic");
        // SAFETY: the kernel pins the pages itself; the buffer is withdrawn by `unpin`.
        unsafe { ring.submitter().register_buffers_update(self.slot(bucket), &[buffer], None) }.map(drop)
    }

    fn clear(&self, bucket: u64) {
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        self.set(bucket, none).expect("a slot can be cleared");
    }

    /// Puts the value of that number at an address, by the frames of its page's slot.
    fn put(&self, addr: u64, number: u64) {
        let mut ring = self.ring.lock().expect("no panic");
        let read = opcode::ReadFixed::new(
            types::Fd(self.file.as_raw_fd()),
            addr as *mut u8,
            8,
            self.slot(addr / PAGE) as u16,
        );
        let read = read.offset(number * 8).build();
        // SAFETY: the buffer is a registered one.
        unsafe { ring.submission().push(&read) }.expect("room in the ring");
        ring.submit_and_wait(1).expect("submits");
        let end = ring.completion().next().expect("an end");
        assert_eq!(end.result(), 8, "the card cannot write to {addr:#x}");
    }
}

impl Registrar for Card {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        for bucket in run.buckets() {
            let buffer =
                libc::iovec { iov_base: (bucket * PAGE) as *mut libc::c_void, iov_len: PAGE as usize };
            if let Err(error) = self.set(bucket, buffer) {
                (run.first..bucket).for_each(|bucket| self.clear(bucket));
                return Some(Err(match error.raw_os_error() {
                    Some(libc::EFAULT | libc::ENOMEM) => PinError::Unmapped,
                    error => PinError::System(error.unwrap_or(0)),
                }));
            }
        }
        Some(Ok(()))
    }

    fn unpin(&self, run: Run) -> Option<()> {
        run.buckets().for_each(|bucket| self.clear(bucket));
        Some(())
    }
}

fn value(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The owner's way out: its answers are kept until the test carries them over.
struct Owner {
    registrar: Watched<Card>,
    sent: Mutex<Vec<Message>>,
}

impl Registrar for Owner {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        self.registrar.pin(run)
    }

    fn unpin(&self, run: Run) -> Option<()> {
        self.registrar.unpin(run)
    }
}

impl Port for Owner {
    fn act(&self, action: Action) {
        match action {
            Action::Send { to: 1, message } => self.sent.lock().expect("no panic").push(message),
            other => panic!("the owner of the memory only answers: {other:?}"),
        }
    }
}

/// A thread that waits so long for the other one waits for ever.
const HANGS: Duration = Duration::from_secs(60);

/// Whose turn it is, and what is mapped.
struct Turn {
    accesses: u64,
    next_change: u64,
    over: bool,
    mapped: Vec<bool>,
    changes: [u64; 6],
}

fn map_fresh(addr: u64, len: u64) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: within the range that the test reserved.
    let at = unsafe { libc::mmap(addr as *mut libc::c_void, len as usize, protection, flags, -1, 0) };
    assert_eq!(at as u64, addr);
}

fn unmap(addr: u64, len: u64) {
    // SAFETY: as above.
    assert_eq!(unsafe { libc::munmap(addr as *mut libc::c_void, len as usize) }, 0);
}

/// Changes a mapping in one of the ways there are.
fn change(base: u64, random: &mut fastrand::Rng, turn: &mut Turn) {
    let first = random.u64(..PAGES);
    let count = 1 + random.u64(..(PAGES - first).min(3));
    let (addr, len) = (base + first * PAGE, count * PAGE);
    let pages = first as usize..(first + count) as usize;
    let what = random.u64(..100);
    let kind = match what {
        0 => 0,
        1..=9 => 1,
        10..=39 => 2,
        40..=59 => 3,
        60..=79 => 4,
        _ => 5,
    };
    turn.changes[kind] += 1;
    match kind {
        0 => {
            // SAFETY: the child leaves at once.
            let child = unsafe { libc::fork() };
            assert!(child >= 0, "forks");
            if child == 0 {
                // SAFETY: the child's end.
                unsafe { libc::_exit(0) };
            }
            let mut status = 0;
            // SAFETY: waits for the child made above.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        }
        1 => {
            unmap(addr, len);
            turn.mapped[pages].fill(false);
        }
        2 => {
            unmap(addr, len);
            map_fresh(addr, len);
            turn.mapped[pages].fill(true);
        }
        3 => {
            map_fresh(addr, len);
            turn.mapped[pages].fill(true);
        }
        4 if turn.mapped[pages.clone()].iter().all(|mapped| *mapped) => {
            // SAFETY: mapped pages of this test; they go elsewhere, and are let go there.
            let elsewhere = unsafe {
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                let spare = libc::mmap(
                    std::ptr::null_mut(),
                    len as usize,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                );
                // One VMA at a time can move.
                for page in 0..count {
                    let from = (addr + page * PAGE) as *mut libc::c_void;
                    let to = spare.add((page * PAGE) as usize);
                    let moved = libc::mremap(from, PAGE as usize, PAGE as usize, flags, to);
                    assert_eq!(moved, to, "{}", std::io::Error::last_os_error());
                }
                spare as u64
            };
            map_fresh(addr, len);
            unmap(elsewhere, len);
        }
        _ => {
            // SAFETY: gives up the contents of pages of this test; fails if one is not mapped.
            unsafe { libc::madvise(addr as *mut libc::c_void, len as usize, libc::MADV_DONTNEED) };
        }
    }
}

/// The adversary: changes mappings between accesses, until the test is over.
fn change_mappings(base: u64, seed: u64, turn: &Mutex<Turn>, ready: &Condvar) {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut turn = turn.lock().expect("no panic");
    loop {
        turn = ready.wait_while(turn, |t| !t.over && t.accesses < t.next_change).expect("no panic");
        if turn.over {
            return;
        }
        change(base, &mut random, &mut turn);
        turn.next_change = turn.accesses + 1 + random.u64(..50);
        ready.notify_all();
    }
}

/// The rank that puts.
struct Putter {
    firehose: Firehose,
    /// Actions that are to be carried out; some are left when a put has ended.
    out: Vec<Action>,
    refused: u64,
}

impl Putter {
    /// Puts a value into the owner's memory, and carries the messages of both. Returns whether it is there.
    fn put(&mut self, owner: &Front<Owner, Arc<MappingMonitor>>, addr: u64, number: u64) -> bool {
        let local = LocalMemory::Registered(0);
        let request = Request { tag: 0, peer: 0, direction: Direction::Put, remote: addr, local, len: 8 };
        self.firehose.start(request, &mut self.out).expect("a good request");
        loop {
            let mut ended = None;
            for action in std::mem::take(&mut self.out) {
                match action {
                    Action::Send { message, .. } => owner.receive(1, message),
                    Action::Transfer(transfer) => {
                        let keys = &transfer.remote_keys;
                        let card = &owner.port.registrar.registrar;
                        let put = || card.put(addr, number);
                        let outcome = match owner.access(Side::Remote, addr, 8, keys, put) {
                            Ok(()) => Outcome::Done,
                            Err(refusal) => {
                                self.refused += 1;
                                Outcome::Refused(refusal)
                            }
                        };
                        self.firehose.transferred(transfer.op, outcome, &mut self.out);
                    }
                    Action::Done { .. } => ended = Some(true),
                    Action::Failed { .. } => ended = Some(false),
                    other => panic!("{other:?}"),
                }
            }
            for message in std::mem::take(&mut *owner.port.sent.lock().expect("no panic")) {
                self.firehose.receive(0, message, &mut self.out);
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
    }
}

#[test]
fn no_live_access_is_stale() {
    let accesses: u64 =
        std::env::var("FIREHOSE_ACCESSES").map_or(300_000, |value| value.parse().expect("a number"));
    let seed: u64 = std::env::var("FIREHOSE_SEED").map_or(1, |value| value.parse().expect("a number"));
    let monitor = match MappingMonitor::start() {
        Ok(monitor) => Arc::new(monitor),
        Err(error) => {
            println!("UNTESTED: no userfaultfd here: {error}");
            return;
        }
    };
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let base = unsafe {
        let bytes = (PAGES * PAGE) as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) as u64
    };
    let card = match Card::new(base) {
        Ok(card) => card,
        Err(error) => {
            println!("UNTESTED: no io_uring with registered buffers here: {error}");
            return;
        }
    };
    let config =
        Config { nodes: 2, m_bytes: 32 * PAGE, victim_bytes: 8 * PAGE, adaptive: true, ..Config::default() };
    let owner = Front::new(
        Firehose::new(config.clone()).expect("a good configuration"),
        Owner {
            registrar: Watched { monitor: Arc::clone(&monitor), registrar: card, bucket_bytes: PAGE },
            sent: Mutex::new(Vec::new()),
        },
        Arc::clone(&monitor),
    );
    let turn = Turn {
        accesses: 0,
        next_change: 20,
        over: false,
        mapped: vec![true; PAGES as usize],
        changes: [0; 6],
    };
    let (turn, ready) = (Mutex::new(turn), Condvar::new());
    let firehose = Firehose::new(Config { me: 1, ..config }).expect("a good configuration");
    let mut putter = Putter { firehose, out: Vec::new(), refused: 0 };
    let mut failed = 0u64;
    std::thread::scope(|scope| {
        scope.spawn(|| change_mappings(base, seed, &turn, &ready));
        // A failed assertion must end the other thread too.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut random = fastrand::Rng::with_seed(seed | 1 << 40);
            for number in 0..accesses {
                let mut turn = turn.lock().expect("no panic");
                turn.accesses += 1;
                if turn.accesses >= turn.next_change {
                    // A lock alone need not change hands, however often it is given back.
                    ready.notify_all();
                    let due = |t: &mut Turn| t.accesses >= t.next_change;
                    let waited = ready.wait_timeout_while(turn, HANGS, due).expect("no panic");
                    assert!(!waited.1.timed_out(), "the adversary is gone");
                    turn = waited.0;
                }
                let page = random.u64(..PAGES);
                let addr = base + page * PAGE + random.u64(..PAGE / 8) * 8;
                let number = number % VALUES;
                let done = putter.put(&owner, addr, number);
                failed += u64::from(!done);
                assert_eq!(
                    done, turn.mapped[page as usize],
                    "seed {seed}: page {page}, access {}",
                    turn.accesses
                );
                if done {
                    // SAFETY: mapped, aligned, and the other thread waits for its turn.
                    let found = unsafe { std::ptr::read_volatile(addr as *const u64) };
                    assert_eq!(found, value(number), "seed {seed}: stale access, number {}", turn.accesses);
                }
            }
        }));
        turn.lock().unwrap_or_else(|e| e.into_inner()).over = true;
        ready.notify_all();
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    let turn = turn.into_inner().expect("no panic");
    let stats = owner.stats();
    println!(
        "seed {seed}: {} accesses, changes {:?}, {} refused, {failed} failed, {} voided, {} pins, 0 stale",
        turn.accesses, turn.changes, putter.refused, stats.voided, stats.pins
    );
    assert!(accesses < 10_000 || (putter.refused > 0 && stats.voided > 0), "the adversary does not bite");
    assert!(owner.usage().peak_bytes <= 40 * PAGE);
}

#[test]
fn a_child_has_no_registrations() {
    let Ok(monitor) = MappingMonitor::start() else {
        println!("UNTESTED: no userfaultfd here");
        return;
    };
    let monitor = Arc::new(monitor);
    let config = Config { victim_bytes: 16 * PAGE, ..Config::default() };
    let registrar = Watched {
        monitor: Arc::clone(&monitor),
        registrar: Mlock { bucket_bytes: PAGE },
        bucket_bytes: PAGE,
    };
    let front = Front::new(
        Firehose::new(config).expect("a good configuration"),
        LocalOnly(registrar),
        Arc::clone(&monitor),
    );
    let memory = vec![0u8; 4 * PAGE as usize];
    let hold = front.hold(memory.as_ptr() as u64, 100).expect("pins");
    assert!(front.is_current(&hold));
    // SAFETY: the child uses what it has and leaves.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let refused = !front.is_current(&hold);
        let refuses = matches!(front.try_hold(0x10000, 1), Err(HoldError::Start(StartError::Child)));
        // SAFETY: the child's end.
        unsafe { libc::_exit(i32::from(!(refused && refuses))) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child thinks that it has registrations");
    // The parent's own may be parted from its memory by now.
    assert_eq!(front.is_current(&hold), !monitor.hears_forks());
    front.release(hold);
}
