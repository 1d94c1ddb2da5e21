//! Word count: the words of a made-up text are counted in a table that is spread over all ranks. A rank owns
//! the words that hash to it.
//!
//! Shows: the crate `pgas`: an object on each rank under one name, functions that are sent to it, and when
//! all of them have run; a reduction of strings.
//!
//! Check: every rank counts the whole text by itself, and compares its own part of the table, and the word
//! that is commonest.

use gasnet_examples::{mix, passed, sizes};
use pgas::World;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// Word number `i` of the text; common words come often.
fn word(i: u64, vocabulary: u64) -> String {
    let random = mix(i);
    let number = (random % vocabulary) * ((random >> 32) % vocabulary) / vocabulary;
    format!("word-{number}")
}

fn owner(world: World, word: &str) -> u32 {
    let hash = word.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
    (hash % u64::from(world.size())) as u32
}

/// The commonest word of a table, and how often it comes; of several the first by the alphabet.
fn commonest(table: &HashMap<String, u32>) -> Option<(u32, Reverse<String>)> {
    table.iter().map(|(word, &count)| (count, Reverse(word.clone()))).max()
}

fn main() {
    pgas::run(|world| {
        let wanted = [("WORDS", 300_000, 1..=100_000_000), ("VOCABULARY", 5000, 1..=100_000_000)];
        let Some([words, vocabulary]) = sizes(world, wanted) else { return };
        let table = world.share(Mutex::new(HashMap::<String, u32>::new()));

        let start = Instant::now();
        for i in (u64::from(world.rank())..words).step_by(world.size() as usize) {
            let word = word(i, vocabulary);
            let count = |table: &'static Mutex<HashMap<String, u32>>, word: &str| {
                let mut table = table.lock().unwrap();
                match table.get_mut(word) {
                    Some(count) => *count += 1,
                    None => _ = table.insert(word.to_string(), 1),
                }
            };
            table.send_lent(owner(world, &word), count, &word[..]);
        }
        world.settle();
        let mine = commonest(&table.lock().unwrap());
        let of_all = world.reduce(mine, core::cmp::max);
        let elapsed = start.elapsed().as_secs_f64();

        let mut expected = HashMap::new();
        for word in (0..words).map(|i| word(i, vocabulary)) {
            *expected.entry(word).or_insert(0) += 1;
        }
        assert_eq!(of_all, commonest(&expected));
        expected.retain(|word, _| owner(world, word) == world.rank());
        assert!(*table.lock().unwrap() == expected, "this rank's part of the table differs");
        if world.rank() == 0 {
            let each = elapsed * 1e6 / words as f64;
            println!("wordcount: {words} words, {} ranks: {elapsed:.3} s, {each:.3} us each", world.size());
            if let Some((count, Reverse(word))) = of_all {
                println!("the commonest is `{word}`, {count} times");
            }
        }
        passed(world);
    })
}
