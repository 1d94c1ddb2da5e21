//! Reads and writes through references: of components that are allocated or pointed to, and of whole arrays
//! into allocatable ones.
//!
//! On a near image the reference is followed from here. Elements in its segment are loads and stores; those
//! in its private memory the system copies, where it may and where they are few runs. Otherwise, and on far
//! images, the owner follows it ([`crate::owner`]).
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::access::{Place, Remote};
use crate::assign::{Local, Way, assign, same_shape};
use crate::coarray::Coarray;
use crate::descriptor::{Class, Descriptor, Element, Section};
use crate::image::Image;
use crate::memory::Location;
use crate::near::Near;
use crate::owner::Target;
use crate::stat::Failure;
use crate::walk::{Found, Miss, Reference, Steps, walk};
use gasnet_wire::bytes;

/// Where elements that were read go.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// The variable.
    pub descriptor: Descriptor,
    /// Its kind.
    pub kind: i32,
    /// Whether it gets another shape if it has to.
    pub reallocatable: bool,
}

/// A reference, as compiled code has it: to which elements, of which type.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    /// The coarray.
    pub coarray: &'a Coarray,
    /// The image, in the current team.
    pub image: i32,
    /// The steps from its first byte on.
    pub steps: Steps<'a>,
    /// The type of the elements.
    pub class: Class,
    /// Their kind.
    pub kind: i32,
}

impl Image {
    /// Follows a reference from here, as far as that is possible.
    ///
    /// # Errors
    /// There is no such image, or the reference leads nowhere.
    fn reach<'a>(&'a self, path: &Path<'a>) -> Result<Remote<'a>, Failure> {
        let Location { rank, offset, .. } = self.locate(path.coarray, 0, path.image)?;
        let target = Target { rank, offset, steps: path.steps };
        let remote = |bytes, place| Remote {
            rank,
            element: Element { class: path.class, kind: path.kind, bytes },
            place,
        };
        let owner = || remote(target.bytes(), Place::Owner(target));
        let Some(segment) = self.rank.table().get(rank).filter(|s| !s.local.is_null()) else {
            // Nobody knows here where the reference leads.
            self.settle_bytes(rank, 0..u64::MAX);
            return Ok(owner());
        };
        self.count_look();
        let process = self.processes.get(rank.0 as usize).copied().flatten();
        let near = Near { own: rank == self.rank.id(), segment, process };
        match walk(&near, near.start().wrapping_add(offset as usize), path.steps) {
            Ok(Found { section: Section { at, axes }, bytes }) => Ok(remote(
                bytes,
                match near.mapped(at) {
                    Some(at) => Place::Mapped(Section { at: at.expose_provenance(), axes }),
                    None => Place::Private(Section { at, axes }, near, target),
                },
            )),
            Err(Miss::Unreadable) => Ok(owner()),
            Err(miss) => Err(miss.on(rank.0 + 1)),
        }
    }

    /// Reads what a reference leads to.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image or component, a subscript is out of bounds, or the shapes differ.
    ///
    /// # Safety
    /// 1. The destination is a variable of compiled code (owed by the caller).
    #[inline]
    pub unsafe fn get_by_path(&self, to: Destination, path: Path<'_>, overlap: bool) -> Result<(), Failure> {
        let from = self.reach(&path)?;
        // SAFETY: (1); the others are elements of this type.
        unsafe {
            if let Some(at) = from.one_as(to.descriptor, to.kind) {
                bytes::load(to.descriptor.base(), at, from.element.bytes);
                return Ok(());
            }
            let held = self.hold(&from, overlap && from.rank == self.rank.id())?;
            assign(to.shaped(&held.local.section.extents())?, held.local, Way::Load)
        }
    }

