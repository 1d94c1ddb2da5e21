//! A program without unsafe code that sends the engine of remote calls what no engine sends: batches, offers,
//! keys and counts made of random words. Whoever gets them ends the job and names the sender, or drops them;
//! the calls between them are answered as ever. `tests/failures.rs` runs it, `forged SEED`. With
//! `forged right` the record is a right one, but for that no engine has counted it.
#![forbid(unsafe_code)]

use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS};
use gasnet::{Rank, RankId};
use gasnet_rpc::{Incoming, Serve, Service};

/// Handlers of the engine: docs/architecture.md, "Handler indices".
const ENGINE_HANDLERS: std::ops::Range<u8> = FIRST_CLIENT_HANDLER - 5..FIRST_CLIENT_HANDLER;

fn main() {
    if std::env::args().nth(1).is_some_and(|arg| arg == "right") {
        gasnet_conduits::run(|rank| pgas::run_on(rank, |world| send_right(rank, world)));
    }
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).expect("forged SEED");
    gasnet_conduits::run(|rank| {
        pgas::run_on(rank, |world| {
            let mut random = fastrand::Rng::with_seed(seed);
            if world.rank() == 0 {
                for round in 0..20u64 {
                    send_forged(rank, &mut random);
                    assert_eq!(world.call(1, |_, x: u64| 3 * x, round).wait(), 3 * round);
                }
            }
            world.barrier();
        });
        println!("all dropped");
    })
}

/// Small numbers are likely: they are places, generations, ranks and lengths that there are.
fn word(random: &mut fastrand::Rng) -> u32 {
    match random.u32(..4) {
        0 => 0,
        1 => random.u32(..3),
        2 => random.u32(..100),
        _ => random.u32(..),
    }
}

fn send_forged(rank: &Rank, random: &mut fastrand::Rng) {
    let words: Vec<u32> = (0..random.usize(..40)).map(|_| word(random)).collect();
    let handler = random.u8(ENGINE_HANDLERS);
    let sent = if random.bool() {
        rank.request_short(RankId(1), handler, &words[..words.len().min(MAX_ARGUMENTS)])
    } else {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let bytes = &bytes[..bytes.len() - random.usize(..4).min(bytes.len())];
        rank.request_medium(RankId(1), handler, &words[..random.usize(..3).min(words.len())], bytes)
    };
    sent.expect("a message that may be sent");
}

/// A service that there is.
struct Nothing;

impl Serve for Nothing {
    fn serve(_: Incoming<'_>) {}
}

/// Sends a record for a service that there is, and waits for all calls.
fn send_right(rank: &Rank, world: pgas::World) {
    if world.rank() == 0 {
        let service = std::ptr::from_ref(Service::of::<Nothing>()).addr();
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the kernel has it");
        let program = std::env::current_exe().expect("the kernel knows it");
        let first =
            maps.lines().find(|line| line.ends_with(program.to_str().expect("a name"))).expect("it runs");
        let (start, _) = first.split_once('-').expect("a range");
        let distance = (service - usize::from_str_radix(start, 16).expect("a number")) as u32;
        let mixed = (identity(&std::fs::read(&program).expect("it is there")) ^ u64::from(distance))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let record = [distance, (mixed >> 32) as u32, 0, 0, 0, 0];
        rank.request_short(RankId(1), FIRST_CLIENT_HANDLER - 5, &record).expect("it may be sent");
    }
    world.settle();
}

/// What ranks compare at the start: a checksum over the parts of the executable that nobody writes.
fn identity(program: &[u8]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(program[at..at + 8].try_into().expect("8 bytes"));
    let half = |at: usize| u16::from_le_bytes([program[at], program[at + 1]]);
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for header in (0..usize::from(half(56))).map(|i| word(32) as usize + i * usize::from(half(54))) {
        let (kind, flags) = (word(header) as u32, (word(header) >> 32) as u32);
        // Loaded, to be read, and not to be written.
        if kind == 1 && flags & 4 != 0 && flags & 2 == 0 {
            let (from, len) = (word(header + 8) as usize, word(header + 40) as usize);
            let (words, rest) = program[from..from + len].as_chunks::<8>();
            let all =
                words.iter().map(|word| u64::from_le_bytes(*word)).chain(rest.iter().copied().map(u64::from));
            sum = all.fold(sum, |sum, word| (sum ^ word).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29));
        }
    }
    sum
}
