use super::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Nothing,
    One(u16),
    Two(i8, String),
    Named { x: f64, y: Option<char> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(u64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct All {
    unit: Unit,
    wrapped: Wrapped,
    numbers: (u8, u16, u32, u64, u128, i8, i16, i32, i64, i128),
    floats: [f32; 3],
    truth: bool,
    shapes: Vec<Shape>,
    map: BTreeMap<String, Vec<u8>>,
    nested: Option<Option<Box<All>>>,
}

fn all(random: &mut fastrand::Rng, depth: u32) -> All {
    let shapes = |n, random: &mut fastrand::Rng| {
        let shape = |_| match random.u8(..4) {
            0 => Shape::Nothing,
            1 => Shape::One(random.u16(..)),
            2 => Shape::Two(random.i8(..), "\u{fc}".repeat(random.usize(..200))),
            _ => Shape::Named { x: random.f64(), y: random.bool().then(|| random.char(..)) },
        };
        (0..n).map(shape).collect()
    };
    let n = *random.choice(&[0, 1, 254, 255, 256]).unwrap();
    All {
        unit: Unit,
        wrapped: Wrapped(random.u64(..)),
        numbers: (1, 2, random.u32(..), u64::MAX, u128::MAX - 1, -1, i16::MIN, random.i32(..), -7, i128::MIN),
        floats: [random.f32(), f32::INFINITY, -0.0],
        truth: random.bool(),
        shapes: shapes(n, random),
        map: (0..random.u8(..4)).map(|i| (i.to_string(), vec![i; n])).collect(),
        nested: (depth > 0).then(|| random.bool().then(|| Box::new(all(random, depth - 1)))),
    }
}

fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out).unwrap();
    out
}

#[test]
fn values_come_back() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..if cfg!(miri) { 2 } else { 300 } {
        let value = all(&mut random, 3);
        let written = bytes(&value);
        assert_eq!(read::<All>(&written).unwrap(), value);
        // Neither with a byte less nor with one more.
        assert!(read::<All>(&written[..written.len() - 1]).is_err());
        assert!(read::<All>(&[&written[..], &[0]].concat()).is_err());
    }
}

#[test]
fn the_format_is_as_documented() {
    assert_eq!(bytes(&(1u8, 0x0203u16, -1i32)), [&[1][..], &0x0203u16.to_ne_bytes(), &[255; 4]].concat());
    assert_eq!(bytes(&(true, 'a')), [&[1][..], &97u32.to_ne_bytes()].concat());
    assert_eq!(bytes(&("ab", [7u8; 2], vec![9u8])), *b"\x02ab\x07\x07\x01\x09");
    assert_eq!(bytes(&(None::<u8>, Some(5u8), ())), [0, 1, 5]);
    assert_eq!(bytes(&[Shape::Nothing, Shape::One(0)]), [0, 1, 0, 0]);
    assert_eq!(bytes(&vec![0u8; 255])[..9], [&[255][..], &255u64.to_ne_bytes()].concat());
    assert_eq!(bytes(&vec![0u8; 254]).len(), 255);
}

#[test]
fn text_is_borrowed() {
    let written = bytes(&("gr\u{fc}n", 5u32));
    let (text, _) = read::<(&str, u32)>(&written).unwrap();
    assert!(written.as_ptr_range().contains(&text.as_ptr()));
}

/// Bytes that nobody has written are an error, or another value; memory is not asked for by what they
/// say.
#[test]
fn any_bytes_can_be_read() {
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..if cfg!(miri) { 6 } else { 3000 } {
        let mut written = bytes(&all(&mut random, 1));
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..written.len());
            let any = random.u8(..);
            written[at] = *random.choice(&[0, 1, 2, 254, 255, any]).unwrap();
        }
        written.truncate(random.usize(..=written.len()));
        let _ = read::<All>(&written);
    }
    let long = [&[255][..], &u64::MAX.to_ne_bytes()].concat();
    assert!(read::<Vec<u64>>(&long).is_err() && read::<String>(&long).is_err());
    assert!(read::<Shape>(&[4]).is_err() && read::<Shape>(&long).is_err());
    assert!(read::<bool>(&[2]).is_err() && read::<Option<()>>(&[2]).is_err());
    assert!(read::<char>(&0xd800u32.to_ne_bytes()).is_err() && read::<&str>(&[1, 0xff]).is_err());
}

#[test]
fn what_has_no_length_is_told() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq((0u8..9).filter(|n| n % 2 == 0))
        }
    }
    assert!(write(&Endless, &mut Vec::new()).unwrap_err().to_string().contains("how long"));
}
