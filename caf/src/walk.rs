//! References to parts of a coarray, through components that are allocated or pointed to.
//!
//! Compiled code hands over a list of *steps*, from the first byte of the coarray on an image to the elements
//! meant: a [`Reference`]. [`walk`] follows it in the memory of that image, which is this one's own, mapped
//! here, or read with the system's help: [`Reader`] says how. The owner of far elements gets the same list in
//! a message ([`wire`]). Nobody follows tokens of components.
#![expect(unsafe_code, reason = "reads lists of compiled code")]

pub mod wire;

use crate::descriptor::{Axis, DIMENSION_BYTES, Dimension, HEAD_BYTES, MAX_RANK, Section, integers, triplet};
use crate::stat::Failure;
use std::ffi::c_int;

/// Where a descriptor has its span.
const SPAN_AT: usize = 32;

/// A step, as compiled code has it: an entry of its list.
#[repr(C)]
pub struct Step {
    next: *const Step,
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

impl Range {
    /// Its words, without those that mean nothing in this mode of this step: compiled code leaves them
    /// undefined, and a replay of the program would send others.
    fn said(self, mode: u8, what: c_int) -> [isize; 3] {
        let Range { start, end, stride } = self;
        match mode {
            mode::SINGLE => [start, 0, 0],
            mode::FROM => [start, 0, stride],
            mode::UP_TO => [0, end, stride],
            mode::FULL if what == step::DESCRIBED => [0, 0, stride],
            _ => [start, end, stride],
        }
    }
}

impl Array {
    /// The dimensions: modes and subscripts.
    fn dimensions(&self) -> impl Iterator<Item = (u8, &Subscripts)> {
        self.mode.iter().copied().zip(&self.subscripts).take_while(|(mode, _)| *mode != mode::END)
    }
}

impl Step {
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
pub struct Reference<'a> {
    first: Option<&'a Step>,
    /// The bounds of the coarray itself, if the first step has subscripts of them: the same on all images.
    bounds: &'a [Dimension],
}

impl<'a> Reference<'a> {
    /// Of a list; `bounds` says what bounds the coarray itself has.
    ///
    /// # Errors
    /// The first step needs bounds, and these are not known.
    ///
    /// # Safety
    /// 1. `list` is null or one of compiled code, which does not change (owed by the caller).
    #[inline]
    pub unsafe fn of(
        list: *const Step,
        bounds: impl FnOnce() -> Option<&'a [Dimension]>,
    ) -> Result<Reference<'a>, Failure> {
        // SAFETY: (1).
        let first = unsafe { list.as_ref() };
        let bounds = match first {
            Some(first) if first.what == step::DESCRIBED => {
                bounds().ok_or_else(|| Failure::other("a coarray whose bounds are not known"))?
            }
            _ => &[],
        };
        Ok(Reference { first, bounds })
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = &'a Step> {
        // SAFETY: (1) of `of`.
        std::iter::successors(self.first, |step| unsafe { step.next.as_ref() })
    }
}

