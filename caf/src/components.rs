//! Reads and writes through references: of components that are allocated or pointed to, and of whole arrays
//! into allocatable ones.
//!
//! On a near image the reference is followed from here. Elements in its segment are loads and stores; those
//! in its private memory the system copies, where it may and where they are few runs. Otherwise, and on far
//! images, the owner follows it ([`crate::owner`]).
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::access::{Lead, Remote};
use crate::assign::{Local, Way, assign, same_shape};
use crate::coarray::Coarray;
use crate::descriptor::{Class, Descriptor, Element, Section};
use crate::image::Image;
use crate::memory::Location;
use crate::near::Near;
use crate::owner::Target;
use crate::stat::Failure;
use crate::walk::{Miss, Reference, Step, walk};
use gasnet::RankId;

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
    pub steps: Reference<'a>,
    /// The type of the elements.
    pub class: Class,
    /// Their kind.
    pub kind: i32,
}

impl Path<'_> {
    fn element(&self, bytes: usize) -> Element {
        Element { class: self.class, kind: self.kind, bytes }
    }
}

impl Image {
    /// Follows a reference from here, as far as that is possible.
    ///
    /// # Errors
    /// There is no such image, or the reference leads nowhere.
    fn reach<'a>(&'a self, path: &Path<'a>) -> Result<Remote<'a>, Failure> {
        let Location { rank, offset, .. } = self.locate(path.coarray, 0, path.image)?;
        let target = Target { rank, offset, steps: path.steps };
        let remote = |bytes, lead| Remote { rank, element: path.element(bytes), lead };
        let owner = || remote(target.bytes(), Lead::Owner(target));
        let Some(mut near) = self.near_image(rank) else {
            // Nobody knows here where the reference leads.
            self.settle_bytes(rank, 0..u64::MAX);
            return Ok(owner());
        };
        near.process = self.processes.get(rank.0 as usize).copied().flatten();
        self.count_look();
        let mut section = Section::scalar(near.start().wrapping_add(offset as usize));
        match walk(&near, &mut section, path.steps) {
            Ok(bytes) => {
                let lead = match near.mapped(section.at) {
                    Some(at) => Lead::Mapped(Section { at: at.expose_provenance(), ..section }),
                    None => Lead::Private(section, near, target),
                };
                Ok(remote(bytes, lead))
            }
            Err(miss) if *miss == Miss::Unreadable => Ok(owner()),
            Err(miss) => Err(miss.on(rank.0 + 1)),
        }
    }

    #[inline]
    fn near_image(&self, rank: RankId) -> Option<Near<'_>> {
        let segment = self.rank.table().get(rank).filter(|segment| !segment.local.is_null())?;
        Some(Near { own: rank == self.rank.id(), segment, process: None })
    }

    /// Where the one element is mapped that a reference leads to, if it is of the same type as a scalar here.
    #[inline]
    pub fn near_element(&self, path: &Path<'_>, own: Descriptor, kind: i32) -> Option<*mut u8> {
        if own.rank() != 0 || own.base().is_null() {
            return None;
        }
        let Location { rank, offset, .. } = self.locate(path.coarray, 0, path.image).ok()?;
        let near = self.near_image(rank)?;
        let mut section = Section::scalar(near.start().wrapping_add(offset as usize));
        let bytes = walk(&near, &mut section, path.steps).ok()?;
        let one = section.axes.is_empty() && path.element(bytes) == own.element(kind);
        one.then(|| near.mapped(section.at))?
    }

    /// Reads what a reference leads to.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image or component, a subscript is out of bounds, or the shapes differ.
    ///
    /// # Safety
    /// 1. The destination is a variable of compiled code (owed by the caller).
    pub unsafe fn get_by_path(&self, to: Destination, path: Path<'_>, overlap: bool) -> Result<(), Failure> {
        let from = self.reach(&path)?;
        // SAFETY: (1); the others are elements of this type.
        unsafe {
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
    pub unsafe fn put_by_path(&self, path: Path<'_>, from: Local, overlap: bool) -> Result<(), Failure> {
        let to = self.reach(&path)?;
        // SAFETY: (1).
        unsafe { self.put_or_part(&to, &path, from, overlap) }
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
        let Err(failure) = (unsafe { self.put_section(to, from.clone(), overlap) }) else { return Ok(()) };
        let is_part = path.steps.iter().last().is_some_and(Step::is_part);
        let Some(extents) = to.extents(self).ok().filter(|_| is_part && !self.rank.config().check) else {
            return Err(failure);
        };
        let own = from.section.extents();
        if own == extents || own.len() != extents.len() || own.iter().zip(&extents).any(|(own, n)| own < n) {
            return Err(failure);
        }
        self.warn(&failure.text);
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
            Ok(Remote { lead: Lead::Owner(target), .. }) => target.is_present(self),
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
