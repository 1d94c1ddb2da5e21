//! The crate `pgas` over real ranks. [`gasnet_tests::sections`] runs the sections; those in
//! [`failures`] end the job, and run only if they are named. The integration test `tests/pgas.rs` runs this
//! program over several networks.

mod arrays;
mod calls;
mod failures;
mod objects;
mod tasks;
mod updates;

use gasnet::Rank;
use gasnet_tests::sections::Section;
use pgas::{CallError, Layout, Reply, World};
use std::sync::Mutex;

const SECTIONS: &[Section] = &[
    ("calls", calls::calls),
    ("arguments", calls::arguments),
    ("large", calls::large),
    ("bulk", calls::bulk),
    ("errors", calls::errors),
    ("table", objects::table),
    ("delegation", objects::delegation),
    ("ring", objects::ring),
    ("references", objects::references),
    ("teams", objects::teams),
    ("tasks", tasks::tasks),
    ("storm", tasks::storm),
    ("settle", tasks::settle),
    ("restless", tasks::restless),
    ("flood", tasks::flood),
    ("threads", tasks::threads),
    ("beside", tasks::beside),
    ("updates", updates::updates),
    ("phases", arrays::phases),
    ("layouts", arrays::layouts),
    ("iterators", arrays::iterators),
    ("memory", arrays::memory),
    ("files", arrays::files),
    ("matrices", arrays::matrices),
    ("collectives", objects::collectives),
];

/// What rank 0 does alone, the programs of the others being over. These run only if they are named.
const ALONE: &[Section] = &[
    ("alone-calls", calls::alone_calls),
    ("alone-barrier", |world, _| world.barrier()),
    ("alone-settle", |world, _| world.settle()),
    ("alone-phase", |world, _| world.array::<u32>(10, Layout::Block).read(|array| _ = array.get(9))),
    ("alone-sum", |world, _| _ = world.reduce(world.rank(), |a, b| a + b)),
];

/// A program, by its name.
type Beside = (&'static str, fn(&'static Rank));

/// Programs that have the rank and the world. These run only if they are named.
const BESIDE: &[Beside] = &[
    ("left", left),
    ("unequal", arrays::unequal),
    ("write-to-array", arrays::write_to_array),
    ("add-to-array", arrays::add_to_array),
    ("send-to-array", arrays::send_to_array),
    ("allocate-again", arrays::allocate_again),
];

fn main() {
    // Programs of the crate `gasnet` that use this one beside it.
    if let Some((_, program)) = BESIDE.iter().find(|(name, _)| std::env::args().any(|arg| arg == *name)) {
        gasnet_conduits::run(program);
    }
    // The programs of all ranks but 0 are over at once.
    let alone = ALONE.iter().find(|(name, _)| std::env::args().any(|arg| arg == *name));
    let Some((_, section)) = alone else {
        return gasnet_tests::sections::run("pgas", SECTIONS, failures::FAILURES);
    };
    pgas::run(|world| {
        if world.rank() == 0 {
            section(world, &mut fastrand::Rng::with_seed(1));
            println!("pgas: passed");
        }
    })
}

/// Calls that nobody has answered when all ranks leave, and what is asked for later. Runs only if named.
fn left(rank: &'static Rank) {
    static KEPT: Mutex<Vec<Reply<u64>>> = Mutex::new(Vec::new());
    let keep = |_: World, reply: Reply<u64>, ()| KEPT.lock().unwrap().push(reply);
    let (world, object, mut pending) = pgas::run_on(rank, |world| {
        let pending: Vec<_> = world.ranks().map(|to| (to, world.ask(to, keep, ()))).collect();
        assert_eq!(world.call(0, calls::double, 4).wait(), 8);
        (world, world.call(0, |world, ()| world.remote(7u64), ()).wait(), pending)
    });
    pending.extend(world.ranks().map(|to| (to, world.call(to, calls::double, 1))));
    for (to, pending) in pending {
        assert_eq!(pending.result(), Err(CallError::Gone { rank: to.into() }));
    }
    rank.barrier();
    // These do nothing.
    world.send(0, |_, ()| panic!("all have left"), ());
    KEPT.lock().unwrap().clear();
    drop(object);
    world.progress();
    rank.barrier();
    if world.rank() == 0 {
        println!("pgas: passed");
    }
}
