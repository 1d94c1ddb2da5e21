//! Programs that break a rule, one per role: `misbehave ROLE`. `tests/failures.rs` looks at how they end.
#![expect(unsafe_code, reason = "roles call the unsafe put and get")]

use gasnet::atomics::{Function, Operation, WordType};
use gasnet::barrier::ANONYMOUS;
use gasnet::sync::McsLock;
use gasnet::sync::Nic;
use gasnet::sync::port::{BOARD, Command, CommandKind, HomeOp, Move, NicPort};
use gasnet::{GlobalPtr, Handler, Rank, RankId, Shared, Threading};
use gasnet_conduits::BootOptions;
use gasnet_tests::run::signal;

fn nic(r: &Rank) -> Nic<'_> {
    r.nic().expect("netvm has one")
}

type Role = (&'static str, fn(&'static Rank));

/// Roles of rank 0, or of all if they are called so; the other ranks go to the barrier that they will never
/// leave.
const ROLES: &[Role] = &[
    // SAFETY (of all unsafe calls here): local memory is valid; that the rest is wrong is the point.
    ("put", |r| r.write(GlobalPtr::new(other(r), size(r) - 8), [1u64; 2])),
    ("put-wrapping", |r| r.write(GlobalPtr::new(other(r), u64::MAX - 3), [1u64; 2])),
    ("put-nbi", |r| {
        let bytes = [0u8; 9];
        // SAFETY: see above.
        unsafe { r.implicit().put(other(r), size(r) - 8, bytes.as_ptr(), 9) }
    }),
    ("put-nowhere", |r| r.write(GlobalPtr::new(RankId(r.size()), 0), 1u8)),
    ("get", |r| drop(r.read_nb(GlobalPtr::<u8>::new(other(r), size(r)), 1))),
    ("get-huge", |r| {
        // SAFETY: see above.
        let _ = unsafe { r.get_nb(std::ptr::null_mut(), other(r), 0, usize::MAX) };
    }),
    ("memset", |r| {
        // SAFETY: see above.
        unsafe { r.memset(other(r), size(r) - 1, 0, 2) }
    }),
    ("atomic", |r| _ = r.atomics().fetch_add(GlobalPtr::new(other(r), size(r)), 1)),
    ("atomic-misaligned", |r| _ = r.atomics().fetch_add(GlobalPtr::new(other(r), 12), 1)),
    ("atomic-float-bits", |r| {
        r.atomics().apply(other(r), 0, Operation { function: Function::Xor, word: WordType::F64 }, 1, 0);
    }),
    ("nic-load", |r| nic(r).load(BOARD - 7, &mut [0; 8])),
    ("nic-load-huge", |r| nic(r).load(u32::MAX, &mut [0; 8])),
    ("nic-store", |r| nic(r).store(BOARD, &[1])),
    ("nic-count", |r| _ = nic(r).count(u32::MAX)),
    ("nic-raise", |r| {
        let own = nic(r).events();
        nic(r).post(&Command { when: None, what: CommandKind::Raise(own.end) });
    }),
    ("nic-write", |r| {
        let raise = nic(r).events().start;
        let what = CommandKind::Write(Move { from: 0, to: other(r), at: BOARD, len: 8, raise });
        nic(r).post(&Command { when: None, what });
    }),
    ("nic-write-nowhere", |r| {
        let raise = nic(r).events().start;
        let what = CommandKind::Write(Move { from: 0, to: RankId(r.size()), at: 0, len: 8, raise });
        nic(r).post(&Command { when: None, what });
    }),
    ("nic-combine", |r| {
        let (raise, op) = (nic(r).events().start, Operation { function: Function::Add, word: WordType::U64 });
        let what = CommandKind::Combine(Move { from: 0, to: other(r), at: 4, len: 8, raise }, op);
        nic(r).post(&Command { when: None, what });
    }),
    ("nic-atomic", |r| _ = nic(r).atomic(other(r), size(r), HomeOp::Incr, [0; 4])),
    ("nic-atomic-wrapping", |r| _ = nic(r).atomic(other(r), u64::MAX - 3, HomeOp::Incr, [0; 4])),
    ("nic-atomic-misaligned", |r| _ = nic(r).atomic(other(r), 16, HomeOp::SemV, [0; 4])),
    ("nic-atomic-nowhere", |r| _ = nic(r).atomic(RankId(r.size()), 0, HomeOp::Incr, [0; 4])),
    ("unregistered", |r| {
        r.request_short(other(r), 200, &[]).expect("the sender cannot know");
        r.barrier();
    }),
    ("all-other-types", |r| {
        if r.id().0 == 0 { moves(r, 1u64, |a, b| a + b) } else { moves(r, 1f64, |a, b| a + b) }
    }),
    ("read-huge", |r| drop(r.read_nb::<u64>(GlobalPtr::new(other(r), 0), usize::MAX / 2).wait())),
    ("rows-outside", |r| r.shapes().write_rows(GlobalPtr::<u64>::new(other(r), 0), 1 << 40, 1, &[1, 2])),
    ("rows-huge-step", |r| {
        r.shapes().read_rows(GlobalPtr::<u64>::new(other(r), 0), usize::MAX / 2, 1, &mut [0; 2])
    }),
    ("rows-not-whole", |r| r.shapes().write_rows(GlobalPtr::<u64>::new(other(r), 0), 4, 3, &[1; 7])),
    ("set-word-misaligned", |r| r.atomics().store(GlobalPtr::new(other(r), 4), 1)),
    ("all-lock-twice", |r| {
        let mut lock = McsLock::new(r, RankId(0)).expect("room");
        if r.id().0 == 0 {
            lock.acquire();
            assert!(lock.try_acquire());
            lock.acquire();
        }
        r.barrier();
    }),
    ("all-lock-not-held", |r| {
        let mut lock = McsLock::new(r, RankId(0)).expect("room");
        if r.id().0 == 0 {
            lock.release();
        }
        r.barrier();
    }),
    ("collective-beside-a-barrier", |r| drop(r.team_all().reduce_all(&[1u64], |a, b| a + b))),
    ("all-wait", |r| r.wait_until("what never comes", || false)),
    ("event-twice", |r| {
        let byte = 0u8;
        // SAFETY: see above.
        let event = unsafe { r.put_nb(other(r), 0, &byte, 1) };
        r.wait(event);
        r.wait(event);
    }),
    ("event-made-up", |r| r.wait(gasnet::Event::from_raw(0x1_0000_0001))),
    ("region-nested", |r| {
        r.implicit().begin_access_region();
        r.implicit().begin_access_region();
    }),
    ("region-not-open", |r| _ = r.implicit().end_access_region()),
    ("wait-in-region", |r| {
        r.implicit().begin_access_region();
        r.implicit().wait(gasnet::Categories::ALL);
    }),
    ("notify-twice", |r| {
        r.split_barrier().notify(0, ANONYMOUS);
        r.split_barrier().notify(0, ANONYMOUS);
    }),
    ("wait-without-notify", |r| _ = r.split_barrier().wait(0, ANONYMOUS)),
    ("panic", |_| panic!("this rank gives up")),
    ("panic-in-handler", |r| {
        r.request_short(other(r), 128, &[7]).expect("a request");
        // One barrier may be over before the request is looked at.
        loop {
            r.barrier();
        }
    }),
    ("panic-beside-a-collective", |r| {
        let _sum = r.team_all().reduce_all_nb(vec![1u64], |a, b| a + b);
        panic!("this rank gives up");
    }),
    ("all-panic-in-reduction", |r| {
        let sum = || r.team_all().reduce(0, &[1u64; 4096], |_, _| panic!("the sum gives up"));
        drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(sum)));
        r.barrier();
    }),
    ("all-collective-in-reduction-nb", |r| {
        let sum = |a: u64, b: u64| {
            let started = r.team_all().reduce_all_nb(vec![a], |a, b| a + b);
            drop(started);
            a + b
        };
        // By messages: the function is called when one of them has come.
        let pending = r.team_all().reduce_nb(0, vec![1u64; 4096], sum);
        drop(pending);
        r.barrier();
    }),
    ("all-collective-in-reduction", |r| {
        // By the table, where there is one.
        drop(r.team_all().reduce_all(&[1u64], |a, b| a + b + r.team_all().gather_all(&[a])[0]));
        r.barrier();
    }),
    ("all-barrier-in-reduction", |r| {
        let sum = |a: u64, b: u64| {
            r.barrier();
            a + b
        };
        drop(r.team_all().reduce(0, &[1u64], sum));
        r.barrier();
    }),
    ("all-wait-in-reduction", |r| {
        let sum = |a: u64, b: u64| {
            r.wait_until("what never comes", || false);
            a + b
        };
        drop(r.team_all().scan(&[1u64], sum));
        r.barrier();
    }),
    ("blocks-that-wrap", |r| drop(r.team_all().gather_v(0, &[1u64], &[1, usize::MAX]))),
    ("handler-requests", |r| handler(r, 129)),
    ("handler-barrier", |r| handler(r, 130)),
    ("handler-waits", |r| handler(r, 131)),
    ("kill", |r| {
        signal(std::process::id(), "KILL");
        r.barrier();
    }),
    ("abort", |_| std::process::abort()),
    ("abort-with-data", |r| {
        // Copies of this text stand in the segment alone, but for one or two.
        let text: Vec<u8> = (b'a'..=b'z').map(|letter| letter ^ 0x80).collect();
        for copy in 0..1000 {
            r.write_slice(GlobalPtr::<u8>::new(r.id(), (4 << 20) + copy * text.len() as u64), &text);
        }
        std::process::abort()
    }),
    ("global-exit", |r| {
        println!("said before the end");
        r.global_exit(42)
    }),
    ("exit", |_| std::process::exit(3)),
    ("exit-zero", |_| std::process::exit(0)),
    ("leaves-a-barrier-out", |r| leave(r)),
    ("leaves-a-collective-out", |r| {
        r.barrier();
        leave(r)
    }),
    // Rank 1 has left when these start.
    ("gone-put", |r| r.write(GlobalPtr::new(other(r), 0), 1u64)),
    ("gone-put-large", |r| r.write(GlobalPtr::new(other(r), 0), [1u64; 1024])),
    ("gone-get", |r| println!("{}", r.read(GlobalPtr::<u64>::new(other(r), 0)))),
    ("gone-implicit", |r| {
        let mut bytes = [0u8; 9];
        // SAFETY: see above.
        unsafe { r.implicit().get(bytes.as_mut_ptr(), other(r), 0, 9) }
        r.implicit().wait(gasnet::Categories::ALL);
    }),
    ("gone-atomic", |r| _ = r.atomics().fetch_add(GlobalPtr::new(other(r), 0), 1)),
    ("gone-message", |r| r.request_short(other(r), 132, &[]).expect("nothing wrong with it")),
    // Rank 1 leaves when these have begun, without another call of the runtime.
    ("leaving-get", |r| {
        let event = r.read_nb(GlobalPtr::<u64>::new(other(r), 0), 1);
        set_mark("begun");
        println!("{:?}", event.wait());
    }),
    ("leaving-implicit", |r| {
        let mut bytes = [0u8; 8];
        // SAFETY: see above.
        unsafe { r.implicit().get(bytes.as_mut_ptr(), other(r), 0, 8) }
        set_mark("begun");
        r.implicit().wait(gasnet::Categories::ALL);
        println!("[{}]", u64::from_ne_bytes(bytes));
    }),
    ("leaving-message", |r| {
        set_mark("begun");
        loop {
            r.request_medium(other(r), 132, &[], &[0; 4096]).expect("nothing wrong with it");
        }
    }),
    // Its reply is sent when rank 1 has left, and missed by nobody.
    ("leaving-unasked", |r| {
        set_mark("begun");
        wait_for_mark("left");
        for _ in 0..1000 {
            r.poll();
        }
        r.global_exit(0)
    }),
    ("all-disagree-about-a-block", |r| {
        let me = r.id().0 as usize;
        // Rank 1 expects a word.
        let (to, from) = ([[0, 600], [1, 0]][me], [[0, 1], [1, 0]][me]);
        // NICs may bring the rest when the operation is over.
        for _ in 0..5 {
            r.team_all().exchange_v(&vec![7u64; to.iter().sum()], &to, &from);
        }
    }),
    ("all-disagree-about-a-word", |r| {
        let me = r.id().0 as usize;
        let (to, from) = ([[0, 2], [1, 0]][me], [[0, 1], [1, 0]][me]);
        r.team_all().exchange_v(&vec![7u64; to.iter().sum()], &to, &from);
    }),
    ("all-mismatch", mismatch),
    // These are no misbehaviour.
    ("children", |r| {
        for code in ["0", "5"] {
            let shell = format!("exec 3>&1; echo from a child; exit {code}");
            drop(std::process::Command::new("sh").args(["-c", &shell]).status());
        }
        r.barrier();
    }),
    ("fine", |r| r.barrier()),
    // The last rank calls nothing, as one that computes, while what rank 0 puts to it is taken now and then.
    ("all-unheeding", |r| {
        if r.id().0 == 0 {
            for n in 0..22u64 {
                r.write(GlobalPtr::new(other(r), 0), n);
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
            set_mark("begun");
        } else {
            wait_for_mark("begun");
        }
        r.barrier();
    }),
    ("stopped-peer", |r| {
        let pid = r.read(GlobalPtr::<u64>::new(other(r), 8)) as u32;
        signal(pid, "STOP");
        let waker = std::thread::spawn(move || {
            // Several times as long as the conduit is told to have patience.
            std::thread::sleep(std::time::Duration::from_secs(6));
            signal(pid, "CONT");
        });
        r.write(GlobalPtr::new(other(r), 0), 9u64);
        println!("went on: {}", r.read(GlobalPtr::<u64>::new(other(r), 0)));
        waker.join().expect("it ends");
        r.barrier();
    }),
];

