// error: E0599
// says: no method named `clone` found for struct `pgas::Array<T>` in the current scope
//! There is one array on all ranks; a clone would be in other phases.
pub fn case(array: pgas::Array<u32>) {
    #[cfg(not(fixed))]
    drop(array.clone());
    #[cfg(fixed)]
    drop(array);
}
