//! Reads and writes of coarrays.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{finish, image, report, succeed};
use crate::access::{Lead, Remote, as_bytes};
use crate::assign::Local;
use crate::descriptor::{Class, Descriptor, Section, Subscripts};
use crate::image::Image;
use crate::memory::{Location, coarray, locate};
use crate::stat::Failure;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// The parameters of compiled code for elements on an image of the current team, or of another team.
#[derive(Clone, Copy)]
struct There {
    token: *mut u8,
    offset: usize,
    index: c_int,
    /// A descriptor of the elements of this image.
    like: Descriptor,
    subscripts: *const Subscripts,
    kind: c_int,
    /// A variable of a team, or null.
    team: *const *const c_void,
}

impl There {
    /// Where `bytes` contiguous bytes are, if nothing speaks against it.
    ///
    /// # Safety
    /// `token` is null or one of this library (owed by the caller).
    #[cold]
    unsafe fn simple(&self, image: &Image, bytes: usize) -> Option<Location> {
        // SAFETY: owed by the caller.
        let coarray = unsafe { coarray(self.token) }.ok()?;
        let simple = self.subscripts.is_null()
            && self.team.is_null()
            && coarray.holds(self.offset, bytes)
            && !coarray.has_components.load(Relaxed);
        if simple { image.locate(coarray, self.offset, self.index).ok() } else { None }
    }

    /// The elements. Those of the other side of the assignment have the extents `other`.
    ///
    /// # Errors
    /// No such coarray, image or elements.
    ///
    /// # Safety
    /// All pointers are null or those of compiled code for one call (owed by the caller).
    #[cold]
    unsafe fn elements(&self, image: &Image, other: &[usize]) -> Result<Remote<'static>, Failure> {
        // SAFETY: owed by the caller.
        unsafe {
            let coarray = coarray(self.token)?;
            let element = self.like.element(self.kind);
            if element.class == Class::Derived && coarray.has_components.load(Relaxed) {
                return Err(Failure::other(
                    "the compiler copies an object of another image with the addresses of its allocatable and pointer components, which mean \
                     nothing here: assign its components",
                ));
            }
            let section = match self.subscripts.is_null() {
                true => self.like.section(0),
                false => self.like.section_at(0, self.subscripts, other),
            };
            let offset = coarray.elements_at(self.offset, &section, self.like.elem_len())?;
            // The subscripts may begin elsewhere.
            let offset = offset.wrapping_add(section.at);
            let team = self.team.as_ref().map_or(Ok(image.level()), |team| image.level_of(*team))?;
            let Location { rank, offset, mapped } = locate(team, coarray, offset, self.index)?;
            let section = |at| Section { at, axes: section.axes };
            let lead = match mapped.is_null() {
                true => Lead::Segment(section(offset as usize)),
                false => Lead::Mapped(section(mapped.expose_provenance())),
            };
            Ok(Remote { rank, element, lead })
        }
    }
}

/// Reads `source` of an image to `to`.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get(
    token: *mut u8,
    offset: usize,
    index: c_int,
    source: *mut u8,
    subscripts: *const Subscripts,
    to: *mut u8,
    source_kind: c_int,
    kind: c_int,
    overlap: bool,
    stat: *mut c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (source, to) = unsafe { (Descriptor::at(source), Descriptor::at(to)) };
    let bytes = as_bytes((to, kind), (source, source_kind)).filter(|_| subscripts.is_null());
    if let Some(bytes) = bytes
        // SAFETY: see above.
        && let Some(from) = unsafe { image.near(token, offset, index, bytes) }
    {
        // SAFETY: see above.
        unsafe {
            image.load_mapped(to.base(), from, bytes);
            succeed(image, index, stat);
        }
        return;
    }
    let team = std::ptr::null();
    let there = There { token, offset, index, like: source, subscripts, kind: source_kind, team };
    if let Some(bytes) = bytes
        // SAFETY: see above.
        && let Some(location) = unsafe { there.simple(image, bytes) }
    {
        // SAFETY: see above.
        unsafe {
            image.get_bytes(to.base(), location, bytes);
            succeed(image, index, stat);
        }
        return;
    }
    // SAFETY: see above.
    unsafe {
        let to = Local::of(to, kind);
        let elements = there.elements(image, &to.section.extents());
        let result = elements.and_then(|from| image.get_section(to, &from, overlap));
        finish(image, index, result, stat);
    }
}

/// Writes `source` to `to` of an image, of the team if there is one.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_send(
    token: *mut u8,
    offset: usize,
    index: c_int,
    to: *mut u8,
    subscripts: *const Subscripts,
    source: *mut u8,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    stat: *mut c_int,
    team: *const *const c_void,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (source, to) = unsafe { (Descriptor::at(source), Descriptor::at(to)) };
    let bytes = as_bytes((to, kind), (source, source_kind)).filter(|_| subscripts.is_null());
    if let Some(bytes) = bytes
        && team.is_null()
        // SAFETY: see above.
        && let Some(to) = unsafe { image.near(token, offset, index, bytes) }
    {
        // SAFETY: see above.
        unsafe {
            gasnet_wire::bytes::store(to, source.base(), bytes);
            succeed(image, index, stat);
        }
        return;
    }
    let there = There { token, offset, index, like: to, subscripts, kind, team };
    if let Some(bytes) = bytes
        // SAFETY: see above.
        && let Some(location) = unsafe { there.simple(image, bytes) }
    {
        // SAFETY: see above.
        unsafe {
            image.put_bytes(location, source.base(), bytes);
            succeed(image, index, stat);
        }
        return;
    }
    // SAFETY: see above.
    unsafe {
        let source = Local::of(source, source_kind);
        let elements = there.elements(image, &source.section.extents());
        let result = elements.and_then(|to| image.put_section(&to, source, overlap));
        finish(image, index, result, stat);
    }
}

/// Assigns `source` of an image to `to` of an image.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sendget(
    token: *mut u8,
    offset: usize,
    index: c_int,
    to: *mut u8,
    subscripts: *const Subscripts,
    source_token: *mut u8,
    source_offset: usize,
    source_index: c_int,
    source: *mut u8,
    source_subscripts: *const Subscripts,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    stat: *mut c_int,
) {
    let image = image();
    let team = std::ptr::null();
    // SAFETY: owed by the caller.
    unsafe {
        let like = Descriptor::at(to);
        let to = There { token, offset, index, like, subscripts, kind, team };
        let from = There {
            token: source_token,
            offset: source_offset,
            index: source_index,
            like: Descriptor::at(source),
            subscripts: source_subscripts,
            kind: source_kind,
            team,
        };
        let result = from.elements(image, &[]).and_then(|first| {
            // Either may say how many elements the other one has.
            let to = to.elements(image, &first.extents(image)?)?;
            let from = from.elements(image, &to.extents(image)?)?;
            image.transfer(&to, &from, overlap)
        });
        report(stat, std::ptr::null_mut(), 0).finish(image, result);
    }
}
