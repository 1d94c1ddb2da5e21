//! `co_broadcast`, `co_sum`, `co_min`, `co_max` and `co_reduce`.
//!
//! All images must call them with arguments of the same type and shape. The core's operation carries the
//! size of the argument and a byte of its [signature](Subject::signature). If these differ, the job ends
//! with a message that has the meaning of the byte ([`in_words`]). With `GASNET_CHECK=1` the images compare
//! all parameters before, and the message has all of them.

use crate::descriptor::{Class, Element};
use crate::image::Image;
use crate::joint::{ALLOCATE, Combine, How};
use crate::stat::Failure;
use crate::wide::{Bytes, Evidence, WideKind};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::coll::{Called, ElementType};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The collective subroutines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `co_broadcast`, with the image that has the value.
    Broadcast(i32),
    /// `co_sum`.
    Sum,
    /// `co_min`.
    Min,
    /// `co_max`.
    Max,
    /// `co_reduce`.
    Reduce,
}

/// The parameters of a call of a collective subroutine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The subroutine.
    pub action: Action,
    /// The type of the elements; of characters the kind, of others 0.
    pub element: Element,
    /// Elements along each dimension.
    pub extents: Vec<usize>,
    /// The image that gets the result; 0: all.
    pub result: i32,
}

/// The types of elements, in the order of their numbers.
const CLASSES: [Class; 6] =
    [Class::Integer, Class::Logical, Class::Real, Class::Complex, Class::Character, Class::Derived];
/// Subroutines, in the order of their numbers.
const COMBINING: [&str; 4] = ["co_sum", "co_min", "co_max", "co_reduce"];
/// Meanings that messages tell apart: `allocate`, and each subroutine with each type.
const MEANINGS: u8 = 1 + (COMBINING.len() * CLASSES.len()) as u8;
/// Calls with one meaning that messages tell apart.
const REST: u8 = 8;
const _: () = assert!(ALLOCATE == 0 && MEANINGS * REST <= ElementType::OTHERS);

/// The line about images that do not call the same.
pub fn in_words(first: &Called, second: &Called) -> String {
    let image = |called: &Called| called.rank.0 + 1;
    let (one, mut other) = (meaning(first), meaning(second));
    if one == other {
        other += ", of another shape, kind or result_image";
    }
    format!(
        "Fortran runtime error: statements of images do not match: image {} executes {one}, and image {} executes {other}: all images of a \
         team execute the same image control statements and collective subroutines in the same order, with arguments of one type and \
         shape\n\nError termination.",
        image(first),
        image(second)
    )
}

/// The call of an image in words, as far as its messages describe it.
fn meaning(called: &Called) -> String {
    let (bytes, image) = (called.bytes, called.root.map(|root| root + 1));
    let with = |name: &str| image.map_or(String::new(), |image| format!(", {name} {image}"));
    match (called.name, called.element_type.map(|number| number % MEANINGS)) {
        ("a barrier", _) => "sync all, or another statement at which images wait for each other".into(),
        ("a broadcast", _) => format!("co_broadcast of {bytes} bytes{}", with("source_image")),
        ("a reduction" | "a reduction to all", Some(0)) => "allocate of a coarray".into(),
        ("a reduction" | "a reduction to all", Some(number)) => {
            let (action, class) =
                ((number - 1) as usize / CLASSES.len(), (number - 1) as usize % CLASSES.len());
            let (name, class) = (COMBINING[action], CLASSES[class].name());
            format!("{name} of {bytes} bytes of {class}{}", with("result_image"))
        }
        ("a reduction" | "a reduction to all", None) => format!("a collective subroutine of {bytes} bytes"),
        ("a gather_all", _) => "form team".into(),
        (name, _) => name.into(),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.action {
            Action::Broadcast(_) => "co_broadcast",
            Action::Sum => "co_sum",
            Action::Min => "co_min",
            Action::Max => "co_max",
            Action::Reduce => "co_reduce",
        })?;
        write!(f, " of {} of {} bytes", self.element.class.name(), self.element.bytes)?;
        if !self.extents.is_empty() {
            let extents: Vec<String> = self.extents.iter().map(usize::to_string).collect();
            write!(f, ", shape [{}]", extents.join(", "))?;
        }
        match self.action {
            Action::Broadcast(source) => write!(f, ", source_image {source}"),
            _ if self.result != 0 => write!(f, ", result_image {}", self.result),
            _ => Ok(()),
        }
    }
}

