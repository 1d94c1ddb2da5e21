// error: E0521
// says: borrowed data escapes outside of closure
//! A part is a rank's own within its phase only.
pub fn case(array: &mut pgas::Array<u32>) {
    let mut kept: Option<&mut [u32]> = None;
    #[cfg(not(fixed))]
    array.local(|mine| kept = Some(mine));
    #[cfg(fixed)]
    array.local(|mine| mine[0] = 1);
    let _ = kept.take();
}
