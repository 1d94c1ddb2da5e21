//! The descriptors of compiled code: where a variable lies, its type, and its shape.
//!
//! [`Descriptor`] is the address of one. [`Section`] is what the rest of the library works with: the places
//! of elements, in the order of Fortran.
#![expect(unsafe_code, reason = "reads and writes memory of compiled code")]

use std::ffi::c_int;

/// Most dimensions of a Fortran array.
pub const MAX_RANK: usize = 15;
/// Bytes of a descriptor before its dimensions, and of each of these.
pub const HEAD_BYTES: usize = 40;
/// Bytes of each dimension of a descriptor.
pub const DIMENSION_BYTES: usize = 24;

/// The types of variables, as the compiler numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `integer`.
    Integer,
    /// `logical`.
    Logical,
    /// `real`.
    Real,
    /// `complex`.
    Complex,
    /// `character`.
    Character,
    /// Of a derived type, or anything else: bytes.
    Derived,
}

impl Class {
    /// Of the compiler's number.
    #[inline]
    pub fn of(number: i32) -> Class {
        match number {
            1 => Class::Integer,
            2 => Class::Logical,
            3 => Class::Real,
            4 => Class::Complex,
            6 => Class::Character,
            _ => Class::Derived,
        }
    }

    /// As in a declaration.
    pub fn name(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Logical => "logical",
            Class::Real => "real",
            Class::Complex => "complex",
            Class::Character => "character",
            Class::Derived => "type",
        }
    }
}

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Its type.
    pub class: Class,
    /// Its kind. Compiled code hands it over beside the descriptor, which does not tell real(10) from
    /// real(16).
    pub kind: i32,
    /// Its bytes.
    pub bytes: usize,
}

/// One dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Dimension {
    /// Distance of two elements, in units of the descriptor's span.
    pub stride: isize,
    /// Lower bound.
    pub lower: isize,
    /// Upper bound.
    pub upper: isize,
}

impl Dimension {
    /// Elements.
    #[inline]
    pub fn extent(&self) -> usize {
        usize::try_from(self.upper.wrapping_sub(self.lower).wrapping_add(1)).unwrap_or(0)
    }
}

/// The head of a descriptor, as compiled code has it.
#[repr(C)]
pub(crate) struct Raw {
    pub(crate) base: *mut u8,
    pub(crate) offset: usize,
    pub(crate) elem_len: usize,
    pub(crate) version: c_int,
    pub(crate) rank: i8,
    pub(crate) class: i8,
    pub(crate) attribute: i16,
    pub(crate) span: isize,
}

/// The address of a descriptor.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor(*mut Raw);

/// The compiler's number of the type character.
const CHARACTER: i32 = 6;

impl Descriptor {
    /// # Safety
    /// 1. `at` is a descriptor of compiled code, with as many dimensions as its rank says, and stays one as
    ///    long as this is used (owed by the caller).
    #[inline]
    pub unsafe fn at(at: *mut u8) -> Descriptor {
        Descriptor(at.cast())
    }

    /// Where it is.
    pub fn address(self) -> *mut u8 {
        self.0.cast()
    }

    /// First byte of the variable, or of the section's first element.
    #[inline]
    pub fn base(self) -> *mut u8 {
        // SAFETY: (1) of `at`.
        unsafe { (*self.0).base }
    }

    /// Sets it.
    pub fn set_base(self, base: *mut u8) {
        // SAFETY: (1) of `at`.
        unsafe { (*self.0).base = base }
    }

    /// Dimensions.
    #[inline]
    pub fn rank(self) -> usize {
        // SAFETY: (1) of `at`.
        usize::try_from(unsafe { (*self.0).rank }).unwrap_or(0).min(MAX_RANK)
    }

    /// The compiler's number of the type.
    #[inline]
    pub fn class(self) -> i32 {
        // SAFETY: (1) of `at`.
        unsafe { (*self.0).class }.into()
    }

    /// Bytes of an element.
    #[inline]
    pub fn elem_len(self) -> usize {
        // SAFETY: (1) of `at`.
        unsafe { (*self.0).elem_len }
    }

    /// The unit of strides in bytes. Some descriptors of scalars have none, and gfortran 11 counts characters
    /// of 4 bytes instead: elements overlap in no array.
    #[inline]
    pub fn span(self) -> isize {
        let bytes = self.elem_len() as isize;
        // SAFETY: (1) of `at`.
        match unsafe { (*self.0).span } {
            0 => bytes,
            characters if characters * 4 == bytes && self.class() == CHARACTER => bytes,
            span => span,
        }
    }