impl Subject {
    /// A word that calls have in common that match. It is the same for different calls by chance only. The
    /// lowest byte, which messages carry, is the number of a [`meaning`] and a part of all the rest.
    fn signature(&self) -> u64 {
        let Element { class, kind, bytes } = self.element;
        let action = match self.action {
            Action::Broadcast(source) => u64::from(source as u32) << 8,
            Action::Sum => 1,
            Action::Min => 2,
            Action::Max => 3,
            Action::Reduce => 4,
        };
        let words = [action, class as u64, kind as u64, bytes as u64, self.result as u64];
        let extents = self.extents.iter().map(|extent| *extent as u64);
        // FNV-1a, by words, and its bits mixed.
        let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        let hash = words.into_iter().chain(extents).fold(0xcbf2_9ce4_8422_2325, step);
        let rest = hash >> 32 & (u64::from(REST) - 1);
        hash & !0xff | (rest * u64::from(MEANINGS) + u64::from(self.meaning()))
    }

    /// Its subroutine and type as a number; 0 is [`ALLOCATE`].
    fn meaning(&self) -> u8 {
        let action = match self.action {
            Action::Broadcast(_) | Action::Sum => 0,
            Action::Min => 1,
            Action::Max => 2,
            Action::Reduce => 3,
        };
        1 + action * CLASSES.len() as u8 + self.element.class as u8
    }

    fn bytes(&self) -> usize {
        self.extents.iter().product::<usize>() * self.element.bytes
    }

    /// How the elements are combined, if it is known of this type. 16-byte reals are of the `wide` kind.
    fn how(&self, wide: WideKind) -> Option<How> {
        let Element { class, kind, bytes } = self.element;
        let signature = self.signature();
        let function = match self.action {
            Action::Sum => Function::Add,
            Action::Min => Function::Min,
            Action::Max => Function::Max,
            _ => return None,
        };
        let sum = function == Function::Add;
        let word = match (class, bytes) {
            (Class::Integer, 4) => Some(WordType::I32),
            (Class::Integer, 8) => Some(WordType::I64),
            (Class::Real, 4) => Some(WordType::F32),
            (Class::Real, 8) => Some(WordType::F64),
            (Class::Complex, 8) if sum => Some(WordType::F32),
            (Class::Complex, 16) if sum => Some(WordType::F64),
            _ => None,
        };
        let how = How { element: bytes, signature, known: None, combine: None, commutes: true };
        if let Some(word) = word {
            return Some(How { known: Some(Operation { function, word }), ..how });
        }
        let wanted = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
        let combine: Arc<Combine> = match (class, bytes, sum) {
            (Class::Integer, 1, _) => integers::<1>(sum, wanted),
            (Class::Integer, 2, _) => integers::<2>(sum, wanted),
            (Class::Integer, 16, _) => integers::<16>(sum, wanted),
            (Class::Real, 16, true) | (Class::Complex, 32, true) => each(move |a: Bytes, b| wide.add(a, b)),
            (Class::Real, 16, false) => pick(wanted, move |a, b| wide.order(a, b)),
            (Class::Character, 1.., false) => text(bytes, kind, wanted),
            _ => return None,
        };
        Some(How { combine: Some(combine), ..how })
    }
}

/// Combines elements of `N` bytes.
fn each<const N: usize>(f: impl Fn([u8; N], [u8; N]) -> [u8; N] + Send + Sync + 'static) -> Arc<Combine> {
    Arc::new(move |a, b| {
        for (a, b) in a.as_chunks_mut().0.iter_mut().zip(b.as_chunks().0) {
            *a = f(*a, *b);
        }
    })
}

/// The sum of integers of `N` bytes, or what compares as wanted.
fn integers<const N: usize>(sum: bool, wanted: Ordering) -> Arc<Combine> {
    let value = |bytes: [u8; N]| {
        let mut all = [if bytes[N - 1] < 0x80 { 0 } else { 0xff }; 16];
        all[..N].copy_from_slice(&bytes);
        i128::from_le_bytes(all)
    };
    if !sum {
        return pick(wanted, move |a, b| value(a).cmp(&value(b)));
    }
    each(move |a, b| {
        let sum = value(a).wrapping_add(value(b)).to_le_bytes();
        std::array::from_fn(|i| sum[i])
    })
}

/// Takes the second operand where it compares so with the first.
fn pick<const N: usize>(
    wanted: Ordering,
    order: impl Fn([u8; N], [u8; N]) -> Ordering + Send + Sync + 'static,
) -> Arc<Combine> {
    each(move |a, b| if order(b, a) == wanted { b } else { a })
}

/// The same of characters: strings of `bytes` bytes.
fn text(bytes: usize, kind: i32, wanted: Ordering) -> Arc<Combine> {
    Arc::new(move |a, b| {
        for (a, b) in a.chunks_mut(bytes).zip(b.chunks(bytes)) {
            let order = match kind {
                4 => {
                    let units =
                        |s: &[u8]| s.as_chunks().0.iter().map(|c| u32::from_ne_bytes(*c)).collect::<Vec<_>>();
                    units(b).cmp(&units(a))
                }
                _ => (*b).cmp(a),
            };
            if order == wanted {
                a.copy_from_slice(b);
            }
        }
    })
}