/// A file by which processes of this job tell each other something without the runtime.
fn mark(what: &str) -> std::path::PathBuf {
    let job = std::env::args().next_back().unwrap_or_default();
    std::env::temp_dir().join(format!("gasnet-misbehave-{job}-{what}"))
}

fn set_mark(what: &str) {
    std::fs::write(mark(what), "").expect("a file");
}

fn wait_for_mark(what: &str) {
    while !mark(what).exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The last rank's part in a role in which it leaves while rank 0 needs it.
fn leave_as(name: &str, r: &Rank) -> ! {
    if name.starts_with("leaving-") {
        if name == "leaving-unasked" {
            r.request_short(RankId(0), 133, &[]).expect("a request");
        }
        // It is out of the barrier, and serves nothing from now on.
        set_mark("idle");
        wait_for_mark("begun");
        // By then rank 0's operations are outstanding, or a queue is full. The result does not depend on
        // the time.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    // It says that it leaves before it waits for others, as MPI has it do.
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(1));
        set_mark("left");
    });
    r.done(0);
    set_mark("left");
    std::process::exit(0)
}

/// One rank does another collective operation than the others, both of which follow from a number in the
/// arguments.
fn mismatch(r: &'static Rank) {
    const SIZES: [usize; 4] = [1, 2, 500, 2500];
    const KINDS: usize = 11;
    let seed: u64 = std::env::args().nth(2).and_then(|s| s.parse().ok()).expect("a number");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut draw = |n: usize| random.usize(..n);
    let (team, size) = (r.team_all(), r.size() as usize);
    let mut operation = || (draw(KINDS), SIZES[draw(SIZES.len())], draw(size), draw(2) == 1);
    let usual = operation();
    let other = loop {
        let other = operation();
        // A barrier has no size, and not all have a root.
        let rooted = |kind| matches!(kind, 1..=3 | 7);
        let same = match (usual, other) {
            ((a, ..), (b, ..)) if a != b => false,
            ((0, ..), _) => true,
            ((kind, n, root, _), (_, m, another, _)) => n == m && (!rooted(kind) || root == another),
        };
        if !same {
            break other;
        }
    };
    let odd = draw(size);
    let (kind, n, root, split) = if r.id().0 as usize == odd { other } else { usual };
    println!("rank {}: {kind} {n} {root} {split}", r.id());
    let (mine, all) = (vec![1u64; n], vec![1u64; n * size]);
    for _ in 0..draw(3) {
        team.barrier();
        team.gather_all(&[1u64]);
    }
    let pending = |p: gasnet::coll::PendingCollective<u64>| drop(p.wait());
    match (kind, split) {
        (0, _) => team.barrier(),
        (1, false) => team.broadcast(root, &mut mine.clone()),
        (1, true) => pending(team.broadcast_nb(root, mine)),
        (2, false) => team.scatter(root, &all, &mut mine.clone()),
        (2, true) => pending(team.scatter_nb(root, all, n)),
        (3, _) => drop(team.gather(root, &mine)),
        (4, false) => drop(team.gather_all(&mine)),
        (4, true) => pending(team.gather_all_nb(mine)),
        (5, false) => drop(team.exchange(&all)),
        (5, true) => pending(team.exchange_nb(all)),
        (6, false) => drop(team.reduce_all_with(&mine, Function::Add)),
        (6, true) => pending(team.reduce_all_nb(mine, |a, b| a + b)),
        (7, _) => drop(team.reduce(root, &mine, |a, b| a + b)),
        (8, _) => drop(team.scan(&mine, |a, b| a + b)),
        (9, _) => drop(team.exchange_v(&all, &vec![n; size], &vec![n; size])),
        _ => drop(team.gather_all_v(&mine, &vec![n; size])),
    }
    for _ in 0..3 {
        team.barrier();
    }
    println!("rank {}: went unnoticed", r.id());
}

