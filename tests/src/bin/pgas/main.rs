//! The crate `pgas` over real ranks. [`gasnet_tests::sections`] runs the sections; those in
//! [`failures`] end the job, and run only if they are named. The integration test `tests/pgas.rs` runs this
//! program over several networks.

mod arrays;
mod calls;
mod failures;
mod objects;
mod tasks;
mod updates;

use gasnet::{Handler, Message, Rank, RankId, Token};
use gasnet_tests::sections::Section;
use pgas::{CallError, Layout, Reply, World};
use std::sync::Mutex;

const SECTIONS: &[Section] = &[
    ("calls", calls::calls),
    ("arguments", calls::arguments),
    ("large", calls::large),
    ("bulk", calls::bulk),
    ("left-out", calls::left_out),
    ("errors", calls::errors),
    ("table", objects::table),
    ("delegation", objects::delegation),
    ("ring", objects::ring),
    ("references", objects::references),
    ("abandoned", objects::abandoned),
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

/// Calls that rank 0 makes after the programs of the other ranks have ended. These run only if they are
/// named.
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
    ("twice-on-a-rank", |rank| {
        pgas::run_on(rank, |_| ());
        pgas::run_on(rank, |_| ());
    }),
    ("run-in-run", |_| pgas::run(|_| ())),
    ("forget", |rank| forget(rank, false)),
    ("forget-reply", |rank| forget(rank, true)),
    ("forget-elsewhere", forget_elsewhere),
    ("forget-all-elsewhere", forget_all_elsewhere),
];

/// The number of a handler that does nothing.
const NOTHING: u8 = 200;

/// A message that is prepared and forgotten keeps its room: who sends next is told.
fn forget(rank: &'static Rank, reply: bool) {
    let prepare = Handler::new(|token: &Token<'_>, _: &Message<'_>| {
        std::mem::forget(token.prepare_medium(1000, 0, false));
    });
    rank.register(NOTHING, Handler::new(|_, _| ())).unwrap();
    rank.register(NOTHING + 1, prepare).unwrap();
    rank.barrier();
    let peer = RankId(1 - rank.id().0);
    if reply {
        for _ in 0..2 {
            rank.request_short(peer, NOTHING + 1, &[]).unwrap();
        }
        rank.wait_until("the end of the job", || false);
    }
    std::mem::forget(rank.messages().prepare_medium(peer, 1000, 0, false));
    rank.request_short(peer, NOTHING, &[]).unwrap();
}

/// The thread that has forgotten it is over.
fn forget_elsewhere(rank: &'static Rank) {
    rank.register(NOTHING, Handler::new(|_, _| ())).unwrap();
    rank.barrier();
    let peer = RankId(1 - rank.id().0);
    std::thread::spawn(move || std::mem::forget(rank.messages().prepare_medium(peer, 1000, 0, false)))
        .join()
        .unwrap();
    rank.request_short(peer, NOTHING, &[]).unwrap();
}

/// Threads prepare messages and forget them until there is no room left; then they end.
fn forget_all_elsewhere(rank: &'static Rank) {
    rank.register(NOTHING, Handler::new(|_, _| ())).unwrap();
    rank.barrier();
    let peer = RankId(1 - rank.id().0);
    let forget =
        move || rank.messages().prepare_medium(peer, 1000, 0, true).unwrap().map(std::mem::forget).is_some();
    while std::thread::spawn(forget).join().unwrap() {}
    rank.request_medium(peer, NOTHING, &[], &[0; 1000]).unwrap();
}

fn main() {
    // Programs of the crate `gasnet` that use this one beside it.
    if let Some((_, program)) = BESIDE.iter().find(|(name, _)| std::env::args().any(|arg| arg == *name)) {
        gasnet_conduits::run_and_keep(|rank, _| rank, program);
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
        assert_eq!(pending.result().wait(), Err(CallError::Gone { rank: to.into() }));
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