impl Image {
    /// `co_broadcast`: the elements of all images become those of the source.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// There is no such source, or an image has stopped.
    pub fn co_broadcast(&self, subject: &Subject, source: i32, bytes: &mut [u8]) -> Result<(), Failure> {
        let level = self.level();
        if level.rank_of(source).is_none() {
            return Err(Failure::other(format!(
                "co_broadcast from source_image {source} in a team of {} images",
                level.size()
            ))
            .shared());
        }
        self.compare(subject)?;
        self.hand_out(level, source as u32 - 1, bytes)
    }

    /// `co_sum`, `co_min` and `co_max`, or `co_reduce` with a function. Returns whether this image has a
    /// result.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// There is no such result image, the type has no such operation, or an image has stopped.
    pub fn co_reduce(
        &self,
        subject: &Subject,
        function: Option<Arc<Combine>>,
        bytes: &mut [u8],
    ) -> Result<bool, Failure> {
        let level = self.level();
        if subject.result != 0 && level.rank_of(subject.result).is_none() {
            return Err(Failure::other(format!(
                "{subject}: there is no such image in a team of {}",
                level.size()
            ))
            .shared());
        }
        self.compare(subject)?;
        let how = match function {
            Some(f) => How {
                element: subject.element.bytes,
                signature: subject.signature(),
                known: None,
                combine: Some(f),
                commutes: false,
            },
            None => {
                let wide = self.wide(subject, bytes)?;
                subject.how(wide).ok_or_else(|| Failure::other(format!("{subject}: not defined")).shared())?
            }
        };
        let to = (subject.result != 0).then(|| subject.result as u32 - 1);
        self.combine(level, to, bytes, &how)?;
        Ok(subject.result == 0 || subject.result == level.this_image())
    }

    /// The kind of reals of 16 bytes, on which the images agree.
    fn wide(&self, subject: &Subject, bytes: &[u8]) -> Result<WideKind, Failure> {
        let Element { class, bytes: n, .. } = subject.element;
        // Other processors have one such kind.
        if !cfg!(target_arch = "x86_64") || !matches!((class, n), (Class::Real, 16) | (Class::Complex, 32)) {
            return Ok(WideKind::Quad);
        }
        let Evidence { extended, quad } = Evidence::of(bytes);
        let mut words = [extended.to_ne_bytes(), quad.to_ne_bytes()];
        let add = Operation { function: Function::Add, word: WordType::U64 };
        let signature = subject.signature();
        let how = How { element: 8, signature, known: Some(add), combine: None, commutes: true };
        self.combine(self.level(), None, words.as_flattened_mut(), &how)?;
        let [extended, quad] = words.map(u64::from_ne_bytes);
        Evidence { extended, quad }.kind().map_err(|()| {
            Failure::other(format!(
                "{subject}: the compiler does not say whether the kind is 10 or 16, and the values do not show it"
            ))
            .shared()
        })
    }

    /// Under `GASNET_CHECK`, ends the job if the images do not call the same.
    fn compare(&self, subject: &Subject) -> Result<(), Failure> {
        if !self.rank.config().check {
            return Ok(());
        }
        const WORDS: usize = 16;
        let mut words = [0u64; WORDS];
        let text = subject.to_string();
        for (word, part) in words.iter_mut().zip(text.as_bytes().chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            *word = u64::from_le_bytes(bytes);
        }
        let level = self.level();
        let all = self.tell_all(level, &words)?;
        let said = |member: usize| {
            let bytes: Vec<u8> =
                all[member * WORDS..][..WORDS].iter().flat_map(|word| word.to_le_bytes()).collect();
            String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string()
        };
        let other = (1..level.size()).find(|member| said(*member) != said(0));
        if let Some(other) = other {
            let failure = Failure::other(format!(
                "collective subroutines do not match: image 1 calls {}, and image {} calls {}",
                said(0),
                other + 1,
                said(other)
            ));
            self.fail(&failure.shared());
        }
        Ok(())
    }
}

