//! Reals of all kinds as one type, which holds each of them exactly. Rust has none for real(10) and real(16).

use std::cmp::Ordering;

/// Bits of a significand.
const BITS: i32 = 128;

/// A real number: `significand / 2^127 * 2^exponent`, the highest bit of the significand being set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wide {
    negative: bool,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Zero,
    Finite { exponent: i32, significand: u128 },
    Infinite,
    NotANumber,
}

/// A format of the standard: bits of the exponent, and of the fraction without the leading one.
#[derive(Clone, Copy)]
struct Format {
    exponent: i32,
    fraction: i32,
}

const SINGLE: Format = Format { exponent: 8, fraction: 23 };
const DOUBLE: Format = Format { exponent: 11, fraction: 52 };
const EXTENDED: Format = Format { exponent: 15, fraction: 63 };
const QUAD: Format = Format { exponent: 15, fraction: 112 };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }
}

impl Wide {
    /// An integer.
    pub fn of_integer(n: i128) -> Wide {
        Wide::finite(n < 0, BITS - 1, n.unsigned_abs())
    }

    /// A real of kind 8.
    pub fn of_double(x: f64) -> Wide {
        Wide::parse(u128::from(x.to_bits()), DOUBLE)
    }

    /// A real of kind 16.
    pub fn of_quad(bits: u128) -> Wide {
        Wide::parse(bits, QUAD)
    }

    /// A real of kind 10: its significand, and sign and exponent.
    pub fn of_extended(significand: u64, head: u16) -> Wide {
        let (negative, exponent) = (head >> 15 == 1, i32::from(head & 0x7fff));
        let what = match (exponent, significand << 1) {
            (0x7fff, 0) => What::Infinite,
            (0x7fff, _) => What::NotANumber,
            _ => {
                let exponent = exponent.max(1) - EXTENDED.bias();
                return Wide::finite(negative, exponent, u128::from(significand) << 64);
            }
        };
        Wide { negative, what }
    }

    /// `significand / 2^127 * 2^exponent`, with any significand.
    fn finite(negative: bool, exponent: i32, significand: u128) -> Wide {
        if significand == 0 {
            return Wide { negative, what: What::Zero };
        }
        let zeros = significand.leading_zeros();
        let what = What::Finite { exponent: exponent - zeros as i32, significand: significand << zeros };
        Wide { negative, what }
    }

    fn parse(bits: u128, format: Format) -> Wide {
        let Format { exponent: width, fraction } = format;
        let negative = bits >> (width + fraction) & 1 == 1;
        let exponent = (bits >> fraction) as i32 & ((1 << width) - 1);
        let low = bits & ((1u128 << fraction) - 1);
        let what = match exponent {
            e if e == (1 << width) - 1 => [What::NotANumber, What::Infinite][usize::from(low == 0)],
            e => {
                let leading = u128::from(e > 0) << fraction;
                let significand = (low | leading) << (BITS - 1 - fraction);
                return Wide::finite(negative, e.max(1) - format.bias(), significand);
            }
        };
        Wide { negative, what }
    }

    /// The biased exponent and the fraction with its leading bit, rounded to nearest, ties to even.
    fn rounded(self, format: Format) -> (i32, u128) {
        let highest = (1 << format.exponent) - 1;
        let (exponent, significand) = match self.what {
            What::Zero => return (0, 0),
            What::Infinite => return (highest, 1 << format.fraction),
            What::NotANumber => return (highest, 3 << (format.fraction - 1)),
            What::Finite { exponent, significand } => (exponent + format.bias(), significand),
        };
        // Below the smallest normal number fewer bits are left.
        let lost = BITS - 1 - format.fraction + (1 - exponent).max(0);
        let (mut kept, rest, half) = match lost {
            ..BITS => (significand >> lost, significand & ((1u128 << lost) - 1), 1u128 << (lost - 1)),
            BITS => (0, significand, 1u128 << (BITS - 1)),
            _ => (0, 0, 1),
        };
        if rest > half || rest == half && kept & 1 == 1 {
            kept += 1;
        }
        let mut exponent = exponent.max(1);
        if kept >> (format.fraction + 1) == 1 {
            (kept, exponent) = (kept >> 1, exponent + 1);
        }
        if kept >> format.fraction == 0 {
            exponent = 0;
        }
        if exponent >= highest { (highest, 1 << format.fraction) } else { (exponent, kept) }
    }

    fn emit(self, format: Format) -> u128 {
        let (exponent, fraction) = self.rounded(format);
        let low = fraction & ((1u128 << format.fraction) - 1);
        u128::from(self.negative) << (format.exponent + format.fraction)
            | (exponent as u128) << format.fraction
            | low
    }

