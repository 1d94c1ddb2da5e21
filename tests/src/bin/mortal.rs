//! Jobs whose ranks die: `gasnetrun --on-death shrink mortal ROLE [SEED]`, or `heal`. Survivors of the roles
//! `random` and `survives` print what they have computed, and in which world.

use gasnet_sys::process::{exit_now, kill, parent_pid, pid};
use pgas::{Array, Layout, World};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Steps of the computation, calls of the runtime in each, and elements that are added up.
const STEPS: u64 = 6;
const CALLS: u64 = 8;
const ITEMS: u64 = 200;

/// When this process is to die: at this call of the runtime, or when it hears of the first death.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Lives,
    AtCall(u64),
    AtDeath,
}

/// The fate of a process, and the longest time from then on.
#[derive(Debug)]
struct Doom {
    fate: Fate,
    delay: Duration,
    begun: AtomicBool,
}

static DOOM: OnceLock<Doom> = OnceLock::new();

/// Whether it has got away. Who dies has the lock.
static ESCAPED: Mutex<bool> = Mutex::new(false);

impl Doom {
    /// By the seed: at least one rank lives, and one dies if there are two.
    fn of(rank: u32, size: u32, seed: u64) -> Doom {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order: Vec<u32> = (0..size).collect();
        random.shuffle(&mut order);
        let dying = random.u32(1..size.max(2)).min(size - 1) as usize;
        let fates: Vec<(Fate, Duration)> = order
            .iter()
            .enumerate()
            .map(|(i, _)| {
                let call = Fate::AtCall(random.u64(..STEPS * CALLS));
                let delay = Duration::from_micros(random.u64(..3000));
                // The first of them dies whatever happens, so that others hear of a death.
                let fate = if i > 0 && random.bool() { Fate::AtDeath } else { call };
                (if i < dying { fate } else { Fate::Lives }, delay)
            })
            .collect();
        let at = order.iter().position(|r| *r == rank).unwrap_or(0);
        Doom { fate: fates[at].0, delay: fates[at].1, begun: AtomicBool::new(false) }
    }

    /// Has this process die soon, whatever it does meanwhile.
    fn begin(&self) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            let delay = self.delay;
            std::thread::spawn(move || {
                std::thread::sleep(delay);
                let escaped = ESCAPED.lock().expect("nobody panics with it");
                if !*escaped {
                    die();
                }
            });
        }
    }

    /// The process has nothing more to do in time: it does not get away.
    fn overtakes(&self) {
        while self.begun.load(Ordering::Relaxed) {
            std::thread::park();
        }
    }
}

/// Files of segments that this process has mapped.
fn segment_files() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
    let files = maps.lines().filter(|line| line.contains("gasnet-segments"));
    files.filter_map(|line| line.split_whitespace().nth(4)).collect::<BTreeSet<_>>().len()
}

/// The last rank dies again and again. A world has the memory of the one before it, but where rank 0 keeps
/// its array; and nothing of what that one has written.
fn forgets(first: World, heals: bool) {
    const WORLDS: u32 = 4;
    let (mut world, mut old, mut files) = (first, None, 1);
    loop {
        let (epoch, size) = (world.epoch(), world.size());
        let written = u64::from(epoch) + 1;
        let mut array = world.array::<u64>(20_000 * size as usize, Layout::Block);
        array.local(|mine| assert!(mine.iter().all(|element| *element == 0)));
        array.local(|mine| mine.fill(written));
        let next = (world.rank() as usize + 1) % size as usize;
        assert_eq!(array.read(|all| all.get(20_000 * next)), written);
        if world.rank() == 0 {
            assert_eq!(segment_files(), files, "in world {epoch}");
            assert!(old.iter().flat_map(Array::<u64>::salvage).all(|element| element == 2));
        }
        if epoch == WORLDS {
            println!("zero");
            return;
        }
        let ended = world.attempt(|world| {
            if world.rank() == size - 1 {
                die();
            }
            world.barrier();
        });
        assert!(ended.is_err(), "nobody waits for the dead");
        if world.rank() == 0 && epoch == 1 {
            (old, files) = (Some(array), 2);
        } else {
            drop(array);
        }
        world = if heals { world.heal() } else { world.shrink() };
    }
}

/// The last rank dies again and again, and rank 0 has as many descriptors open in the sixth world as in the
/// third.
fn closes(mut world: World) {
    let mut open = Vec::new();
    loop {
        let all = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
        let names = all.filter_map(|fd| std::fs::read_link(fd.path()).ok()).collect::<Vec<_>>();
        open.push(names.len());
        if world.epoch() == 5 {
            if world.rank() == 0 {
                assert_eq!(open[2..], [open[2]; 4], "{names:?}");
                println!("flat");
            }
            return;
        }
        let ended = world.attempt(|world| {
            if world.rank() == world.size() - 1 {
                die();
            }
            world.barrier();
        });
        assert!(ended.is_err(), "nobody waits for the dead");
        world = world.heal();
    }
}

