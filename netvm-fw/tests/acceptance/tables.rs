//! The shadow table and the host's frames against naive twins.

use std::collections::{BTreeMap, HashMap};

use netvm_fw::host::{Cleaned, Deactivated, ExportError, Exports, FrameState, KeySource, Vm};
use netvm_fw::shadow::{Geometry, Lease, LockError, Mapped, Unmap, table};
use netvm_fw::{Key, PortId, Ppn, Vpn};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Map(u8, u8),
    Unmap(u8),
    Free(u8),
    Lock(u8, bool),
    Unlock(u8, bool),
    Lease(u8),
    EndLease(u8),
    Break(u8),
    UseLease(u8),
    Test(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0u8..6;
    prop_oneof![
        3 => (n.clone(), 0u8..12).prop_map(|(f, p)| Step::Map(f, p)),
        2 => n.clone().prop_map(Step::Unmap),
        2 => n.clone().prop_map(Step::Free),
        4 => (0u8..12, any::<bool>()).prop_map(|(p, k)| Step::Lock(p, k)),
        3 => (n.clone(), any::<bool>()).prop_map(|(f, d)| Step::Unlock(f, d)),
        2 => (0u8..12).prop_map(Step::Lease),
        1 => any::<u8>().prop_map(Step::EndLease),
        1 => n.clone().prop_map(Step::Break),
        2 => any::<u8>().prop_map(Step::UseLease),
        2 => n.prop_map(Step::Test),
    ]
}

/// A frame, as plain facts.
#[derive(Debug, Clone, Default)]
struct Plain {
    page: Option<u8>,
    locks: u32,
    leases: u32,
    breaks: u32,
    dirty: bool,
    leaving: bool,
}

fn vpn(page: u8) -> Vpn {
    Vpn::new(PortId(1), page.into())
}

