//! Elements of shared arrays that are used through C pointers.

use crate::front::ast::{Expr, NodeId};
use std::collections::HashMap;

/// Those in the code being emitted.
#[derive(Clone, Debug, Default)]
pub(super) struct Pointers {
    /// For an element: which of `all`.
    of: HashMap<NodeId, usize>,
    /// Pointer and index.
    all: Vec<(String, String)>,
}

impl Pointers {
    /// From here on the elements are `pointer[index]`.
    pub fn add(&mut self, nodes: &[&Expr], pointer: String, index: &str) -> usize {
        self.of.extend(nodes.iter().map(|e| (e.id, self.all.len())));
        self.all.push((pointer, index.to_string()));
        self.all.len() - 1
    }

    /// Another pointer and index in the place of one that was added.
    pub fn set(&mut self, at: usize, pointer: String, index: &str) {
        self.all[at] = (pointer, index.to_string());
    }

    /// Pointers that are used with this index.
    pub fn along(&self, index: &str) -> Vec<(usize, String)> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, p)| p.1 == index).map(|(n, p)| (n, p.0.clone())).collect()
    }

    /// Pointer and index of an element.
    pub fn get(&self, e: &Expr) -> Option<&(String, String)> {
        if self.of.is_empty() { None } else { self.of.get(&e.id).map(|&n| &self.all[n]) }
    }
}
