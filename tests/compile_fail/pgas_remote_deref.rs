// error: E0599
// says: no method named `len` found for struct `Remote<T>` in the current scope
//! An object that is on another rank is called, not looked at.
pub fn case(list: pgas::Remote<Vec<u32>>) {
    #[cfg(not(fixed))]
    println!("{}", list.len());
    #[cfg(fixed)]
    println!("{}", list.call(|list, ()| list.len() as u64, ()).wait());
}