    /// Writes to what a reference leads to; one element to all if there is one only.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_by_path`].
    ///
    /// # Safety
    /// 1. The elements here are of that type (owed by the caller).
    #[inline]
    pub unsafe fn put_by_path(
        &self,
        path: Path<'_>,
        (from, kind): (Descriptor, i32),
        overlap: bool,
    ) -> Result<(), Failure> {
        let to = self.reach(&path)?;
        // SAFETY: (1).
        unsafe {
            if let Some(at) = to.one_as(from, kind) {
                bytes::store(at, from.base(), to.element.bytes);
                return Ok(());
            }
            self.put_or_part(&to, &path, Local::of(from, kind), overlap)
        }
    }

    /// Writes elements, or the first ones along each dimension, as many as the section has that the reference
    /// leads to, if there are more than that: as where the compiler does not check bounds. Whole components
    /// are no sections.
    ///
    /// # Errors
    /// As [`Image::get_by_path`].
    ///
    /// # Safety
    /// As [`Image::put_by_path`].
    unsafe fn put_or_part(
        &self,
        to: &Remote<'_>,
        path: &Path<'_>,
        from: Local,
        overlap: bool,
    ) -> Result<(), Failure> {
        // SAFETY: (1).
        let result = unsafe { self.put_section(to, from.clone(), overlap) };
        let is_part = path.steps.iter().last().is_some_and(Reference::is_part);
        let Err(failure) = result.as_ref().map_err(|failure| failure.text.clone()) else { return result };
        let Some(extents) = to.extents(self).ok().filter(|_| is_part && !self.rank.config().check) else {
            return result;
        };
        let own = from.section.extents();
        if own == extents || own.len() != extents.len() || own.iter().zip(&extents).any(|(own, n)| own < n) {
            return result;
        }
        self.warn(&failure);
        let from = Local { section: from.section.first(&extents), element: from.element };
        // SAFETY: (1); fewer elements than before.
        unsafe { self.put_section(to, from, overlap) }
    }

    /// Assigns what one reference leads to to what another leads to.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_by_path`], of both.
    pub fn transfer_by_path(&self, to: Path<'_>, from: Path<'_>) -> Result<(), Failure> {
        let (target, from) = (self.reach(&to)?, self.reach(&from)?);
        // They may be the same elements.
        // SAFETY: elements of this type.
        unsafe {
            let held = self.hold(&from, from.rank == target.rank)?;
            self.put_or_part(&target, &to, held.local.clone(), false)
        }
    }

    /// Whether a reference leads to a component that is allocated or associated.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image.
    pub fn is_present(&self, path: Path<'_>) -> Result<bool, Failure> {
        self.rank_of(path.image)?;
        match self.reach(&path) {
            Ok(Remote { place: Place::Owner(target), .. }) => target.is_present(self),
            found => Ok(found.is_ok()),
        }
    }
}

impl Destination {
    /// The variable with a shape: its own, if that is the same or one element, else the new one if it may
    /// have it.
    ///
    /// # Errors
    /// It may not, or there is no memory.
    ///
    /// # Safety
    /// 1. A variable of compiled code (owed by the caller).
    unsafe fn shaped(self, extents: &[usize]) -> Result<Local, Failure> {
        let to = self.descriptor;
        if !to.base().is_null() && (!self.reallocatable || same_shape(&to.extents(), extents).is_ok()) {
            return Ok(Local::of(to, self.kind));
        }
        if !self.reallocatable {
            return Err(Failure::other("a variable that is not allocated is assigned to"));
        }
        if to.rank() != extents.len() {
            return Err(Failure::other(format!(
                "{} dimensions are assigned to {}",
                extents.len(),
                to.rank()
            )));
        }
        let bytes = extents.iter().product::<usize>() * to.elem_len();
        // SAFETY: memory that compiled code has from the same allocator; (1).
        unsafe {
            let base = libc::realloc(to.base().cast(), bytes.max(1));
            if base.is_null() {
                return Err(Failure::other(format!("not enough memory for {bytes} bytes")));
            }
            to.set_contiguous(base.cast(), extents);
        }
        Ok(Local::of(to, self.kind))
    }
}
