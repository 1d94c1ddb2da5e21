//! Arrays and matrices: phases, layouts, iterators, memory and files.

use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{GlobalPtr, Rank};
use pgas::{Array, Layout, Tiling, World};

pub fn phases(world: World, random: &mut fastrand::Rng) {
    let len = 5000;
    let mut array = world.array::<[u32; 3]>(len, Layout::BlockCyclic(11));
    let owned: Vec<usize> = (0..array.local_len()).map(|at| array.global_index(at)).collect();
    assert!(owned.iter().all(|&i| array.owner(i) == world.rank()));
    assert_eq!(world.reduce(owned.len() as u64, |a, b| a + b), len as u64);
    array.local(|mine| {
        for (at, value) in mine.iter_mut().enumerate() {
            *value = [owned[at] as u32, world.rank(), 1];
        }
    });
    // Each rank moves its share of the elements to their mirror images.
    let mut mirror = world.array::<[u32; 3]>(len, Layout::Cyclic);
    for turn in 0..3 {
        let mut mine: Vec<usize> =
            (0..len).filter(|i| i % world.size() as usize == world.rank() as usize).collect();
        random.shuffle(&mut mine);
        let values = array.read(|array| {
            assert_eq!(array.local().len(), owned.len());
            assert!(array.local().iter().zip(&owned).all(|(value, &i)| value[0] as usize == i));
            array.gather(&mine)
        });
        mirror.exchange(|mirror| {
            mine.iter().zip(&values).for_each(|(&i, value)| mirror.put(len - 1 - i, *value))
        });
        mirror.read(|mirror| {
            let i = random.usize(..len);
            let [was, owner, _] = mirror.get(i);
            assert_eq!(was as usize, len - 1 - i, "turn {turn}");
            assert_eq!(owner, array.owner(len - 1 - i));
        });
    }
    assert!(world.array::<u8>(0, Layout::Block).is_empty());
}

/// Sizes that add up to `len`, the same on all ranks.
fn sizes(world: World, len: usize) -> Vec<usize> {
    let ranks = world.size() as usize;
    let mut sizes: Vec<usize> =
        (0..ranks).map(|r| if r % 3 == 1 { 0 } else { len * r / ranks / ranks }).collect();
    sizes[0] += len - sizes.iter().sum::<usize>();
    sizes
}

