//! A program without unsafe code that sends the engine of remote calls what no engine sends: batches, offers,
//! keys and counts made of random words. Whoever gets them ends the job and names the sender, or drops them;
//! the calls between them are answered as ever. `tests/failures.rs` runs it, `forged SEED`. With
//! `forged right` the record is a right one, but for that no engine has counted it; with `forged name` it is,
//! for each service in turn, but for the signature of the function that it is to call. With `forged run` it
//! is a right record of [`pgas`] for a run of an array's elements, but for where the run begins.
#![forbid(unsafe_code)]

use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS};
use gasnet::{Rank, RankId};
use gasnet_rpc::{Incoming, Serve, Service};
use std::os::unix::fs::FileExt;

/// Handlers of the engine: docs/architecture.md, "Handler indices".
const ENGINE_HANDLERS: std::ops::Range<u8> = FIRST_CLIENT_HANDLER - 5..FIRST_CLIENT_HANDLER;
/// The one of records that are not answers.
const RECORDS: u8 = FIRST_CLIENT_HANDLER - 5;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("right") => gasnet_conduits::run(|rank| pgas::run_on(rank, |world| send_right(rank, world))),
        Some("name") => gasnet_conduits::run(|rank| pgas::run_on(rank, |world| send_misnamed(rank, world))),
        Some("run") => gasnet_conduits::run_and_keep(
            |rank, _| rank,
            |rank| pgas::run_on(rank, |world| send_misplaced(rank, world)),
        ),
        _ => {}
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
        let distance = distance(std::ptr::from_ref(Service::of::<Nothing>()).addr());
        let record = [distance, check(&program(), distance), 0, 0, 0, 0];
        rank.request_short(RankId(1), RECORDS, &record).expect("it may be sent");
    }
    world.settle();
}

/// The function that calls with a valid name run.
fn run_it(_: pgas::World, number: u64) {
    println!("function runs with {number}");
}

/// Has a function called, and then has it called by a name that nobody has signed: by each service that the
/// program has, among them the one that has called it.
fn send_misnamed(rank: &Rank, world: pgas::World) {
    if world.rank() == 0 {
        world.send(1, run_it, 1);
    }
    world.settle();
    if world.rank() == 0 {
        let program = program();
        let function = distance(run_it as fn(pgas::World, u64) as usize);
        for service in services(&program) {
            // The head: the service, 24 bytes of body, nobody to answer. The body: no object, the function,
            // its signature, and its argument.
            let head = [service, check(&program, service), 24, 0, 0, 0];
            let record = [&head[..], &[0, function, 0x1234_5678, 0x9abc_def0, 2, 0]].concat();
            rank.request_short(RankId(1), RECORDS, &record).expect("it may be sent");
            // Other services drop it.
            assert_eq!(world.call(1, |_, x: u64| 3 * x, 7).wait(), 21);
        }
    }
    world.barrier();
}

/// Puts a run into another rank's part of an array, and then sends the record of it again, with a run that
/// begins inside of the part and ends outside. The record is found where the sender has it.
fn send_misplaced(rank: &Rank, world: pgas::World) {
    const PART: usize = 1024;
    let mut array = world.array::<u64>(2 * PART, pgas::Layout::Block);
    array.exchange(|elements| {
        if world.rank() == 0 {
            // A run from the part's element 3 on. No other memory has these bytes.
            let values = std::array::from_fn::<u64, 64, _>(|i| 0x5eed_0000_7075_7400 + i as u64);
            elements.put_slice(PART + 3, &values);
            let run: Vec<u8> = [3].iter().chain(&values).flat_map(|word| word.to_ne_bytes()).collect();
            let mut record = record_before(&run);
            let at = record.len();
            record.extend_from_slice(&run);
            record[at..at + 8].copy_from_slice(&(PART as u64 - 63).to_ne_bytes());
            rank.request_medium(RankId(1), RECORDS, &[], &record).expect("it may be sent");
        }
    });
}

