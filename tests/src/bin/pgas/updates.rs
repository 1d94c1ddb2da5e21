//! Updates of arrays against the same ones made in turn.

use pgas::{Layout, World};

/// Random updates by all ranks against the same made by one.
pub fn updates(world: World, random: &mut fastrand::Rng) {
    let seed = world.broadcast(0, random.u64(..));
    for (round, layout) in [Layout::Block, Layout::Cyclic, Layout::BlockCyclic(7)].into_iter().enumerate() {
        let len = 1000 + 37 * round;
        let mut array = world.array::<u64>(len, layout);
        let mut floats = world.array::<f32>(len, layout);
        let mut expected = vec![0u64; len];
        let mut highest = vec![0f32; len];
        for rank in world.ranks() {
            let mut random = fastrand::Rng::with_seed(seed ^ u64::from(rank));
            for _ in 0..3000 {
                let (i, n) = (random.usize(..len), random.u64(..));
                expected[i] = expected[i].wrapping_add(n);
                highest[i] = highest[i].max((n >> 40) as f32);
            }
        }
        let mine = || fastrand::Rng::with_seed(seed ^ u64::from(world.rank()));
        let mut random = mine();
        array.update(|array| {
            for _ in 0..3000 {
                array.add(random.usize(..len), random.u64(..));
            }
        });
        let mut random = mine();
        floats.update(|floats| {
            for _ in 0..3000 {
                let (i, n) = (random.usize(..len), random.u64(..));
                floats.max(i, (n >> 40) as f32);
            }
        });
        array.read(|array| {
            let all: Vec<usize> = (0..len).rev().collect();
            let values = array.gather(&all);
            assert!(values.iter().rev().eq(&expected), "{layout:?}");
            assert_eq!(array.get(len - 1), expected[len - 1]);
        });
        assert!(floats.read(|floats| (0..len).all(|i| floats.get(i) == highest[i])), "{layout:?}");
    }
    updates_in_turn(world, seed);
}

/// Runs of one function, of any length, each function to elements of its own.
fn updates_in_turn(world: World, seed: u64) {
    const LEN: usize = 300;
    const FUNCTIONS: usize = 5;
    const BEFORE: u32 = 0x5a5a_5a5a;
    let turns = |rank: u32| {
        let mut random = fastrand::Rng::with_seed(seed ^ u64::from(rank));
        let runs: Vec<(usize, usize)> = (0..20).map(|run| (run % FUNCTIONS, random.usize(..1300))).collect();
        let all = runs.into_iter().flat_map(|(function, count)| core::iter::repeat_n(function, count));
        let place = |f, random: &mut fastrand::Rng| FUNCTIONS * random.usize(..LEN / FUNCTIONS) + f;
        all.map(|f| (f, place(f, &mut random), random.u32(..))).collect::<Vec<_>>()
    };
    let mut expected = vec![BEFORE; LEN];
    for (function, i, n) in world.ranks().flat_map(turns) {
        let old = expected[i];
        expected[i] =
            [old.wrapping_add(n), old ^ n, old.max(n), old & (n | 0xff), old | (n & 0xff)][function];
    }
    let mut array = world.array::<u32>(LEN, Layout::Cyclic);
    array.local(|mine| mine.fill(BEFORE));
    array.update(|array| {
        for (function, i, n) in turns(world.rank()) {
            match function {
                0 => array.add(i, n),
                1 => array.xor(i, n),
                2 => array.max(i, n),
                3 => array.and(i, n | 0xff),
                _ => array.or(i, n & 0xff),
            }
        }
    });
    assert!(array.read(|array| (0..LEN).all(|i| array.get(i) == expected[i])), "seed {seed}");
}
