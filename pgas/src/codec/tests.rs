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
    let n = *random.choice(&[0, 1, 253, 254, 255, 256]).unwrap();
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
    let (nothing, one) = (sign("Nothing").to_ne_bytes(), sign("One").to_ne_bytes());
    assert_eq!(bytes(&[Shape::Nothing, Shape::One(0)]), [&[0][..], &nothing, &[1], &one, &[0, 0]].concat());
    assert_eq!(bytes(&Wrapped(1)), 1u64.to_ne_bytes());
    assert_eq!(bytes(&vec![0u8; 255])[..9], [&[255][..], &255u64.to_ne_bytes()].concat());
    assert_eq!(bytes(&vec![0u8; 253]).len(), 254);
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
fn what_has_no_length_is_counted() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq((0u8..9).filter(|n| n % 2 == 0))
        }
    }
    assert_eq!(read::<(Vec<u8>, u8)>(&bytes(&(Endless, 7u8))).unwrap(), (vec![0, 2, 4, 6, 8], 7));
}

/// Every attribute of `serde`, and what becomes of a value that has it.
mod attributes {
    use super::*;
    use serde::de::DeserializeOwned;
    use std::fmt::Debug;

    /// As a remote call writes and reads.
    fn carry<T: Serialize + DeserializeOwned + 'static>(value: &T) -> Result<T, String> {
        probe::check::<T>().map_err(|e| format!("refused: {e}"))?;
        let mut out = Vec::new();
        write(value, &mut out).map_err(|e| format!("not written: {e}"))?;
        read(&out).map_err(|e| format!("not read: {e}"))
    }

    #[track_caller]
    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static>(values: &[T]) {
        for value in values {
            assert_eq!(carry(value).as_ref(), Ok(value));
        }
    }

    #[track_caller]
    fn is_refused<T: Serialize + DeserializeOwned + Debug + 'static>(value: &T, says: &str) {
        let why = carry(value).unwrap_err();
        assert!(why.contains(says), "{why}");
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn zero(x: &u8) -> bool {
        *x == 0
    }

    #[test]
    fn fields_that_are_left_out() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct S {
            #[serde(default, skip_serializing_if = "zero")]
            a: u8,
            b: Option<u8>,
            #[serde(skip_serializing_if = "Option::is_none")]
            c: Option<String>,
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            d: Vec<u16>,
        }
        let mut all = Vec::new();
        for a in [0, 7] {
            for b in [None, Some(0), Some(1)] {
                for c in [None, Some("c".to_string())] {
                    for d in [vec![], vec![1, 2]] {
                        all.push(S { a, b, c: c.clone(), d });
                    }
                }
            }
        }
        comes_back(&all);
        comes_back(&[all]);

        /// More fields than a mark has bits in a byte, in a variant.
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        struct Many {
            #[serde(skip_serializing_if = "zero")]
            a: u8,
            b: u8,
            c: u8,
            d: u8,
            e: u8,
            f: u8,
            g: u8,
            h: u8,
            #[serde(skip_serializing_if = "zero")]
            i: u8,
            #[serde(skip_serializing_if = "zero")]
            j: u8,
        }
        impl Default for Many {
            fn default() -> Many {
                Many { a: 0, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 0, j: 0 }
            }
        }
        comes_back(&[
            Many::default(),
            Many { i: 9, ..Many::default() },
            Many { j: 9, h: 254, ..Many::default() },
        ]);
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum E {
            V {
                #[serde(default, skip_serializing_if = "zero")]
                a: u8,
                b: u8,
            },
        }
        comes_back(&[E::V { a: 0, b: 5 }, E::V { a: 5, b: 0 }]);
    }

    #[test]
    fn a_field_that_is_left_out_of_what_has_no_default_is_told() {
        #[derive(Debug, Serialize, Deserialize)]
        struct S {
            #[serde(skip_serializing_if = "zero")]
            a: u8,
            b: u8,
        }
        assert_eq!(carry(&S { a: 1, b: 2 }).map(|s| (s.a, s.b)), Ok((1, 2)));
        is_refused(&S { a: 0, b: 2 }, "missing field `a`");
        #[derive(Debug, Serialize, Deserialize)]
        struct Tuple(#[serde(skip_serializing_if = "zero")] u8, u8);
        assert_eq!(carry(&Tuple(1, 2)).map(|t| (t.0, t.1)), Ok((1, 2)));
        is_refused(&Tuple(0, 2), "`skip_serializing_if` in a tuple struct");
    }

    #[test]
    fn fields_of_one_side() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Both {
            #[serde(skip)]
            a: u8,
            b: u8,
        }
        comes_back(&[Both { a: 0, b: 3 }]);
        #[derive(Debug, Serialize, Deserialize)]
        struct Written {
            #[serde(skip_deserializing)]
            a: u8,
            b: u8,
        }
        is_refused(&Written { a: 1, b: 2 }, "`Written` is written with 2 fields and read with 1");
        #[derive(Debug, Serialize, Deserialize)]
        #[expect(dead_code, reason = "what is left out")]
        struct Read {
            #[serde(skip_serializing, default)]
            a: u8,
            b: u8,
        }
        is_refused(&vec![Read { a: 1, b: 2 }], "`Read` is written with 1 fields and read with 2");
        /// Together with one that is left out, where fields have names.
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Mixed {
            #[serde(skip_serializing, default)]
            a: u8,
            #[serde(default, skip_serializing_if = "zero")]
            b: u8,
            c: u8,
        }
        comes_back(&[Mixed { a: 0, b: 0, c: 2 }]);
        is_refused(&Mixed { a: 0, b: 1, c: 2 }, "`Mixed` is written with 2 fields and read with 3");
    }

    #[test]
    fn types_that_ask_are_refused_by_the_sender() {
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(untagged)]
        enum Untagged {
            A(u8),
            B(String),
        }
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(tag = "t")]
        enum Tagged {
            A { x: u8 },
            B,
        }
        #[derive(Debug, Clone, Serialize, Deserialize)]
        struct Inner {
            x: u8,
        }
        #[derive(Debug, Serialize, Deserialize)]
        struct Flat {
            a: u8,
            #[serde(flatten)]
            inner: Inner,
        }
        /// Only one variant contains a type that asks, deep inside.
        #[derive(Debug, Serialize, Deserialize)]
        enum Late {
            A,
            B(Vec<u8>),
            C { deep: Option<Vec<(u8, BTreeMap<String, Untagged>)>> },
        }
        is_refused(&Untagged::A(1), "refused: ");
        is_refused(&vec![Untagged::B("b".into())], "`#[serde(untagged)]`");
        is_refused(&Tagged::A { x: 1 }, "refused: ");
        is_refused(&Tagged::B, "refused: ");
        is_refused(&Flat { a: 1, inner: Inner { x: 2 } }, "refused: ");
        is_refused(&Late::A, "refused: ");
        is_refused(&(1u8, Late::B(vec![])), "refused: ");
        is_refused(&Late::C { deep: None }, "refused: ");
    }

    #[test]
    fn adjacent_tags() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "t", content = "c")]
        enum Adjacent {
            A(u8, String),
            B(f64),
        }
        comes_back(&[Adjacent::A(1, "a".into()), Adjacent::B(0.5)]);
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(tag = "t", content = "c")]
        enum Named {
            A(u8),
            B { x: u8 },
        }
        is_refused(&Named::A(1), "refused: ");
        is_refused(&Named::B { x: 1 }, "refused: ");
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(tag = "t", content = "c")]
        enum Bare {
            A,
            B(u8),
        }
        is_refused(&Bare::A, "refused: ");
        is_refused(&Bare::B(3), "refused: ");
    }

    #[test]
    fn variants_of_one_side() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Skipped {
            First,
            #[serde(skip)]
            #[expect(dead_code, reason = "what is skipped")]
            Second,
            Third,
            Fourth,
        }
        comes_back(&[Skipped::First, Skipped::Third, Skipped::Fourth]);
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Written {
            #[serde(alias = "another", alias = "one more")]
            First,
            #[serde(skip_deserializing)]
            Second,
            Third,
            Fourth,
        }
        comes_back(&[Written::First, Written::Third, Written::Fourth]);
        is_refused(&Written::Second, "variant 1 of `Written` is none where it is read");
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Other {
            #[serde(rename = "one", alias = "eins")]
            One,
            Two(u8),
            #[serde(other)]
            Rest,
        }
        comes_back(&[Other::One, Other::Two(2), Other::Rest]);
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum Unlike {
            #[serde(rename(serialize = "written"))]
            One,
        }
        is_refused(&Unlike::One, "`rename` for one side");
    }

    #[test]
    fn attributes_that_change_no_shape() {
        mod doubled {
            pub(super) fn serialize<S: serde::Serializer>(x: &u32, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_u64(u64::from(*x) * 2)
            }
            pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
                <u64 as serde::Deserialize>::deserialize(d).map(|x| (x / 2) as u32)
            }
        }
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, rename = "another")]
        struct Names {
            #[serde(rename = "x", alias = "y")]
            long_name: u8,
            #[serde(rename(serialize = "w", deserialize = "r"), default)]
            both_names: u8,
            #[serde(with = "doubled")]
            doubled: u32,
        }
        comes_back(&[Names { long_name: 1, both_names: 2, doubled: 3 }]);
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        struct Clear {
            inner: Vec<u8>,
        }
        comes_back(&[Clear { inner: vec![1, 2] }]);
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(from = "(u8, u8)", into = "(u8, u8)")]
        struct Pair(u8, u8);
        impl From<(u8, u8)> for Pair {
            fn from((a, b): (u8, u8)) -> Pair {
                Pair(b, a)
            }
        }
        impl From<Pair> for (u8, u8) {
            fn from(pair: Pair) -> (u8, u8) {
                (pair.1, pair.0)
            }
        }
        comes_back(&[Pair(1, 2)]);
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(try_from = "u8", into = "u8")]
        struct Even(u8);
        impl TryFrom<u8> for Even {
            type Error = String;
            fn try_from(n: u8) -> Result<Even, String> {
                if n.is_multiple_of(2) { Ok(Even(n)) } else { Err(format!("{n} is odd")) }
            }
        }
        impl From<Even> for u8 {
            fn from(even: Even) -> u8 {
                even.0
            }
        }
        comes_back(&[Even(2)]);
        is_refused(&Even(3), "3 is odd");
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(bound = "T: Serialize + DeserializeOwned + Default")]
        struct Bound<T> {
            #[serde(default)]
            value: T,
        }
        comes_back(&[Bound { value: Some(1u8) }]);
        use std::net::{IpAddr, Ipv4Addr};
        use std::time::Duration;
        comes_back(&[(IpAddr::V4(Ipv4Addr::LOCALHOST), Duration::from_millis(1500))]);
        comes_back(&[Ok::<u8, String>(1), Err("e".into())]);
        comes_back(&[(std::num::NonZeroU8::MIN, 'a'..'b', std::ops::Bound::Included(3u8))]);
        comes_back(&[std::ffi::OsString::from("a")]);
    }
}

