//! Reads and writes of coarrays of other images.
//!
//! What is mapped here is *near*: loads and stores. Everything else is *far*, and goes as one transfer of the
//! core: of the elements as they are there, which are converted here.
//!
//! A far write may be *under way* when the call that made it has returned; image control statements complete
//! it. An image's own accesses keep their order: one to bytes that a write under way may touch first waits
//! for it.
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::assign::{Local, Way, assign, conversion};
use crate::convert::Conversion;
use crate::descriptor::{Axis, Descriptor, Element, Section};
use crate::image::{Image, lock};
use crate::memory::Location;
use crate::stat::Failure;
use gasnet::vis::Shape;
use gasnet::{Categories, RankId};
use gasnet_wire::bytes;
use std::ops::Range;

/// Most writes under way.
const MAX_WRITES_UNDER_WAY: usize = 64;

/// Elements of a coarray on an image.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Where the axes begin.
    pub location: Location,
    /// The axes; where they begin does not count.
    pub section: Section,
    /// Their type.
    pub element: Element,
}

/// Elements here that may be a copy.
#[derive(Debug)]
pub struct HeldElements {
    /// The elements.
    pub local: Local,
    /// Where they are if they are a copy: one after the other.
    copy: Option<Vec<u8>>,
}

impl HeldElements {
    /// Elements where they are; with `copy` a copy of them.
    ///
    /// # Errors
    /// None that these elements could have.
    ///
    /// # Safety
    /// 1. There are elements of this type (owed by the caller).
    pub unsafe fn of(local: Local, copy: bool) -> Result<HeldElements, Failure> {
        if !copy {
            return Ok(HeldElements { local, copy: None });
        }
        let held = HeldElements::room(local.section.extents(), local.element);
        // SAFETY: (1); the copy has as many.
        unsafe { assign(held.local.clone(), local, Way::Load) }?;
        Ok(held)
    }

    /// Whether they are a copy.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Zeros of so many.
    pub fn room(extents: Vec<usize>, element: Element) -> HeldElements {
        HeldElements::packed(vec![0; extents.iter().product::<usize>() * element.bytes], &extents, element)
    }

    /// A copy: elements of these extents, one after the other.
    pub fn packed(mut bytes: Vec<u8>, extents: &[usize], element: Element) -> HeldElements {
        let section = Section::contiguous(bytes.as_mut_ptr().expose_provenance(), extents, element.bytes);
        HeldElements { local: Local { section, element }, copy: Some(bytes) }
    }
}

/// The bytes of two variables that are one type and one run on both sides.
#[inline]
pub fn as_bytes(a: (Descriptor, i32), b: (Descriptor, i32)) -> Option<usize> {
    if (a.0.class(), a.0.elem_len(), a.1) != (b.0.class(), b.0.elem_len(), b.1) {
        return None;
    }
    if a.0.rank() == 0 && b.0.rank() == 0 {
        return Some(a.0.elem_len());
    }
    let bytes = a.0.contiguous()?;
    (b.0.contiguous()? == bytes).then_some(bytes)
}

impl Remote {
    /// The elements where they are mapped here, if they are.
    fn mapped(&self) -> Option<Local> {
        let at = self.location.mapped;
        let section = || Section { at: at.expose_provenance(), axes: self.section.axes.clone() };
        (!at.is_null()).then(|| Local { section: section(), element: self.element })
    }

    /// As places in the segment.
    fn there(&self) -> Section {
        Section { at: self.location.offset as usize, axes: self.section.axes.clone() }
    }

    fn form(&self) -> Form {
        Form::of(&self.there(), self.element)
    }

    /// From the first byte of the elements to the end of the last one.
    fn reach(&self) -> Range<u64> {
        self.there().reach(self.element.bytes).map_or(0..0, |(low, high)| low as u64..high as u64)
    }
}

