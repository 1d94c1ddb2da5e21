//! Operations that are to be started immediately: they are refused where there is no room, and then nothing
//! of them happens.
#![expect(unsafe_code, reason = "calls unsafe operations, which say why they may")]

use crate::am::IMMEDIATE;
use crate::support::{Cx, State};
use gasnet::am::Outgoing;
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{Categories, GlobalPtr, Handler, Local, Refused};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// More than any queue has room for.
const MANY: u64 = 100_000;
/// Bytes of the destination of long messages, and of puts.
const LEN: usize = 3000;
/// A rank that waits so long for another one is stuck.
const HANGS: Duration = Duration::from_secs(300);

pub fn register(state: &'static State, add: &dyn Fn(u8, Handler)) {
    add(
        IMMEDIATE,
        Handler::new(|_, _| {
            state.requests.fetch_add(1, Ordering::Relaxed);
        }),
    );
}

/// The results of an even rank's operations on the odd rank to its right.
#[derive(Default)]
struct Sent {
    messages: u64,
    refused: u64,
    /// Long messages among them.
    long: u64,
}

impl Sent {
    fn count(&mut self, sent: Result<(), Refused>) -> bool {
        match sent {
            Ok(()) => self.messages += 1,
            Err(Refused) => self.refused += 1,
        }
        sent.is_ok()
    }
}

/// The file by which an even rank tells the next one, which does not poll, that it may go on.
fn flag(process: u64) -> PathBuf {
    std::env::temp_dir().join(format!("gasnet-immediate-{process}"))
}

/// An odd rank does not poll while the even one before it starts as much as there is room for.
pub fn immediate(cx: &Cx) {
    let r = cx.rank;
    let at = cx.take_zeroed(1 << 16);
    cx.state.requests.store(0, Ordering::Relaxed);
    let cell = |k: u64| GlobalPtr::<u64>::new(r.id(), at + 8 * k);
    let (even, pairs) = (cx.me().is_multiple_of(2), cx.size() / 2);
    let has_pair = cx.me() / 2 < pairs;
    if even && has_pair {
        r.write(cell(0).on(cx.right(1)), u64::from(std::process::id()));
    }
    r.barrier();
    if has_pair && even {
        start_all(cx, at);
    } else if has_pair {
        let flag = flag(r.read(cell(0)));
        let begun = Instant::now();
        while !flag.exists() {
            assert!(begun.elapsed() < HANGS, "the rank before does not get anywhere");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::remove_file(&flag).expect("the flag just seen");
    }
    r.barrier();
    if has_pair && !even {
        let (messages, long) = (r.read(cell(1)), r.read(cell(2)));
        let come = || cx.state.requests.load(Ordering::Relaxed);
        r.wait_until("immediate messages", || come() >= messages);
        r.barrier();
        assert_eq!(come(), messages, "messages that were refused came, or others did not");
        let placed: u8 = r.read(GlobalPtr::new(r.id(), at + 4096));
        assert_eq!(u64::from(placed == 7), long.min(1), "what a refused message carried was placed");
    } else {
        r.barrier();
    }
    cx.state.requests.store(0, Ordering::Relaxed);
}

fn start_all(cx: &Cx, at: u64) {
    let (r, to) = (cx.rank, cx.right(1));
    let mut sent = Sent::default();
    let answered = |sent: Result<Result<(), Refused>, gasnet::Error>| sent.expect("a message like others");
    while sent.messages < MANY
        && sent.count(answered(r.messages().request_short_immediate(to, IMMEDIATE, &[1, 2])))
    {}
    let payload = vec![7u8; LEN];
    let (src, len) = (payload.as_ptr(), payload.len());
    let out = Outgoing::medium(IMMEDIATE, &[], src, len);
    // SAFETY: the payload has as many bytes.
    let medium = || answered(unsafe { r.messages().request_immediate(to, out) });
    for _ in 0..1000 {
        sent.count(medium());
    }
    let out = Outgoing::long(IMMEDIATE, &[], src, len, at + 4096);
    // SAFETY: as above.
    let long = || answered(unsafe { r.messages().request_immediate(to, out) });
    for _ in 0..10 {
        sent.long += u64::from(sent.count(long()));
    }
    let far = r.table().get(to).expect("a rank of the job").local.is_null();
    let go_on = || std::fs::write(flag(u64::from(std::process::id())), "").expect("a file for temporary use");
    let refusals = if far { start_one_sided(cx, at, go_on) } else { 0 };
    if !far {
        go_on();
    }
    // Where a thread of the target, or the network, has room for everything, nothing need be refused.
    if ["smp", "udp"].contains(&r.conduit_name()) && !r.config().progress_thread {
        assert!(sent.refused > 0, "{} messages had room", sent.messages);
        assert!(!far || refusals > 0, "all puts, gets and atomic operations had room");
    }
    r.write(GlobalPtr::new(to, at + 8), sent.messages);
    r.write(GlobalPtr::new(to, at + 16), sent.long);
}

/// Puts, gets and atomic operations until one is refused; those that were started are all done later. Returns
/// how many were refused.
fn start_one_sided(cx: &Cx, at: u64, go_on: impl FnOnce()) -> u32 {
    let (r, to) = (cx.rank, cx.right(1));
    let (words, counter) = (at + (1 << 13), at + (1 << 14));
    let add = Operation { function: Function::Add, word: WordType::U64 };
    let source = 0x0123_4567_89ab_cdefu64;
    let src = (&raw const source).cast::<u8>();
    let mut got = vec![1u64; MANY as usize];
    let (mut events, mut refusals, mut puts, mut gets, mut adds) = (Vec::new(), 0, 0, 0, 0);
    // SAFETY: source and destinations stay to the end of the function, which waits for everything; each put
    // writes the same.
    unsafe {
        while puts < MANY {
            match r.start_put(to, words, src, 8, Local::Leaf, true) {
                Ok(event) => events.push(event),
                Err(Refused) => break,
            }
            puts += 1;
        }
        refusals += u32::from(r.implicit().start_put(to, words + 64, src, 8, Local::Group, true).is_err());
        let words = got.as_mut_ptr();
        while gets < MANY
            && r.implicit().start_get(words.add(gets as usize).cast(), to, at + 32, 8, true).is_ok()
        {
            gets += 1;
        }
        refusals += u32::from(gets < MANY) + u32::from(puts < MANY);
        while adds < MANY
            && r.atomics().start_implicit(to, counter, add, [1, 0], std::ptr::null_mut(), true).is_ok()
        {
            adds += 1;
        }
        refusals += u32::from(adds < MANY);
    }
    go_on();
    for event in events {
        r.wait(r.events().leaf(event));
        r.wait(event);
    }
    r.implicit().wait(Categories::ALL);
    assert!(got.iter().enumerate().all(|(i, word)| *word == u64::from(i as u64 >= gets)), "{gets} gets");
    assert_eq!(r.read(GlobalPtr::<u64>::new(to, counter)), adds);
    assert_eq!(r.read(GlobalPtr::<u64>::new(to, words)), if puts > 0 { source } else { 0 });
    refusals
}
