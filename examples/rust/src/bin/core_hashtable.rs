//! Hash table: the words of a made-up text are counted in a table spread over all ranks. A rank owns the keys
//! that hash to it, and others reach them by active messages: `COUNT` adds one, `LOOK_UP` asks for the count.
//!
//! Shows: requests with arguments and payload, replies, many requests under way at once.
//!
//! Check: every rank counts the whole text by itself and compares both its own part of the table and what
//! look-ups say.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use gasnet::{Handler, Rank, RankId};
use gasnet_examples::core::{passed, sizes, sure, wrong};
use gasnet_examples::mix;

const COUNT: u8 = 200;
const COUNTED: u8 = 201;
const LOOK_UP: u8 = 202;
const FOUND: u8 = 203;
/// Requests that may be under way before this rank waits for replies.
const WINDOW: u64 = 64;

/// This rank's part of the table.
static TABLE: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
/// Replies that came back.
static REPLIES: AtomicU64 = AtomicU64::new(0);
/// The value that the latest look-up found.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// Word number `i` of the text; common words come often.
fn word(i: u64, vocabulary: u64) -> String {
    let random = mix(i);
    let number = (random % vocabulary) * ((random >> 32) % vocabulary) / vocabulary;
    format!("word-{number}")
}

fn owner(rank: &Rank, key: &str) -> RankId {
    let hash = key.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
    RankId((hash % u64::from(rank.size())) as u32)
}

fn register(rank: &Rank) {
    let key = |message: &gasnet::Message<'_>| String::from_utf8_lossy(message.bytes()).into_owned();
    let count = Handler::new(move |token, message| {
        let mut table = TABLE.lock().expect("no panic under the lock");
        *table.get_or_insert_default().entry(key(message)).or_insert(0) += 1;
        token.reply_short(COUNTED, &[]).expect("a request may be replied to");
    });
    let look_up = Handler::new(move |token, message| {
        let mut table = TABLE.lock().expect("no panic under the lock");
        let count = table.get_or_insert_default().get(&key(message)).copied().unwrap_or(0);
        token.reply_short(FOUND, &[count]).expect("a request may be replied to");
    });
    let counted = Handler::new(|_, _| {
        REPLIES.fetch_add(1, Relaxed);
    });
    let found = Handler::new(|_, message| {
        LATEST.store(u64::from(message.args[0]), Relaxed);
        REPLIES.fetch_add(1, Relaxed);
    });
    for (index, handler) in [(COUNT, count), (COUNTED, counted), (LOOK_UP, look_up), (FOUND, found)] {
        sure(rank, rank.register(index, handler));
    }
}

fn main() {
    gasnet_conduits::run(|rank| {
        let wanted = [("WORDS", 100_000, 1..=100_000_000), ("VOCABULARY", 5000, 1..=100_000_000)];
        let Some([words, vocabulary]) = sizes(rank, wanted) else { return };
        let (me, size) = (u64::from(rank.id().0), u64::from(rank.size()));
        register(rank);
        rank.barrier();

        let start = Instant::now();
        let mut sent = 0;
        for i in (me..words).step_by(size as usize) {
            let key = word(i, vocabulary);
            sure(rank, rank.request_medium(owner(rank, &key), COUNT, &[], key.as_bytes()));
            sent += 1;
            if sent >= WINDOW {
                rank.wait_until("replies", || REPLIES.load(Relaxed) + WINDOW > sent);
            }
        }
        rank.wait_until("the last replies", || REPLIES.load(Relaxed) == sent);
        rank.barrier();
        let elapsed = start.elapsed().as_secs_f64();

        let mut expected = HashMap::new();
        for i in 0..words {
            *expected.entry(word(i, vocabulary)).or_insert(0u32) += 1;
        }
        let own: HashMap<_, _> = expected
            .iter()
            .filter(|(key, _)| owner(rank, key) == rank.id())
            .map(|(k, n)| (k.clone(), *n))
            .collect();
        if *TABLE.lock().expect("no panic under the lock").get_or_insert_default() != own {
            wrong(rank, "this rank's part of the table differs");
        }
        // Some look-ups, of words that are there and of one that is not.
        for i in 0..200 {
            let key = if i == 0 { "no such word".to_string() } else { word(mix(i + me) % words, vocabulary) };
            let replies = REPLIES.load(Relaxed);
            sure(rank, rank.request_medium(owner(rank, &key), LOOK_UP, &[], key.as_bytes()));
            rank.wait_until("a count", || REPLIES.load(Relaxed) > replies);
            let found = LATEST.load(Relaxed) as u32;
            let count = expected.get(&key).copied().unwrap_or(0);
            if found != count {
                wrong(rank, &format!("{key}: the table says {found}, the text {count}"));
            }
        }
        if me == 0 {
            let each = elapsed * 1e6 / words as f64;
            let distinct = expected.len();
            println!(
                "core_hashtable: {words} words, {distinct} distinct, {size} ranks: {elapsed:.3} s, {each:.2} us each"
            );
        }
        passed(rank);
    });
}
