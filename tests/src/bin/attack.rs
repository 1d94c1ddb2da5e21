//! A program without unsafe code that sends the runtime's own messages, to itself, to a peer and as replies:
//! all are refused, and no memory changes. `tests/failures.rs` runs it.
#![forbid(unsafe_code)]

use gasnet::am::FIRST_LIBRARY_HANDLER;
use gasnet::{GlobalPtr, Handler, RankId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn main() {
    gasnet_conduits::run(|rank| {
        let secret = Box::new(42u64);
        let address = std::ptr::from_ref(&*secret) as u64;
        let args = |op| [op, address as u32, (address >> 32) as u32, 0, 0, 0];
        let peer = RankId((rank.id().0 + 1) % rank.size());
        let refusals = Arc::new(AtomicU32::new(0));
        let count = refusals.clone();
        let refused = move |result: Result<(), gasnet::Error>| {
            let text = result.expect_err("the runtime's own message was sent").to_string();
            assert!(text.contains("the runtime's own: use 128..=255"), "{text}");
            count.fetch_add(1, Relaxed);
        };
        let from_handler = refused.clone();
        let request = Handler::new(move |token, message| {
            for index in 0..FIRST_LIBRARY_HANDLER {
                from_handler(token.reply_short(index, &message.args[..1]));
                from_handler(token.reply_medium(index, &message.args[..3], &[1; 8]));
                from_handler(token.reply_long(index, message.args, &[1; 8], 0));
            }
            token.reply_short(201, &[]).expect("a reply to a handler of the program");
        });
        let answers = Arc::new(AtomicU32::new(0));
        let count = answers.clone();
        let reply = Handler::new(move |_, _| _ = count.fetch_add(1, Relaxed));
        rank.register(200, request).expect("a free index");
        rank.register(201, reply).expect("a free index");
        let cell: GlobalPtr<u64> = rank.allocate_array(4).expect("room");
        let pending = rank.read_nb(cell.on(peer), 4);
        rank.barrier();
        for to in [rank.id(), peer] {
            for index in 0..FIRST_LIBRARY_HANDLER {
                for op in [0, 1, u32::MAX] {
                    for nargs in 0..=6 {
                        let args = &args(op)[..nargs];
                        refused(rank.request_short(to, index, args));
                        refused(rank.request_medium(to, index, args, &7u64.to_le_bytes()));
                        refused(rank.request_long(to, index, args, &7u64.to_le_bytes(), 0));
                    }
                }
            }
            rank.request_short(to, 200, &args(0)).expect("a request to a handler of the program");
        }
        rank.wait_until("answers", || answers.load(Relaxed) == 2);
        assert_eq!(pending.wait(), [0; 4]);
        rank.barrier();
        assert_eq!((*secret, rank.read(cell)), (42, 0));
        let tried = u32::from(FIRST_LIBRARY_HANDLER) * (2 * 3 * 7 * 3 + 2 * 3);
        assert_eq!(refusals.load(Relaxed), tried);
        println!("all refused");
    })
}
