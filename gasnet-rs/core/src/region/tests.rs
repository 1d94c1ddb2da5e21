use super::*;

fn regions() -> Regions {
    Regions::new()
}

/// As `RegionCalls::export_raw`, without a rank.
pub(super) fn open(all: &Regions, base: usize, len: usize, modes: Modes) -> RegionKey {
    let (slot, entry) = all.entries.take().unwrap();
    let secret = gasnet_sys::random();
    let generation = entry.open(base as *mut u8, len, modes, secret);
    RegionKey { rank: 0, slot, generation, modes: modes.0, len: len as u64, secret }
}

fn access(all: &Regions, key: &RegionKey, modes: Modes, at: u64, len: usize) -> Result<usize, RegionError> {
    all.access(key.grant(), modes, at, len).map(|access| access.at as usize)
}

#[test]
fn range_and_modes_hold_to_the_byte() {
    let all = regions();
    let key = open(&all, 1000, 100, Modes::READ | Modes::WRITE);
    let get = |at, len| access(&all, &key, Modes::READ, at, len);
    assert_eq!([get(0, 100), get(99, 1), get(100, 0), get(7, 93)], [Ok(1000), Ok(1099), Ok(1100), Ok(1007)]);
    for (at, len) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 1), (u64::MAX, 0), (1, usize::MAX)] {
        assert_eq!(get(at, len), Err(RegionError::Range), "{at} {len}");
    }
    assert_eq!(access(&all, &key, Modes::ATOMIC, 0, 8), Err(RegionError::Access));
    assert_eq!(access(&all, &key, Modes::WRITE, 0, 8), Ok(1000));
}

#[test]
fn no_key_with_another_bit_works() {
    let all = regions();
    let keys: Vec<_> = (0..40).map(|i| open(&all, 1 << 20, 4096 + i, Modes::ALL)).collect();
    for key in &keys {
        for bit in (32..256).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let mut bytes: [u8; 32] = bytemuck::cast(*key);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let forged: RegionKey = bytemuck::cast(bytes);
            assert_eq!(access(&all, &forged, Modes::READ, 8, 8), Err(RegionError::Revoked), "bit {bit}");
        }
        assert!(access(&all, key, Modes::READ, 8, 8).is_ok());
    }
}

#[test]
fn secrets_differ_and_are_not_shown() {
    let all = regions();
    let keys: Vec<_> = (0..100).map(|_| open(&all, 0, 1, Modes::READ)).collect();
    let secrets: std::collections::HashSet<u64> = keys.iter().map(|k| k.secret).collect();
    assert_eq!(secrets.len(), 100);
    assert!(!format!("{:?}", keys[0]).contains(&keys[0].secret.to_string()));
}

#[test]
fn a_slot_used_again_knows_no_old_keys() {
    let all = regions();
    let mut old = Vec::new();
    for round in 0..if cfg!(miri) { 20 } else { 100 } {
        let key = open(&all, 0, 10, Modes::READ);
        assert!(old.iter().all(|o| access(&all, o, Modes::READ, 0, 1) == Err(RegionError::Revoked)));
        assert_eq!((key.slot, key.generation), (0, round));
        assert!(all.is_live(key.grant()));
        all.revoke(key.slot);
        assert!(!all.is_live(key.grant()));
        old.push(key);
    }
}

#[test]
fn of_many_threads_one_makes_the_one_access() {
    let all = regions();
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        let key = open(&all, 0, 10, Modes::WRITE | Modes::ONCE);
        // A key that does not match takes nothing.
        assert_eq!(access(&all, &key, Modes::READ, 0, 1), Err(RegionError::Access));
        assert_eq!(access(&all, &key, Modes::WRITE, 10, 1), Err(RegionError::Range));
        let made: Vec<_> = std::thread::scope(|s| {
            let threads: Vec<_> =
                (0..4).map(|_| s.spawn(|| access(&all, &key, Modes::WRITE, 0, 1))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|r| r.is_ok()).count(), 1);
        assert_eq!(made.iter().filter(|r| **r == Err(RegionError::Used)).count(), 3);
        all.revoke(key.slot);
        assert_eq!(access(&all, &key, Modes::WRITE, 0, 1), Err(RegionError::Revoked));
    }
    let key = open(&all, 0, 1 << 20, Modes::WRITE | Modes::ONCE);
    let more = gasnet_wire::am::MAX_MEDIUM + 1;
    assert_eq!(access(&all, &key, Modes::WRITE, 0, more), Err(RegionError::Range), "more than a message");
}

