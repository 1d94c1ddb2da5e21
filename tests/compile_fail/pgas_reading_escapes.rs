// error: none
// says: lifetime may not live long enough: returning this value requires that `'1` must outlive `'2`
//! The handle of a read phase is valid until the phase ends.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    {
        let kept = array.read(|array| array);
        println!("{}", kept.get(1));
    }
    #[cfg(fixed)]
    println!("{}", array.read(|array| array.get(1)));
}