/// The collective operation of which the number is in the arguments, with values of a type.
fn moves<T: Shared>(r: &'static Rank, value: T, f: fn(T, T) -> T) {
    let kind: usize = std::env::args().nth(2).and_then(|s| s.parse().ok()).expect("a number");
    let (team, size) = (r.team_all(), r.size() as usize);
    let (mut mine, all, ones) = (vec![value; 3], vec![value; 3 * size], vec![1; size]);
    team.barrier();
    match kind {
        0 => team.broadcast(1, &mut mine),
        1 => drop(team.broadcast_nb(1, mine).wait()),
        2 => team.scatter(1, &all, &mut mine),
        3 => drop(team.gather(1, &mine)),
        4 => drop(team.gather_all(&mine)),
        5 => drop(team.gather_all_nb(mine).wait()),
        6 => drop(team.exchange(&all)),
        7 => drop(team.reduce_all(&mine, f)),
        8 => drop(team.scan(&mine, f)),
        9 => drop(team.exchange_v(&all[..size], &ones, &ones)),
        _ => drop(team.gather_all_v(&[value], &ones)),
    }
    team.barrier();
    println!("rank {}: went unnoticed", r.id());
}

fn handler(r: &Rank, index: u8) {
    r.request_short(other(r), index, &[]).expect("a request");
    loop {
        r.barrier();
    }
}

