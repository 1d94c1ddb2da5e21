//! References to parts of a coarray, through components that are allocated or pointed to.
//!
//! Compiled code hands over a list of *steps*, from the first byte of the coarray on an image to the elements
//! meant ([`parse`]). [`walk`] follows it in the memory of that image, which is this one's own, mapped here,
//! or read with the system's help: [`Reader`] says how. Nobody follows tokens of components.
#![expect(unsafe_code, reason = "reads lists of compiled code")]

pub mod wire;

use crate::descriptor::{Axis, DIMENSION_BYTES, Dimension, HEAD_BYTES, MAX_RANK, Section, integers, triplet};
use crate::stat::Failure;
use std::ffi::c_int;

/// Where a descriptor has its span.
const SPAN_AT: usize = 32;

/// A step of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To a component.
    Component {
        /// Bytes from the start of its type.
        offset: isize,
        /// Whether a pointer or a descriptor lies there.
        indirect: bool,
        /// Bytes of its elements; 0 if only its owner knows.
        bytes: usize,
    },
    /// To elements of an array.
    Array {
        /// Where it has its bounds.
        bounds: Bounds,
        /// Its subscripts.
        subscripts: Vec<Subscript>,
        /// Bytes of its elements.
        bytes: usize,
    },
}

impl Step {
    /// Bytes of the elements it leads to; 0 if only their owner knows.
    pub fn bytes(&self) -> usize {
        let (Step::Component { bytes, .. } | Step::Array { bytes, .. }) = self;
        *bytes
    }

    /// Whether it makes dimensions of the result.
    pub fn is_ranked(&self) -> bool {
        matches!(self, Step::Array { subscripts, .. } if subscripts.iter().any(Subscript::is_ranked))
    }
}

/// Where an array has its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bounds {
    /// Nowhere: subscripts count elements from the first one.
    None,
    /// In the descriptor to which the last step leads.
    Descriptor,
    /// Here: an allocatable coarray has the same on all images.
    Known(Vec<Dimension>),
}

/// The subscripts of a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subscript {
    /// All elements.
    Full(isize),
    /// From the first to the last, in strides.
    Range(isize, isize, isize),
    /// One.
    Single(isize),
    /// From this one on, in strides.
    From(isize, isize),
    /// Up to this one, in strides.
    UpTo(isize, isize),
    /// Any.
    Vector(Vec<isize>),
}

impl Subscript {
    /// Whether it makes a dimension of the result.
    pub fn is_ranked(&self) -> bool {
        !matches!(self, Subscript::Single(_))
    }
}

/// An entry of the list, as compiled code has it.
#[repr(C)]
pub struct Reference {
    next: *const Reference,
    what: c_int,
    bytes: usize,
    which: Which,
}

