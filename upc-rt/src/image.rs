//! The shared variables of a program, and their offsets in the segments.
//!
//! Every object file registers each shared variable that it defines, tentatively or not, in the ELF section
//! `upc_shvars`. Records with the same proxy are the same variable; the largest size and alignment count. All
//! threads run the same executable with the same shared objects ([`libraries`](crate::libraries)), so the
//! same records in the same order give the same offsets on all threads.

use std::collections::HashMap;

/// Smallest alignment of a variable; a cache line, so that variables of different threads do not share one.
pub const MIN_ALIGNMENT_BYTES: u64 = 64;

/// The record of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableRecord {
    /// Identifies the variable.
    pub proxy: usize,
    /// Bytes on each thread.
    pub bytes: u64,
    /// Alignment, a power of two.
    pub align: u64,
}

/// Offsets of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Proxy and offset of each variable, in order of first registration.
    pub offsets: Vec<(usize, u64)>,
    /// Bytes of all variables together; `None` if that overflows.
    pub bytes: Option<u64>,
}

/// Assigns offsets to all variables, from `start` on, `gap` bytes or more between them.
pub fn place(start: u64, records: impl Iterator<Item = VariableRecord>, gap: u64) -> Placement {
    let mut index: HashMap<usize, usize> = HashMap::new();
    let mut variables: Vec<VariableRecord> = Vec::new();
    for r in records {
        let at = *index.entry(r.proxy).or_insert_with(|| {
            variables.push(r);
            variables.len() - 1
        });
        let v = &mut variables[at];
        v.bytes = v.bytes.max(r.bytes);
        v.align = v.align.max(r.align);
    }
    let mut end = Some(start);
    let mut offsets = Vec::with_capacity(variables.len());
    for v in variables {
        let align = v.align.max(MIN_ALIGNMENT_BYTES).next_power_of_two();
        let at = end.and_then(|e| e.checked_next_multiple_of(align));
        offsets.push((v.proxy, at.unwrap_or(start)));
        // Even an empty variable has an address of its own.
        end = at.and_then(|s| s.checked_add(v.bytes.max(1))?.checked_add(gap));
    }
    Placement { offsets, bytes: end.map(|e| e - start) }
}

/// Adds bytes to a checksum.
pub fn mix(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum ^ bytes.len() as u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::STATICS_OFFSET;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn variables_never_overlap(
            raw in proptest::collection::vec((0..40usize, 0..10_000u64, 0..13u32), 0..100),
            gap in 0..100u64,
        ) {
            let records: Vec<_> =
                raw.iter().map(|&(proxy, bytes, a)| VariableRecord { proxy, bytes, align: 1 << a }).collect();
            let p = place(STATICS_OFFSET, records.iter().copied(), gap);
            let end = STATICS_OFFSET + p.bytes.unwrap();
            let mut spans = Vec::new();
            for (proxy, off) in &p.offsets {
                let same = records.iter().filter(|r| r.proxy == *proxy);
                let size = same.clone().map(|r| r.bytes).max().unwrap();
                prop_assert!(same.clone().all(|r| off % r.align == 0) && off % MIN_ALIGNMENT_BYTES == 0);
                spans.push((*off, off + size.max(1) + gap));
            }
            spans.sort_unstable();
            prop_assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert!(spans.iter().all(|s| s.0 >= STATICS_OFFSET && s.1 <= end));
            prop_assert!(records.iter().all(|r| p.offsets.iter().any(|o| o.0 == r.proxy)));
        }
    }

    #[test]
    fn sizes_beyond_any_memory_are_noticed() {
        let huge = |proxy| VariableRecord { proxy, bytes: u64::MAX / 2, align: 8 };
        assert_eq!(place(STATICS_OFFSET, [huge(1), huge(2), huge(3)].into_iter(), 0).bytes, None);
    }
}
