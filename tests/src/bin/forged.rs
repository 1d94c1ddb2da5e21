//! A program without unsafe code that sends the engine of remote calls what no engine sends: batches, offers,
//! keys and counts made of random words. Whoever gets them ends the job and names the sender, or drops them;
//! the calls between them are answered as ever. `tests/failures.rs` runs it, `forged SEED`.
#![forbid(unsafe_code)]

use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS};
use gasnet::{Rank, RankId};

/// Handlers of the engine: docs/architecture.md, "Handler indices".
const ENGINE_HANDLERS: std::ops::Range<u8> = FIRST_CLIENT_HANDLER - 5..FIRST_CLIENT_HANDLER;

fn main() {
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
