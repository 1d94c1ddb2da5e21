// error: E0594
// says: cannot assign to data in a `&` reference
//! Who reads does not change its own part either: others read it.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.read(|array| array.local()[0] = 1);
    #[cfg(fixed)]
    array.local(|mine| mine[0] = 1);
}
