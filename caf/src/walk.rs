//! References to parts of a coarray, through components that are allocated or pointed to.
//!
//! Compiled code hands over a list of *steps*, from the first byte of the coarray on an image to the elements
//! meant: [`Steps`]. [`walk`] follows it in the memory of that image, which is this one's own, mapped here,
//! or read with the system's help: [`Reader`] says how. The owner of far elements gets the same list in a
//! message ([`wire`]). Nobody follows tokens of components.
#![expect(unsafe_code, reason = "reads lists of compiled code")]

pub mod wire;

use crate::descriptor::{Axis, DIMENSION_BYTES, Dimension, HEAD_BYTES, MAX_RANK, Section, integers, triplet};
use crate::stat::Failure;
use std::ffi::c_int;

/// Words of a descriptor before its dimensions: the first is the address, the last the span.
const HEAD_WORDS: usize = HEAD_BYTES / size_of::<usize>();

/// A step, as compiled code has it: an entry of its list.
#[repr(C)]
pub struct Reference {
    next: *const Reference,
    what: c_int,
    bytes: usize,
    which: Which,
}

#[repr(C)]
union Which {
    component: Component,
    array: Array,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Component {
    offset: isize,
    /// 0: neither a pointer nor a descriptor lies there.
    token_offset: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Array {
    mode: [u8; MAX_RANK],
    _class: c_int,
    subscripts: [Subscripts; MAX_RANK],
}

/// The subscripts of a dimension; its mode says which they are.
#[repr(C)]
#[derive(Clone, Copy)]
union Subscripts {
    range: Range,
    vector: Vector,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    start: isize,
    end: isize,
    stride: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Vector {
    vector: *const u8,
    count: usize,
    kind: c_int,
}

/// The numbers of steps.
mod step {
    use super::c_int;

    /// To a component.
    pub const COMPONENT: c_int = 0;
    /// To elements of an array with a descriptor, or of the coarray itself.
    pub const DESCRIBED: c_int = 1;
    /// To elements of an array without bounds: subscripts count elements from the first one.
    pub const FIXED: c_int = 2;
}

/// The modes of subscripts. Subscripts of arrays without bounds always say where they start and end.
mod mode {
    /// The dimensions end here.
    pub const END: u8 = 0;
    pub const VECTOR: u8 = 1;
    pub const FULL: u8 = 2;
    pub const RANGE: u8 = 3;
    pub const SINGLE: u8 = 4;
    pub const FROM: u8 = 5;
    pub const UP_TO: u8 = 6;
}

impl Vector {
    /// Its integers.
    ///
    /// # Safety
    /// 1. It is one of compiled code (owed by the caller).
    unsafe fn list(&self) -> Vec<isize> {
        // SAFETY: (1).
        unsafe { integers(self.vector, self.count, self.kind) }
    }
}

impl Array {
    /// The dimensions: modes and subscripts.
    fn dimensions(&self) -> impl Iterator<Item = (u8, &Subscripts)> {
        self.mode.iter().copied().zip(&self.subscripts).take_while(|(mode, _)| *mode != mode::END)
    }
}

impl Reference {
    /// Bytes of the elements it leads to; 0 if only their owner knows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn array(&self) -> Option<&Array> {
        // SAFETY: the variant is that of the number.
        matches!(self.what, step::DESCRIBED | step::FIXED).then(|| unsafe { &self.which.array })
    }

    /// Whether it makes dimensions of the result.
    pub fn is_ranked(&self) -> bool {
        self.array().is_some_and(|array| array.dimensions().any(|(mode, _)| mode != mode::SINGLE))
    }

    /// Whether it leads to a section of an array, and not to all of it.
    pub fn is_part(&self) -> bool {
        // SAFETY: the variant is that of the mode.
        let whole = |(mode, subscripts): (u8, &Subscripts)| unsafe {
            mode == mode::FULL && self.what == step::DESCRIBED && subscripts.range.stride == 1
        };
        self.array().is_some_and(|array| !array.dimensions().all(whole))
    }
}

/// The steps of a reference, from the first byte of a coarray on.
#[derive(Clone, Copy)]
pub struct Steps<'a> {
    first: Option<&'a Reference>,
    /// The bounds of the coarray itself, if the first step has subscripts of them: the same on all images.
    bounds: &'a [Dimension],
}

impl<'a> Steps<'a> {
    /// # Errors
    /// The first step needs bounds, and these are not known.
    ///
    /// # Safety
    /// 1. `list` is null or one of compiled code, which does not change (owed by the caller).
    pub unsafe fn of(list: *const Reference, bounds: Option<&'a [Dimension]>) -> Result<Steps<'a>, Failure> {
        // SAFETY: (1).
        let first = unsafe { list.as_ref() };
        match bounds {
            None if first.is_some_and(|first| first.what == step::DESCRIBED) => {
                Err(Failure::other("a coarray whose bounds are not known"))
            }
            _ => Ok(Steps { first, bounds: bounds.unwrap_or_default() }),
        }
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = &'a Reference> {
        // SAFETY: (1) of `of`.
        std::iter::successors(self.first, |step| unsafe { step.next.as_ref() })
    }
}

/// The memory of an image.
pub trait Reader {
    /// The words at an address of that image; `None` if they cannot be read.
    fn words<const N: usize>(&self, at: usize) -> Option<[isize; N]>;
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
#[inline]
pub fn walk(reader: &impl Reader, base: usize, steps: Steps<'_>) -> Result<Found, Miss> {
    let mut found = Found { section: Section::scalar(base), bytes: 0 };
    let Section { at, axes } = &mut found.section;
    // Where the descriptor is to which the last step has led.
    let mut descriptor = None;
    for (i, step) in steps.iter().enumerate() {
        found.bytes = step.bytes;
        // SAFETY: the variant is that of the number; (1) of `Steps::of`.
        let (component, next) = unsafe { (&step.which.component, step.next.as_ref()) };
        if step.what == step::COMPONENT {
            *at = at.wrapping_add_signed(component.offset);
            descriptor = next.is_some_and(|next| next.what == step::DESCRIBED).then_some(*at);
            if component.token_offset != 0 && !axes.is_empty() {
                return Err(Miss::Nonsense("components of an array's elements have addresses of their own"));
            }
            if component.token_offset != 0 && descriptor.is_none() {
                let [pointer] = reader.words(*at).ok_or(Miss::Unreadable)?;
                *at = pointer as usize;
                if pointer == 0 {
                    return Err(Miss::Null(i + 1));
                }
            }
            continue;
        }
        let array = step.array().ok_or(Miss::Nonsense("a reference of a type that is not known"))?;
        let mut span = step.bytes as isize;
        if let Some(descriptor) = descriptor {
            let [base, .., own] = reader.words::<HEAD_WORDS>(descriptor).ok_or(Miss::Unreadable)?;
            *at = base as usize;
            if base == 0 {
                return Err(Miss::Null(i));
            }
            // None, or one in characters of 4 bytes.
            span = span.max(own);
        }
        let first = axes.len();
        for (n, (mode, subscripts)) in array.dimensions().enumerate() {
            let dimension = match descriptor {
                _ if step.what == step::FIXED => None,
                None => steps.bounds.get(n).copied(),
                Some(at) => {
                    let words = reader.words(at.wrapping_add(HEAD_BYTES + DIMENSION_BYTES * n));
                    let [stride, lower, upper] = words.ok_or(Miss::Unreadable)?;
                    Some(Dimension { stride, lower, upper })
                }
            };
            let wrong = |wrong| match wrong {
                Wrong::Subscript(subscript, bounds) => {
                    Miss::Outside { step: i + 1, dimension: n + 1, subscript, bounds }
                }
                Wrong::Mode => Miss::Nonsense("subscripts that are not known, or an array without bounds"),
            };
            let (start, axis) = axis(mode, subscripts, dimension, span).map_err(wrong)?;
            *at = at.wrapping_add_signed(start);
            axes.extend(axis);
        }
        descriptor = None;
        if first > 0 && axes.len() > first {
            return Err(Miss::Nonsense("two parts of a reference have dimensions"));
        }
    }
    Ok(found)
}

/// What is wrong with the subscripts of a dimension.
enum Wrong {
    /// One is outside of these bounds.
    Subscript(isize, (isize, isize)),
    /// Their mode is not known, or needs bounds where there are none.
    Mode,
}

/// Where an axis begins, and the axis, if the subscripts make one.
#[inline]
fn axis(
    mode: u8,
    subscripts: &Subscripts,
    dimension: Option<Dimension>,
    span: isize,
) -> Result<(isize, Option<Axis>), Wrong> {
    // Without bounds, subscripts count elements.
    let (lower, step) = dimension.map_or((0, span), |d| (d.lower, d.stride.wrapping_mul(span)));
    let place = |i: isize| (i - lower).wrapping_mul(step);
    let check = |i: isize| match dimension {
        Some(d) if i < d.lower || i > d.upper => Err(Wrong::Subscript(i, (d.lower, d.upper))),
        _ => Ok(()),
    };
    if mode == mode::VECTOR {
        // SAFETY: the variant is that of the mode; (1) of `Steps::of`.
        let list = unsafe { subscripts.vector.list() };
        list.iter().try_for_each(|i| check(*i))?;
        return Ok((0, Some(Axis::Listed(list.into_iter().map(place).collect()))));
    }
    // SAFETY: the variant is that of the mode.
    let Range { start, end, stride } = unsafe { subscripts.range };
    if mode == mode::SINGLE {
        check(start)?;
        return Ok((place(start), None));
    }
    // The bound in whose direction the strides go, or the other one.
    let bound = |ahead: bool| match dimension {
        Some(d) => Ok(if ahead == (stride >= 0) { d.upper } else { d.lower }),
        None => Err(Wrong::Mode),
    };
    let (first, last) = match mode {
        mode::RANGE => (start, end),
        mode::FULL if dimension.is_none() => (start, end),
        mode::FULL => (bound(false)?, bound(true)?),
        mode::FROM => (start, bound(true)?),
        mode::UP_TO => (bound(false)?, end),
        _ => return Err(Wrong::Mode),
    };
    let (place, axis) = triplet(first - lower, last - lower, stride, step);
    let count = axis.count();
    if count > 0 {
        check(first)?;
        check(first + (count as isize - 1) * if stride == 0 { 1 } else { stride })?;
    }
    Ok((place, Some(axis)))
}

#[cfg(test)]
mod tests;
