//! Random programs of puts, gets, memsets and atomics against an obviously correct model: one byte array that
//! every rank keeps of all memory of the job and brings up to date with what every rank does.
//!
//! In an epoch each block of the job's memory has one rank that may touch it, so the model needs no order
//! between ranks; blocks change hands from epoch to epoch, with a barrier between.

use crate::rma::{WAYS, get, put};
use crate::support::{Cx, Rng, mix, same};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{GlobalPtr, Pending, RankId};

const BLOCK: usize = 2048;
/// Blocks of a rank.
const BLOCKS: usize = 8;

#[derive(Debug, Clone)]
enum Act {
    Put {
        rank: usize,
        at: usize,
        data: Vec<u8>,
        way: usize,
    },
    Get {
        rank: usize,
        at: usize,
        len: usize,
        way: usize,
    },
    Set {
        rank: usize,
        at: usize,
        len: usize,
        value: u8,
    },
    Add {
        rank: usize,
        at: usize,
        n: u64,
    },
    Swap {
        rank: usize,
        at: usize,
        new: u64,
    },
    /// A transfer left open until the end of the epoch; its block is not used by others of the same epoch.
    Open {
        rank: usize,
        at: usize,
        data: Option<Vec<u8>>,
        len: usize,
    },
    Poll,
}

/// The blocks (rank, index) a rank has in an epoch.
fn blocks(seed: u64, size: usize, epoch: u64, me: usize) -> Vec<(usize, usize)> {
    let of =
        |rank: usize, block: usize| mix(mix(seed ^ epoch) ^ (rank * BLOCKS + block) as u64) as usize % size;
    (0..size * BLOCKS).map(|i| (i / BLOCKS, i % BLOCKS)).filter(|&(r, b)| of(r, b) == me).collect()
}

/// The actions of a rank in an epoch.
fn program(cx: &Cx, epoch: u64, who: u32) -> Vec<Act> {
    let mut rng = Rng::new(cx.rng_of("oracle", who).next() ^ mix(epoch));
    let mut mine = blocks(cx.seed, cx.size() as usize, epoch, who as usize);
    let mut acts = Vec::new();
    // A third of the blocks for open transfers, each used once.
    let open = mine.len() / 3;
    for (rank, block) in mine.split_off(mine.len() - open) {
        let (start, len) = range(&mut rng);
        let data = (rng.below(2) == 0).then(|| rng.bytes(len));
        acts.push(Act::Open { rank, at: block * BLOCK + start, data, len });
    }
    for _ in 0..if mine.is_empty() { 0 } else { 6 + rng.below(12) } {
        let &(rank, block) = rng.pick(&mine);
        let (start, len) = range(&mut rng);
        let at = block * BLOCK + start;
        let word = block * BLOCK + 8 * rng.below(BLOCK / 8);
        let way = rng.below(WAYS.len());
        acts.insert(
            rng.below(acts.len() + 1).max(acts.len() / 2),
            match rng.below(8) {
                0 | 1 => Act::Put { rank, at, data: rng.bytes(len), way },
                2 | 3 => Act::Get { rank, at, len, way },
                4 => Act::Set { rank, at, len, value: rng.next() as u8 },
                5 => Act::Add { rank, at: word, n: rng.next() },
                6 => Act::Swap { rank, at: word, new: rng.next() },
                _ => Act::Poll,
            },
        );
    }
    acts
}

/// A range inside a block, often short.
fn range(rng: &mut Rng) -> (usize, usize) {
    let most = *rng.pick(&[8, 64, 300, BLOCK]);
    let len = rng.below(most + 1);
    (rng.below(BLOCK - len + 1), len)
}

fn word(model: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(model[at..at + 8].try_into().expect("8 bytes"))
}

/// The model's side of an act.
fn apply(model: &mut [Vec<u8>], act: &Act) {
    match act {
        Act::Put { rank, at, data, .. } => model[*rank][*at..*at + data.len()].copy_from_slice(data),
        Act::Open { rank, at, data: Some(data), .. } => {
            model[*rank][*at..*at + data.len()].copy_from_slice(data);
        }
        Act::Set { rank, at, len, value } => model[*rank][*at..*at + len].fill(*value),
        Act::Add { rank, at, n } => {
            let new = word(&model[*rank], *at).wrapping_add(*n);
            model[*rank][*at..*at + 8].copy_from_slice(&new.to_le_bytes());
        }
        Act::Swap { rank, at, new } => model[*rank][*at..*at + 8].copy_from_slice(&new.to_le_bytes()),
        Act::Get { .. } | Act::Open { .. } | Act::Poll => {}
    }
}

pub fn random_programs(cx: &Cx) {
    let n = cx.size() as usize;
    let base = cx.take_zeroed((BLOCKS * BLOCK) as u64);
    let mut model = vec![vec![0u8; BLOCKS * BLOCK]; n];
    for epoch in 0..if cx.quick { 20 } else { 120 } {
        for who in 0..cx.size() {
            let acts = program(cx, epoch, who);
            if who == cx.me() {
                execute(cx, base, &mut model, &acts, epoch);
            } else {
                acts.iter().for_each(|a| apply(&mut model, a));
            }
        }
        cx.rank.barrier();
        if epoch % 8 == 7 {
            for rank in cx.targets() {
                let all = get(cx, WAYS[epoch as usize % WAYS.len()], rank, base, BLOCKS * BLOCK, 0);
                same(
                    &all,
                    &model[rank.0 as usize],
                    &format!("seed {}, epoch {epoch}: memory of rank {rank}", cx.seed),
                );
            }
            cx.rank.barrier();
        }
    }
}

fn execute(cx: &Cx, base: u64, model: &mut [Vec<u8>], acts: &[Act], epoch: u64) {
    let r = cx.rank;
    let id = |rank: &usize| RankId(*rank as u32);
    let mut open: Vec<(Pending<'_, u8>, &Act)> = Vec::new();
    for act in acts {
        let what = || format!("seed {}, epoch {epoch}, {act:?}", cx.seed);
        let atomic = |rank: &usize, at: &usize, function, a| {
            r.atomics().apply(id(rank), base + *at as u64, Operation { function, word: WordType::U64 }, a, 0)
        };
        match act {
            Act::Put { rank, at, data, way } => put(cx, WAYS[*way], id(rank), base + *at as u64, data),
            Act::Get { rank, at, len, way } => {
                let got = get(cx, WAYS[*way], id(rank), base + *at as u64, *len, *way);
                same(&got, &model[*rank][*at..*at + len], &what());
            }
            Act::Set { rank, at, len, value } => cx.fill(id(rank), base + *at as u64, *value, *len),
            Act::Add { rank, at, n } => {
                assert_eq!(atomic(rank, at, Function::Add, *n), word(&model[*rank], *at), "{}", what());
            }
            Act::Swap { rank, at, new } => {
                assert_eq!(atomic(rank, at, Function::Set, *new), word(&model[*rank], *at), "{}", what());
            }
            Act::Open { rank, at, data, len } => {
                let p = GlobalPtr::new(id(rank), base + *at as u64);
                let pending = match data {
                    Some(data) => r.write_nb(p, data.clone()),
                    None => r.read_nb(p, *len),
                };
                open.push((pending, act));
            }
            Act::Poll => drop(r.poll()),
        }
        apply(model, act);
    }
    while let Some((pending, act)) = open.pop() {
        if let Act::Open { rank, at, data, len } = act {
            let want = data.clone().unwrap_or_else(|| model[*rank][*at..*at + len].to_vec());
            same(&pending.wait(), &want, &format!("seed {}, epoch {epoch}, {act:?}", cx.seed));
        }
    }
}
