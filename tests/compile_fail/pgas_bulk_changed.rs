// error: E0596
// says: cannot borrow data in dereference of `Bulk<u32>` as mutable
//! Bulk data may be on its way: it does not change.
pub fn case(bulk: &mut pgas::Bulk<u32>) {
    #[cfg(not(fixed))]
    bulk.sort();
    #[cfg(fixed)]
    {
        let mut own = bulk.clone().into_vec();
        own.sort();
    }
}
