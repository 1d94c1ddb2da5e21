//! Every interleaving of NIC and port, as far as loom goes.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// A NIC that finds no room while the port frees it either sees the room, or the port sees that it waits.
#[test]
fn loom_no_room_is_overlooked() {
    loom::model(|| {
        let arrivals = Arc::new(QueuePort::new(64));
        let nic = arrivals.clone();
        let t = thread::spawn(move || nic.want_room());
        let waits = arrivals.free(64);
        let seen = t.join().unwrap();
        assert!(waits || seen == 64);
    });
}

/// An entry brings what was written before it.
#[test]
fn loom_an_entry_publishes_its_message() {
    loom::model(|| {
        let arrivals = Arc::new(QueuePort::new(64));
        let bytes = Arc::new(AtomicU64::new(0));
        let (nic, memory) = (arrivals.clone(), bytes.clone());
        let entry = AppendEntry { at: 64, from: Node(7), len: 5, lost: false };
        let t = thread::spawn(move || {
            memory.store(9, Ordering::Relaxed);
            nic.push(entry);
        });
        if let Some(came) = arrivals.pop() {
            assert_eq!((came, bytes.load(Ordering::Relaxed)), (entry, 9));
        }
        t.join().unwrap();
    });
}