#[repr(C)]
union Which {
    component: RawComponent,
    array: RawArray,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawComponent {
    offset: isize,
    token_offset: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawArray {
    mode: [u8; MAX_RANK],
    _class: c_int,
    subscripts: [RawSubscript; MAX_RANK],
}

#[repr(C)]
#[derive(Clone, Copy)]
union RawSubscript {
    range: RawRange,
    vector: RawVector,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawRange {
    start: isize,
    end: isize,
    stride: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawVector {
    vector: *const u8,
    count: usize,
    kind: c_int,
}

/// The steps of a list.
///
/// # Errors
/// It has entries that are not known.
///
/// # Safety
/// 1. `list` is one of compiled code, or null (owed by the caller).
pub unsafe fn parse(list: *const Reference) -> Result<Vec<Step>, Failure> {
    let mut steps = Vec::new();
    // SAFETY: (1).
    let mut next = unsafe { list.as_ref() };
    while let Some(entry) = next {
        let bytes = entry.bytes;
        // SAFETY: the variant is that of the number.
        steps.push(unsafe {
            match entry.what {
                0 => {
                    let RawComponent { offset, token_offset } = entry.which.component;
                    Step::Component { offset, indirect: token_offset != 0, bytes }
                }
                1 | 2 => {
                    let bounds = if entry.what == 1 { Bounds::Descriptor } else { Bounds::None };
                    Step::Array {
                        bounds,
                        subscripts: subscripts(&entry.which.array, entry.what == 2)?,
                        bytes,
                    }
                }
                what => {
                    return Err(Failure::other(format!("a reference of type {what}, which is not known")));
                }
            }
        });
        // SAFETY: (1).
        next = unsafe { entry.next.as_ref() };
    }
    Ok(steps)
}

/// # Safety
/// 1. An entry of compiled code (owed by the caller).
unsafe fn subscripts(array: &RawArray, fixed: bool) -> Result<Vec<Subscript>, Failure> {
    let one = |(mode, raw): (&u8, &RawSubscript)| {
        // SAFETY: (1); the variant is that of the mode, and all of a variant's fields can be read.
        let (RawRange { start, end, stride }, RawVector { vector, count, kind }) =
            unsafe { (raw.range, raw.vector) };
        Ok(match mode {
            // SAFETY: (1).
            1 => Subscript::Vector(unsafe { integers(vector, count, kind) }),
            2 if !fixed => Subscript::Full(stride),
            2 | 3 => Subscript::Range(start, end, stride),
            4 => Subscript::Single(start),
            5 => Subscript::From(start, stride),
            6 => Subscript::UpTo(end, stride),
            mode => return Err(Failure::other(format!("a subscript of mode {mode}, which is not known"))),
        })
    };
    array.mode.iter().zip(&array.subscripts).take_while(|(mode, _)| **mode != 0).map(one).collect()
}

/// The address that a list leads to, and the bytes there, if it names one element with all subscripts in
/// their bounds and `read` reads all words on the way: as [`parse`] and [`walk`], without memory of its own.
///
/// # Safety
/// As of [`parse`].
pub unsafe fn one(
    list: *const Reference,
    base: usize,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<(usize, usize)> {
    let (mut at, mut bytes) = (base, 0);
    // The bounds of the coarray itself are elsewhere.
    let mut is_described = false;
    // SAFETY: (1).
    let mut next = unsafe { list.as_ref() };
    while let Some(entry) = next {
        bytes = entry.bytes;
        // SAFETY: (1).
        next = unsafe { entry.next.as_ref() };
        // SAFETY: the variant is that of the number.
        unsafe {
            match entry.what {
                0 => {
                    let RawComponent { offset, token_offset } = entry.which.component;
                    at = at.wrapping_add_signed(offset);
                    is_described = next.is_some_and(|next| next.what == 1);
                    if token_offset != 0 && !is_described {
                        at = read(at).filter(|at| *at != 0)?;
                    }
                }
                1 if is_described => at = element(&entry.which.array, bytes, Some(at), &read)?,
                2 => at = at.wrapping_add(element(&entry.which.array, bytes, None, &read)?),
                _ => return None,
            }
        }
    }
    Some((at, bytes))
}

/// The address of an element by the descriptor at an address, or its distance from the first one.
///
/// # Safety
/// As of [`parse`].
unsafe fn element(
    array: &RawArray,
    bytes: usize,
    descriptor: Option<usize>,
    read: &impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let (mut at, mut span) = (0, bytes as isize);
    if let Some(descriptor) = descriptor {
        at = read(descriptor).filter(|at| *at != 0)?;
        span = span.max(read(descriptor.wrapping_add(SPAN_AT))? as isize);
    }
    let used = array.mode.iter().zip(&array.subscripts).take_while(|(mode, _)| **mode != 0);
    for (n, (mode, raw)) in used.enumerate() {
        if *mode != 4 {
            return None;
        }
        // SAFETY: the variant is that of the mode.
        let subscript = unsafe { raw.range.start };
        let mut distance = subscript.wrapping_mul(span);
        if let Some(descriptor) = descriptor {
            let dimension = descriptor.wrapping_add(HEAD_BYTES + DIMENSION_BYTES * n);
            let word = |i: usize| Some(read(dimension.wrapping_add(i * size_of::<usize>()))? as isize);
            let (stride, lower, upper) = (word(0)?, word(1)?, word(2)?);
            if !(lower..=upper).contains(&subscript) {
                return None;
            }
            distance = (subscript - lower).wrapping_mul(stride).wrapping_mul(span);
        }
        at = at.wrapping_add_signed(distance);
    }
    Some(at)
}

/// The memory of an image.
pub trait Reader {
    /// Copies bytes from an address of that image; `false` if that is not possible.
    fn copy(&self, to: &mut [u8], from: usize) -> bool;
}

/// Where a reference leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The elements, at addresses of their owner.
    pub section: Section,
    /// Bytes of an element.
    pub bytes: usize,
}

/// Why a reference leads nowhere. Steps and dimensions count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// The component is not allocated, or not associated.
    Null(usize),
    /// A subscript is outside of the bounds.
    Outside {
        /// Which step.
        step: usize,
        /// Which dimension.
        dimension: usize,
        /// What it is.
        subscript: isize,
        /// The lower and the upper bound.
        bounds: (isize, isize),
    },
    /// The memory cannot be read from here.
    Unreadable,
    /// Steps that contradict each other.
    Nonsense(&'static str),
}

impl Miss {
    /// As a failure of an access to an image.
    pub fn on(self, image: u32) -> Failure {
        Failure::other(match self {
            Miss::Null(step) => {
                format!("component {step} of the reference is not allocated or associated on image {image}")
            }
            Miss::Outside { step, dimension, subscript, bounds: (lower, upper) } => format!(
                "subscript {subscript} of dimension {dimension} of component {step} of the reference is outside of its bounds on image \
                 {image}, {lower}:{upper}"
            ),
            Miss::Unreadable => format!("memory of image {image} cannot be read"),
            Miss::Nonsense(what) => what.to_string(),
        })
    }
}

/// Follows steps from an address.
///
/// # Errors
/// They lead nowhere.
pub fn walk(reader: &impl Reader, base: usize, steps: &[Step]) -> Result<Found, Miss> {
    let mut found = Found { section: Section::scalar(base), bytes: 0 };
    for (i, step) in steps.iter().enumerate() {
        let at = found.section.at;
        match step {
            Step::Component { offset, indirect, bytes } => {
                found.section.at = at.wrapping_add_signed(*offset);
                found.bytes = *bytes;
                let array = matches!(steps.get(i + 1), Some(Step::Array { bounds: Bounds::Descriptor, .. }));
                if *indirect && !found.section.axes.is_empty() {
                    return Err(Miss::Nonsense(
                        "components of an array's elements have addresses of their own",
                    ));
                }
                if *indirect && !array {
                    found.section.at = pointer(reader, found.section.at)?;
                    if found.section.at == 0 {
                        return Err(Miss::Null(i + 1));
                    }
                }
            }
            Step::Array { bounds, subscripts, bytes } => {
                let described;
                let (dimensions, span): (&[Dimension], isize) = match bounds {
                    Bounds::None => (&[], *bytes as isize),
                    Bounds::Known(dimensions) => (dimensions, *bytes as isize),
                    Bounds::Descriptor => {
                        let (base, span, dimensions) = descriptor(reader, at, subscripts.len())?;
                        if base == 0 {
                            return Err(Miss::Null(i));
                        }
                        found.section.at = base;
                        described = dimensions;
                        // None, or one in characters of 4 bytes.
                        (&described, span.max(*bytes as isize))
                    }
                };
                found.bytes = *bytes;
                let first = found.section.axes.len();
                for (n, subscript) in subscripts.iter().enumerate() {
                    let (start, axis) = axis(subscript, dimensions.get(n), span).map_err(|miss| {
                        miss.map_or(Miss::Nonsense("an array without bounds"), |(subscript, bounds)| {
                            Miss::Outside { step: i + 1, dimension: n + 1, subscript, bounds }
                        })
                    })?;
                    found.section.at = found.section.at.wrapping_add_signed(start);
                    found.section.axes.extend(axis);
                }
                if first > 0 && found.section.axes.len() > first {
                    return Err(Miss::Nonsense("two parts of a reference have dimensions"));
                }
            }
        }
    }
    Ok(found)
}

/// A subscript outside of bounds; `None`: there are no bounds.
type Wrong = Option<(isize, (isize, isize))>;

/// Where an axis begins, and the axis, if the subscript makes one.
fn axis(
    subscript: &Subscript,
    dimension: Option<&Dimension>,
    span: isize,
) -> Result<(isize, Option<Axis>), Wrong> {
    // Without bounds, subscripts count elements.
    let (lower, step) = dimension.map_or((0, span), |d| (d.lower, d.stride.wrapping_mul(span)));
    let bounds = || dimension.map(|d| (d.lower, d.upper)).ok_or(None);
    let check = |i: isize| match dimension {
        Some(d) if i < d.lower || i > d.upper => Err(Some((i, (d.lower, d.upper)))),
        _ => Ok(()),
    };
    let (first, last, stride) = match subscript {
        Subscript::Single(i) => {
            check(*i)?;
            return Ok(((i - lower).wrapping_mul(step), None));
        }
        Subscript::Vector(list) => {
            list.iter().try_for_each(|i| check(*i))?;
            let places = list.iter().map(|i| (i - lower).wrapping_mul(step)).collect();
            return Ok((0, Some(Axis::Listed(places))));
        }
        Subscript::Range(first, last, stride) => (*first, *last, *stride),
        Subscript::Full(stride) => {
            let (low, high) = bounds()?;
            if *stride < 0 { (high, low, *stride) } else { (low, high, *stride) }
        }
        Subscript::From(first, stride) => {
            let (low, high) = bounds()?;
            (*first, if *stride < 0 { low } else { high }, *stride)
        }
        Subscript::UpTo(last, stride) => {
            let (low, high) = bounds()?;
            (if *stride < 0 { high } else { low }, *last, *stride)
        }
    };
    let (start, axis) = triplet(first - lower, last - lower, stride, step);
    let count = axis.count();
    if count > 0 {
        check(first)?;
        check(first + (count as isize - 1) * if stride == 0 { 1 } else { stride })?;
    }
    Ok((start, Some(axis)))
}

/// The pointer at an address; 0 is null.
fn pointer(reader: &impl Reader, at: usize) -> Result<usize, Miss> {
    let mut word = [0; size_of::<usize>()];
    reader.copy(&mut word, at).then(|| usize::from_ne_bytes(word)).ok_or(Miss::Unreadable)
}

/// Base, span and dimensions of the descriptor at an address.
fn descriptor(reader: &impl Reader, at: usize, rank: usize) -> Result<(usize, isize, Vec<Dimension>), Miss> {
    let mut bytes = [0u8; HEAD_BYTES + DIMENSION_BYTES * MAX_RANK];
    let bytes = &mut bytes[..HEAD_BYTES + DIMENSION_BYTES * rank.min(MAX_RANK)];
    if !reader.copy(bytes, at) {
        return Err(Miss::Unreadable);
    }
    let word = |at: usize| {
        let mut word = [0; size_of::<isize>()];
        word.copy_from_slice(&bytes[at..at + size_of::<isize>()]);
        isize::from_ne_bytes(word)
    };
    let dimension = |i: usize| {
        let at = HEAD_BYTES + DIMENSION_BYTES * i;
        Dimension { stride: word(at), lower: word(at + 8), upper: word(at + 16) }
    };
    Ok((word(0) as usize, word(SPAN_AT), (0..rank.min(MAX_RANK)).map(dimension).collect()))
}

#[cfg(test)]
mod tests;
