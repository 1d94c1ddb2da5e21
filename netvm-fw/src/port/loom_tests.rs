//! Every interleaving of NIC and port, as far as loom goes.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// A request for a count that is reached at the same time is either answered at once or updates the counter.
#[test]
fn loom_no_wish_is_forgotten() {
    loom::model(|| {
        let memory = Arc::new(PortMemory::new(1, 1));
        let nic = memory.clone();
        let t = thread::spawn(move || {
            let mut posted = 0;
            for count in 1..=2 {
                if nic.count(Counter::Reads, count, posted) {
                    posted = count;
                    nic.apply(Post::Count(Counter::Reads, count));
                }
            }
        });
        let met = memory.want(Counter::Reads, 2);
        t.join().unwrap();
        assert!(met || memory.counter(Counter::Reads) == 2);
    });
}

/// A ring brings the command.
#[test]
fn loom_doorbell_publishes_the_command() {
    loom::model(|| {
        let memory = Arc::new(PortMemory::new(1, 1));
        let bell = Arc::new(Doorbell::new(1));
        let (m, b) = (memory.clone(), bell.clone());
        let t = thread::spawn(move || {
            m.put_command(0, &[3; HEAD_WORDS], &[]);
            b.ring(PortId(1));
        });
        if bell.answer() == Some(PortId(1)) {
            assert_eq!(memory.take_command(0).0, [3; HEAD_WORDS]);
        }
        t.join().unwrap();
    });
}