/// Leaves in order.
fn leave(r: &Rank) -> ! {
    r.done(0);
    std::process::exit(0)
}

/// The actions of handlers 129 and up.
const IN_HANDLERS: [fn(&Rank); 3] = [
    |r| r.request_short(r.id(), 128, &[]).expect("a request"),
    |r| r.split_barrier().notify(0, ANONYMOUS),
    |r| r.wait(gasnet::Event::from_raw(0x1_0000_0001)),
];

fn other(r: &Rank) -> RankId {
    RankId(r.size() - 1)
}

fn size(r: &Rank) -> u64 {
    r.table().get(other(r)).expect("a rank").size as u64
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "sizes" => sizes(),
        "before-attach" => before_attach(),
        "stuck" => stuck(),
        "attach-beside-a-barrier" => attach_beside_a_barrier(),
        "too-large" => too_large(),
        "threads-first" => threads_first(),
        "last-words" => last_words(),
        "stream-killed" => stream(true),
        "stream-left" => stream(false),
        _ => {}
    }
    let Some((_, role)) = ROLES.iter().find(|(n, _)| *n == name) else {
        eprintln!("misbehave: no role '{name}'");
        std::process::exit(2);
    };
    gasnet_conduits::run(|rank| {
        rank.register(128, Handler::new(|_, m| panic!("handler gives up with {:?}", m.args)))
            .expect("a free index");
        for (index, what) in IN_HANDLERS.iter().enumerate() {
            rank.register(129 + index as u8, Handler::new(|t, _| what(t.rank()))).expect("a free index");
        }
        rank.register(132, Handler::new(|_, _| ())).expect("a free index");
        rank.register(133, Handler::new(|t, _| t.reply_short(132, &[]).expect("a reply")))
            .expect("a free index");
        rank.write(GlobalPtr::new(rank.id(), 0), [7, u64::from(std::process::id())]);
        rank.barrier();
        if name.starts_with("gone-") || name.starts_with("leaving-") {
            if rank.id() == other(rank) {
                leave_as(&name, rank);
            }
            wait_for_mark(if name.starts_with("gone-") { "left" } else { "idle" });
        }
        if rank.id().0 == 0 || name.starts_with("all-") {
            role(rank);
        } else if name == "leaves-a-barrier-out" && rank.id().0 == 2 {
            // Nobody knows that it is not stuck, too.
            std::thread::sleep(std::time::Duration::from_secs(4));
            rank.global_exit(5);
        } else {
            // Answers; for `children` and `fine` it also ends.
            rank.barrier();
            if name == "leaves-a-collective-out" {
                rank.team_all().reduce(1, &[1u64], |a, b| a + b);
            }
        }
    });
}

