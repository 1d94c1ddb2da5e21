//! Numbers and answers as people write them: `64KB`, `1.5GB`, `0x100`, `4096`.

/// Units a memory size may end in, with the power of two each stands for.
const UNITS: [(&str, u32); 6] = [("PB", 50), ("TB", 40), ("GB", 30), ("MB", 20), ("KB", 10), ("B", 0)];

/// `value` as text; memory sizes get the largest unit that divides them, so that [`parse`] reads the same
/// value back.
pub fn format(value: i64, is_mem_size: bool) -> String {
    if !is_mem_size {
        return value.to_string();
    }
    for (name, shift) in UNITS {
        let unit = 1i64 << shift;
        if value != 0 && value % unit == 0 {
            return format!("{} {name}", value / unit);
        }
    }
    format!("{value} B")
}

/// Reads a number. With a `multiplier` other than 0 the text may end in a unit, and a text without one counts
/// in units of `multiplier` bytes. Leading and trailing blanks are skipped; what cannot be read counts as
/// zero, as in C.
pub fn parse(text: &str, multiplier: u64) -> i64 {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (magnitude, rest) = magnitude(digits);
    let scaled = match magnitude {
        Magnitude::Integer(value) => value.wrapping_mul(scale(rest, multiplier)),
        Magnitude::Fraction(value) => (value * scale(rest, multiplier) as f64) as u64,
    } as i64;
    if negative { scaled.wrapping_neg() } else { scaled }
}

/// The number at the start of a text: exact when it has no fraction.
enum Magnitude {
    Integer(u64),
    Fraction(f64),
}

/// Splits a text after its leading number.
fn magnitude(text: &str) -> (Magnitude, &str) {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return (Magnitude::Integer(u64::from_str_radix(&hex[..end], 16).unwrap_or(0)), &hex[end..]);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if number.contains('.') {
        (Magnitude::Fraction(number.parse().unwrap_or(0.0)), rest)
    } else {
        (Magnitude::Integer(number.parse().unwrap_or(0)), rest)
    }
}

/// The number of bytes that the unit at the start of `rest` stands for.
fn scale(rest: &str, multiplier: u64) -> u64 {
    if multiplier == 0 {
        return 1;
    }
    match rest.trim_start().chars().next().map(|c| c.to_ascii_uppercase()) {
        Some('P') => 1 << 50,
        Some('T') => 1 << 40,
        Some('G') => 1 << 30,
        Some('M') => 1 << 20,
        Some('K') => 1 << 10,
        Some('B') => 1,
        _ => multiplier,
    }
}

/// Whether a setting of a client says yes: a first letter Y or T, or a number other than 0.
pub fn says_yes(value: &str) -> bool {
    if let Some(flag) = crate::config::parse_flag(value.trim()) {
        return flag;
    }
    match value.trim().as_bytes().first() {
        Some(b'y' | b'Y' | b't' | b'T') => true,
        Some(b'0'..=b'9') => parse(value, 0) != 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_survive_the_round_trip() {
        for shift in 0..62 {
            let value = 1i64 << shift;
            assert_eq!(parse(&format(value, true), 1), value);
            assert_eq!(parse(&format(value + 1, true), 1), value + 1);
            assert_eq!(parse(&format(value, false), 0), value);
        }
        assert_eq!(parse(&format(0, true), 1), 0);
        assert_eq!(format(3 << 20, true), "3 MB");
    }

    #[test]
    fn units_and_defaults() {
        assert_eq!(parse("64K", 1 << 20), 64 << 10);
        assert_eq!(parse("64", 1 << 20), 64 << 20);
        assert_eq!(parse(" 1.5 GB ", 1), 3 << 29);
        assert_eq!(parse("-7", 0), -7);
        assert_eq!(parse("0x10", 0), 16);
        assert_eq!(parse("rubbish", 1), 0);
    }

    #[test]
    fn yes_and_no() {
        assert!(["y", "YES", "1", "true", "42", "on"].into_iter().all(says_yes));
        assert!(!["n", "NO", "0", "false", "", "off"].into_iter().any(says_yes));
    }
}
