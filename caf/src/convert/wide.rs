//! Reals of all kinds as one type, which holds each of them exactly.

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
            e if e == (1 << width) - 1 => {
                if low == 0 {
                    What::Infinite
                } else {
                    What::NotANumber
                }
            }
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
