//! Memory for messages: allocated in chunks, registered if the provider wants that, kept until the end.
#![expect(unsafe_code, reason = "allocates, and gives out parts of what it allocated")]

use crate::fabric::{Port, RegisteredRegion};
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Alignment of chunks.
const CHUNK_ALIGNMENT_BYTES: usize = 4096;

/// A chunk of memory.
pub(crate) struct Chunk {
    at: NonNull<u8>,
    layout: Layout,
    region: Option<RegisteredRegion>,
}

impl Chunk {
    /// `len` bytes of zeros, which take physical memory only where they are touched.
    pub(crate) fn new(port: &mut Port, len: usize) -> Result<Chunk, String> {
        let layout = Layout::from_size_align(len.max(1), CHUNK_ALIGNMENT_BYTES).map_err(|e| e.to_string())?;
        // SAFETY: the layout has a size.
        let at = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
            .ok_or_else(|| format!("no memory for {len} bytes of messages"))?;
        let mut chunk = Chunk { at, layout, region: None };
        if port.traits.mr_local {
            // SAFETY: valid as long as the chunk, which deregisters the region before it is freed.
            chunk.region = Some(unsafe { port.register(at.as_ptr(), len, false) }?);
        }
        Ok(chunk)
    }

    /// Its first byte.
    pub(crate) fn at(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    /// The descriptor for operations on it.
    pub(crate) fn desc(&self) -> *mut c_void {
        self.region.as_ref().map_or(std::ptr::null_mut(), |region| region.desc)
    }

    /// Frees it. Nothing uses it any more.
    pub(crate) fn end(self, port: &mut Port) {
        if let Some(region) = &self.region {
            port.forget(region);
        }
        // SAFETY: allocated with this layout, and freed once.
        unsafe { std::alloc::dealloc(self.at.as_ptr(), self.layout) };
    }
}