    /// The type of an element, with the kind that compiled code has handed over.
    #[inline]
    pub fn element(self, kind: i32) -> Element {
        Element { class: Class::of(self.class()), kind, bytes: self.elem_len() }
    }

    /// A dimension, below the rank.
    #[inline]
    pub fn dimension(self, i: usize) -> Dimension {
        debug_assert!(i < self.rank());
        // SAFETY: (1) of `at`: the dimensions follow the head.
        unsafe { self.0.cast::<u8>().add(HEAD_BYTES).cast::<Dimension>().add(i).read() }
    }

    /// Whether what lies here looks like a descriptor of an allocated array of that rank.
    pub fn could_be(self, rank: usize) -> bool {
        // SAFETY: (1) of `at`: so many bytes can be read, whatever they are.
        let raw = unsafe { self.0.read_unaligned() };
        usize::try_from(raw.rank) == Ok(rank)
            && (1..=7).contains(&raw.class)
            && raw.version == 0
            && raw.attribute == 0
            && !raw.base.is_null()
    }

    /// Elements along each dimension.
    pub fn extents(self) -> Vec<usize> {
        (0..self.rank()).map(|i| self.dimension(i).extent()).collect()
    }

    /// Bytes from the first element on, if there are no gaps between the elements.
    #[inline]
    pub fn contiguous(self) -> Option<usize> {
        let (span, bytes) = (self.span(), self.elem_len());
        let mut next = bytes as isize;
        for i in 0..self.rank() {
            let dimension = self.dimension(i);
            let extent = dimension.extent() as isize;
            if extent != 1 && dimension.stride * span != next {
                return None;
            }
            next *= extent;
        }
        Some(next as usize)
    }

    /// Its elements, of which the first is at `at`.
    pub fn section(self, at: usize) -> Section {
        let span = self.span();
        let axis = |i| {
            let Dimension { stride, .. } = self.dimension(i);
            Axis::Regular { count: self.dimension(i).extent(), step: stride * span }
        };
        Section { at, axes: (0..self.rank()).map(axis).collect() }
    }

    /// Its elements at the subscripts that compiled code hands over beside it; its own first element is at
    /// `at`. Those of the other side of the assignment have the extents `other`.
    ///
    /// # Safety
    /// 1. `subscripts` has an entry for each dimension (owed by the caller).
    pub unsafe fn section_at(self, at: usize, subscripts: *const Subscripts, other: &[usize]) -> Section {
        let span = self.span();
        let (mut at, mut axes, mut whole) = (at, Vec::with_capacity(self.rank()), Vec::new());
        for (i, dimension) in (0..self.rank()).map(|i| (i, self.dimension(i))) {
            // SAFETY: (1).
            let subscript = unsafe { &*subscripts.add(i) };
            let (start, axis) = subscript.axis(dimension.lower, dimension.stride * span);
            at = at.wrapping_add_signed(start);
            axes.push(axis);
            whole.push(subscript.is_whole(&dimension));
        }
        let mut section = Section { at, axes };
        section.complete(&whole, other);
        section
    }

    /// Makes it describe contiguous elements at `base` with these extents and lower bounds of 1.
    ///
    /// # Safety
    /// 1. The descriptor has room for so many dimensions (owed by the caller).
    pub unsafe fn set_contiguous(self, base: *mut u8, extents: &[usize]) {
        // SAFETY: (1), and (1) of `at`.
        unsafe {
            let mut stride = 1isize;
            let mut origin = 0isize;
            for (i, n) in extents.iter().enumerate() {
                let dimension = Dimension { stride, lower: 1, upper: *n as isize };
                self.0.cast::<u8>().add(HEAD_BYTES).cast::<Dimension>().add(i).write(dimension);
                origin -= stride;
                stride *= *n as isize;
            }
            (*self.0).base = base;
            (*self.0).offset = origin as usize;
            (*self.0).span = (*self.0).elem_len as isize;
        }
    }

    /// Whether this may be a descriptor without the unit of strides, whose place has what was on the stack
    /// before: compiled code that has `co_broadcast` of an object broadcast its components, which lie without
    /// gaps, sets only bounds, strides and the address of an array. A pointer to one component of the
    /// elements of an array looks the same.
    pub fn lacks_span(self) -> bool {
        let mut next = 1;
        for dimension in (0..self.rank()).map(|i| self.dimension(i)) {
            if dimension.lower != 1 || dimension.stride != next {
                return false;
            }
            next *= dimension.extent() as isize;
        }
        self.rank() > 0 && self.span() != self.elem_len() as isize
    }

