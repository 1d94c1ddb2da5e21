//! Tests at the start whether puts and gets work, before anything depends on them.
//!
//! Every rank puts a pattern into the memory of the next one, in large and small pieces, gets it back, and
//! sends a message when all is complete. The receiver of the message checks that everything is in place, so
//! completions that come too early are found as well. If the provider has atomics, the rank counts in a word
//! of the next one, whose processor counts in it too: no count may be lost.
#![expect(unsafe_code, reason = "puts and gets of memory that stays until they are complete")]

use crate::atomics;
use crate::engine::OfiEngine;
use crate::onesided::{Known, Start};
use crate::wire::MessageKind;
use gasnet_ops::{Function, Operation, WordType};
use gasnet_wire::conduit::{OpenContext, RemoteAddr};
use gasnet_wire::{Error, RankId};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Words that are put in one piece, and one by one.
const BULK_WORDS: usize = 2048;
const SINGLE_WORDS: usize = 8;
/// The word in which two ranks count, and how often each does at least.
const COUNTER_WORD: usize = 2 * BULK_WORDS + SINGLE_WORDS;
const COUNTS_PER_RANK: u64 = 100;
/// How long the network may take.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(20);

fn pattern(of: u32, k: usize) -> u64 {
    (u64::from(of) + 1) << 32 | (k as u64 ^ 0x5a5a)
}

/// Tests the network, and its puts and gets if it has them; returns whether those can be used. Collective.
pub(crate) fn run(engine: &mut OfiEngine, cx: &OpenContext<'_>) -> Result<bool, Error> {
    if engine.onesided.is_none() {
        return Ok(false);
    }
    // The memory that peers access is never freed: after a failure operations may still be under way.
    let memory: &'static mut [u64] = Vec::leak(vec![0u64; COUNTER_WORD + 1]);
    let base = memory.as_mut_ptr();
    // SAFETY: leaked.
    let region = unsafe { engine.port.register(base.cast(), size_of_val(memory), true) };
    let note = region.as_ref().map_err(String::clone).and_then(|r| engine.port.key_note(r, base.cast()));
    let keys = cx.exchange().all_gather(note.as_deref().unwrap_or_default())?;
    let sound = if keys.iter().all(|key| !key.is_empty()) {
        attempt(engine, cx, base, &keys)
    } else {
        Err(note.err().unwrap_or_else(|| "registering memory failed elsewhere".to_string()))
    };
    let said = match &sound {
        Ok(atomics) => vec![u8::from(*atomics)],
        Err(why) => why.clone().into_bytes(),
    };
    let exchange = cx.exchange();
    let all = engine.meanwhile(|| exchange.all_gather(&said))??;
    let works = |said: &Vec<u8>| matches!(said[..], [0 | 1]);
    if let Some(onesided) = &mut engine.onesided {
        onesided.keys.fill(Known::Not);
        onesided.done.clear();
        if all.iter().any(|said| said[..] != [1]) {
            onesided.have.forget();
        }
    }
    let problem = all.iter().position(|said| !works(said));
    match problem {
        None => {
            if let Ok(region) = &region {
                engine.port.forget(region);
            }
            Ok(true)
        }
        Some(rank) => {
            if cx.rank.0 == 0 && !cx.config.quiet {
                eprintln!(
                    "gasnet: warning: ofi ({}): puts and gets go by messages, because those of the provider do not work: rank {rank}: {}",
                    engine.port.traits.name,
                    String::from_utf8_lossy(&all[rank])
                );
            }
            Ok(false)
        }
    }
}

