//! One transfer of more bytes than a C int counts, or than 32 bits do. It needs more memory than tests may
//! take, so it runs only when it is named.
#![expect(unsafe_code, reason = "puts and gets by pointer, and looks into the segment")]

use crate::support::{Cx, mix};
use gasnet::RankId;

/// Beyond 2 GiB, and beyond 4 GiB.
const QUICK: usize = (2 << 30) + (64 << 20) + 5;
const WHOLE: usize = (4 << 30) + (64 << 20) + 5;

fn word(k: usize) -> u64 {
    mix(k as u64)
}

/// Rank 0 puts all of a buffer into the segment of rank 1, which looks at it, and gets it back; then it fills
/// it. Others wait.
pub fn giant(cx: &Cx) {
    let len = if cx.quick { QUICK } else { WHOLE };
    let at =
        cx.rank.allocate(len as u64 + 64, 4096).expect("GASNET_MAX_SEGSIZE is at least 2300M, or 4500M") + 3;
    let to = RankId(1 % cx.size());
    let own = cx.rank.table().get(cx.rank.id()).expect("itself").local.wrapping_add(at as usize);
    // SAFETY: inside the own segment; rank 0 uses it at other times.
    let here = |k: usize| unsafe { own.add(8 * k).cast::<u64>().read_unaligned() };
    let last = len / 8;
    let mut buffer: Vec<u64> = if cx.me() == 0 { (0..=last).map(word).collect() } else { Vec::new() };
    cx.rank.barrier();
    if cx.me() == 0 {
        // SAFETY: the buffer has as many bytes; nobody else uses the destination now.
        unsafe { cx.rank.put(to, at, buffer.as_ptr().cast(), len) };
    }
    cx.rank.barrier();
    if cx.rank.id() == to {
        let wrong = (0..last).find(|k| here(*k) != word(*k));
        assert_eq!(wrong, None, "a word that is not what was put, of {last}");
        // SAFETY: as above.
        let tail = unsafe { std::slice::from_raw_parts(own.add(8 * last), len % 8 + 1) };
        assert_eq!(tail[..len % 8], word(last).to_ne_bytes()[..len % 8]);
        assert_eq!(tail[len % 8], 0, "behind the end");
    }
    cx.rank.barrier();
    if cx.me() == 0 {
        buffer.fill(0);
        // SAFETY: as above.
        unsafe { cx.rank.get(buffer.as_mut_ptr().cast(), to, at, len) };
        let wrong = (0..last).find(|k| buffer[*k] != word(*k));
        assert_eq!(wrong, None, "a word that is not what was got, of {last}");
        assert_eq!(buffer[last].to_ne_bytes()[len % 8..], [0; 8][len % 8..], "behind the end");
        cx.fill(to, at, 0x5a, len);
    }
    cx.rank.barrier();
    if cx.rank.id() == to {
        assert_eq!(
            (0..last).find(|k| here(*k) != u64::from_ne_bytes([0x5a; 8])),
            None,
            "a word that is not filled"
        );
    }
}
