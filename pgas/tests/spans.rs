//! With the feature `tracing`: waits and what others call are spans. One rank, which calls itself.

use std::sync::Mutex;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Names of the spans that were made.
static NAMES: Mutex<Vec<&str>> = Mutex::new(Vec::new());

struct Names;

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "pgas"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut names = NAMES.lock().unwrap();
        names.push(span.metadata().name());
        Id::from_u64(names.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn main() {
    tracing::subscriber::set_global_default(Names).unwrap();
    pgas::run(|world| {
        world.barrier();
        assert_eq!(world.call(world.rank(), |_, x: u32| x + 1, 1).wait(), 2);
        world.settle();
        let names = NAMES.lock().unwrap().clone();
        for name in ["barrier", "wait", "serve", "settle"] {
            assert!(names.contains(&name), "no span `{name}` in {names:?}");
        }
        println!("spans: {names:?}");
    })
}
