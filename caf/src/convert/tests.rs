use super::*;
use crate::wide::Wide;

fn element(class: Class, kind: i32, bytes: usize) -> Element {
    Element { class, kind, bytes }
}

/// One element converted: its bytes.
fn assigned(to: Element, from: Element, bytes: &[u8]) -> Vec<u8> {
    assert_eq!(bytes.len(), from.bytes);
    let mut out = vec![0xee; to.bytes];
    let how = Conversion::between(to, from).expect("a conversion");
    // SAFETY: elements of these types.
    unsafe { convert(how, (out.as_mut_ptr(), to), (bytes.as_ptr(), from)) };
    out
}

const DOUBLES: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    std::f64::consts::PI,
    1e300,
    -1e-300,
    5e-324,
    1e-310,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    123456789.125,
    -0.1,
    3.4e38,
];

/// Wider kinds hold narrower ones exactly.
#[test]
fn reals_survive_wider_kinds() {
    let double = element(Class::Real, 8, 8);
    for wider in [element(Class::Real, 10, 16), element(Class::Real, 16, 16)] {
        for x in DOUBLES {
            let there = assigned(wider, double, &x.to_ne_bytes());
            let back = assigned(double, wider, &there);
            assert_eq!(f64::from_ne_bytes(back.try_into().unwrap()).to_bits(), x.to_bits(), "{x:e}");
        }
        let there = assigned(wider, double, &f64::NAN.to_ne_bytes());
        assert!(f64::from_ne_bytes(assigned(double, wider, &there).try_into().unwrap()).is_nan());
    }
}

/// The machine's own conversion is the oracle.
#[test]
fn reals_are_rounded_as_by_the_machine() {
    let check = |x: f64| {
        let single = Wide::of_double(x).single();
        assert!(single.to_bits() == (x as f32).to_bits() || x.is_nan() && single.is_nan(), "{x:e}");
    };
    DOUBLES.into_iter().for_each(check);
    let mut bits = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..100_000 {
        bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        check(f64::from_bits(bits));
        // Near the range of single precision, with ties and without.
        let near = (bits >> 40 << 28) | (0x36a + (bits >> 5) % 0x11c) << 52;
        check(f64::from_bits(near));
    }
}

#[test]
fn integers_become_reals_and_back() {
    let (wide, extended, long) =
        (element(Class::Real, 16, 16), element(Class::Real, 10, 16), element(Class::Integer, 8, 8));
    for n in [0i64, 1, -1, 42, i64::MAX, i64::MIN, -(1 << 40) - 1] {
        for real in [wide, extended] {
            let there = assigned(real, long, &n.to_ne_bytes());
            assert_eq!(assigned(long, real, &there), n.to_ne_bytes(), "{n}");
        }
    }
    let single = element(Class::Real, 4, 4);
    assert_eq!(
        assigned(element(Class::Integer, 4, 4), single, &(-2.9f32).to_ne_bytes()),
        (-2i32).to_ne_bytes()
    );
    assert_eq!(Wide::of_double(-2.9).truncated(), -2);
    assert_eq!(Wide::of_double(0.9).truncated(), 0);
    // One: exponent 16383, and the leading bit that only kind 10 stores.
    assert_eq!(Wide::of_integer(1).extended(), (1 << 63, 16383));
    assert_eq!(Wide::of_integer(1).quad(), 16383 << 112);
}

#[test]
fn complex_numbers_have_two_parts() {
    let (complex, wide) = (element(Class::Complex, 4, 8), element(Class::Complex, 16, 32));
    let both = [1.5f32.to_ne_bytes(), (-2f32).to_ne_bytes()].concat();
    assert_eq!(assigned(complex, wide, &assigned(wide, complex, &both)), both);
    let real = assigned(element(Class::Integer, 2, 2), complex, &both);
    assert_eq!(real, 1i16.to_ne_bytes());
    let from_real = assigned(complex, element(Class::Real, 8, 8), &2.5f64.to_ne_bytes());
    assert_eq!(from_real, [2.5f32.to_ne_bytes(), [0; 4]].concat());
}

#[test]
fn logicals_are_true_if_not_zero() {
    let (one, eight) = (element(Class::Logical, 1, 1), element(Class::Logical, 8, 8));
    assert_eq!(assigned(eight, one, &[1]), 1u64.to_ne_bytes());
    assert_eq!(assigned(one, eight, &256u64.to_ne_bytes()), [1]);
    assert_eq!(assigned(one, eight, &[0; 8]), [0]);
}

#[test]
fn characters_are_padded_cut_and_widened() {
    let narrow = |n: usize| element(Class::Character, 1, n);
    let wide = |n: usize| element(Class::Character, 4, 4 * n);
    assert_eq!(assigned(narrow(5), narrow(3), b"abc"), b"abc  ");
    assert_eq!(assigned(narrow(2), narrow(3), b"abc"), b"ab");
    assert_eq!(assigned(narrow(0), narrow(3), b"abc"), b"");
    let four = assigned(wide(3), narrow(2), b"xy");
    assert_eq!(four, [b'x', 0, 0, 0, b'y', 0, 0, 0, b' ', 0, 0, 0]);
    assert_eq!(assigned(narrow(4), wide(3), &four), b"xy  ");
    assert_eq!(Conversion::between(narrow(1), element(Class::Integer, 1, 1)), None);
}