/// The number of bytes that an argument has.
///
/// # Errors
/// It has elements and no memory: it is not allocated.
pub fn check_allocated(subject: &Subject, is_null: bool) -> Result<usize, Failure> {
    let bytes = subject.bytes();
    if is_null && bytes > 0 {
        return Err(Failure::other(format!("{subject}: the argument is not allocated on this image")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet::RankId;

    fn subject(action: Action, class: Class, kind: i32, bytes: usize) -> Subject {
        Subject { action, element: Element { class, kind, bytes }, extents: vec![3], result: 0 }
    }

    fn combined(action: Action, class: Class, kind: i32, bytes: usize, a: &[u8], b: &[u8]) -> Vec<u8> {
        let how = subject(action, class, kind, bytes).how(WideKind::Quad).expect("is defined");
        let mut first = a.to_vec();
        how.combine.expect("not a word")(&mut first, b);
        first
    }

    #[test]
    fn small_and_large_integers_are_signed() {
        let of = |v: [i8; 3]| v.map(|v| v as u8);
        let (a, b) = (of([-3, 100, 127]), of([2, 100, 1]));
        assert_eq!(combined(Action::Min, Class::Integer, 0, 1, &a, &b), of([-3, 100, 1]));
        assert_eq!(combined(Action::Max, Class::Integer, 0, 1, &a, &b), of([2, 100, 127]));
        assert_eq!(combined(Action::Sum, Class::Integer, 0, 1, &a, &b), of([-1, -56, -128]));
        let (a, b) = ((-5i128).to_ne_bytes(), (i128::MAX).to_ne_bytes());
        assert_eq!(combined(Action::Max, Class::Integer, 0, 16, &a, &b), b);
        assert_eq!(combined(Action::Min, Class::Integer, 0, 16, &a, &b), a);
    }

    #[test]
    fn characters_compare_by_their_codes() {
        assert_eq!(combined(Action::Max, Class::Character, 1, 3, b"abcxyz", b"abd\xffaa"), b"abd\xffaa");
        assert_eq!(combined(Action::Min, Class::Character, 1, 3, b"abcxyz", b"abdxya"), b"abcxya");
        let wide = |s: &str| s.chars().flat_map(|c| (c as u32).to_ne_bytes()).collect::<Vec<_>>();
        // Its bytes would compare the other way on this machine.
        let (a, b) = (wide("\u{1ff}"), wide("\u{200}"));
        assert_eq!(combined(Action::Max, Class::Character, 4, 4, &a, &b), b);
    }

    #[test]
    fn every_numeric_type_has_its_operations() {
        let sizes = [
            (Class::Integer, &[1, 2, 4, 8, 16][..], true),
            (Class::Real, &[4, 8, 16], true),
            (Class::Complex, &[8, 16, 32], false),
        ];
        for (class, sizes, ordered) in sizes {
            for bytes in sizes {
                for action in [Action::Sum, Action::Min, Action::Max] {
                    let how = subject(action, class, 0, *bytes).how(WideKind::Quad);
                    assert_eq!(
                        how.is_some(),
                        ordered || action == Action::Sum,
                        "{action:?} {class:?} {bytes}"
                    );
                    assert!(how.is_none_or(|how| how.known.is_some() != how.combine.is_some()));
                }
            }
        }
        assert!(subject(Action::Sum, Class::Character, 1, 4).how(WideKind::Quad).is_none());
        assert!(subject(Action::Sum, Class::Derived, 0, 8).how(WideKind::Quad).is_none());
    }

    #[test]
    fn calls_that_differ_have_different_signatures() {
        let one = subject(Action::Sum, Class::Real, 0, 8);
        let others = [
            Subject { action: Action::Max, ..one.clone() },
            Subject { extents: vec![1, 3], ..one.clone() },
            Subject { extents: vec![], ..one.clone() },
            Subject { result: 2, ..one.clone() },
            Subject { element: Element { class: Class::Integer, ..one.element }, ..one.clone() },
        ];
        for other in others {
            assert_ne!(other.signature(), one.signature(), "{other}");
        }
        assert_eq!(one.to_string(), "co_sum of real of 8 bytes, shape [3]");
    }

    #[test]
    fn messages_say_what_the_images_call() {
        let called = |rank, name, bytes, root, subject: Option<&Subject>| {
            let element_type = subject.map(|subject| subject.signature() as u8);
            Called { rank: RankId(rank), name, bytes, root, element_type }
        };
        let max = subject(Action::Max, Class::Character, 1, 5);
        let (a, b) =
            (called(0, "a barrier", 0, None, None), called(2, "a reduction", 15, Some(1), Some(&max)));
        let line = in_words(&a, &b);
        assert!(line.contains("image 1 executes sync all"), "{line}");
        assert!(line.contains("image 3 executes co_max of 15 bytes of character, result_image 2:"), "{line}");
        let (one, three) = (subject(Action::Sum, Class::Real, 0, 8), subject(Action::Sum, Class::Real, 0, 4));
        let [one, three] = [&one, &three].map(|s| called(1, "a reduction to all", 24, None, Some(s)));
        assert_ne!(one.element_type, three.element_type);
        assert!(in_words(&one, &three).contains("of another shape, kind"));
        let all = CLASSES.iter().zip(0..).all(|(class, number)| *class as u8 == number);
        assert!(all, "the order of the types");
    }
}
