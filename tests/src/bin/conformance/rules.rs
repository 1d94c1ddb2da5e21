//! Mistakes that return an error, after which the caller can continue. `tests/failures.rs` has those that
//! end the job.

use crate::am::{RULES, RULES_REPLY};
use crate::support::{Cx, State};
use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS, MAX_MEDIUM};
use gasnet::{Error, Handler, RankId};
use std::sync::atomic::Ordering;

#[track_caller]
fn refused<T>(result: Result<T, Error>, parts: &[&str]) {
    let Err(error) = result else { panic!("not refused") };
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "'{text}' does not mention '{part}'");
    }
}

pub fn register(state: &'static State, add: &dyn Fn(u8, Handler)) {
    add(
        RULES,
        Handler::new(move |t, m| {
            let big = vec![0; MAX_MEDIUM + 1];
            refused(t.reply_medium(RULES_REPLY, m.args, &big), &["65537", "65536"]);
            t.reply_short(RULES_REPLY, m.args).expect("a reply that failed does not count");
            refused(t.reply_short(RULES_REPLY, m.args), &["only once"]);
            refused(t.reply_medium(RULES_REPLY, m.args, &[]), &["only once"]);
        }),
    );
    add(
        RULES_REPLY,
        Handler::new(move |t, m| {
            assert!(!t.is_request());
            refused(t.reply_short(RULES, m.args), &["reply handler"]);
            state.replies.fetch_add(1, Ordering::Release);
        }),
    );
}

pub fn rules(cx: &Cx) {
    let r = cx.rank;
    cx.state.replies.store(0, Ordering::Relaxed);
    r.barrier();
    for (i, to) in r.ranks().enumerate() {
        r.request_short(to, RULES, &[1, 2, 3]).expect("a request");
        cx.await_count("a reply", &cx.state.replies, i as u64 + 1);
        refused(r.request_short(to, RULES, &[0; MAX_ARGUMENTS + 1]), &["17 arguments", "at most 16"]);
        refused(
            r.request_medium(to, RULES, &[], &vec![0; MAX_MEDIUM + 1]),
            &["65537 bytes", "at most 65536"],
        );
        let size = r.table().get(to).expect("a rank").size as u64;
        refused(r.request_long(to, RULES, &[], &[0], size), &["outside the segment", &format!("rank {to}")]);
    }
    let nobody = RankId(r.size());
    refused(
        r.request_short(nobody, RULES, &[]),
        &[&format!("rank {nobody}"), &format!("{} ranks", r.size())],
    );
    refused(r.request_short(RankId(u32::MAX), RULES, &[]), &["rank 4294967295"]);
    refused(r.register(FIRST_CLIENT_HANDLER - 1, Handler::new(|_, _| ())), &["127", "128..=255"]);
    refused(r.register(RULES, Handler::new(|_, _| ())), &["138", "already"]);
    refused(r.attach(4096, None), &["already"]);
    refused(r.allocate(u64::MAX, 8), &["larger"]);
    refused(r.allocate(u64::MAX - 100, 4096), &["larger"]);
    refused(r.allocate(1, 1 << 63), &["larger"]);
    refused(r.allocate_array::<u64>(usize::MAX), &["larger"]);
    refused(r.allocate_array::<u8>(usize::MAX), &["larger"]);

    let words = r.allocate_array::<u64>(3).expect("room");
    let own = r.table().get(r.id()).expect("a rank");
    assert!(
        words.rank() == r.id() && words.offset().is_multiple_of(8) && words.offset() + 24 <= own.size as u64
    );
    assert_eq!(r.address(words, 3).map(|p| p as usize), Some(own.local as usize + words.offset() as usize));
    for to in r.ranks() {
        assert_eq!(r.address(words.on(to), 3).is_some(), r.is_neighbour(to));
    }
    let all = own.size / 8;
    assert!(
        r.address(words, all).is_none() == (words.offset() > 0) && r.address(words, usize::MAX).is_none()
    );
    assert!(r.address(words.on(nobody), 0).is_none());
}