    /// Makes it describe an allocated vector of integers of this kind, with the bounds 0 and up: compiled
    /// code expects these of a result. It frees the memory; there is none for a vector without elements.
    ///
    /// # Safety
    /// 1. The descriptor has room for one dimension (owed by the caller).
    pub unsafe fn allocate_integers(self, values: &[i32], kind: c_int) {
        let bytes = if matches!(kind, 1 | 2 | 8 | 16) { kind as usize } else { 4 };
        let base = if values.is_empty() {
            std::ptr::null_mut()
        } else {
            // SAFETY: a plain call; checked below.
            unsafe { libc::malloc(values.len() * bytes) }.cast::<u8>()
        };
        if !base.is_null() {
            for (i, value) in values.iter().enumerate() {
                let value = i128::from(*value).to_le_bytes();
                // SAFETY: the i-th of the elements allocated above.
                unsafe { base.add(i * bytes).copy_from_nonoverlapping(value.as_ptr(), bytes) };
            }
        }
        // SAFETY: (1), and (1) of `at`.
        unsafe {
            (*self.0).elem_len = bytes;
            (*self.0).version = 0;
            (*self.0).rank = 1;
            (*self.0).class = 1;
            (*self.0).attribute = 0;
            self.set_contiguous(base, &[if base.is_null() { 0 } else { values.len() }]);
            let Dimension { stride, lower, upper } = self.dimension(0);
            let counted = Dimension { stride, lower: lower - 1, upper: upper - 1 };
            self.0.cast::<u8>().add(HEAD_BYTES).cast::<Dimension>().write(counted);
            (*self.0).offset = 0;
        }
    }
}

/// The subscripts of a dimension: a vector, or a triplet if that has no elements. Both hold subscripts as
/// they are declared.
#[repr(C)]
pub struct Subscripts {
    vector: usize,
    which: Which,
}

#[repr(C)]
union Which {
    listed: Listed,
    triplet: Triplet,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Listed {
    vector: *const u8,
    kind: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Triplet {
    lower: isize,
    upper: isize,
    stride: isize,
}

impl Subscripts {
    /// Whether these are all subscripts of a dimension, as far as its descriptor says.
    fn is_whole(&self, dimension: &Dimension) -> bool {
        if self.vector > 0 {
            return false;
        }
        // SAFETY: without elements it is a triplet.
        let Triplet { lower, upper, stride } = unsafe { self.which.triplet };
        (lower, upper, stride) == (dimension.lower, dimension.upper, 1)
    }

    /// Where the axis begins, from element `lower` on, and the axis.
    fn axis(&self, lower: isize, step: isize) -> (isize, Axis) {
        if self.vector > 0 {
            // SAFETY: with a number of elements it is a vector of so many.
            let list = unsafe {
                let Listed { vector, kind } = self.which.listed;
                integers(vector, self.vector, kind)
            };
            let place = |subscript: isize| subscript.wrapping_sub(lower).wrapping_mul(step);
            return (0, Axis::Listed(list.into_iter().map(place).collect()));
        }
        // SAFETY: without elements it is a triplet.
        let Triplet { lower: first, upper, stride } = unsafe { self.which.triplet };
        triplet(first - lower, upper - lower, stride, step)
    }
}

/// The integers of a vector.
///
/// # Safety
/// 1. `vector` has `count` integers of that kind (owed by the caller).
pub unsafe fn integers(vector: *const u8, count: usize, kind: i32) -> Vec<isize> {
    // SAFETY: (1).
    (0..count).map(|i| unsafe { integer(vector, kind, i) }).collect()
}

/// Where the axis of a triplet begins, whose subscripts count from 0, and the axis.
pub fn triplet(first: isize, last: isize, stride: isize, step: isize) -> (isize, Axis) {
    let stride = if stride == 0 { 1 } else { stride };
    let count = usize::try_from((last - first + stride) / stride).unwrap_or(0);
    (first.wrapping_mul(step), Axis::Regular { count, step: stride.wrapping_mul(step) })
}

/// An element of a vector of integers.
///
/// # Safety
/// 1. The vector has such an element of that kind (owed by the caller).
unsafe fn integer(vector: *const u8, kind: i32, i: usize) -> isize {
    // SAFETY: (1).
    unsafe {
        match kind {
            1 => vector.cast::<i8>().add(i).read() as isize,
            2 => vector.cast::<i16>().add(i).read_unaligned() as isize,
            4 => vector.cast::<i32>().add(i).read_unaligned() as isize,
            16 => vector.cast::<i128>().add(i).read_unaligned() as isize,
            _ => vector.cast::<isize>().add(i).read_unaligned(),
        }
    }
}

/// Elements and their places, in the order of Fortran: the first axis varies fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Where the axes begin: an address, or an offset in a segment.
    pub at: usize,
    /// The dimensions; none: one element.
    pub axes: Vec<Axis>,
}

/// A dimension of a [`Section`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Axis {
    /// Elements at one distance.
    Regular {
        /// Elements.
        count: usize,
        /// Distance in bytes.
        step: isize,
    },
    /// Elements anywhere: their distances from the beginning in bytes.
    Listed(Vec<isize>),
}