/// The 40 bytes before the end of a record's body: the record's head, the object, the function and its
/// signature.
fn record_before(end: &[u8]) -> Vec<u8> {
    const BEFORE: usize = 24 + 16;
    let program = program();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the kernel has it");
    let memory = std::fs::File::open("/proc/self/mem").expect("the kernel has it");
    for range in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, rest) = range.split_once('-').expect("a range");
        let to = rest.split(' ').next().expect("an address");
        let [from, to] = [from, to].map(|word| u64::from_str_radix(word, 16).expect("an address"));
        let mut bytes = vec![0; (to - from).min(16 << 20) as usize];
        let Ok(len) = memory.read_at(&mut bytes, from) else { continue };
        let ends = bytes[..len].windows(end.len()).enumerate().filter(|(_, bytes)| *bytes == end);
        for (at, _) in ends.filter(|&(at, _)| at >= BEFORE) {
            let before = &bytes[at - BEFORE..at];
            let word = |i: usize| u32::from_ne_bytes(before[4 * i..][..4].try_into().expect("4 bytes"));
            if word(0) != 0 && word(1) == check(&program, word(0)) {
                return before.to_vec();
            }
        }
    }
    panic!("no record ends so");
}

/// The file that runs.
fn program() -> Vec<u8> {
    std::fs::read("/proc/self/exe").expect("it is there")
}

/// How far into the program an address is.
fn distance(address: usize) -> u32 {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the kernel has it");
    let program = std::env::current_exe().expect("the kernel knows it");
    let first = maps.lines().find(|line| line.ends_with(program.to_str().expect("a name"))).expect("it runs");
    let (start, _) = first.split_once('-').expect("a range");
    (address - usize::from_str_radix(start, 16).expect("a number")) as u32
}

/// The check word of the service at a distance.
fn check(program: &[u8], distance: u32) -> u32 {
    ((identity(program) ^ u64::from(distance)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// The distances of all services: a mark stands before each, here written the other way round.
fn services(program: &[u8]) -> Vec<u32> {
    let inverted = [0x834e_aa5c_6f2d_1790u64, 0x1eb0_f482_9c37_d56a];
    let mark = std::hint::black_box(inverted).map(|word| (!word).to_le_bytes()).concat();
    let first = loaded(program).map(|part| part.address).min().expect("it is loaded");
    let mut found = Vec::new();
    for part in loaded(program) {
        let at = program[part.bytes.clone()].windows(16).enumerate().filter(|(_, bytes)| *bytes == mark);
        found.extend(at.map(|(at, _)| (part.address + at - first) as u32));
    }
    assert!(found.len() > 1, "services are found: {found:?}");
    found
}

/// A part of the executable that is loaded, to be read: its bytes in the file, and its address in the image.
struct Loaded {
    bytes: std::ops::Range<usize>,
    address: usize,
    is_written: bool,
}

fn loaded(program: &[u8]) -> impl Iterator<Item = Loaded> {
    let word = |at: usize| u64::from_le_bytes(program[at..at + 8].try_into().expect("8 bytes"));
    let half = |at: usize| usize::from(u16::from_le_bytes([program[at], program[at + 1]]));
    (0..half(56)).map(move |i| word(32) as usize + i * half(54)).filter_map(move |header| {
        let (kind, flags) = (word(header) as u32, (word(header) >> 32) as u32);
        let (from, len) = (word(header + 8) as usize, word(header + 32) as usize);
        let address = word(header + 16) as usize;
        (kind == 1 && flags & 4 != 0).then(|| Loaded {
            bytes: from..from + len,
            address,
            is_written: flags & 2 != 0,
        })
    })
}

/// The checksum that ranks compare at the start: over the read-only parts of the executable.
fn identity(program: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for part in loaded(program).filter(|part| !part.is_written) {
        let (words, rest) = program[part.bytes].as_chunks::<8>();
        let all =
            words.iter().map(|word| u64::from_le_bytes(*word)).chain(rest.iter().copied().map(u64::from));
        sum = all.fold(sum, |sum, word| (sum ^ word).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29));
    }
    sum
}