fn start() -> &'static Rank {
    gasnet_conduits::init(&BootOptions::default(), Threading::Parallel).unwrap_or_else(|e| {
        eprintln!("misbehave: {e}");
        std::process::exit(1);
    })
}

fn finish(rank: &Rank) -> ! {
    rank.barrier();
    rank.done(0);
    std::process::exit(0)
}

/// Segments of different sizes, none among them, with a stride of the program's choice.
fn sizes() -> ! {
    let rank = start();
    let bytes = |r: RankId| [0, 1, 4096, 4097, 1 << 20][r.0 as usize % 5];
    let stride = 1u64 << 34;
    let table = rank.attach(bytes(rank.id()), Some(stride)).expect("memory");
    let own = table.get(rank.id()).expect("a rank").local as u64;
    for r in rank.ranks() {
        let e = table.get(r).expect("a rank");
        assert_eq!(e.size, bytes(r).next_multiple_of(4096));
        if e.size > 0 {
            let last = GlobalPtr::<u8>::new(r, e.size as u64 - 1);
            rank.write(last, 1);
            assert_eq!(rank.read(last), 1);
        }
        if !e.local.is_null() {
            let distance = (u64::from(r.0)).wrapping_sub(u64::from(rank.id().0)).wrapping_mul(stride);
            assert_eq!(e.local as u64, own.wrapping_add(distance));
        }
    }
    finish(rank)
}