    /// The sum, exact but for what no kind holds: it is rounded once, where it is stored.
    pub fn plus(self, other: Wide) -> Wide {
        let negative = self.negative && other.negative;
        match (self.what, other.what) {
            (What::NotANumber, _) | (_, What::Zero) if self.what != What::Zero => self,
            (_, What::NotANumber) => other,
            (What::Zero, What::Zero) => Wide { negative, what: What::Zero },
            (What::Infinite, What::Infinite) if self.negative != other.negative => {
                Wide { negative: true, what: What::NotANumber }
            }
            (What::Infinite, _) => self,
            (What::Zero, _) | (_, What::Infinite) => other,
            (
                What::Finite { exponent, significand },
                What::Finite { exponent: other_exponent, significand: other_significand },
            ) => {
                if (exponent, significand) < (other_exponent, other_significand) {
                    return other.plus(self);
                }
                // No kind has more than 113 bits: two give room for a carry, and the last one says that there
                // were others.
                let (mine, theirs) = (significand >> 2, other_significand >> 2);
                let shift = (exponent - other_exponent) as u32;
                let kept = theirs.checked_shr(shift).unwrap_or(0);
                let theirs = kept | u128::from(kept.checked_shl(shift).unwrap_or(0) != theirs);
                let same = self.negative == other.negative;
                let sum = if same { mine + theirs } else { mine - theirs };
                Wide::finite(self.negative && sum != 0, exponent + 2, sum)
            }
            _ => self,
        }
    }

    /// As a real of kind 4.
    pub fn single(self) -> f32 {
        f32::from_bits(self.emit(SINGLE) as u32)
    }

    /// As a real of kind 8.
    pub fn double(self) -> f64 {
        f64::from_bits(self.emit(DOUBLE) as u64)
    }

    /// As a real of kind 16.
    pub fn quad(self) -> u128 {
        self.emit(QUAD)
    }

    /// As a real of kind 10: its significand, and sign and exponent.
    pub fn extended(self) -> (u64, u16) {
        let (exponent, fraction) = self.rounded(EXTENDED);
        (fraction as u64, u16::from(self.negative) << 15 | exponent as u16)
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.what == What::Zero
    }

    /// Its integer part; the nearest integer there is if it is too large.
    pub fn truncated(self) -> i128 {
        match self.what {
            What::Zero | What::NotANumber => 0,
            What::Finite { exponent: ..0, .. } => 0,
            What::Finite { exponent, significand } if exponent < BITS - 1 => {
                let n = (significand >> (BITS - 1 - exponent)) as i128;
                if self.negative { -n } else { n }
            }
            _ if self.negative => i128::MIN,
            _ => i128::MAX,
        }
    }
}

/// A real of kind 10 or 16 as it lies in memory.
pub type Bytes = [u8; 16];

/// A kind of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideKind {
    /// real(10): 80 bits, and 6 bytes that have no meaning.
    Extended,
    /// real(16): 128 bits.
    Quad,
}

impl WideKind {
    /// The sum.
    pub fn add(self, a: Bytes, b: Bytes) -> Bytes {
        let [a, b] = [a, b].map(u128::from_le_bytes);
        match self {
            WideKind::Extended => {
                let of = |x: u128| Wide::of_extended(x as u64, (x >> 64) as u16);
                let (significand, head) = of(a).plus(of(b)).extended();
                (u128::from(head) << 64 | u128::from(significand)).to_le_bytes()
            }
            WideKind::Quad => Wide::of_quad(a).plus(Wide::of_quad(b)).quad().to_le_bytes(),
        }
    }

    /// Which is the larger. Not-a-numbers are larger than all other numbers of their sign.
    pub fn order(self, a: Bytes, b: Bytes) -> Ordering {
        self.rank(a).cmp(&self.rank(b))
    }

    /// A number in the order of the reals. Zeros are one.
    fn rank(self, bytes: Bytes) -> i128 {
        let bits = u128::from_le_bytes(bytes);
        let sign = if self == WideKind::Extended { 79 } else { 127 };
        let magnitude = (bits & ((1 << sign) - 1)) as i128;
        if bits >> sign & 1 != 0 { -magnitude } else { magnitude }
    }
}

/// Evidence for the kind of values of 16 bytes: for and against real(10), and for and against real(16). A
/// descriptor describes both kinds as reals of 16 bytes.
///
/// A real(10) that is not 0 and not tiny has bit 63 set. Its upper six bytes have no meaning, and mostly are
/// zeros; a real(16) with such bytes would be 0 or tiny.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Values that can only be real(10).
    pub extended: u64,
    /// Values that can only be real(16).
    pub quad: u64,
}

