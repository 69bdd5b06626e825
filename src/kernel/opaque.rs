//! Values that clones share and that the compiler does not look into.
//!
//! A handler's future contains the state of its module, and the compiler proves many times for each handler that the future may move to another
//! thread. The proof goes through all that the state consists of, down to the last socket, unless it ends at a trait object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A value that clones share. That threads may share it is proven once, where it is made.
pub struct Opaque<T>(Arc<dyn Inside<T>>);

trait Inside<T>: Send + Sync {
    fn value(&self) -> &T;
}

impl<T: Send + Sync> Inside<T> for T {
    fn value(&self) -> &T {
        self
    }
}

impl<T: Send + Sync + 'static> Opaque<T> {
    /// Makes the value one that is shared.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for Opaque<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Opaque<T> {
    type Target = T;

    fn deref(&self) -> &T {
        Inside::value(&*self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