fn attach_beside_a_barrier() -> ! {
    let rank = start();
    if rank.id().0 == 0 {
        rank.barrier();
    }
    rank.attach(4096, None).expect("memory");
    finish(rank)
}

/// Ranks 0 and 1 wait for each other, 2 is in a barrier, 3 does something else until it finds a file, and
/// then ends the job.
fn stuck() -> ! {
    let rank = start();
    rank.attach(4096, None).expect("memory");
    match rank.id().0 {
        me @ 0..2 => rank.waits().wait_for("an answer", Some(RankId(1 - me)), || false),
        2 => rank.barrier(),
        _ => {
            let told = std::env::args().nth(2).unwrap_or_default();
            while !std::path::Path::new(&told).exists() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    rank.global_exit(9)
}

/// Rank 1 leaves last words and is killed; rank 0 is told them, and is blocked no longer.
fn last_words() -> ! {
    use gasnet_clan::Endpoints;
    let rank = start();
    rank.attach(1 << 20, None).expect("memory");
    // The job ends when a rank is killed, but whoever does not mind has half a second.
    // SAFETY: no handler.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    let mut ends = Endpoints::new(rank).expect("room");
    let mut end = ends.open(RankId(1 - rank.id().0)).expect("once");
    if rank.id().0 == 1 {
        end.last_words(b"not these").expect("short");
        end.last_words(b"rank 1 is gone").expect("short");
        rank.barrier();
        signal(std::process::id(), "KILL");
        rank.barrier();
    }
    rank.barrier();
    let error = end.wait_until("what never comes", || false).expect_err("it was killed");
    let words = end.closing_message().unwrap_or_default();
    assert!(end.wait_until("anything", || true).is_err(), "sticky");
    println!("{error}: {}", String::from_utf8_lossy(&words));
    std::process::exit(0)
}

/// Rank 1 is killed, or leaves, with a stream open; rank 0 reads all that it has written, and then an error.
fn stream(killed: bool) -> ! {
    use gasnet_clan::{StreamConfig, Streams};
    use std::io::{Read, Write};
    let rank = start();
    rank.attach(1 << 19, None).expect("memory");
    if killed {
        // SAFETY: no handler.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }
    let streams = Streams::new(rank, 1, StreamConfig::default()).expect("room");
    if rank.id().0 == 1 {
        let mut stream = streams.connect(RankId(0)).expect("a slot");
        stream.write_all(b"the last bytes").expect("open");
        std::mem::forget(stream);
        rank.barrier();
        if killed {
            signal(std::process::id(), "KILL");
            rank.barrier();
        }
        rank.done(0);
        std::process::exit(0)
    }
    let mut stream = streams.accept(RankId(1)).expect("a slot");
    rank.barrier();
    let mut text = Vec::new();
    let error = loop {
        let mut piece = [0; 4];
        match stream.read(&mut piece) {
            Ok(0) => panic!("there is no end"),
            Ok(n) => text.extend_from_slice(&piece[..n]),
            Err(e) => break e,
        }
    };
    println!("{}; {:?}: {error}", String::from_utf8_lossy(&text), error.kind());
    let again = stream.read(&mut [0]).expect_err("sticky");
    assert_eq!(again.kind(), error.kind());
    if !killed {
        let write = stream.write(b"to nobody").expect_err("nobody reads");
        assert_eq!(write.kind(), error.kind());
        drop(stream);
        assert_eq!(
            streams.connect(RankId(1)).expect_err("it is gone").kind(),
            std::io::ErrorKind::ConnectionRefused
        );
        rank.done(0);
    }
    std::process::exit(0)
}

fn before_attach() -> ! {
    let rank = start();
    let error = rank.allocate(8, 8).expect_err("there is no segment yet");
    assert!(error.to_string().contains("attach"), "{error}");
    rank.attach(4096, None).expect("memory");
    assert!(rank.attach(4096, None).is_err());
    finish(rank)
}

/// Segments that no machine has.
fn too_large() -> ! {
    let rank = start();
    let bytes = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(usize::MAX);
    let e = rank.attach(bytes, None).expect_err("there cannot be so much");
    rank.fatal(&e.to_string())
}

fn threads_first() -> ! {
    let (send, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    let rank = start();
    drop((send, thread));
    rank.fatal("started with two threads")
}