/// Threads write through keys while the owner revokes, frees and exports again: whoever writes late spoils
/// what is there then.
#[test]
fn nobody_touches_memory_after_its_revocation() {
    use std::sync::atomic::{AtomicBool, Ordering::*};
    let all = regions();
    let current = Mutex::new(None::<RegionKey>);
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (all, current, over) = (&all, &current, &over);
        for own in 0..4 {
            s.spawn(move || {
                let mut old: Vec<RegionKey> = Vec::new();
                while !over.load(Relaxed) {
                    old.extend(*current.lock().unwrap());
                    for key in old.iter().rev().take(4) {
                        if let Ok(access) = all.access(key.grant(), Modes::WRITE, own * 16, 16) {
                            // SAFETY: the access holds the memory, and each thread has a place of its own.
                            unsafe { gasnet_wire::bytes::fill(access.at, 1, 16) };
                        }
                    }
                    std::thread::yield_now();
                }
            });
        }
        for _ in 0..if cfg!(miri) { 20 } else { 3000 } {
            let mut memory = vec![0u64; 8];
            let key = open(all, memory.as_mut_ptr() as usize, 64, Modes::WRITE);
            *current.lock().unwrap() = Some(key);
            std::thread::yield_now();
            all.revoke(key.slot);
            memory.fill(2);
            std::thread::yield_now();
            assert_eq!(memory, [2; 8]);
        }
        over.store(true, Relaxed);
    });
}

#[test]
fn every_refusal_has_a_code() {
    assert!(RegionError::ALL.iter().all(|e| RegionError::from_code(e.code()) == Some(*e)));
    assert_eq!([0, 9, u32::MAX].map(RegionError::from_code), [None; 3]);
}

/// A NIC's request is checked as a message is.
#[test]
fn reg_07_a_nic_reaches_what_it_may() {
    use gasnet_wire::conduit::regions::{RegionPlace, ServedRegions};
    let all = regions();
    let mut memory = vec![7u8; 100];
    let base = memory.as_mut_ptr() as usize;
    let served = |modes: Modes| open(&all, base, 100, Modes(modes.0 | SERVED));
    let place = |key: &RegionKey, at| {
        let Grant { slot: number, secret, .. } = key.grant();
        RegionPlace { number, secret, at }
    };
    let key = served(Modes::READ | Modes::WRITE);
    assert_eq!(key.modes(), Modes::READ | Modes::WRITE, "the mark is no mode");
    let mut into = [0; 2];
    assert_eq!(all.write(place(&key, 98), &[1, 2]), Ok(()));
    assert_eq!((all.read(place(&key, 98), &mut into), into), (Ok(()), [1, 2]));
    assert_eq!(all.write(place(&key, 99), &[1, 2]), Err(RegionError::Range));
    assert_eq!(all.read(place(&key, u64::MAX), &mut into), Err(RegionError::Range));
    assert_eq!(all.write(place(&served(Modes::READ), 0), &[1]), Err(RegionError::Access));
    let other = RegionPlace { secret: place(&key, 0).secret ^ 1, ..place(&key, 0) };
    assert_eq!(all.write(other, &[1]), Err(RegionError::Revoked));
    assert_eq!(all.write(RegionPlace { number: 77, ..place(&key, 0) }, &[1]), Err(RegionError::Revoked));
    // By message or by NIC, once is once.
    let once = served(Modes::WRITE | Modes::ONCE);
    assert_eq!(access(&all, &once, Modes::WRITE, 0, 5), Ok(base));
    assert_eq!(all.write(place(&once, 0), &[1]), Err(RegionError::Used));
    all.revoke(key.slot);
    assert_eq!(all.read(place(&key, 0), &mut into), Err(RegionError::Revoked));
}

/// Memory that the owner has not said a NIC can reach is out of reach whatever a key says.
#[test]
fn reg_07_no_forged_key_makes_a_nic_reach_more() {
    use gasnet_wire::conduit::regions::{RegionPlace, ServedRegions};
    let all = regions();
    let mut memory = vec![7u8; 100];
    let key = open(&all, memory.as_mut_ptr() as usize, 100, Modes::ALL);
    // Whoever has a key can work out the secret that its owner knows.
    let Grant { slot: number, secret, .. } = key.grant();
    assert_eq!(all.write(RegionPlace { number, secret, at: 0 }, &[1]), Err(RegionError::Revoked));
    assert_eq!(memory, [7; 100]);
}
