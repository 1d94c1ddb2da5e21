//! Arithmetic on constants.

use crate::front::ast::{BinOp, ConstValue};
use crate::front::types::{Scalar, TypeId, Types};

/// `v` reduced to the range of integer type `s`.
pub(crate) fn wrap(v: i128, s: Scalar) -> i128 {
    if s == Scalar::Bool {
        return i128::from(v != 0);
    }
    let bits = s.size() * 8;
    if bits >= 128 {
        return v;
    }
    let low = v & ((1i128 << bits) - 1);
    if s.is_signed() && low >> (bits - 1) != 0 { low - (1i128 << bits) } else { low }
}

/// `v` converted to arithmetic type `to`.
pub(crate) fn convert(types: &Types, v: ConstValue, to: TypeId) -> Option<ConstValue> {
    let s = types.as_scalar(to)?;
    if s.is_integer() {
        return Some(ConstValue::Int(match v {
            ConstValue::Int(i) => wrap(i, s),
            ConstValue::Float(f) if s == Scalar::Bool => i128::from(f != 0.0),
            ConstValue::Float(f) if f.is_finite() && f.abs() < 1e38 => wrap(f as i128, s),
            ConstValue::Float(_) => return None,
        }));
    }
    if s.is_float() && !s.is_decimal() {
        let f = match v {
            ConstValue::Int(i) => i as f64,
            ConstValue::Float(f) => f,
        };
        return Some(ConstValue::Float(if s.size() == 4 { f64::from(f as f32) } else { f }));
    }
    None
}

/// `a op b`, both of (arithmetic) type `ty` but for shifts and logical operators. `None` if undefined.
pub(crate) fn binary(
    types: &Types,
    op: BinOp,
    a: ConstValue,
    b: ConstValue,
    ty: TypeId,
) -> Option<ConstValue> {
    use ConstValue::{Float, Int};
    let s = types.as_scalar(ty)?;
    let truth = |b: bool| Some(Int(i128::from(b)));
    match (a, b) {
        (Int(x), Int(y)) => {
            let unsigned128 = s == Scalar::UInt128;
            let v = match op {
                BinOp::Mul => x.wrapping_mul(y),
                BinOp::Add => x.wrapping_add(y),
                BinOp::Sub => x.wrapping_sub(y),
                BinOp::Div | BinOp::Rem if y == 0 => return None,
                BinOp::Div if unsigned128 => ((x as u128) / (y as u128)) as i128,
                BinOp::Rem if unsigned128 => ((x as u128) % (y as u128)) as i128,
                BinOp::Div => x.wrapping_div(y),
                BinOp::Rem => x.wrapping_rem(y),
                BinOp::Shl | BinOp::Shr if y < 0 || y >= (s.size() * 8) as i128 => return None,
                BinOp::Shl => x.wrapping_shl(y as u32),
                BinOp::Shr if unsigned128 => ((x as u128) >> y) as i128,
                BinOp::Shr => x >> y,
                BinOp::BitAnd => x & y,
                BinOp::BitXor => x ^ y,
                BinOp::BitOr => x | y,
                BinOp::Lt if unsigned128 => return truth((x as u128) < y as u128),
                BinOp::Gt if unsigned128 => return truth(x as u128 > y as u128),
                BinOp::Le if unsigned128 => return truth(x as u128 <= y as u128),
                BinOp::Ge if unsigned128 => return truth(x as u128 >= y as u128),
                BinOp::Lt => return truth(x < y),
                BinOp::Gt => return truth(x > y),
                BinOp::Le => return truth(x <= y),
                BinOp::Ge => return truth(x >= y),
                BinOp::Eq => return truth(x == y),
                BinOp::Ne => return truth(x != y),
                BinOp::LogAnd => return truth(x != 0 && y != 0),
                BinOp::LogOr => return truth(x != 0 || y != 0),
            };
            s.is_integer().then(|| Int(wrap(v, s)))
        }
        (Float(x), Float(y)) => match op {
            BinOp::Mul => Some(Float(x * y)),
            BinOp::Add => Some(Float(x + y)),
            BinOp::Sub => Some(Float(x - y)),
            BinOp::Div => Some(Float(x / y)),
            BinOp::Lt => truth(x < y),
            BinOp::Gt => truth(x > y),
            BinOp::Le => truth(x <= y),
            BinOp::Ge => truth(x >= y),
            BinOp::Eq => truth(x == y),
            BinOp::Ne => truth(x != y),
            BinOp::LogAnd => truth(x != 0.0 && y != 0.0),
            BinOp::LogOr => truth(x != 0.0 || y != 0.0),
            _ => None,
        },
        _ => match op {
            BinOp::LogAnd => truth(is_true(a) && is_true(b)),
            BinOp::LogOr => truth(is_true(a) || is_true(b)),
            _ => None,
        },
    }
}

/// Whether a constant compares unequal to 0.
pub(crate) fn is_true(v: ConstValue) -> bool {
    match v {
        ConstValue::Int(i) => i != 0,
        ConstValue::Float(f) => f != 0.0,
    }
}