impl Image {
    /// Reads `len` contiguous bytes.
    ///
    /// # Safety
    /// 1. `to` is valid for writes of `len` bytes. 2. They lie in one coarray of that image (both owed by the
    ///    caller).
    #[inline]
    pub unsafe fn get_bytes(&self, to: *mut u8, from: Location, len: usize) {
        if from.mapped.is_null() {
            self.settle_bytes(from.rank, from.offset..from.offset + len as u64);
            // SAFETY: (1), (2).
            return unsafe { self.rank.get(to, from.rank, from.offset, len) };
        }
        // SAFETY: (1), (2).
        unsafe { self.load_mapped(to, from.mapped, len) };
    }

    /// Reads `len` contiguous bytes that are mapped here.
    ///
    /// # Safety
    /// As [`Image::get_bytes`].
    #[inline]
    pub unsafe fn load_mapped(&self, to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: owed by the caller.
        unsafe { bytes::load(to, from, len) };
        self.count_look();
    }

    /// Writes `len` contiguous bytes.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes. 2. As for [`Image::get_bytes`].
    #[inline]
    pub unsafe fn put_bytes(&self, to: Location, from: *const u8, len: usize) {
        if to.mapped.is_null() {
            if !self.later(to.rank, to.offset..to.offset + len as u64) {
                // SAFETY: (1), (2).
                return unsafe { self.rank.put(to.rank, to.offset, from, len) };
            }
            // SAFETY: (1), (2).
            return unsafe { self.rank.implicit().put(to.rank, to.offset, from, len) };
        }
        // SAFETY: (1), (2).
        unsafe { bytes::store(to.mapped, from, len) };
    }

    /// Waits for writes under way that touch these bytes.
    pub fn settle_bytes(&self, rank: RankId, bytes: Range<u64>) {
        let mut writes = lock(&self.writes);
        if writes.iter().any(|(r, start, end)| *r == rank.0 && *start < bytes.end && bytes.start < *end) {
            self.rank.implicit().wait(Categories::PUTS);
            writes.clear();
        }
    }

    /// Whether a write to these bytes may be under way when its call returns. It is noted then.
    fn later(&self, rank: RankId, bytes: Range<u64>) -> bool {
        self.settle_bytes(rank, bytes.clone());
        // Other threads do not wait for what this one has started.
        if std::thread::current().id() != self.thread {
            return false;
        }
        let mut writes = lock(&self.writes);
        if writes.len() >= MAX_WRITES_UNDER_WAY {
            self.rank.implicit().wait(Categories::PUTS);
            writes.clear();
        }
        writes.push((rank.0, bytes.start, bytes.end));
        true
    }

    /// Assigns elements of an image to elements here. `overlap`: they may be the same memory.
    ///
    /// # One-sided
    /// # Errors
    /// The shapes differ, or there is no conversion.
    ///
    /// # Safety
    /// 1. Both are elements of these types, in a coarray and here (owed by the caller).
    pub unsafe fn get_section(&self, to: Local, from: &Remote, overlap: bool) -> Result<(), Failure> {
        let how = conversion(to.element, from.element)?;
        if from.location.mapped.is_null()
            && let Some((here, there)) = direct(&to, from, how)
        {
            self.settle_bytes(from.location.rank, from.reach());
            // SAFETY: (1); both have the same elements.
            unsafe { self.rank.shapes().get(here.shape(), from.location.rank, there.shape(), 0) };
            return Ok(());
        }
        // SAFETY: (1).
        unsafe {
            let held = self.hold(from, overlap && from.location.rank == self.rank.id())?;
            assign(to, held.local, Way::Load)
        }
    }

    /// The elements of an image: where they are mapped, or with `copy` and from elsewhere a copy.
    ///
    /// # Errors
    /// None that elements of one type could have.
    ///
    /// # Safety
    /// As [`Image::get_section`].
    unsafe fn hold(&self, from: &Remote, copy: bool) -> Result<HeldElements, Failure> {
        if let Some(local) = from.mapped() {
            self.count_look();
            // SAFETY: owed by the caller.
            return unsafe { HeldElements::of(local, copy) };
        }
        self.settle_bytes(from.location.rank, from.reach());
        let held = HeldElements::room(from.section.extents(), from.element);
        let (to, source) = (Form::of(&held.local.section, from.element), from.form());
        // SAFETY: the copy has as many bytes; the source is owed by the caller.
        unsafe { self.rank.shapes().get(to.shape(), from.location.rank, source.shape(), 0) };
        Ok(held)
    }