fn key(page: u8) -> Key {
    Key(100 + u64::from(page))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// One row that never overflows, so that what is mapped is found.
    #[test]
    fn the_table_does_what_plain_facts_say(steps in prop::collection::vec(step(), 1..200), rows in 1u32..4) {
        let (mut host, mut nic) = table(Geometry { frames: 6, rows, depth: 6 }, 1);
        let mut frames = vec![Plain::default(); 6];
        let mut leases: Vec<(Lease, u8)> = Vec::new();
        for step in steps {
            match step {
                Step::Map(f, page) => {
                    let taken = frames.iter().any(|p| p.page == Some(page));
                    let frame = &mut frames[usize::from(f)];
                    if taken && frame.page != Some(page) || frame.page.is_some_and(|p| p != page) || frame.leaving {
                        continue;
                    }
                    frame.page = Some(page);
                    prop_assert_eq!(host.map(vpn(page), Ppn::at(f.into()), key(page)), Mapped::Alone);
                }
                Step::Unmap(f) => {
                    let frame = &mut frames[usize::from(f)];
                    let used = frame.locks + frame.leases > 0;
                    let expected = if used { Unmap::Locked } else { Unmap::Unmapped };
                    prop_assert_eq!(host.unmap(Ppn::at(f.into())), expected);
                    if !used && !frame.leaving {
                        frame.page = None;
                    }
                }
                Step::Free(f) => {
                    let frame = &mut frames[usize::from(f)];
                    let used = frame.locks + frame.leases > 0;
                    let expected = if used { Unmap::Locked } else { Unmap::Unmapped };
                    prop_assert_eq!(host.free(Ppn::at(f.into())), expected);
                    frame.leaving = used;
                    frame.page = None;
                }
                Step::Lock(page, right) => {
                    let at = frames.iter().position(|p| p.page == Some(page));
                    let result = nic.lock(vpn(page), vpn(page).hash(), if right { key(page) } else { Key(1) });
                    match at {
                        None => prop_assert_eq!(result, Err(LockError::Missing)),
                        Some(_) if !right => prop_assert_eq!(result, Err(LockError::Refused)),
                        Some(f) => {
                            prop_assert_eq!(result, Ok(Ppn::at(f)));
                            frames[f].locks += 1;
                        }
                    }
                }
                Step::Unlock(f, dirty) => {
                    let frame = &mut frames[usize::from(f)];
                    if frame.locks == 0 {
                        continue;
                    }
                    frame.locks -= 1;
                    frame.dirty |= dirty;
                    let ppn = Ppn::at(f.into());
                    if dirty { nic.unlock_dirty(ppn) } else { nic.unlock(ppn) }
                }
                Step::Lease(page) => {
                    let at = frames.iter().position(|p| p.page == Some(page));
                    let result = nic.lease(vpn(page), vpn(page).hash(), key(page));
                    prop_assert_eq!(result.is_ok(), at.is_some());
                    if let (Ok(lease), Some(f)) = (result, at) {
                        prop_assert_eq!(lease.ppn, Ppn::at(f));
                        frames[f].leases += 1;
                        leases.push((lease, page));
                    }
                }
                Step::EndLease(n) if !leases.is_empty() => {
                    let (lease, _) = leases.swap_remove(usize::from(n) % leases.len());
                    let frame = &mut frames[lease.ppn.index()];
                    let holds = frame.breaks == lease.breaks;
                    frame.leases -= u32::from(holds);
                    prop_assert_eq!(nic.end_lease(lease), holds);
                }
                Step::Break(f) => {
                    let frame = &mut frames[usize::from(f)];
                    prop_assert_eq!(nic.break_leases(Ppn::at(f.into())), frame.leases);
                    frame.breaks += u32::from(frame.leases > 0);
                    frame.leases = 0;
                }
                Step::UseLease(n) if !leases.is_empty() => {
                    let (lease, page) = leases[usize::from(n) % leases.len()];
                    let frame = &mut frames[lease.ppn.index()];
                    let holds = frame.breaks == lease.breaks && frame.page == Some(page);
                    let result = nic.lock_leased(lease, vpn(page), key(page));
                    prop_assert_eq!(result.is_ok(), holds);
                    frame.locks += u32::from(holds);
                }
                Step::Test(f) => {
                    let frame = &mut frames[usize::from(f)];
                    prop_assert_eq!(host.test_and_clean(Ppn::at(f.into())), std::mem::take(&mut frame.dirty));
                }
                Step::EndLease(_) | Step::UseLease(_) => {}
            }
            for (f, frame) in frames.iter_mut().enumerate() {
                let ppn = Ppn::at(f);
                prop_assert_eq!(nic.count(ppn), (frame.locks, frame.leases));
                prop_assert_eq!(host.locked(ppn), frame.locks + frame.leases > 0);
                prop_assert_eq!(host.page(ppn), frame.page.map(vpn));
                if frame.leaving && frame.locks + frame.leases == 0 {
                    prop_assert_eq!(host.free(ppn), Unmap::Unmapped);
                    frame.leaving = false;
                }
            }
        }
        let mapped = frames.iter().filter(|f| f.page.is_some() || f.leaving).count();
        prop_assert_eq!(host.occupancy().0, mapped);
    }

    /// Frames on their way, against lists of plain numbers.
    #[test]
    fn frames_are_where_the_lists_say(steps in prop::collection::vec((0u8..8, 0u8..20), 1..300)) {
        let (host, mut nic) = table(Geometry { frames: 6, rows: 2, depth: 6 }, 1);
        let mut vm = Vm::new(host);
        let mut work = Vec::new();
        // Frame -> (page, state), and pages that were given a frame.
        let mut plain: BTreeMap<Ppn, (u8, FrameState)> = BTreeMap::new();
        let mut places: HashMap<u8, Ppn> = HashMap::new();
        for (what, page) in steps {
            let place = places.get(&page).copied();
            let state = place.map(|ppn| plain[&ppn].1);
            match (what, place, state) {
                (0 | 1, None, _) => {
                    let free = 6 - plain.len();
                    let cached = plain.values().filter(|p| p.1 == FrameState::Cache).count();
                    match vm.allocate(vpn(page)) {
                        None => prop_assert!(free == 0 && cached == 0),
                        Some((ppn, evicted)) => {
                            prop_assert_eq!(evicted.is_some(), free == 0);
                            if let Some((old, _)) = plain.insert(ppn, (page, FrameState::PagingIn)) {
                                prop_assert_eq!(evicted, Some(vpn(old)));
                                places.remove(&old);
                            }
                            places.insert(page, ppn);
                        }
                    }
                }
                (_, Some(ppn), Some(FrameState::PagingIn)) => {
                    vm.paged_in(ppn);
                    vm.map(ppn, key(page), &mut work);
                    plain.insert(ppn, (page, FrameState::Active));
                }
                (2 | 3, Some(ppn), Some(FrameState::Active)) => {
                    let yes = vm.deactivate(ppn, &mut work) == Deactivated::Yes;
                    plain.insert(ppn, (page, if yes { FrameState::Inactive } else { FrameState::Active }));
                }
                (4 | 5, Some(ppn), Some(FrameState::Inactive)) => {
                    let state = match vm.clean(ppn, &mut work) {
                        Cleaned::Cached => FrameState::Cache,
                        Cleaned::MustFlush => FrameState::PagingOut,
                        Cleaned::Reactivated | Cleaned::Locked => FrameState::Active,
                    };
                    plain.insert(ppn, (page, state));
                }
                (_, Some(ppn), Some(FrameState::PagingOut)) => {
                    prop_assert!(!vm.paged_out(ppn));
                    plain.insert(ppn, (page, FrameState::Cache));
                }
                (6, Some(ppn), Some(FrameState::Cache)) => {
                    vm.reactivate(ppn);
                    vm.map(ppn, key(page), &mut work);
                    plain.insert(ppn, (page, FrameState::Active));
                }
                (7, Some(ppn), Some(_)) => {
                    prop_assert_eq!(vm.free(ppn, &mut work), Unmap::Unmapped);
                    plain.remove(&ppn);
                    places.remove(&page);
                }
                (1, Some(ppn), Some(FrameState::Active | FrameState::Inactive)) => {
                    // The NIC writes: such a page is written out before its frame is anybody else's.
                    let locked = nic.lock(vpn(page), vpn(page).hash(), key(page));
                    prop_assert_eq!(locked, Ok(ppn));
                    nic.unlock_dirty(ppn);
                }
                _ => {}
            }
            for n in 0..20 {
                prop_assert_eq!(vm.place(vpn(n)), places.get(&n).copied());
            }
            for (&ppn, &(page, state)) in &plain {
                prop_assert_eq!((vm.page(ppn), vm.state(ppn)), (Some(vpn(page)), state));
            }
            let count = |state| plain.values().filter(|p| p.1 == state).count() as u32;
            let lengths = (count(FrameState::Active), count(FrameState::Inactive), count(FrameState::Cache), 6 - plain.len() as u32);
            prop_assert_eq!(vm.lengths(), lengths);
        }
    }

    #[test]
    fn exports_are_found_by_page_and_name(ranges in prop::collection::vec((1u16..3, 0u64..30, 1u64..6, 0u64..12), 1..30)) {
        let mut exports = Exports::new(KeySource::seeded(1));
        let mut plain: Vec<netvm_fw::host::Segment> = Vec::new();
        for (port, page, pages, name) in ranges {
            let port = PortId(port);
            let (address, size) = (page * 4096, pages * 4096);
            let overlaps = |s: &netvm_fw::host::Segment| {
                s.port == port && s.address < address + size && address < s.address + s.size
            };
            let expected = if plain.iter().any(overlaps) {
                Some(ExportError::Overlap)
            } else if plain.iter().any(|s| s.port == port && s.name == name) {
                Some(ExportError::Name)
            } else {
                None
            };
            let got = exports.add(port, name, address, size);
            prop_assert_eq!(got.err(), expected);
            plain.extend(got.ok());
            if plain.len() > 5 {
                let gone = plain.remove(0);
                prop_assert!(exports.remove(&gone));
                prop_assert!(!exports.remove(&gone));
            }
            for port in [1, 2] {
                for page in 0..40 {
                    let vpn = Vpn::new(PortId(port), page);
                    let of = plain.iter().find(|s| s.pages().0.0 <= vpn.0 && vpn.0 < s.pages().0.0 + s.pages().1);
                    prop_assert_eq!(exports.key(vpn), of.map(|s| s.key));
                }
            }
        }
    }
}

