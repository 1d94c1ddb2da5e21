// error: none
// says: lifetime may not live long enough: returning this value requires that `'1` must outlive `'2`
//! A part that is read is gone with its phase.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    {
        let kept = array.read(|array| array.local());
        println!("{}", kept.len());
    }
    #[cfg(fixed)]
    {
        let kept = array.read(|array| array.local().to_vec());
        println!("{}", kept.len());
    }
}