impl Axis {
    /// Elements.
    pub fn count(&self) -> usize {
        match self {
            Axis::Regular { count, .. } => *count,
            Axis::Listed(list) => list.len(),
        }
    }

    /// Where an element is, in bytes from the beginning.
    #[inline]
    pub fn place(&self, i: usize) -> isize {
        match self {
            Axis::Regular { step, .. } => step.wrapping_mul(i as isize),
            Axis::Listed(list) => list[i],
        }
    }
}

impl Section {
    /// One element.
    pub fn scalar(at: usize) -> Section {
        Section { at, axes: Vec::new() }
    }

    /// Contiguous elements of these extents.
    pub fn contiguous(at: usize, extents: &[usize], bytes: usize) -> Section {
        let mut step = bytes as isize;
        let axes = extents.iter().map(|count| {
            let axis = Axis::Regular { count: *count, step };
            step = step.wrapping_mul(*count as isize);
            axis
        });
        Section { at, axes: axes.collect() }
    }

    /// Corrects the number of elements along axes that are `whole` dimensions. Where one subscript stands
    /// before such a dimension and a vector beside it, compiled code hands over the upper bound that belongs
    /// to another one; the `other` side of the assignment has as many elements.
    fn complete(&mut self, whole: &[bool], other: &[usize]) {
        let long = |n: &usize| *n != 1;
        let mut wanted = other.iter().copied().filter(long);
        let counts = self.axes.iter().zip(whole).map(|(axis, whole)| match axis.count() {
            n if *whole => wanted.next().unwrap_or(n),
            1 => 1,
            n => wanted.next().filter(|next| *next == n).unwrap_or(n),
        });
        let counts: Vec<usize> = counts.collect();
        // Where that does not fit, the program is wrong.
        if counts.iter().copied().filter(long).eq(other.iter().copied().filter(long)) {
            for (axis, n) in self.axes.iter_mut().zip(counts) {
                if let Axis::Regular { count, .. } = axis {
                    *count = n;
                }
            }
        }
    }

    /// The first elements along each axis, as many as these.
    pub fn first(mut self, extents: &[usize]) -> Section {
        for (axis, n) in self.axes.iter_mut().zip(extents) {
            match axis {
                Axis::Regular { count, .. } => *count = (*count).min(*n),
                Axis::Listed(list) => list.truncate(*n),
            }
        }
        self
    }

    /// Elements in all.
    pub fn count(&self) -> usize {
        self.axes.iter().map(Axis::count).product()
    }

    /// The first byte of its elements and the end of the last one, from 0 on; `None` if it has none.
    pub fn reach(&self, bytes: usize) -> Option<(isize, isize)> {
        let mut reach = (self.at as isize, self.at as isize + bytes as isize);
        for axis in &self.axes {
            let (low, high) = match axis {
                Axis::Regular { count, step } => {
                    let last = step.wrapping_mul(count.checked_sub(1)? as isize);
                    (last.min(0), last.max(0))
                }
                Axis::Listed(list) => (*list.iter().min()?, *list.iter().max()?),
            };
            reach = (reach.0.wrapping_add(low), reach.1.wrapping_add(high));
        }
        Some(reach)
    }

    /// Without the axes that have one element.
    pub fn simplified(mut self) -> Section {
        let mut at = self.at;
        self.axes.retain(|axis| {
            let one = axis.count() == 1;
            if one {
                at = at.wrapping_add_signed(axis.place(0));
            }
            !one
        });
        Section { at, ..self }
    }

    /// Elements along each axis.
    pub fn extents(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::count).collect()
    }
}
