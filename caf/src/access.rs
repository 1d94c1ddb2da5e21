//! Reads and writes of coarrays of other images.
//!
//! What is mapped here is *near*: loads and stores. Everything else is *far*, and goes as one transfer of the
//! core: of the elements as they are there, which are converted here.
//!
//! A far write may be *under way* when the call that made it has returned; image control statements complete
//! it. An image's own accesses keep their order: one to bytes that a write under way may touch first waits
//! for it.
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::assign::{Way, assign, conversion};
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

/// Elements here.
#[derive(Debug, Clone)]
pub struct Local {
    /// Their addresses.
    pub section: Section,
    /// Their type.
    pub element: Element,
}

impl Local {
    /// What a descriptor describes.
    pub fn of(descriptor: Descriptor, kind: i32) -> Local {
        let at = descriptor.base().expose_provenance();
        Local { section: descriptor.section(at), element: descriptor.element(kind) }
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
    fn mapped(&self) -> Option<Section> {
        let at = self.location.mapped;
        (!at.is_null()).then(|| Section { at: at.expose_provenance(), axes: self.section.axes.clone() })
    }

    /// As places in the segment.
    fn there(&self) -> Section {
        Section { at: self.location.offset as usize, axes: self.section.axes.clone() }.simplified()
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
        match from.mapped() {
            Some(section) if !(overlap && from.location.rank == self.rank.id()) => {
                // SAFETY: (1).
                unsafe { assign((to.section, to.element), (section, from.element), Way::Load) }?;
                self.count_look();
                Ok(())
            }
            Some(section) => {
                let from = Local { section, element: from.element };
                // SAFETY: (1).
                let copy = unsafe { Packed::load(&from) }?;
                // SAFETY: (1).
                unsafe { assign((to.section, to.element), (copy.section(), from.element), Way::Load) }
            }
            None => {
                let there = from.there();
                self.settle_bytes(from.location.rank, reach(&there, from.element.bytes));
                let here = to.section.clone().simplified();
                let shapes =
                    Lengths::of(&there, from.element.bytes).zip(Lengths::of(&here, from.element.bytes));
                let direct = there.extents() == here.extents() && matches!(how, Conversion::Same(_));
                if let (true, Some((remote, local))) = (direct, shapes) {
                    let (to, from_shape) = (local.shape(here.at), remote.shape(there.at));
                    // SAFETY: (1); both have the same elements.
                    unsafe { self.rank.shapes().get(to, from.location.rank, from_shape, 0) };
                    return Ok(());
                }
                // SAFETY: (1).
                let copy = unsafe { self.fetch(from) };
                // SAFETY: (1).
                unsafe { assign((to.section, to.element), (copy.section(), from.element), Way::Load) }
            }
        }
    }

    /// A copy of elements of an image, as they are there.
    ///
    /// # Safety
    /// As [`Image::get_section`].
    unsafe fn fetch(&self, from: &Remote) -> Packed {
        let there = from.there();
        self.settle_bytes(from.location.rank, reach(&there, from.element.bytes));
        let copy = Packed::new(there.extents(), from.element.bytes);
        let length = [copy.bytes.len()];
        let to = Shape::Strided { at: copy.at, strides: &[], count: &length };
        let (places, lengths);
        let source = match Lengths::of(&there, from.element.bytes) {
            Some(found) => {
                lengths = found;
                lengths.shape(there.at)
            }
            None => {
                places = places_of(&there);
                Shape::Indexed(&places, from.element.bytes)
            }
        };
        // SAFETY: the copy has as many bytes; the source is owed by the caller.
        unsafe { self.rank.shapes().get(to, from.location.rank, source, 0) };
        copy
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
        match to.mapped() {
            Some(section) if !(overlap && to.location.rank == self.rank.id()) => {
                // SAFETY: (1).
                unsafe { assign((section, to.element), (from.section, from.element), Way::Store) }
            }
            Some(section) => {
                // SAFETY: (1).
                let copy = unsafe { Packed::load(&from) }?;
                // SAFETY: (1).
                unsafe { assign((section, to.element), (copy.section(), from.element), Way::Store) }
            }
            None => {
                let there = to.there();
                let here = from.section.clone().simplified();
                let shapes = Lengths::of(&there, to.element.bytes).zip(Lengths::of(&here, to.element.bytes));
                let direct = there.extents() == here.extents() && matches!(how, Conversion::Same(_));
                if let (true, Some((remote, local))) = (direct, shapes) {
                    let (to_shape, source) = (remote.shape(there.at), local.shape(here.at));
                    // SAFETY: (1); both have the same elements.
                    unsafe { self.put_shape(to.location.rank, &there, to_shape, source, to.element.bytes) };
                    return Ok(());
                }
                let copy = Packed::new(there.extents(), to.element.bytes);
                // SAFETY: the copy has elements of this type; (1).
                unsafe {
                    assign((copy.section(), to.element), (from.section, from.element), Way::Load)?;
                    self.store(to, &there, &copy);
                }
                Ok(())
            }
        }
    }

    /// Puts elements where they belong, as they are there.
    ///
    /// # Safety
    /// As [`Image::get_section`]; `copy` has as many elements.
    unsafe fn store(&self, to: &Remote, there: &Section, copy: &Packed) {
        let length = [copy.bytes.len()];
        let source = Shape::Strided { at: copy.at, strides: &[], count: &length };
        let (places, lengths);
        let target = match Lengths::of(there, to.element.bytes) {
            Some(found) => {
                lengths = found;
                lengths.shape(there.at)
            }
            None => {
                places = places_of(there);
                Shape::Indexed(&places, to.element.bytes)
            }
        };
        // SAFETY: owed by the caller.
        unsafe { self.put_shape(to.location.rank, there, target, source, to.element.bytes) };
    }

    /// # Safety
    /// As [`Image::get_section`].
    unsafe fn put_shape(&self, rank: RankId, there: &Section, to: Shape<'_>, from: Shape<'_>, bytes: usize) {
        // SAFETY: owed by the caller.
        unsafe {
            if self.later(rank, reach(there, bytes)) {
                self.rank.shapes().put_nbi(rank, to, 0, from, gasnet::Local::Now);
            } else {
                self.rank.shapes().put(rank, to, 0, from);
            }
        }
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
        let same = overlap && to.location.rank == from.location.rank;
        // SAFETY: owed by the caller.
        unsafe {
            match from.mapped() {
                Some(section) if !same => {
                    self.put_section(to, Local { section, element: from.element }, false)
                }
                Some(section) => {
                    let copy = Packed::load(&Local { section, element: from.element })?;
                    self.put_section(to, Local { section: copy.section(), element: from.element }, false)
                }
                None => {
                    let copy = self.fetch(from);
                    self.put_section(to, Local { section: copy.section(), element: from.element }, false)
                }
            }
        }
    }
}

/// A copy of elements, one after the other.
#[derive(Debug)]
pub struct Packed {
    bytes: Vec<u8>,
    /// Where they are.
    at: usize,
    extents: Vec<usize>,
    element: usize,
}

impl Packed {
    fn new(extents: Vec<usize>, element: usize) -> Packed {
        Packed::of(vec![0; extents.iter().product::<usize>() * element], extents, element)
    }

