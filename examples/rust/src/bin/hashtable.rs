//! Hash table: the words of a made-up text are counted in a table spread over all ranks, looked up, and
//! removed.
//!
//! Shows: `DistMap`: updates that travel together, look-ups of many keys at once, functions that run where an
//! entry is.
//!
//! Check: every rank counts the whole text by itself and compares both its own part of the table and what
//! look-ups say.

use gasnet_examples::{mix, passed, sizes};
use pgas::DistMap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

/// Word number `i` of the text; common words come often.
fn word(i: u64, vocabulary: u64) -> String {
    let random = mix(i);
    let number = (random % vocabulary) * ((random >> 32) % vocabulary) / vocabulary;
    format!("word-{number}")
}

/// Takes one away; whether that was the last.
fn take_one(entry: Entry<'_, String, u32>, (): ()) -> bool {
    let Entry::Occupied(mut entry) = entry else { return false };
    *entry.get_mut() -= 1;
    let last = *entry.get() == 0;
    if last {
        entry.remove();
    }
    last
}

fn main() {
    pgas::run(|world| {
        let wanted = [("WORDS", 100_000, 1..=100_000_000), ("VOCABULARY", 5000, 1..=100_000_000)];
        let Some([words, vocabulary]) = sizes(world, wanted) else { return };
        let text =
            || (u64::from(world.rank())..words).step_by(world.size() as usize).map(|i| word(i, vocabulary));

        let start = Instant::now();
        let table = DistMap::<String, u32>::new(world);
        text().for_each(|word| table.update(word, |count, by: u32| *count += by, 1));
        world.settle();
        let elapsed = start.elapsed().as_secs_f64();

        let mut expected = HashMap::new();
        for i in 0..words {
            *expected.entry(word(i, vocabulary)).or_insert(0u32) += 1;
        }
        assert_eq!(table.len(), expected.len());
        table.for_each(|word, count| assert_eq!(expected[word], *count, "{word}"));
        // Some look-ups, of words that are there and of one that is not.
        let mut keys: Vec<String> =
            (1..200).map(|i| word(mix(i + u64::from(world.rank())) % words, vocabulary)).collect();
        keys.push("no such word".to_string());
        for (key, count) in keys.iter().zip(table.get_many(keys.iter().cloned())) {
            assert_eq!(count, expected.get(key).copied(), "{key}");
        }
        world.barrier(); // nobody looks any more
        // Each takes its words away again, and one of all ranks takes the last of each.
        let taken: Vec<_> = text().map(|word| table.call(word, take_one, ())).collect();
        let last = taken.into_iter().map(pgas::Pending::wait).filter(|&last| last).count();
        assert_eq!(world.reduce(last as u64, |a, b| a + b), expected.len() as u64);
        assert!(table.is_empty());
        if world.rank() == 0 {
            let (each, distinct, size) = (elapsed * 1e6 / words as f64, expected.len(), world.size());
            println!(
                "hashtable: {words} words, {distinct} distinct, {size} ranks: {elapsed:.3} s, {each:.2} us each"
            );
        }
        passed(world);
    })
}
