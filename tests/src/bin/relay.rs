//! A token goes round, and each rank adds to it: the program of `docs/replay.md`. What the ranks print
//! depends on the order in which messages come, on the clock, and on the seeds of hash tables.
//!
//! `relay [ROUNDS] [how it ends]`: `well`, `status` (rank 1 ends the job with status 7), `waits` (rank 1
//! waits in vain), `leaves` (rank 1 exits), `killed` (rank 1 kills itself), `other` (it adds something else),
//! `inputs` (each rank prints what else it learns from the system).

use gasnet::{GlobalPtr, Handler, RankId};
use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

const TOKEN: u8 = 200;

static ARRIVED: AtomicU64 = AtomicU64::new(0);
static VALUE: AtomicU64 = AtomicU64::new(0);

/// The value that a rank passes on. A function of its own, at which a debugger can stop.
#[inline(never)]
fn value_of(me: u32) -> u32 {
    VALUE.load(Relaxed) as u32 + me
}

fn main() {
    let mut words = std::env::args().skip(1);
    let rounds: u64 = words.next().and_then(|n| n.parse().ok()).unwrap_or(20);
    let end = words.next().unwrap_or_else(|| "well".into());
    gasnet_conduits::run(|rank| {
        let note = Handler::new(|_, message| {
            VALUE.store(u64::from(message.args[0]), Relaxed);
            ARRIVED.fetch_add(1, Relaxed);
        });
        rank.register(TOKEN, note).expect("the index is free");
        let (me, size) = (rank.id().0, rank.size());
        let right = RankId((me + 1) % size);
        let order: GlobalPtr<u64> = rank.allocate_array(size as usize + 1).expect("room");
        rank.barrier();
        let began = Instant::now();
        // Who comes first differs from run to run.
        let place = rank.atomics().fetch_add(order.on(RankId(0)), 1);
        rank.write(order.add(1 + place as usize).on(RankId(0)), u64::from(me));
        for round in 1..=rounds {
            if me != 0 {
                rank.wait_until("the token", || ARRIVED.load(Relaxed) == round);
            }
            if me == 1 && round == rounds {
                match end.as_str() {
                    "status" => rank.global_exit(7),
                    "leaves" => std::process::exit(0),
                    "waits" => rank.wait_until("something that nobody sends", || false),
                    "killed" => gasnet_sys::process::kill(gasnet_sys::process::pid(), libc::SIGKILL),
                    "other" => VALUE.store(1_000_000, Relaxed),
                    _ => {}
                }
            }
            let value = value_of(me);
            let sum = [value.to_le_bytes(); 40].concat();
            rank.request_medium(right, TOKEN, &[value], &sum).expect("it is there");
            if me == 0 {
                rank.wait_until("the token", || ARRIVED.load(Relaxed) == round);
            }
        }
        if end == "inputs" {
            println!("rank {me} read {}", inputs().expect("files of every system"));
        }
        rank.barrier();
        let places: HashMap<u64, u64> =
            (0..u64::from(size)).map(|i| (i, rank.read(order.add(1 + i as usize).on(RankId(0))))).collect();
        println!("rank {me} came as number {place}; all: {places:?}");
        println!("rank {me} saw {} after {} ns", VALUE.load(Relaxed), began.elapsed().as_nanos());
    });
}

/// What the system tells: random numbers, the time, the environment, standard input, a file.
fn inputs() -> std::io::Result<String> {
    let (mut random, mut more, mut input) = ([0; 5000], [0; 8], String::new());
    let mut file = std::fs::File::open("/dev/urandom")?;
    file.read_exact(&mut random)?;
    file.read_exact(&mut more)?;
    drop(file);
    std::fs::File::open("/dev/random")?.read_exact(&mut random[..8])?;
    // The descriptor that was a file of random numbers is another one's now.
    let program = std::fs::File::open("/proc/self/exe")?.read(&mut random[8..16])?;
    std::io::stdin().read_to_string(&mut input)?;
    let now = std::time::SystemTime::now();
    Ok(format!("{:?} {more:?} {program} {now:?} {:?} {input:?}", &random[..24], std::env::var_os("HOME")))
}