/// One key of a sequence gives none of the others: the mixing of a counter would, because it can be undone.
#[test]
fn reg_09_a_key_does_not_tell_the_next() {
    let unmix = |key: u64| {
        let unshift = |x: u64, by: u32| (0..64 / by).fold(x, |y, _| x ^ (y >> by));
        let x = unshift(key, 31).wrapping_mul(0x3196_42b2_d24d_8ec3);
        let x = unshift(x, 27).wrapping_mul(0x96de_1b17_3f11_9089);
        unshift(x, 30)
    };
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    assert_eq!(unmix(mix(77)), 77, "the attack of this test works on such a generator");
    for seed in [0, 1, 1 << 32] {
        let mut exports = Exports::new(KeySource::seeded(seed));
        let keys: Vec<u64> =
            (0..50).map(|i| exports.add(PortId(1), i, i * 4096, 4096).expect("room for it").key.0).collect();
        for pair in keys.windows(2) {
            let step = unmix(pair[0]).wrapping_add(0x9e37_79b9_7f4a_7c15);
            assert_ne!(mix(step), pair[1]);
        }
        let other = Exports::new(KeySource::seeded(seed)).add(PortId(1), 0, 0, 4096).expect("room").key.0;
        assert_eq!(other, keys[0], "a seed decides them");
    }
}

/// Each export takes one number of the source, and one that is refused takes none.
#[test]
fn reg_09_keys_are_drawn_one_by_one() {
    let mut numbers = 100..200u64;
    let mut exports = Exports::new(KeySource::drawn(move || numbers.next().expect("enough")));
    assert_eq!(exports.add(PortId(1), 0, 0, 4096).map(|s| s.key.0), Ok(100));
    assert_eq!(exports.add(PortId(1), 0, 8192, 4096), Err(ExportError::Name));
    assert_eq!(exports.add(PortId(1), 1, 0, 8192), Err(ExportError::Overlap));
    assert_eq!(exports.add(PortId(2), 0, 0, 4096).map(|s| s.key.0), Ok(101));
}