/// A numeric literal: value and type. Imaginary constants give their complex type and no value.
pub(crate) struct Literal {
    pub(crate) value: Option<ConstValue>,
    pub(crate) scalar: Scalar,
    pub(crate) imaginary: bool,
}

/// Reads a preprocessing number as a C constant.
pub(crate) fn number(text: &str) -> Result<Literal, String> {
    // Separators of digits.
    let text = &text.replace('\'', "");
    let bad = || format!("`{text}` is not a valid number");
    let lower = text.to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    let bin = lower.starts_with("0b");
    let is_float = if hex {
        lower.contains('.') || lower.contains('p')
    } else {
        !bin && (lower.contains('.') || lower.contains('e'))
    };
    if is_float {
        return float(&lower, hex).ok_or_else(bad);
    }
    let (digits, radix) = if hex {
        (&lower[2..], 16)
    } else if bin {
        (&lower[2..], 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (&lower[..], 10)
    };
    let end = digits.find(|c: char| !c.is_digit(if radix == 8 { 10 } else { radix })).unwrap_or(digits.len());
    let (num, suffix) = digits.split_at(end);
    if num.is_empty() && radix != 8 {
        return Err(bad());
    }
    let mut v: u128 = 0;
    for c in num.chars() {
        let d = c.to_digit(radix).ok_or_else(|| format!("`{c}` is not an octal digit"))?;
        v = v
            .checked_mul(u128::from(radix))
            .and_then(|v| v.checked_add(u128::from(d)))
            .ok_or_else(|| "this number is too large".to_owned())?;
    }
    let mut rest = suffix.to_owned();
    let imaginary = rest.contains(['i', 'j']);
    rest.retain(|c| c != 'i' && c != 'j');
    let (unsigned, longs) = match rest.as_str() {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ul" | "lu" => (true, 1),
        "ll" => (false, 2),
        "ull" | "llu" => (true, 2),
        _ => return Err(bad()),
    };
    use Scalar::*;
    let signed = [Int, Long, LLong];
    let uns = [UInt, ULong, ULLong];
    let fits = |s: Scalar| {
        let bits = s.size() * 8 - u64::from(s.is_signed());
        v < 1u128 << bits
    };
    let mut scalar = None;
    for i in longs..3 {
        if !unsigned && fits(signed[i]) {
            scalar = Some(signed[i]);
            break;
        }
        if (unsigned || radix != 10) && fits(uns[i]) {
            scalar = Some(uns[i]);
            break;
        }
    }
    // Decimal beyond `long long`: gcc takes `__int128`, or unsigned with a warning; the value is what counts.
    let scalar = match scalar {
        Some(s) => s,
        None if v < 1u128 << 64 => ULLong,
        None => return Err("this number is too large for any integer type".to_owned()),
    };
    Ok(Literal { value: (!imaginary).then_some(ConstValue::Int(v as i128)), scalar, imaginary })
}

fn float(lower: &str, hex: bool) -> Option<Literal> {
    let body_end = if hex {
        // Digits, point, exponent.
        let p = lower.find('p')?;
        let exp = &lower[p + 1..];
        let sign = usize::from(exp.starts_with(['+', '-']));
        let n = exp[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if n == 0 {
            return None;
        }
        p + 1 + sign + n
    } else {
        let b = lower.as_bytes();
        let mut i = 0;
        while i < b.len() && (b[i].is_ascii_digit() || b[i] == b'.') {
            i += 1;
        }
        if i < b.len() && b[i] == b'e' {
            i += 1;
            if i < b.len() && matches!(b[i], b'+' | b'-') {
                i += 1;
            }
            let from = i;
            while i < b.len() && b[i].is_ascii_digit() {
                i += 1;
            }
            if i == from {
                return None;
            }
        }
        i
    };
    let (body, suffix) = lower.split_at(body_end);
    let mut s = suffix.to_owned();
    let imaginary = s.contains(['i', 'j']);
    s.retain(|c| c != 'i' && c != 'j');
    use Scalar::*;
    let scalar = match s.as_str() {
        "" | "d" => Double,
        "f" => Float,
        "l" | "w" => LongDouble,
        "f16" => Float16,
        "f32" => Float32,
        "f64" => Float64,
        "f32x" => Float32x,
        "f64x" => Float64x,
        "f128" | "q" => Float128,
        "bf16" => BFloat16,
        "df" | "dd" | "dl" if hex => return None,
        "df" => Decimal32,
        "dd" => Decimal64,
        "dl" => Decimal128,
        _ => return None,
    };
    // A binary number would be another one.
    if scalar.is_decimal() {
        return Some(Literal { value: None, scalar, imaginary });
    }
    let v = if hex { hex_float(body)? } else { body.parse::<f64>().ok()? };
    Some(Literal { value: (!imaginary).then_some(ConstValue::Float(v)), scalar, imaginary })
}

fn hex_float(s: &str) -> Option<f64> {
    let p = s.find('p')?;
    let (mant, exp) = (&s[2..p], s[p + 1..].parse::<i32>().ok()?);
    let mut v = 0f64;
    let mut scale = 0i32;
    let mut seen_point = false;
    for c in mant.chars() {
        if c == '.' {
            if seen_point {
                return None;
            }
            seen_point = true;
            continue;
        }
        v = v * 16.0 + f64::from(c.to_digit(16)?);
        if seen_point {
            scale -= 4;
        }
    }
    Some(v * 2f64.powi(exp.saturating_add(scale)))
}

/// The characters of a quoted token (prefix and quotes included), escapes resolved: bytes for narrow strings,
/// code units for wide ones.
pub(crate) fn unescape(text: &str, wide: bool) -> Result<Vec<u32>, String> {
    let start = text.find(['"', '\'']).map_or(text.len(), |i| i + 1);
    let end = text.len().saturating_sub(1).max(start);
    let body = text.get(start..end).unwrap_or("");
    let mut out = Vec::with_capacity(body.len());
    let mut it = body.chars().peekable();
    let push = |out: &mut Vec<u32>, c: char| {
        if wide {
            out.push(c as u32);
        } else if let Some(b) = crate::front::source::raw_byte(c) {
            out.push(b.into());
        } else {
            let mut b = [0; 4];
            out.extend(c.encode_utf8(&mut b).bytes().map(u32::from));
        }
    };
    while let Some(c) = it.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let Some(e) = it.next() else { break };
        let v = match e {
            'n' => 10,
            't' => 9,
            'r' => 13,
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'v' => 11,
            'e' | 'E' => 27,
            '\\' | '\'' | '"' | '?' => e as u32,
            '0'..='7' => {
                let mut v = e as u32 - 48;
                for _ in 0..2 {
                    match it.peek().and_then(|c| c.to_digit(8)) {
                        Some(d) => {
                            v = v * 8 + d;
                            it.next();
                        }
                        None => break,
                    }
                }
                v
            }
            'x' => {
                let mut v: u32 = 0;
                let mut n = 0;
                while let Some(d) = it.peek().and_then(|c| c.to_digit(16)) {
                    v = v.wrapping_mul(16).wrapping_add(d);
                    it.next();
                    n += 1;
                }
                if n == 0 {
                    return Err("`\\x` must be followed by hexadecimal digits".to_owned());
                }
                v
            }
            'u' | 'U' => {
                let n = if e == 'u' { 4 } else { 8 };
                let mut v: u32 = 0;
                for _ in 0..n {
                    let d = it.next().and_then(|c| c.to_digit(16));
                    v = v.wrapping_mul(16).wrapping_add(d.ok_or("incomplete universal character name")?);
                }
                push(&mut out, char::from_u32(v).unwrap_or('\u{fffd}'));
                continue;
            }
            // gcc takes the character itself.
            _ => {
                push(&mut out, e);
                continue;
            }
        };
        out.push(if wide { v } else { v & 0xff });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_types_c_gives_them() {
        use Scalar::*;
        for (t, s, v) in [
            ("0", Int, 0),
            ("2147483648", Long, 1 << 31),
            ("0x80000000", UInt, 1 << 31),
            ("0xFFFFFFFFFFFFFFFF", ULong, u64::MAX as i128),
            ("017", Int, 15),
            ("1ull", ULLong, 1),
            ("10L", Long, 10),
            ("0b101u", UInt, 5),
        ] {
            let l = number(t).ok().unwrap();
            assert_eq!((l.scalar, l.value), (s, Some(ConstValue::Int(v))), "{t}");
        }
        for (t, s, v) in [
            ("1.5", Double, 1.5),
            ("1e3f", Float, 1000.0),
            ("0x1.8p1", Double, 3.0),
            (".5L", LongDouble, 0.5),
            ("1.0f128", Float128, 1.0),
        ] {
            let l = number(t).ok().unwrap();
            assert_eq!((l.scalar, l.value), (s, Some(ConstValue::Float(v))), "{t}");
        }
        assert!(number("1.0i").ok().unwrap().imaginary);
        for t in ["0x", "09", "1.2.3", "12abc", "1e", "0x1.8"] {
            assert!(number(t).is_err(), "{t}");
        }
    }

    #[test]
    fn wrapping() {
        assert_eq!(wrap(-1, Scalar::UInt), 0xffff_ffff);
        assert_eq!(wrap(0xffff_ffff, Scalar::Int), -1);
        assert_eq!(wrap(256, Scalar::UChar), 0);
        assert_eq!(wrap(7, Scalar::Bool), 1);
    }

    #[test]
    fn strings() {
        assert_eq!(unescape(r#""a\n\x41\101\0""#, false).unwrap(), [97, 10, 65, 65, 0]);
        assert_eq!(unescape("L\"\u{e9}\"", true).unwrap(), [0xe9]);
        assert_eq!(unescape("\"\u{e9}\"", false).unwrap(), [0xc3, 0xa9]);
    }
}
