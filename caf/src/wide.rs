//! Numbers of kinds that Rust has no types for: real(10) and real(16), as 16 bytes each.
#![expect(
    unsafe_code,
    reason = "calls the compiler's arithmetic, and uses registers of the processor by name"
)]

use std::cmp::Ordering;

/// A real of kind 10 or 16 as it lies in memory.
pub type Bytes = [u8; 16];

/// A kind of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wide {
    /// real(10): 80 bits, and 6 bytes that have no meaning.
    Extended,
    /// real(16): 128 bits.
    Quad,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    /// The sum of two reals of 128 bits, in the first two floating-point registers, to the first: of the
    /// compiler's support library. Rust has no type for them.
    fn __addtf3();
}

/// The sum of two reals of 128 bits.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn add_quad(a: Bytes, b: Bytes) -> Bytes {
    #[cfg(target_arch = "aarch64")]
    use core::arch::aarch64::uint8x16_t as Register;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::__m128i as Register;
    // SAFETY: both types have 16 bytes, any of which are a value; a call by the rules of the processor.
    unsafe {
        let mut sum = std::mem::transmute::<Bytes, Register>(a);
        let b = std::mem::transmute::<Bytes, Register>(b);
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "call {add}", add = sym __addtf3, inout("xmm0") sum, inout("xmm1") b => _, clobber_abi("C")
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "bl {add}", add = sym __addtf3, inout("v0") sum, inout("v1") b => _, clobber_abi("C")
        );
        std::mem::transmute::<Register, Bytes>(sum)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn add_quad(_: Bytes, _: Bytes) -> Bytes {
    unreachable!("no such kind here")
}

impl Wide {
    /// The sum.
    pub fn add(self, a: Bytes, b: Bytes) -> Bytes {
        match self {
            #[cfg(target_arch = "x86_64")]
            Wide::Extended => {
                let mut sum = a;
                // SAFETY: three variables of 16 bytes; two numbers are pushed, and both popped.
                unsafe {
                    core::arch::asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        "faddp st(1), st",
                        "fstp tbyte ptr [{sum}]",
                        a = in(reg) &raw const a,
                        b = in(reg) &raw const b,
                        sum = in(reg) &raw mut sum,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                sum
            }
            #[cfg(not(target_arch = "x86_64"))]
            Wide::Extended => unreachable!("no such kind here"),
            Wide::Quad => add_quad(a, b),
        }
    }

    /// Which is the larger. Not-a-numbers are larger than all other numbers of their sign.
    pub fn order(self, a: Bytes, b: Bytes) -> Ordering {
        self.rank(a).cmp(&self.rank(b))
    }

    /// A number in the order of the reals. Zeros are one.
    fn rank(self, bytes: Bytes) -> i128 {
        let bits = u128::from_le_bytes(bytes);
        let (magnitude, negative) = match self {
            Wide::Extended => (bits & ((1 << 79) - 1), bits >> 79 & 1 != 0),
            Wide::Quad => (bits & (u128::MAX >> 1), bits >> 127 != 0),
        };
        if negative { -(magnitude as i128) } else { magnitude as i128 }
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
    pub fn kind(self) -> Result<Wide, ()> {
        match (self.extended, self.quad) {
            (0, _) => Ok(Wide::Quad),
            (_, 0) => Ok(Wide::Extended),
            (extended, quad) if extended > 8 * quad => Ok(Wide::Extended),
            (extended, quad) if quad > 8 * extended => Ok(Wide::Quad),
            _ => Err(()),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A real(10) or real(16) from one of 64 bits, made by hand.
    fn wide(kind: Wide, value: f64) -> Bytes {
        let bits = value.to_bits();
        let (sign, exponent, fraction) = (bits >> 63, bits >> 52 & 0x7ff, u128::from(bits) & ((1 << 52) - 1));
        if value == 0.0 {
            return (u128::from(sign) << if kind == Wide::Quad { 127 } else { 79 }).to_le_bytes();
        }
        let head = u128::from(sign << 15 | (exponent + 0x3fff - 0x3ff));
        match kind {
            Wide::Extended => head << 64 | 1 << 63 | fraction << 11,
            Wide::Quad => head << 112 | fraction << 60,
        }
        .to_le_bytes()
    }

    const VALUES: [f64; 9] = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5e7, 3.0e-12, 1.0e300, -7.0];

    #[test]
    fn sums_and_order_are_those_of_reals() {
        for kind in [Wide::Extended, Wide::Quad] {
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

    #[test]
    fn values_show_their_kind() {
        for kind in [Wide::Extended, Wide::Quad] {
            let values: Vec<u8> = VALUES.iter().flat_map(|v| wide(kind, *v)).collect();
            assert_eq!(Evidence::of(&values).kind(), Ok(kind));
        }
        let zeros = Evidence::of(&[0; 64]);
        assert_eq!(zeros, Evidence::default());
        assert!(zeros.kind().is_ok());
        assert_eq!(Evidence { extended: 3, quad: 2 }.kind(), Err(()));
    }
}
