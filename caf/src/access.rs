//! Reads and writes of coarrays of other images.
//!
//! What is mapped here is *near*: loads and stores. Everything else is *far*, and goes as one transfer of the
//! core: of the elements as they are there, which are converted here.
//!
//! A far write may be *under way* when the call that made it has returned; image control statements complete
//! it. An image's own accesses keep their order: one to bytes that a write under way may touch first waits
//! for it.
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::assign::{HeldElements, Local, Way, assign, conversion, same_shape};
use crate::convert::Conversion;
use crate::descriptor::{Axis, Descriptor, Element, Section};
use crate::image::{Image, lock};
use crate::memory::Location;
use crate::near::Near;
use crate::owner::Target;
use crate::stat::Failure;
use crate::walk::Step;
use gasnet::vis::Shape;
use gasnet::{Categories, RankId};
use gasnet_wire::bytes;
use std::ops::Range;

/// Most writes under way.
const MAX_WRITES_UNDER_WAY: usize = 64;

/// Elements of an image.
pub struct Remote<'a> {
    /// Whose.
    pub rank: RankId,
    /// Their type; 0 bytes if only their owner knows how many they have.
    pub element: Element,
    /// How they are reached.
    pub lead: Lead<'a>,
}

/// Where elements of an image are, as far as this image can follow a reference to them.
pub enum Lead<'a> {
    /// At these addresses, mapped here.
    Mapped(Section),
    /// At these offsets in the owner's segment.
    Segment(Section),
    /// At these addresses in the private memory of the owner, a process of this host, which knows them, too.
    Private(Section, Near<'a>, Target<'a>),
    /// Only the owner can say.
    Owner(Target<'a>),
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

impl Remote<'_> {
    /// How many elements there are along each dimension.
    ///
    /// # Errors
    /// What the owner found wrong.
    pub fn extents(&self, image: &Image) -> Result<Vec<usize>, Failure> {
        match &self.lead {
            Lead::Mapped(section) | Lead::Segment(section) | Lead::Private(section, ..) => {
                Ok(section.extents())
            }
            Lead::Owner(target) => target.shape(image),
        }
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
    /// The shapes differ, or there is no conversion; what their owner finds wrong.
    ///
    /// # Safety
    /// 1. Both are elements of these types, in a coarray and here (owed by the caller).
    pub unsafe fn get_section(&self, to: Local, from: &Remote<'_>, overlap: bool) -> Result<(), Failure> {
        let how = conversion(to.element, from.element)?;
        if let Lead::Segment(section) = &from.lead
            && let Some((here, there)) = direct(&to, section, from.element, how)
        {
            self.settle_bytes(from.rank, reach(section, from.element));
            // SAFETY: (1); both have the same elements.
            unsafe { self.rank.shapes().get(here.shape(), from.rank, there.shape(), 0) };
            return Ok(());
        }
        // SAFETY: (1).
        unsafe {
            let held = self.hold(from, overlap && from.rank == self.rank.id())?;
            assign(to, held.local, Way::Load)
        }
    }

    /// The elements of an image: where they are mapped, or with `copy` and from elsewhere a copy.
    ///
    /// # Errors
    /// What their owner finds wrong.
    ///
    /// # Safety
    /// As [`Image::get_section`].
    pub unsafe fn hold(&self, from: &Remote<'_>, copy: bool) -> Result<HeldElements, Failure> {
        let Remote { rank, element, lead } = from;
        match lead {
            Lead::Mapped(section) => {
                self.count_look();
                let local = Local { section: section.clone(), element: *element };
                // SAFETY: owed by the caller.
                unsafe { HeldElements::of(local, copy) }
            }
            Lead::Segment(section) => {
                self.settle_bytes(*rank, reach(section, *element));
                let held = HeldElements::room(section.extents(), *element);
                let (to, source) = (Form::of(&held.local.section, *element), Form::of(section, *element));
                // SAFETY: the copy has as many bytes; the source is owed by the caller.
                unsafe { self.rank.shapes().get(to.shape(), *rank, source.shape(), 0) };
                Ok(held)
            }
            Lead::Private(section, near, target) => match near.read(section, element.bytes) {
                Some(data) => Ok(HeldElements::packed(data, &section.extents(), *element)),
                None => target.read(self, *element),
            },
            Lead::Owner(target) => target.read(self, *element),
        }
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
    pub unsafe fn put_section(&self, to: &Remote<'_>, from: Local, overlap: bool) -> Result<(), Failure> {
        let Remote { rank, element, lead } = to;
        let how = conversion(*element, from.element)?;
        let converted = |from: Local, extents| {
            // SAFETY: (1).
            unsafe { HeldElements::converted(from, extents, *element) }
        };
        match lead {
            Lead::Mapped(section) => {
                let to = Local { section: section.clone(), element: *element };
                // SAFETY: (1).
                unsafe {
                    let held = HeldElements::of(from, overlap && *rank == self.rank.id())?;
                    assign(to, held.local, Way::Store)
                }
            }
            Lead::Segment(section) => {
                let held;
                let (here, there) = match direct(&from, section, *element, how) {
                    Some(forms) => forms,
                    None => {
                        held = converted(from, section.extents())?;
                        (Form::of(&held.local.section, *element), Form::of(section, *element))
                    }
                };
                // SAFETY: (1); both have the same elements.
                unsafe {
                    if self.later(*rank, reach(section, *element)) {
                        let local = gasnet::Local::Now;
                        self.rank.shapes().put_nbi(*rank, there.shape(), 0, here.shape(), local);
                    } else {
                        self.rank.shapes().put(*rank, there.shape(), 0, here.shape());
                    }
                }
                Ok(())
            }
            Lead::Private(section, near, target) => {
                let held = converted(from, section.extents())?;
                let written = near.write(section, element.bytes, held.data());
                if written { Ok(()) } else { target.write(self, &held) }
            }
            Lead::Owner(target) => {
                let one = from.section.axes.is_empty() && target.steps.iter().any(Step::is_ranked);
                let extents = if one { target.shape(self)? } else { from.section.extents() };
                target.write(self, &converted(from, extents)?)
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
    pub unsafe fn transfer(&self, to: &Remote<'_>, from: &Remote<'_>, overlap: bool) -> Result<(), Failure> {
        // SAFETY: owed by the caller.
        unsafe {
            let held = self.hold(from, overlap && to.rank == from.rank)?;
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
fn direct(here: &Local, there: &Section, element: Element, how: Conversion) -> Option<(Form, Form)> {
    if !matches!(how, Conversion::Same(_)) || same_shape(&here.section.extents(), &there.extents()).is_err() {
        return None;
    }
    let forms = (Form::of(&here.section, here.element), Form::of(there, element));
    matches!(forms, (Form::Even(..), Form::Even(..))).then_some(forms)
}

/// From the first byte of elements to the end of the last one.
fn reach(section: &Section, element: Element) -> Range<u64> {
    section.reach(element.bytes).map_or(0..0, |(low, high)| low as u64..high as u64)
}

/// The places of all elements.
fn places(at: usize, axes: &[Axis]) -> Vec<usize> {
    // From the slowest axis to the fastest.
    axes.iter().rev().fold(vec![at], |places, axis| {
        let along = |at: usize| (0..axis.count()).map(move |i| at.wrapping_add_signed(axis.place(i)));
        places.into_iter().flat_map(along).collect()
    })
}
