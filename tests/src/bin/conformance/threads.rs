//! Many threads of one rank in the runtime at once.

use crate::am::{THREAD, THREAD_REPLY};
use crate::rma::{WAYS, get, put};
use crate::support::{Cx, Rng, State, mix, same};
use gasnet::am::MAX_MEDIUM;
use gasnet::{Event, GlobalPtr, Handler, Rank, RankId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

const THREADS: usize = 4;
const SLOT: u64 = 1 << 18;

/// Replies per thread.
static REPLIES: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];

pub fn register(_: &'static State, add: &dyn Fn(u8, Handler)) {
    add(THREAD, Handler::new(|t, m| t.reply_medium(THREAD_REPLY, m.args, m.bytes()).expect("a reply")));
    add(
        THREAD_REPLY,
        Handler::new(|_, m| {
            assert_eq!(m.bytes().iter().map(|b| u32::from(*b)).sum::<u32>(), m.args[1], "payload of a reply");
            REPLIES[m.args[0] as usize].fetch_add(1, Ordering::Release);
        }),
    );
}

pub fn threads(cx: &Cx) {
    let n = u64::from(cx.size());
    // Per thread a slot in every segment for each rank; it is the arena of one thread there.
    let slots = cx.take_zeroed(SLOT * THREADS as u64);
    // A cache line for all, and one for each thread of the job.
    let counters = cx.take_zeroed(64 * (1 + n * THREADS as u64));
    REPLIES.iter().for_each(|r| r.store(0, Ordering::Relaxed));
    cx.rank.barrier();
    let rounds = if cx.quick { 30u64 } else { 150 };
    let (give, take) = mpsc::channel::<Event>();
    let take = std::sync::Mutex::new(take);
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let (give, take) = (give.clone(), &take);
            // A `Cx` is for one thread: each gets its own with the same seed.
            let (rank, seed, quick) = (cx.rank, cx.seed, cx.quick);
            s.spawn(move || {
                let rng = Rng::new(mix(seed ^ (u64::from(rank.id().0) << 8 | thread as u64)));
                let w = Worker { rank, rng, thread, at: slots + SLOT * thread as u64, counters, seed, quick };
                w.work(rounds, give, take);
            });
        }
        drop(give);
    });
    cx.rank.barrier();
    if cx.me() == 0 {
        let sum: u64 = cx.rank.read(GlobalPtr::new(cx.rank.id(), counters));
        assert_eq!(sum, rounds * n * THREADS as u64, "what all threads added");
    }
}

struct Worker {
    rank: &'static Rank,
    rng: Rng,
    thread: usize,
    at: u64,
    counters: u64,
    seed: u64,
    quick: bool,
}

impl Worker {
    fn work(
        mut self,
        rounds: u64,
        give: mpsc::Sender<Event>,
        take: &std::sync::Mutex<mpsc::Receiver<Event>>,
    ) {
        let r = self.rank;
        let cx = Cx::for_thread(r, self.seed, self.quick);
        // Thread t of rank r writes slot t of the rank to its right: one writer per slot.
        let to = cx.right(1);
        let (mut sent, mut last) = (0, None);
        for round in 0..rounds {
            let (len, skew) =
                (1 + self.rng.below(*self.rng.clone().pick(&[16, 300, 70_000])), self.rng.below(8));
            let data = self.rng.bytes(len);
            let (a, b) = (WAYS[self.rng.below(WAYS.len())], WAYS[self.rng.below(WAYS.len())]);
            put(&cx, a, to, self.at + skew as u64, &data);
            same(&get(&cx, b, to, self.at + skew as u64, len, skew), &data, "a thread's own slot");

            // The old values a thread sees of a shared counter only grow: a stale or mixed-up answer would
            // show.
            let was = r.atomics().fetch_add(GlobalPtr::new(RankId(0), self.counters), 1);
            assert!(last < Some(was), "{was} after {last:?}");
            last = Some(was);

            let body = vec![round as u8; self.rng.below(*self.rng.clone().pick(&[64, 2000, 9000]))];
            assert!(body.len() <= MAX_MEDIUM);
            let sum = body.iter().map(|b| u32::from(*b)).sum();
            let whom = cx.right(self.rng.below(cx.size() as usize) as u32);
            r.request_medium(whom, THREAD, &[self.thread as u32, sum], &body).expect("a request");
            sent += 1;
            if self.rng.below(3) == 0 {
                let replies = &REPLIES[self.thread];
                r.wait_until("a thread's replies", || replies.load(Ordering::Acquire) == sent);
            }
            // An event is as good on another thread.
            #[expect(unsafe_code, reason = "a put whose source is done with on return")]
            // SAFETY: the source is a vector; the place behind the slot's data is this thread's.
            give.send(unsafe { r.put_nb(to, self.at + SLOT - 4096, data.as_ptr(), data.len().min(4096)) })
                .expect("somebody takes");
            let taken = take.lock().expect("no panic").try_recv();
            if let Ok(event) = taken {
                r.wait(event);
            }
        }
        drop(give);
        // Answers that another thread's poll brings in at the very moment this one looks.
        let other = RankId(u32::from(r.id().0 == 0).min(cx.size() - 1));
        let line = 1 + u64::from(r.id().0) * THREADS as u64 + self.thread as u64;
        let mine = GlobalPtr::<u64>::new(other, self.counters + 64 * line);
        for n in 0..if self.quick { 100 } else { 1000 } {
            assert_eq!(r.atomics().fetch_add(mine, 1), n, "the answer to another question");
        }
        loop {
            let taken = take.lock().expect("no panic").try_recv();
            match taken {
                Ok(event) => r.wait(event),
                Err(mpsc::TryRecvError::Empty) => drop(r.poll()),
                Err(mpsc::TryRecvError::Disconnected) => break,
            }
        }
        r.wait_until("a thread's replies", || REPLIES[self.thread].load(Ordering::Acquire) == sent);
    }
}