/// The memory of an image.
pub trait Reader {
    /// The words at an address of that image; `None` if they cannot be read.
    fn words<const N: usize>(&self, at: usize) -> Option<[isize; N]>;
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

/// Follows steps from where the section is, the first byte of the coarray, to the elements they lead to, at
/// addresses of their owner. Returns the bytes of an element.
///
/// # Errors
/// They lead nowhere.
#[inline]
pub fn walk(reader: &impl Reader, section: &mut Section, steps: Reference<'_>) -> Result<usize, Box<Miss>> {
    // In the place of the caller: moves of what was just written would cost more than all the rest.
    let Section { at, axes } = section;
    let mut bytes = 0;
    // Where the descriptor is to which the last step has led.
    let mut descriptor = None;
    for (i, step) in steps.iter().enumerate() {
        bytes = step.bytes;
        // SAFETY: the variant is that of the number; (1) of `Reference::of`.
        let (component, next) = unsafe { (&step.which.component, step.next.as_ref()) };
        if step.what == step::COMPONENT {
            *at = at.wrapping_add_signed(component.offset);
            descriptor = next.is_some_and(|next| next.what == step::DESCRIBED).then_some(*at);
            if component.token_offset != 0 && !axes.is_empty() {
                return Err(
                    Miss::Nonsense("components of an array's elements have addresses of their own").into()
                );
            }
            if component.token_offset != 0 && descriptor.is_none() {
                *at = word(reader, *at)? as usize;
                if *at == 0 {
                    return Err(Miss::Null(i + 1).into());
                }
            }
            continue;
        }
        let array = step.array().ok_or(Miss::Nonsense("a reference of a type that is not known"))?;
        let mut span = step.bytes as isize;
        if let Some(descriptor) = descriptor {
            *at = word(reader, descriptor)? as usize;
            if *at == 0 {
                return Err(Miss::Null(i).into());
            }
            // None, or one in characters of 4 bytes.
            span = span.max(word(reader, descriptor.wrapping_add(SPAN_AT))?);
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
            if mode == mode::SINGLE {
                // SAFETY: the variant is that of the mode.
                let subscript = unsafe { subscripts.range.start };
                let Some(distance) = single(subscript, dimension, span) else {
                    return Err(outside(subscript, dimension).at(i, n).into());
                };
                *at = at.wrapping_add_signed(distance);
                continue;
            }
            let (start, axis) = axis(mode, subscripts, dimension, span).map_err(|wrong| wrong.at(i, n))?;
            *at = at.wrapping_add_signed(start);
            axes.push(axis);
        }
        descriptor = None;
        if first > 0 && axes.len() > first {
            return Err(Miss::Nonsense("two parts of a reference have dimensions").into());
        }
    }
    Ok(bytes)
}

/// The word at an address.
#[inline]
fn word(reader: &impl Reader, at: usize) -> Result<isize, Box<Miss>> {
    reader.words(at).map(|[word]| word).ok_or_else(|| Miss::Unreadable.into())
}

/// What is wrong with the subscripts of a dimension.
enum Wrong {
    /// One is outside of these bounds.
    Subscript(isize, (isize, isize)),
    /// Their mode is not known, or needs bounds where there are none.
    Mode,
}

impl Wrong {
    /// In a dimension of a step, both from 0 on.
    #[cold]
    fn at(self, step: usize, dimension: usize) -> Miss {
        match self {
            Wrong::Subscript(subscript, bounds) => {
                Miss::Outside { step: step + 1, dimension: dimension + 1, subscript, bounds }
            }
            Wrong::Mode => Miss::Nonsense("subscripts that are not known, or an array without bounds"),
        }
    }
}

#[cold]
fn outside(subscript: isize, dimension: Option<Dimension>) -> Wrong {
    dimension.map_or(Wrong::Mode, |d| Wrong::Subscript(subscript, (d.lower, d.upper)))
}

/// How far an element is from the first one, if it is in the bounds. Without bounds, subscripts count
/// elements.
#[inline]
fn single(subscript: isize, dimension: Option<Dimension>, span: isize) -> Option<isize> {
    let Some(Dimension { stride, lower, upper }) = dimension else {
        return Some(subscript.wrapping_mul(span));
    };
    let inside = (lower..=upper).contains(&subscript);
    inside.then(|| (subscript - lower).wrapping_mul(stride).wrapping_mul(span))
}

/// Where an axis begins, and the axis.
fn axis(
    mode: u8,
    subscripts: &Subscripts,
    dimension: Option<Dimension>,
    span: isize,
) -> Result<(isize, Axis), Wrong> {
    // Without bounds, subscripts count elements.
    let (lower, step) = dimension.map_or((0, span), |d| (d.lower, d.stride.wrapping_mul(span)));
    let place = |i| single(i, dimension, span).ok_or_else(|| outside(i, dimension));
    if mode == mode::VECTOR {
        // SAFETY: the variant is that of the mode; (1) of `Reference::of`.
        let list = unsafe { subscripts.vector.list() };
        let places = list.into_iter().map(place).collect::<Result<_, _>>()?;
        return Ok((0, Axis::Listed(places)));
    }
    // SAFETY: the variant is that of the mode.
    let Range { start: from, end: to, stride } = unsafe { subscripts.range };
    // The bound in whose direction the strides go, or the other one.
    let bound = |ahead: bool| match dimension {
        Some(d) => Ok(if ahead == (stride >= 0) { d.upper } else { d.lower }),
        None => Err(Wrong::Mode),
    };
    let (first, last) = match mode {
        mode::RANGE => (from, to),
        mode::FULL if dimension.is_none() => (from, to),
        mode::FULL => (bound(false)?, bound(true)?),
        mode::FROM => (from, bound(true)?),
        mode::UP_TO => (bound(false)?, to),
        _ => return Err(Wrong::Mode),
    };
    let (start, axis) = triplet(first - lower, last - lower, stride, step);
    let count = axis.count();
    if count > 0 {
        place(first)?;
        place(first + (count as isize - 1) * if stride == 0 { 1 } else { stride })?;
    }
    Ok((start, axis))
}

#[cfg(test)]
mod tests;