    /// Assigns elements here to elements of an image; one to all if there is one only. As
    /// [`Image::get_section`].
    ///
    /// # One-sided
    /// # Completion
    /// On return `from` may be written again.
    ///
    /// # Errors
    /// As [`Image::get_section`].
    ///
    /// # Safety
    /// As [`Image::get_section`].
    pub unsafe fn put_section(&self, to: &Remote, from: Local, overlap: bool) -> Result<(), Failure> {
        let how = conversion(to.element, from.element)?;
        let rank = to.location.rank;
        if let Some(local) = to.mapped() {
            // SAFETY: (1).
            return unsafe {
                let held = HeldElements::of(from, overlap && rank == self.rank.id())?;
                assign(local, held.local, Way::Store)
            };
        }
        let held;
        let (source, there) = match direct(&from, to, how) {
            Some(forms) => forms,
            None => {
                held = HeldElements::room(to.section.extents(), to.element);
                // SAFETY: (1); the copy has elements of this type.
                unsafe { assign(held.local.clone(), from, Way::Load) }?;
                (Form::of(&held.local.section, to.element), to.form())
            }
        };
        // SAFETY: (1); both have the same elements.
        unsafe {
            if self.later(rank, to.reach()) {
                let local = gasnet::Local::Now;
                self.rank.shapes().put_nbi(rank, there.shape(), 0, source.shape(), local);
            } else {
                self.rank.shapes().put(rank, there.shape(), 0, source.shape());
            }
        }
        Ok(())
    }

    /// Assigns elements of an image to elements of an image.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_section`].
    ///
    /// # Safety
    /// As [`Image::get_section`], of both.
    pub unsafe fn transfer(&self, to: &Remote, from: &Remote, overlap: bool) -> Result<(), Failure> {
        // SAFETY: owed by the caller.
        unsafe {
            let held = self.hold(from, overlap && to.location.rank == from.location.rank)?;
            self.put_section(to, held.local.clone(), false)
        }
    }
}

/// A section as the core takes it.
enum Form {
    /// Without vectors: where it begins, and distances and numbers from the bytes of an element on.
    Even(usize, Vec<usize>, Vec<usize>),
    /// The place of each element, and its bytes.
    Listed(Vec<usize>, usize),
}

impl Form {
    fn of(section: &Section, Element { bytes, .. }: Element) -> Form {
        let Section { at, axes } = section.clone().simplified();
        let (mut strides, mut counts) = (Vec::new(), vec![bytes]);
        for axis in &axes {
            let Axis::Regular { count, step } = *axis else { return Form::Listed(places(at, &axes), bytes) };
            if strides.is_empty() && step == counts[0] as isize {
                counts[0] *= count;
            } else {
                strides.push(step as usize);
                counts.push(count);
            }
        }
        Form::Even(at, strides, counts)
    }

    fn shape(&self) -> Shape<'_> {
        match self {
            Form::Even(at, strides, count) => Shape::Strided { at: *at, strides, count },
            Form::Listed(places, bytes) => Shape::Indexed(places, *bytes),
        }
    }
}

/// The forms of elements here and of those of an image, if the core can copy between them as they are.
fn direct(here: &Local, there: &Remote, how: Conversion) -> Option<(Form, Form)> {
    let longer = |section: &Section| section.extents().into_iter().filter(|n| *n != 1).collect::<Vec<_>>();
    if !matches!(how, Conversion::Same(_)) || longer(&here.section) != longer(&there.section) {
        return None;
    }
    let forms = (Form::of(&here.section, here.element), there.form());
    matches!(forms, (Form::Even(..), Form::Even(..))).then_some(forms)
}

/// The places of all elements.
fn places(at: usize, axes: &[Axis]) -> Vec<usize> {
    // From the slowest axis to the fastest.
    axes.iter().rev().fold(vec![at], |places, axis| {
        let along = |at: usize| (0..axis.count()).map(move |i| at.wrapping_add_signed(axis.place(i)));
        places.into_iter().flat_map(along).collect()
    })
}