fn die() {
    kill(pid(), libc::SIGKILL);
}

/// Before call number `call` of the runtime in this step.
fn next(step: u64, call: u64) {
    let Some(doom) = DOOM.get() else { return };
    if doom.fate == Fate::AtCall(step * CALLS + call) {
        doom.begin();
    }
}

fn item(step: u64, i: u64) -> u64 {
    (step << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

fn sum(step: u64, items: impl Iterator<Item = u64>) -> u64 {
    items.fold(0, |sum, i| sum.wrapping_add(item(step, i)))
}

/// A step in a world: the same on whatever ranks there are.
fn compute(world: World, step: u64) -> u64 {
    let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
    next(step, 0);
    world.barrier();
    next(step, 1);
    let mut array = world.array::<u64>(ITEMS as usize, Layout::Block);
    next(step, 2);
    array.exchange(|all| (me..ITEMS).step_by(size as usize).for_each(|i| all.put(i as usize, item(step, i))));
    next(step, 3);
    let mine = array.local(|part| part.iter().fold(0u64, |sum, n| sum.wrapping_add(*n)));
    next(step, 4);
    let right = (world.rank() + 1) % world.size();
    let answer = world.call(right, |_, n: u64| n ^ 1, mine).wait();
    assert_eq!(answer, mine ^ 1, "step {step}");
    next(step, 5);
    let long = world.call(right, |_, words: Vec<u64>| words, vec![mine; 5000]).wait();
    assert_eq!(long, vec![mine; 5000], "step {step}");
    next(step, 6);
    world.ranks().for_each(|rank| world.send(rank, |_, n: u64| assert!(n > 0), step + 1));
    world.settle();
    next(step, 7);
    world.reduce(mine, u64::wrapping_add)
}

fn random(first: World, seed: u64) {
    let (me, size) = (first.rank(), first.size());
    let doom = DOOM.get_or_init(|| Doom::of(me, size, seed));
    let (mut world, mut step, mut fresh) = (first, 0, true);
    while step < STEPS {
        let tried = world.attempt(|world| {
            // Some may have finished a step that others have to repeat.
            let at = if fresh { world.reduce(step, u64::min) } else { step };
            (at, compute(world, at))
        });
        match tried {
            Ok((at, total)) => {
                assert_eq!(total, sum(at, 0..ITEMS), "step {at} of seed {seed} in world {}", world.epoch());
                (step, fresh) = (at + 1, false);
            }
            Err(died) => {
                assert!(!died.ranks.is_empty() && died.epoch == world.epoch(), "{died:?}");
                let dead = world.dead();
                assert!(died.ranks.iter().all(|rank| dead.contains(rank)), "{died:?}, {dead:?}");
                if doom.fate == Fate::AtDeath {
                    doom.begin();
                }
                (world, fresh) = (world.shrink(), true);
            }
        }
    }
    if doom.fate != Fate::Lives {
        doom.begin();
        doom.overtakes();
    }
    let members: Vec<u32> = world.ranks().map(|rank| world.first_number(rank)).collect();
    assert_eq!(members[world.rank() as usize], me);
    println!("rank {me} survives in world {} with {members:?}", world.epoch());
}

/// The same as one call, with what is saved: each process that is a rank dies by the seed, but for the third.
fn survives(first: World, seed: u64) {
    let (me, size) = (first.first_number(first.rank()), first.size());
    let seed = seed << 8 | u64::from(first.incarnation());
    let doom = DOOM.get_or_init(|| match first.incarnation() {
        0 | 1 => Doom::of(me, size, seed),
        _ => Doom { fate: Fate::Lives, delay: Duration::ZERO, begun: AtomicBool::new(false) },
    });
    let (total, world) = first.survive(|world| {
        if world.epoch() > 0 && doom.fate == Fate::AtDeath {
            doom.begin();
        }
        let keep = world.keep();
        let (mut sums, mut array) = (Vec::new(), world.array::<u64>(ITEMS as usize, Layout::Block));
        // A rank may get what several ranks have saved.
        let restored = keep.restore(|saved| {
            sums = saved.value::<Vec<u64>>();
            let elements: Vec<u64> = saved.slice();
            assert!(elements.iter().all(|n| *n == sums.len() as u64), "seed {seed}");
        });
        let mut step = restored.unwrap_or(0);
        assert_eq!(sums.len() as u64, step, "seed {seed}");
        while step < STEPS {
            sums.push(compute(world, step));
            step += 1;
            array.local(|mine| mine.fill(step));
            keep.save(step, |save| {
                save.value(&sums);
                save.part(&array);
            });
        }
        (sums, world)
    });
    *ESCAPED.lock().expect("nobody panics with it") = true;
    let right: Vec<u64> = (0..STEPS).map(|step| sum(step, 0..ITEMS)).collect();
    assert_eq!(total, right, "seed {seed}");
    let members: Vec<u32> = world.ranks().map(|rank| world.first_number(rank)).collect();
    println!("rank {me} survives in world {} with {members:?}", world.epoch());
}

/// All ranks heal by hand; rank 1 dies in its first process, and in its second as soon as that begins.
fn heals(first: World) {
    let mut world = first;
    while world.rank() == 1 && world.incarnation() < 2 {
        if world.incarnation() == 1 {
            die();
        }
        let tried = world.attempt(|world| {
            world.barrier();
            die();
        });
        tried.expect("it dies");
    }
    while world.epoch() < 2 {
        assert!(dies_in_first(world), "rank 1 has died");
        world = world.heal();
    }
    assert_eq!((world.size(), world.rank(), world.epoch()), (first.size(), first.rank(), 2));
    assert_eq!(world.reduce(world.incarnation(), |a, b| a + b), 2);
    println!("healed");
}

/// Whether a rank has died when this has been waited for.
fn dies_in_first(world: World) -> bool {
    world.attempt(|world| (0..2).for_each(|_| world.barrier())).is_err()
}

/// Rank 1 dies while the others are in this call.
fn dies_in(world: World, call: impl FnOnce(World)) -> bool {
    let rank = world.rank();
    let tried = world.attempt(|world| {
        world.barrier();
        if rank == 1 {
            die();
        }
        call(world);
    });
    tried.is_err()
}

/// The contents of arrays, objects and values of the world that is over, as survivors see them.
fn keeps(world: World) {
    let mut array = world.array::<u32>(40, Layout::Block);
    array.local(|part| part.fill(world.rank() + 7));
    let shared = world.share(std::sync::Mutex::new(world.rank()));
    let table = pgas::DistMap::<u32, u32>::new(world);
    (0..100).for_each(|key| table.insert(key, key + 1));
    world.settle();
    let mine = table.local_len();
    assert!(dies_in(world, |world| _ = world.reduce(1, |a, b| a + b)));
    let next = world.shrink();
    assert_eq!((next.size(), next.epoch()), (world.size() - 1, 1));
    assert_eq!(array.salvage(), vec![world.rank() + 7; array.local_len()]);
    assert_eq!(*shared.lock().unwrap(), world.rank());
    let kept = table.take_local();
    assert_eq!(kept.len(), mine);
    // The keys move to the survivors.
    let table = pgas::DistMap::<u32, u32>::new(next);
    kept.into_iter().for_each(|(key, value)| table.insert(key, value));
    next.settle();
    let total = next.reduce(mine, |a, b| a + b);
    assert_eq!(table.len(), total);
    drop(array);
    println!("kept");
}

/// The agent of the last rank's host is killed, and so its ranks are.
fn host_dies(first: World) {
    let left = first.survive(|world| {
        world.barrier();
        if world.epoch() == 0 {
            if world.rank() + 1 == world.size() {
                kill(parent_pid(), libc::SIGKILL);
            }
            // In vain.
            world.barrier();
            world.barrier();
        }
        let mut array = world.array::<u64>(ITEMS as usize, Layout::Block);
        array.exchange(|all| (0..ITEMS as usize).for_each(|i| all.put(i, i as u64)));
        let sum = array.local(|part| part.iter().sum::<u64>());
        assert_eq!(world.reduce(sum, |a, b| a + b), (0..ITEMS).sum::<u64>());
        world.reduce(1, |a, b| a + b)
    });
    println!("{left} are left");
}

/// All work, until somebody is lost and then a while. Each rank says in this folder that it works, and which
/// of its processes has finished.
fn cut(first: World, folder: &str) {
    let (me, process) = (first.first_number(first.rank()), first.incarnation());
    let say = |word: &str| {
        std::fs::write(format!("{folder}/{word}-{me}"), process.to_string()).expect("a folder of the test's");
    };
    first.survive(|world| {
        assert_eq!(compute(world, 0), sum(0, 0..ITEMS));
        say("works");
        while world.epoch() == 0 {
            compute(world, 0);
        }
        for step in 0..STEPS {
            assert_eq!(compute(world, step), sum(step, 0..ITEMS));
        }
    });
    say("finished");
}

/// Ranks that can do without each other go on in a world in which somebody has died.
fn some_go_on(world: World) {
    static HAS_LEFT: AtomicBool = AtomicBool::new(false);
    world.barrier();
    if world.rank() == 2 {
        // It dies in this.
        world.barrier();
    }
    let other = 1 - world.rank();
    HAS_LEFT.store(true, Ordering::Relaxed);
    // Who is still in the barrier would notice the death there.
    while !world.call(other, |_, ()| HAS_LEFT.load(Ordering::Relaxed), ()).wait() {}
    world.send(2, |_, ()| die(), ());
    while world.dead().is_empty() {
        world.call(other, |_, ()| (), ()).wait();
    }
    // Waits for living ranks end as ever.
    for n in 0..1000u32 {
        assert_eq!(world.call(other, |_, n: u32| n + 1, n).wait(), n + 1);
    }
    println!("went on");
    world.exit(0);
}

/// These ranks die when all have saved; then everybody's state is there.
fn saved_before(world: World, dies: fn(u32) -> bool) {
    world.survive(|world| {
        let (keep, me) = (world.keep(), world.rank());
        let restored = keep.restore(|saved| {
            assert_eq!(saved.value::<u32>(), 7 + saved.rank());
            assert_eq!(saved.slice::<u64>(), vec![u64::from(saved.rank()); 300_000]);
        });
        if restored.is_none() {
            keep.save(1, |save| {
                save.value(&(7 + me));
                save.slice(&vec![u64::from(me); 300_000]);
            });
            if dies(me) {
                die();
            }
        }
        assert_eq!(restored.unwrap_or(1), 1);
        world.barrier();
    });
    println!("all is there");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let role = words.first().cloned().unwrap_or_default();
    let seed = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    pgas::run(move |world| match role.as_str() {
        "random" => random(world, seed),
        "keeps" => keeps(world),
        "forgets" => forgets(world, seed == 1),
        "closes" => closes(world),
        "survives" => survives(world, seed),
        "heals" => heals(world),
        "ends-early" => {
            if world.incarnation() == 0 && world.rank() == 1 {
                world.barrier();
                die();
            }
            let tried = world.attempt(|world| world.barrier());
            if world.rank() != 0 && tried.is_ok() {
                assert!(world.attempt(World::barrier).is_err());
                world.heal();
            }
        }
        // The other ranks, or all of them, die at once when all have saved.
        "others-die" => saved_before(world, |rank| rank > 0),
        "all-die-at-once" => saved_before(world, |_| true),
        "loses" => saved_before(world, |rank| [1, 2].contains(&rank)),
        "crashes" => {
            if world.rank() == 1 {
                die();
            }
            world.survive(World::barrier);
        }
        "survive-twice" => (0..2).for_each(|_| world.survive(|_| ())),
        "survive-inside" => _ = world.attempt(|world| world.survive(|_| ())),
        "heal-inside" => _ = world.attempt(World::heal),
        "heal-for-shrink" => _ = world.heal(),
        "saves-apart" => {
            world.keep().save(u64::from(world.rank()) + 1, |save| save.value(&1u32));
        }
        "saves-again" => {
            let keep = world.keep();
            (0..2).for_each(|_| keep.save(3, |save| save.value(&1u32)));
        }
        "restores-another" => {
            let keep = world.keep();
            keep.save(3, |save| save.value(&1u32));
            keep.restore(|saved| _ = saved.value::<u64>());
        }
        "restores-less" => {
            let keep = world.keep();
            keep.save(3, |save| save.value(&1u32));
            keep.restore(|_| ());
        }
        "some-go-on" => some_go_on(world),
        "host-dies" => host_dies(world),
        "cut" => cut(world, words.get(1).map_or("", |folder| folder)),
        "all-die" => die(),
        "outside" => {
            world.barrier();
            if world.rank() == 1 {
                die();
            }
            world.barrier();
        }
        "nested" => _ = world.attempt(|world| world.attempt(|_| ())),
        "shrink-inside" => _ = world.attempt(World::shrink),
        "shrink-for-nothing" => _ = world.shrink(),
        "shrink-twice" => {
            assert!(dies_in(world, World::barrier));
            world.shrink();
            world.shrink();
        }
        "attempt-in-call" => {
            let other = (world.rank() + 1) % world.size();
            world.call(other, |world, ()| _ = world.attempt(|_| ()), ()).wait();
        }
        "salvage-early" => _ = world.array::<u32>(4, Layout::Block).salvage(),
        "drops" => {
            let pending = world.call(1, |_, n: u32| n, 1);
            let awaited = world.all();
            assert!(dies_in(world, World::settle));
            drop((pending, awaited));
            println!("dropped in {}", world.shrink().epoch());
        }
        "exits" => {
            let ended = world.attempt(|world| {
                world.barrier();
                if world.rank() == 1 {
                    exit_now(7);
                }
                world.barrier();
            });
            println!("{}", ended.expect_err("a rank has left without a word"));
        }
        other => panic!("no such role: {other}"),
    })
}