    /// Of elements of so many bytes, with these extents.
    pub fn of(mut bytes: Vec<u8>, extents: Vec<usize>, element: usize) -> Packed {
        let at = bytes.as_mut_ptr().expose_provenance();
        Packed { bytes, at, extents, element }
    }

    /// Of elements here.
    ///
    /// # Errors
    /// None that these elements could have.
    ///
    /// # Safety
    /// 1. There are elements of this type (owed by the caller).
    pub unsafe fn load(from: &Local) -> Result<Packed, Failure> {
        let copy = Packed::new(from.section.extents(), from.element.bytes);
        // SAFETY: (1); the copy has as many.
        unsafe {
            assign((copy.section(), from.element), (from.section.clone(), from.element), Way::Load)?;
        }
        Ok(copy)
    }

    /// Their extents.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The elements.
    pub fn section(&self) -> Section {
        Section::contiguous(self.at, &self.extents, self.element)
    }
}

/// The form of a section that has no vectors, for the core.
struct Lengths {
    strides: Vec<usize>,
    count: Vec<usize>,
}

impl Lengths {
    fn of(section: &Section, bytes: usize) -> Option<Lengths> {
        let mut form = Lengths { strides: Vec::new(), count: vec![bytes] };
        for axis in &section.axes {
            let Axis::Regular { count, step } = *axis else { return None };
            if form.strides.is_empty() && step == form.count[0] as isize {
                form.count[0] *= count;
            } else {
                form.strides.push(step as usize);
                form.count.push(count);
            }
        }
        Some(form)
    }

    fn shape(&self, at: usize) -> Shape<'_> {
        Shape::Strided { at, strides: &self.strides, count: &self.count }
    }
}

/// From the first byte of elements to the end of the last one.
fn reach(section: &Section, bytes: usize) -> Range<u64> {
    section.reach(bytes).map_or(0..0, |(low, high)| low as u64..high as u64)
}

/// The places of all elements.
fn places_of(section: &Section) -> Vec<usize> {
    let mut places = vec![section.at];
    for axis in section.axes.iter().rev() {
        // From the slowest axis to the fastest.
        places = places
            .iter()
            .flat_map(|at| (0..axis.count()).map(move |i| at.wrapping_add_signed(axis.place(i))))
            .collect();
    }
    places
}