impl Evidence {
    /// Of these values, one after the other.
    pub fn of(values: &[u8]) -> Evidence {
        let mut found = Evidence::default();
        for value in values.as_chunks::<16>().0 {
            let bits = u128::from_le_bytes(*value);
            let exponent = |bits: u128| bits as u64 & 0x7fff;
            // From about 1e-300 to 1e300, and infinity with the not-a-numbers.
            let usual = |exponent: u64| (0x3c00..=0x43ff).contains(&exponent) || exponent == 0x7fff;
            let extended = bits >> 63 & 1 != 0 && usual(exponent(bits >> 64));
            let quad = usual(exponent(bits >> 112));
            found.extended += u64::from(extended && !quad);
            found.quad += u64::from(quad && !extended);
        }
        found
    }

    /// The kind that the values of all images show; any if they do not.
    ///
    /// # Errors
    /// They show both.
    pub fn kind(self) -> Result<WideKind, ()> {
        match (self.extended, self.quad) {
            (0, _) => Ok(WideKind::Quad),
            (_, 0) => Ok(WideKind::Extended),
            (extended, quad) if extended > 8 * quad => Ok(WideKind::Extended),
            (extended, quad) if quad > 8 * extended => Ok(WideKind::Quad),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real(10) or real(16) from one of 64 bits, made by hand.
    fn wide(kind: WideKind, value: f64) -> Bytes {
        let bits = value.to_bits();
        let (sign, exponent, fraction) = (bits >> 63, bits >> 52 & 0x7ff, u128::from(bits) & ((1 << 52) - 1));
        if value == 0.0 {
            return (u128::from(sign) << if kind == WideKind::Quad { 127 } else { 79 }).to_le_bytes();
        }
        let head = u128::from(sign << 15 | (exponent + 0x3fff - 0x3ff));
        match kind {
            WideKind::Extended => head << 64 | 1 << 63 | fraction << 11,
            WideKind::Quad => head << 112 | fraction << 60,
        }
        .to_le_bytes()
    }

    const VALUES: [f64; 9] = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5e7, 3.0e-12, 1.0e300, -7.0];

    #[test]
    fn sums_and_order_are_those_of_reals() {
        for kind in [WideKind::Extended, WideKind::Quad] {
            for a in VALUES {
                for b in VALUES {
                    let (x, y) = (wide(kind, a), wide(kind, b));
                    assert_eq!(kind.order(x, y), a.partial_cmp(&b).unwrap(), "{kind:?} {a} {b}");
                }
            }
            // Sums that are exact in 64 bits, too.
            for (a, b) in [(1.0, 2.0), (-7.0, 7.0), (0.5, -0.25), (1e15, 3.0), (0.0, -3.5)] {
                let sum = kind.add(wide(kind, a), wide(kind, b));
                assert_eq!(sum[..10], wide(kind, a + b)[..10], "{kind:?} {a} + {b}");
                assert_eq!(kind.order(sum, wide(kind, a + b)), Ordering::Equal);
            }
        }
    }

    /// The processor's sums of kind 8 are rounded once, too.
    #[test]
    fn sums_are_those_of_the_processor() {
        let mut random = 1u64;
        let mut bits = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random ^ random >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        for step in 0..200_000 {
            // Any; of about one size, where much cancels; and special ones.
            let a = f64::from_bits(bits());
            let b = match step % 3 {
                0 => f64::from_bits(bits()),
                1 => f64::from_bits(a.to_bits() ^ 1 << 63 ^ bits() >> (9 + (bits() >> 40) % 55)),
                _ => [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, -a]
                    [(bits() >> 33) as usize % 7],
            };
            for (a, b) in [(a, b), (b, a)] {
                let sum = Wide::of_double(a).plus(Wide::of_double(b)).double();
                assert!(
                    sum.to_bits() == (a + b).to_bits() || sum.is_nan() && (a + b).is_nan(),
                    "{a:e} + {b:e}: {sum:e}"
                );
            }
        }
    }

    #[test]
    fn values_show_their_kind() {
        for kind in [WideKind::Extended, WideKind::Quad] {
            let values: Vec<u8> = VALUES.iter().flat_map(|v| wide(kind, *v)).collect();
            assert_eq!(Evidence::of(&values).kind(), Ok(kind));
        }
        let zeros = Evidence::of(&[0; 64]);
        assert_eq!(zeros, Evidence::default());
        assert!(zeros.kind().is_ok());
        assert_eq!(Evidence { extended: 3, quad: 2 }.kind(), Err(()));
    }
}
