//! Pipe: a text goes through a pipeline of ranks, like `source | filter | ... | sink` in a shell. Rank 0
//! writes lines; each rank between counts the letters of every line and passes it on with the count; the last
//! rank sends its sum back, by another stream, to rank 0.
//!
//! Shows: streams between ranks (crate `gasnet-clan`), which anything takes that reads or writes: `BufRead`,
//! `writeln!`. A stream ends when its writer is dropped, which ends the next one.
//!
//! Check: rank 0 knows what every rank adds.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::time::Instant;

use gasnet::{Rank, RankId};
use gasnet_clan::{StreamConfig, Streams};
use gasnet_examples::core::{passed, sizes, wrong};
use gasnet_examples::mix;

/// Line `i` of the text.
fn line(i: u64) -> String {
    let random = mix(i);
    let letters = (0..random % 60).map(|k| char::from(b'a' + (mix(random ^ k) % 26) as u8));
    letters.collect()
}

/// Rank 0: writes the text, and returns the sum that comes back.
fn source(rank: &Rank, streams: &Streams<'_>, lines: u64) -> io::Result<u64> {
    // A write goes out at once, so short ones are collected.
    let mut out = BufWriter::new(streams.connect(RankId(1))?);
    for i in 0..lines {
        writeln!(out, "0 {}", line(i))?;
    }
    out.flush()?;
    drop(out); // the end of the text
    let last = RankId(rank.size() - 1);
    let mut answer = String::new();
    streams.accept(last)?.read_line(&mut answer)?;
    answer.trim().parse().map_err(|_| io::Error::other(format!("'{answer}' is no number")))
}

/// A count and a line.
fn parse(text: &str) -> io::Result<(u64, &str)> {
    let parts = text.split_once(' ').and_then(|(count, line)| Some((count.parse().ok()?, line)));
    parts.ok_or_else(|| io::Error::other(format!("'{text}' has no count")))
}

/// The ranks between: each adds the letters of a line to the line's count.
fn filter(rank: &Rank, streams: &Streams<'_>) -> io::Result<()> {
    let input = BufReader::new(streams.accept(RankId(rank.id().0 - 1))?);
    let mut out = BufWriter::new(streams.connect(RankId(rank.id().0 + 1))?);
    for text in input.lines() {
        let text = text?;
        let (count, line) = parse(&text)?;
        writeln!(out, "{} {line}", count + line.len() as u64)?;
    }
    out.flush()
}

/// The last rank: sends the sum of all counts to rank 0.
fn sink(rank: &Rank, streams: &Streams<'_>) -> io::Result<()> {
    let mut sum = 0;
    for text in BufReader::new(streams.accept(RankId(rank.id().0 - 1))?).lines() {
        sum += parse(&text?)?.0 + 1;
    }
    writeln!(streams.connect(RankId(0))?, "{sum}")
}

fn main() {
    gasnet_conduits::run(|rank| {
        let Some([lines]) = sizes(rank, [("LINES", 20_000, 1..=100_000_000)]) else { return };
        let (me, size) = (u64::from(rank.id().0), u64::from(rank.size()));
        let start = Instant::now();
        let run = || {
            // A rank has two streams at most: one in, one out.
            let streams = Streams::new(rank, 2, StreamConfig::default())?;
            match me {
                // Alone there is nobody to write to.
                _ if size == 1 => Ok(None),
                0 => source(rank, &streams, lines).map(Some),
                _ if me == size - 1 => sink(rank, &streams).map(|()| None),
                _ => filter(rank, &streams).map(|()| None),
            }
        };
        match run() {
            Err(problem) => wrong(rank, &problem.to_string()),
            Ok(Some(sum)) => {
                let letters: u64 = (0..lines).map(|i| line(i).len() as u64).sum();
                let expected = lines + letters * (size - 2);
                if sum != expected {
                    wrong(rank, &format!("the sum is {sum}, expected {expected}"));
                }
                let elapsed = start.elapsed().as_secs_f64();
                println!("pipe: {lines} lines through {size} ranks: {elapsed:.3} s");
            }
            Ok(None) => {}
        }
        passed(rank);
    });
}