/// A `Serialize` that says one length and writes another.
struct Liar {
    says: Option<usize>,
    writes: u32,
    /// 0: a sequence; 1: a map; 2: a tuple; 3: a struct.
    kind: u8,
}

impl Serialize for Liar {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ser::{SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};
        let said = self.says.unwrap_or(0);
        match self.kind {
            0 => {
                let mut seq = serializer.serialize_seq(self.says)?;
                (0..self.writes).try_for_each(|n| seq.serialize_element(&n))?;
                seq.end()
            }
            1 => {
                let mut map = serializer.serialize_map(self.says)?;
                (0..self.writes).try_for_each(|n| map.serialize_entry(&n, &n))?;
                map.end()
            }
            2 => {
                let mut tuple = serializer.serialize_tuple(said)?;
                (0..self.writes).try_for_each(|n| tuple.serialize_element(&n))?;
                tuple.end()
            }
            _ => {
                let mut fields = serializer.serialize_struct("Liar", said)?;
                (0..self.writes).try_for_each(|n| fields.serialize_field("x", &n))?;
                fields.end()
            }
        }
    }
}

#[test]
fn a_length_that_does_not_hold_is_told() {
    for kind in 0..4 {
        for (says, writes) in [(3, 2), (2, 3), (0, 1), (300, 1), (1, 300)] {
            let why =
                write(&Liar { says: Some(says), writes, kind }, &mut Vec::new()).unwrap_err().to_string();
            assert!(why.contains(&format!("says it has {says} elements, and then writes {writes}")), "{why}");
        }
        write(&Liar { says: Some(3), writes: 3, kind }, &mut Vec::new()).unwrap();
    }
}

