// error: E0277
// says: the trait bound `f64: Ord` is not satisfied
//! A sort needs an order; floating point numbers have several.
pub fn case(vector: pgas::DistVec<f64>) {
    #[cfg(not(fixed))]
    vector.sort();
    #[cfg(fixed)]
    vector.sort_by(f64::total_cmp);
}