/// Element `i` of an array for tests.
fn value(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn fill(array: &mut Array<u64>) {
    let numbers: Vec<usize> = (0..array.local_len()).map(|at| array.global_index(at)).collect();
    array.local(|mine| mine.iter_mut().zip(numbers).for_each(|(x, i)| *x = value(i)));
}

/// Every layout to every other, and to other lengths.
pub fn layouts(world: World, random: &mut fastrand::Rng) {
    for len in [0, 1, 5, 1000, 3001] {
        let sizes = sizes(world, len);
        let all = [
            Layout::Block,
            Layout::Cyclic,
            Layout::BlockCyclic(7),
            Layout::BlockCyclic(300),
            Layout::Custom(&sizes),
        ];
        for from in all {
            let mut array = world.array::<u64>(len, from);
            fill(&mut array);
            for to in all {
                let mut copy = world.array::<u64>(len, to);
                array.copy_to(&mut copy);
                copy.read(|copy| assert!(copy.iter().eq((0..len).map(value)), "{from:?} to {to:?}, {len}"));
                assert_eq!(copy.local_len(), copy.read(|copy| copy.local().len()));
            }
            array.resize(len + 500, Layout::Cyclic);
            array.read(|array| {
                let i = random.usize(..len + 500);
                assert_eq!(array.get(i), if i < len { value(i) } else { 0 });
            });
            array.resize(len / 2, Layout::Block);
            array.read(|array| assert!(array.iter().eq((0..len / 2).map(value))));
        }
    }
}

pub fn iterators(world: World, random: &mut fastrand::Rng) {
    let len = 20_011;
    for layout in [Layout::Block, Layout::Cyclic, Layout::BlockCyclic(13), Layout::Custom(&sizes(world, len))]
    {
        let mut array = world.array::<u64>(len, layout);
        fill(&mut array);
        array.read(|array| {
            assert!(array.iter().eq((0..len).map(value)), "{layout:?}");
            assert!(array.iter().take(5).eq((0..5).map(value)));
            let (a, b) = (random.usize(..len), random.usize(..=len));
            let (from, to) = (a.min(b), a.max(b));
            assert!(array.slice(from, to - from).into_iter().eq((from..to).map(value)));
            assert!(array.slice(len, 0).is_empty());
        });
    }
}

/// Arrays that come and go do not use up the segment, and begin as zero; ranks drop them at different times.
pub fn memory(world: World, random: &mut fastrand::Rng) {
    let words = 1 << 20;
    let mut kept: Vec<(u64, Array<u64>)> = Vec::new();
    for round in 0..40u64 {
        let mut array = world.array::<u64>(words / 2, Layout::Block);
        assert!(array.read(|array| array.local().iter().all(|&x| x == 0)), "round {round}");
        array.local(|mine| mine.fill(round));
        kept.push((round, array));
        // Each rank lets go of some other ones.
        if kept.len() > 2 {
            kept.remove(random.usize(..3));
        }
        if round % 3 == 2 {
            let rest = core::mem::take(&mut kept);
            let oldest = rest.iter().map(|(round, _)| *round).min().unwrap_or(round);
            assert!(oldest + 3 > round);
        }
    }
}

pub fn files(world: World, random: &mut fastrand::Rng) {
    let name = world.broadcast(0, std::process::id());
    let directory = std::env::temp_dir().join(format!("pgas-{name:x}"));
    if world.rank() == 0 {
        std::fs::create_dir(&directory).unwrap();
    }
    world.barrier();
    let path = directory.join("array");
    let len = 4099;
    for layout in [Layout::Block, Layout::BlockCyclic(9), Layout::Custom(&sizes(world, len))] {
        let mut array = world.array::<u64>(len, layout);
        fill(&mut array);
        array.save(&path).unwrap();
        for other in [Layout::Cyclic, Layout::Block] {
            let mut back = world.load::<u64>(&path, other).unwrap();
            assert_eq!(back.len(), len);
            back.read(|back| assert!(back.iter().eq((0..len).map(value)), "{layout:?}"));
        }
        let error = world.load::<u32>(&path, Layout::Block).unwrap_err().to_string();
        assert!(["have 8 bytes, not 4", "could not read"].iter().any(|part| error.contains(part)), "{error}");
    }
    // Files of two saves, of which the newer one was not finished; a file that was cut; one with a bit
    // flipped; one that is missing.
    let last = directory.join(format!("array.{}", world.size() - 1));
    let good = std::fs::read(&last).unwrap();
    let mut array = world.array::<u64>(len, Layout::Block);
    world.barrier();
    array.save(&path).unwrap();
    let new = std::fs::read(&last).unwrap();
    world.barrier();
    let mut flipped = new.clone();
    let bit = world.broadcast(0, random.u64(..)) as usize % (8 * new.len());
    flipped[bit / 8] ^= 1 << (bit % 8);
    let cut = new[..new.len() - 8].to_vec();
    for (what, bytes) in
        [("old", Some(good)), ("cut", Some(cut)), ("flipped", Some(flipped)), ("missing", None)]
    {
        if what == "old" && world.size() == 1 {
            continue;
        }
        if world.rank() == 0 {
            match bytes {
                Some(bytes) => std::fs::write(&last, bytes).unwrap(),
                None => std::fs::remove_file(&last).unwrap(),
            }
        }
        world.barrier();
        let error = world.load::<u64>(&path, Layout::Block).unwrap_err().to_string();
        let says = ["another save", "torn", "none of an array", "No such file", "could not read"];
        assert!(says.iter().any(|part| error.contains(part)), "{what}: {error}");
    }
    // It cannot be written: an error everywhere.
    assert!(array.save(directory.join("no/such/directory")).is_err());
    world.barrier();
    if world.rank() == 0 {
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

pub fn matrices(world: World, random: &mut fastrand::Rng) {
    for (rows, columns, tiling) in [
        (1, 1, Tiling::Rows),
        (17, 5, Tiling::Rows),
        (3, 40, Tiling::Tiles { rows: 2, columns: 7 }),
        (33, 34, Tiling::Tiles { rows: 8, columns: 8 }),
        (0, 4, Tiling::Rows),
    ] {
        let mut matrix = world.matrix::<u64>(rows, columns, tiling);
        let cells = matrix.local(|tiles| {
            let mut cells = 0;
            for tile in tiles.iter_mut() {
                let (height, width) = (tile.rows(), tile.columns());
                for (r, c) in (0..height).flat_map(|r| (0..width).map(move |c| (r, c))) {
                    tile[(r, c)] = value((tile.row + r) * columns + tile.column + c);
                    cells += 1;
                }
                for r in 0..tile.rows() {
                    assert_eq!(tile.row_mut(r).len(), tile.columns());
                }
            }
            cells
        });
        assert_eq!(world.reduce(cells, |a, b| a + b), rows * columns, "{tiling:?}");
        matrix.read(|matrix| {
            for row in 0..rows {
                assert!(
                    matrix
                        .row(row, 0..columns)
                        .into_iter()
                        .eq((0..columns).map(|c| value(row * columns + c)))
                );
                let column = random.usize(..columns);
                assert_eq!(matrix.get(row, column), value(row * columns + column));
                assert_eq!(
                    matrix.gather(&[(row, column), (0, 0)]),
                    [value(row * columns + column), value(0)]
                );
            }
        });
        matrix.read(|matrix| {
            for _ in 0..20 {
                let (r, c) = (random.usize(..=rows), random.usize(..=columns));
                let (r, c) = (r..random.usize(r..=rows), c..random.usize(c..=columns));
                let expect = r.clone().flat_map(|r| c.clone().map(move |c| value(r * columns + c)));
                let block = matrix.block(r.clone(), c.clone());
                let mut into = vec![u64::MAX; block.len()];
                matrix.block_into(r.clone(), c.clone(), &mut into);
                assert!(into == block, "{tiling:?} {r:?} {c:?}");
                assert!(block.into_iter().eq(expect), "{tiling:?} {r:?} {c:?}");
            }
        });
        let mine: Vec<(usize, usize)> = (0..rows * columns)
            .filter(|i| i % world.size() as usize == world.rank() as usize)
            .map(|i| (i / columns, i % columns))
            .collect();
        matrix.exchange(|matrix| mine.iter().for_each(|&(r, c)| matrix.put(r, c, 1)));
        matrix.update(|matrix| {
            for i in 0..rows * columns {
                matrix.add(i / columns, i % columns, i as u64);
            }
        });
        let ranks = u64::from(world.size());
        matrix.read(|matrix| {
            for row in 0..rows {
                let expect = (0..columns).map(|c| 1 + ranks * (row * columns + c) as u64);
                assert!(matrix.row(row, 0..columns).into_iter().eq(expect), "{tiling:?}");
            }
        });
        if rows > 0 {
            assert!(matrix.owner(rows - 1, columns - 1) < world.size());
        }
    }
}

/// Ranks that have allocated different amounts have arrays at one place all the same.
pub fn unequal(rank: &'static Rank) {
    pgas::run_on(rank, |world| {
        rank.allocate(u64::from(world.rank()) * 256, 64).unwrap();
        let (mut few, mut many) =
            (world.array::<u64>(16, Layout::Block), world.array::<u64>(128, Layout::Block));
        few.local(|mine| mine.fill(1));
        many.local(|mine| mine.fill(2));
        few.update(|few| (0..16).for_each(|i| few.add(i, 100)));
        let all = 100 * u64::from(world.size());
        few.read(|few| assert!((0..16).all(|i| few.get(i) == 1 + all)));
        many.read(|many| assert!((0..128).all(|i| many.get(i) == 2)));
        // So have the objects of other crates.
        let mine = rank.segments().allocate_agreed(8, 8).unwrap();
        assert_eq!(world.gather_all(mine), vec![mine; world.size() as usize]);
        let next = rank.segments().allocate_agreed(8, 8).unwrap();
        assert!(next >= mine + 8 && rank.allocate(8, 8).unwrap() >= next + 8);
        let bytes = 8 << world.rank();
        let refused = rank.segments().allocate_agreed(bytes, 8).map(drop);
        assert!(world.size() == 1 || refused.unwrap_err().to_string().contains("different memory"));
        assert!(
            rank.segments().allocate_agreed(u64::MAX - 100, 64).unwrap_err().to_string().contains("no room")
        );
        assert!(rank.kept().allocate(u64::MAX - 100, 64).unwrap_err().to_string().contains("no room"));
        if world.rank() == 0 {
            println!("pgas: passed");
        }
    });
}

/// Where the next array will lie, if arrays lay in the segment.
fn place(rank: &'static Rank, world: World) -> (GlobalPtr<u64>, Array<u64>) {
    let start = rank.allocate(0, 64).unwrap();
    let array = world.array::<u64>(8 * world.size() as usize, Layout::Block);
    let segment = rank.segment_of(rank.id()).unwrap();
    // Where it does lie.
    let kept = segment.whole as u64 / 2;
    assert!(start < kept && rank.address(GlobalPtr::<u64>::new(rank.id(), kept), 8).is_none());
    (GlobalPtr::new(rank.id(), kept), array)
}

/// A safe call of the core while a reference is lent: see that it ends the job.
fn reach(rank: &'static Rank, evil: fn(&'static Rank, GlobalPtr<u64>)) {
    pgas::run_on(rank, |world| {
        let (at, mut array) = place(rank, world);
        array.local(|mine| {
            mine[0] = 1;
            evil(rank, at);
            assert_eq!(mine[0], 1);
        });
    });
}

pub fn write_to_array(rank: &'static Rank) {
    reach(rank, |rank, at| rank.write(at, 77));
}

pub fn add_to_array(rank: &'static Rank) {
    reach(rank, |rank, at| {
        let add = Operation { function: Function::Add, word: WordType::U64 };
        rank.atomics().apply(at.rank(), at.offset(), add, 1, 0);
    });
}

/// A long message brings its payload to a place of the segment.
pub fn send_to_array(rank: &'static Rank) {
    reach(rank, |rank, at| {
        let sent = rank.request_long(at.rank(), 200, &[], &[7u8; 8], at.offset());
        rank.fatal(&sent.unwrap_err().to_string());
    });
}

/// Memory that is allocated again is not that of arrays.
pub fn allocate_again(rank: &'static Rank) {
    pgas::run_on(rank, |world| {
        let make = || {
            rank.segments().allocate_from(0..1 << 20);
            world.array::<u64>(8 * world.size() as usize, Layout::Block)
        };
        let (mut first, mut second) = (make(), make());
        first.local(|first| {
            second.local(|second| {
                assert!(!first.as_ptr_range().contains(&second.as_ptr()));
                first[0] = 5;
                second[0] = 6;
                assert_eq!(first[0], 5);
            });
        });
        if world.rank() == 0 {
            println!("pgas: passed");
        }
    });
}