#[test]
fn depth_has_a_bound_on_both_sides() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Node {
        next: Option<Box<Node>>,
    }
    fn list(n: usize) -> Node {
        (0..n).fold(Node { next: None }, |list, _| Node { next: Some(Box::new(list)) })
    }
    fn end(mut list: Node) {
        // One after the other: dropping is recursive, too.
        while let Some(next) = list.next.take() {
            list = *next;
        }
    }
    let fits = list(DEEPEST as usize);
    let written = bytes(&fits);
    assert!(read::<Node>(&written).is_ok());
    for n in [DEEPEST as usize + 1, if cfg!(miri) { 2000 } else { 1_000_000 }] {
        let deep = list(n);
        assert!(write(&deep, &mut Vec::new()).unwrap_err().to_string().contains("deep"));
        end(deep);
        // Bytes that this crate's own writer would not have made.
        let forged = [1u8, 1].repeat(n);
        assert!(read::<Node>(&forged).unwrap_err().to_string().contains("deep"));
    }
    #[derive(Serialize, Deserialize)]
    enum Tree {
        Leaf,
        Branch(Vec<Tree>),
    }
    let branch = [&[1][..], &sign("Branch").to_ne_bytes(), &[1]].concat();
    let leaf = [&[0][..], &sign("Leaf").to_ne_bytes()].concat();
    let forged = branch.repeat(100_000);
    assert!(read::<Tree>(&forged).is_err_and(|e| e.to_string().contains("deep")));
    assert_eq!(bytes(&Tree::Branch(vec![Tree::Leaf])), [branch, leaf].concat());
}
