// error: none
// says: lifetime may not live long enough: returning this value requires that `'1` must outlive `'2`
//! A part is lent for the closure only.
pub fn case(vector: pgas::DistVec<u32>) {
    #[cfg(not(fixed))]
    {
        let part = vector.with_local(|part| part);
        part.push(1);
    }
    #[cfg(fixed)]
    vector.with_local(|part| part.push(1));
}
