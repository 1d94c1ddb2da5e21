//! The MAC of long datagrams: AEGIS-128X2 with a nonce of zeros and a tag of 128 bits (draft-irtf-cfrg-aegis-
//! aead, sections 2 and 4; the MAC is in the section "AEGISMAC").
//!
//! The crate `aegis` has it in C, in six variants for all processors, which take 15 processor seconds to
//! compile for each profile. So x86-64 processors with AES instructions use this file, which has the one
//! variant, and older ones the crate's version in Rust. Other processors use the crate with its C.

/// Bytes of a key and of a tag.
pub(crate) const BYTES: usize = 16;

/// The tag of `parts`, one after the other, which are not all empty.
pub(crate) fn tag(key: &[u8; BYTES], parts: &[&[u8]]) -> [u8; BYTES] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        if has!("vaes") && has!("avx2") {
            // SAFETY: the processor has them.
            return unsafe { x86_64::vaes::tag(key, parts) };
        } else if has!("aes") && has!("avx") {
            // SAFETY: the same.
            return unsafe { x86_64::aes::tag(key, parts) };
        }
    }
    portable(key, parts)
}

fn portable(key: &[u8; BYTES], parts: &[&[u8]]) -> [u8; BYTES] {
    let mut mac = aegis::aegis128x2::Aegis128X2Mac::<BYTES>::new(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize()
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::BYTES;
    use core::arch::x86_64::{__m128i, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_unpackhi_epi64, _mm_xor_si128};

    /// Bytes that the state takes in at a time.
    const RATE: usize = 64;

    /// The first bytes of the Fibonacci sequence modulo 256.
    const FIBONACCI: [[u8; BYTES]; 2] = [
        [0x00, 0x01, 0x01, 0x02, 0x03, 0x05, 0x08, 0x0d, 0x15, 0x22, 0x37, 0x59, 0x90, 0xe9, 0x79, 0x62],
        [0xdb, 0x3d, 0x18, 0x55, 0x6d, 0xc2, 0x2f, 0xf1, 0x20, 0x11, 0x31, 0x42, 0x73, 0xb5, 0x28, 0xdd],
    ];

    #[inline]
    #[target_feature(enable = "sse2")]
    fn words(low: u64, high: u64) -> __m128i {
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn block(bytes: [u8; BYTES]) -> __m128i {
        let both = u128::from_le_bytes(bytes);
        words(both as u64, (both >> 64) as u64)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn bytes(block: __m128i) -> [u8; BYTES] {
        let words = [block, _mm_unpackhi_epi64(block, block)].map(|word| _mm_cvtsi128_si64(word) as u64);
        (u128::from(words[0]) | u128::from(words[1]) << 64).to_le_bytes()
    }

    /// A module with the function `tag` for processors with these instructions. A row of the state has a
    /// block for each of two lanes, which are mixed at the end only; `$rows` has the type and its operations.
    macro_rules! tag_by {
        ($name:ident, $rows:ident, $features:literal) => {
            pub(super) mod $name {
                use super::$rows::{Row, first, round, row, xor};
                use super::{BYTES, FIBONACCI, RATE, block, bytes, words};

                #[inline]
                #[target_feature(enable = $features)]
                fn start(key: &[u8; BYTES]) -> [Row; 8] {
                    let zero = row(words(0, 0), words(0, 0));
                    let [key, a, b] = [*key, FIBONACCI[0], FIBONACCI[1]].map(|bytes| {
                        let block = block(bytes);
                        row(block, block)
                    });
                    // The nonce, which keys and rows would have added, is zero.
                    let mut v = [key, b, a, b, key, xor(key, a), xor(key, b), xor(key, a)];
                    // Each lane's number, and that of the last lane.
                    let context = row(words(0x0100, 0), words(0x0101, 0));
                    for _ in 0..10 {
                        v[3] = xor(v[3], context);
                        v[7] = xor(v[7], context);
                        v = update(v, zero, key);
                    }
                    v
                }

                /// Takes two rows in.
                #[inline]
                #[target_feature(enable = $features)]
                fn update(v: [Row; 8], a: Row, b: Row) -> [Row; 8] {
                    [
                        round(v[7], xor(v[0], a)),
                        round(v[0], v[1]),
                        round(v[1], v[2]),
                        round(v[2], v[3]),
                        round(v[3], xor(v[4], b)),
                        round(v[4], v[5]),
                        round(v[5], v[6]),
                        round(v[6], v[7]),
                    ]
                }

                #[inline]
                #[target_feature(enable = $features)]
                fn absorb(v: [Row; 8], bytes: &[u8; RATE]) -> [Row; 8] {
                    let (blocks, _) = bytes.as_chunks::<BYTES>();
                    let [a, b] = [0, 2].map(|i| row(block(blocks[i]), block(blocks[i + 1])));
                    update(v, a, b)
                }

                #[inline]
                #[target_feature(enable = $features)]
                fn stir(mut v: [Row; 8], taken: Row) -> [Row; 8] {
                    for _ in 0..7 {
                        v = update(v, taken, taken);
                    }
                    v
                }

                #[inline]
                #[target_feature(enable = $features)]
                fn sum(v: &[Row; 8]) -> Row {
                    xor(xor(xor(v[0], v[1]), xor(v[2], v[3])), xor(xor(v[4], v[5]), v[6]))
                }

                #[inline]
                #[target_feature(enable = $features)]
                fn finish(v: [Row; 8], len: u64) -> [u8; BYTES] {
                    let (zero, bits) = (words(0, 0), 8 * BYTES as u64);
                    let lens = words(8 * len, bits);
                    let mut v = stir(v, xor(v[2], row(lens, lens)));
                    let both = sum(&v);
                    // Each lane's sum, and nothing beside it.
                    let [a, b] = [first(both), super::$rows::second(both)].map(|block| row(block, zero));
                    v = update(v, a, b);
                    let lanes = xor(v[2], row(words(2, bits), zero));
                    bytes(first(sum(&stir(v, row(first(lanes), zero)))))
                }

                #[target_feature(enable = $features)]
                pub(in super::super) fn tag(key: &[u8; BYTES], parts: &[&[u8]]) -> [u8; BYTES] {
                    let mut v = start(key);
                    // Bytes that have not filled a block yet.
                    let (mut rest, mut held, mut len) = ([0; RATE], 0, 0);
                    for part in parts {
                        len += part.len() as u64;
                        let (head, part) = part.split_at(part.len().min((RATE - held) % RATE));
                        rest[held..held + head.len()].copy_from_slice(head);
                        held += head.len();
                        if held == RATE {
                            v = absorb(v, &rest);
                            held = 0;
                        }
                        let (blocks, tail) = part.as_chunks::<RATE>();
                        for block in blocks {
                            v = absorb(v, block);
                        }
                        rest[held..held + tail.len()].copy_from_slice(tail);
                        held += tail.len();
                    }
                    if held > 0 {
                        rest[held..].fill(0);
                        v = absorb(v, &rest);
                    }
                    finish(v, len)
                }
            }
        };
    }

    tag_by!(aes, pairs, "aes,avx");
    tag_by!(vaes, wide, "avx2");

    /// Rows of two registers.
    mod pairs {
        use super::{__m128i, _mm_xor_si128};
        use core::arch::x86_64::_mm_aesenc_si128;

        pub(super) type Row = [__m128i; 2];

        #[inline]
        #[target_feature(enable = "aes,avx")]
        pub(super) fn row(first: __m128i, second: __m128i) -> Row {
            [first, second]
        }

        #[inline]
        #[target_feature(enable = "aes,avx")]
        pub(super) fn first(row: Row) -> __m128i {
            row[0]
        }

        #[inline]
        #[target_feature(enable = "aes,avx")]
        pub(super) fn second(row: Row) -> __m128i {
            row[1]
        }

        #[inline]
        #[target_feature(enable = "aes,avx")]
        pub(super) fn xor(a: Row, b: Row) -> Row {
            [_mm_xor_si128(a[0], b[0]), _mm_xor_si128(a[1], b[1])]
        }

        #[inline]
        #[target_feature(enable = "aes,avx")]
        pub(super) fn round(a: Row, key: Row) -> Row {
            [_mm_aesenc_si128(a[0], key[0]), _mm_aesenc_si128(a[1], key[1])]
        }
    }

    /// Rows of one register. Rust 1.88 has no function for the instruction, but assembles it.
    mod wide {
        use super::__m128i;
        use core::arch::x86_64::{
            __m256i, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_set_m128i, _mm256_xor_si256,
        };

        pub(super) type Row = __m256i;

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn row(first: __m128i, second: __m128i) -> Row {
            _mm256_set_m128i(second, first)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn first(row: Row) -> __m128i {
            _mm256_castsi256_si128(row)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn second(row: Row) -> __m128i {
            _mm256_extracti128_si256::<1>(row)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn xor(a: Row, b: Row) -> Row {
            _mm256_xor_si256(a, b)
        }

        /// For processors with VAES only.
        #[inline]
        #[target_feature(enable = "avx2")]
        #[expect(unsafe_code, reason = "an instruction that Rust has no function for")]
        pub(super) fn round(a: Row, key: Row) -> Row {
            let out: Row;
            // SAFETY: reads two registers and writes one; `super::super::tag` asks for VAES.
            unsafe {
                core::arch::asm!(
                    "vaesenc {out}, {a}, {key}",
                    out = lateout(ymm_reg) out,
                    a = in(ymm_reg) a,
                    key = in(ymm_reg) key,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A way to a tag.
    type Way = fn(&[u8; BYTES], &[&[u8]]) -> [u8; BYTES];

    /// All ways that this processor can go.
    fn ways() -> Vec<(&'static str, Way)> {
        let mut ways: Vec<(_, Way)> = vec![("chosen", tag), ("portable", portable)];
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        {
            if std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("avx") {
                // SAFETY: the processor has them.
                ways.push(("aes", |key, parts| unsafe { x86_64::aes::tag(key, parts) }));
            }
            if std::arch::is_x86_feature_detected!("vaes") && std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the same.
                ways.push(("vaes", |key, parts| unsafe { x86_64::vaes::tag(key, parts) }));
            }
        }
        ways
    }

    /// Texts of all lengths around a block, in one part and in three. None is empty, as no datagram is: there
    /// the crate's Rust takes a block of zeros in, and its C does not.
    #[test]
    fn all_ways_lead_to_one_tag() {
        let text: Vec<u8> = (0..9000_u32).map(|i| (i * 167 + i / 251) as u8).collect();
        for len in (1..400).chain([1408, 4096, 8999, 9000]) {
            let key = core::array::from_fn(|i| (i + len) as u8);
            let expected = portable(&key, &[&text[..len]]);
            for (way, tag) in ways() {
                assert_eq!(tag(&key, &[&text[..len]]), expected, "{way}: {len} bytes");
                for at in [1, 56, 63, 64, 65, 200] {
                    let (head, tail) = text[..len].split_at(at.min(len));
                    let (middle, tail) = tail.split_at(tail.len() / 3);
                    assert_eq!(tag(&key, &[head, middle, tail]), expected, "{way}: {len} bytes cut at {at}");
                }
            }
        }
    }

    /// The tags that libaegis, which is in C, makes of the bytes 0, 1, 2 ...: ranks of two builds meet in a
    /// job.
    #[test]
    fn tags_are_those_of_the_standard() {
        let key = core::array::from_fn(|i| i as u8);
        let text: Vec<u8> = (0..100).collect();
        let known = [
            (35, 0xda7e207c2ff1f7abda082e6b5b5ca40f_u128),
            (64, 0x720a21dd73141f39930b8efe886dab25),
            (100, 0x24ef57bcf1416088dc1629a93f75a58e),
        ];
        for (len, expected) in known {
            for (way, tag) in ways() {
                assert_eq!(u128::from_be_bytes(tag(&key, &[&text[..len]])), expected, "{way}: {len} bytes");
            }
        }
    }
}