/// Whether atomics work; an error if puts and gets do not.
fn attempt(
    engine: &mut OfiEngine,
    cx: &OpenContext<'_>,
    base: *mut u64,
    keys: &[Vec<u8>],
) -> Result<bool, String> {
    let (me, size) = (cx.rank.0, cx.size);
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let key = engine.port.read_key(&keys[right as usize])?;
    if let Some(onesided) = &mut engine.onesided {
        onesided.keys[right as usize] = Known::Key(key);
    }
    let until = Instant::now() + NETWORK_TIMEOUT;
    let mine: Vec<u64> = (0..BULK_WORDS + SINGLE_WORDS).map(|k| pattern(me, k)).collect();
    let mut back = vec![0u64; BULK_WORDS];
    let at = |word: usize| RemoteAddr { rank: RankId(right), offset: word as u64 * 8 };
    // A large put, small puts behind a gap; then a get.
    // SAFETY: both vectors live until all is complete, or for ever if it is not; the ranges are inside the
    // peer's region.
    let outcome = unsafe {
        let mut all =
            complete(engine, until, |e, port| e.put(port, at(0), mine.as_ptr().cast(), BULK_WORDS * 8, 1));
        for k in 0..SINGLE_WORDS {
            let from = mine.as_ptr().wrapping_add(BULK_WORDS + k).cast();
            all = all.and_then(|()| {
                complete(engine, until, |e, port| e.put(port, at(2 * BULK_WORDS + k), from, 8, 2))
            });
        }
        all.and_then(|()| {
            complete(engine, until, |e, port| e.get(port, back.as_mut_ptr().cast(), at(0), BULK_WORDS * 8, 3))
        })
    };
    if let Err(why) = outcome {
        std::mem::forget((mine, back));
        return Err(why);
    }
    // Both count in the same word: the peer over the network, the owner with its processor.
    let add = Operation { function: Function::Add, word: WordType::U64 };
    // SAFETY: the own word, which others access only as an atomic.
    let counter = unsafe { AtomicU64::from_ptr(base.add(COUNTER_WORD)) };
    let counts =
        engine.onesided.as_ref().is_some_and(|o| atomics::plan(add, [1, 0]).is_some_and(|p| o.have.has(&p)));
    let own = Cell::new(0);
    let count = || {
        counter.fetch_add(1, Ordering::Relaxed);
        own.set(own.get() + 1);
    };
    let old: &'static mut u64 = Box::leak(Box::new(0));
    for _ in 0..if counts { COUNTS_PER_RANK } else { 0 } {
        // SAFETY: the word is leaked.
        complete(engine, until, |e, port| unsafe {
            count();
            e.atomic(port, at(COUNTER_WORD), add, [1, 0], old, 4).unwrap_or(Start::Later)
        })?;
    }
    engine.say(right, MessageKind::Tried).map_err(|e| e.to_string())?;
    wait(engine, until, |engine| {
        count();
        engine.tried.contains(&left)
    })?;
    // ORDER: Acquire; pairs with the release in the peer's operation.
    let counted = counts && counter.load(Ordering::Acquire) == own.get() + COUNTS_PER_RANK;
    let here = |word: usize| {
        // SAFETY: inside the own memory; the peer that put into it has reported completion.
        unsafe { base.add(word).read_volatile() }
    };
    let large = (0..BULK_WORDS).all(|k| here(k) == pattern(left, k) && here(BULK_WORDS + k) == 0);
    let small = (0..SINGLE_WORDS).all(|k| here(2 * BULK_WORDS + k) == pattern(left, BULK_WORDS + k));
    if !large || !small {
        return Err(format!(
            "puts of rank {left} were complete before they were in place, or went elsewhere"
        ));
    }
    if back != mine[..BULK_WORDS] {
        return Err(format!("a get from rank {right} brought something else"));
    }
    Ok(counted)
}

/// Starts an operation and waits until it is complete.
fn complete(
    engine: &mut OfiEngine,
    until: Instant,
    mut start: impl FnMut(&mut crate::onesided::OneSided, &mut crate::fabric::Port) -> Start,
) -> Result<(), String> {
    let mut started = false;
    wait(engine, until, |engine| {
        let Some(onesided) = &mut engine.onesided else { return false };
        if !started {
            match start(onesided, &mut engine.port) {
                Start::Started => started = true,
                Start::Failed(why) => engine.trouble(why),
                Start::Later | Start::Ask => {}
            }
            return false;
        }
        let done = onesided.done.iter().any(|(_, how)| *how == gasnet_wire::conduit::Completion::Remote);
        if done {
            onesided.done.clear();
        }
        done
    })
}

fn wait(
    engine: &mut OfiEngine,
    until: Instant,
    mut over: impl FnMut(&mut OfiEngine) -> bool,
) -> Result<(), String> {
    while !over(engine) {
        engine.progress().map_err(|e| e.to_string())?;
        if Instant::now() > until {
            return Err(format!("nothing came for {} s", NETWORK_TIMEOUT.as_secs()));
        }
        std::thread::yield_now();
    }
    Ok(())
}
