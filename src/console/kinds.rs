//! The kinds of records that pages are drawn for.

use std::collections::HashMap;

use crate::callers::Caller;
use crate::resources::KindDoc;

/// All kinds, by their path and by the prefix of their ids.
#[derive(Debug)]
pub struct Kinds {
    all: Vec<KindDoc>,
    by_prefix: HashMap<&'static str, usize>,
}

impl Kinds {
    pub(super) fn new(all: Vec<KindDoc>) -> Self {
        let mut by_prefix = HashMap::new();
        for (index, kind) in all.iter().enumerate() {
            by_prefix.entry(kind.referable.prefix).or_insert(index);
        }
        Self { all, by_prefix }
    }

    /// Those of the portal: the kinds that have owners, without the field that names them.
    pub(super) fn within_owner(&self) -> Self {
        Self::new(self.all.iter().filter_map(KindDoc::within_owner).collect())
    }

    /// The kinds that `caller` may look at.
    pub fn visible_to<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a KindDoc> {
        self.all.iter().filter(|kind| may_read(caller, kind))
    }

    /// The kind whose list is at `<namespace>/int/v1/<path>`, if `caller` may look at it.
    pub fn find(&self, caller: &Caller, namespace: &str, path: &str) -> Option<&KindDoc> {
        self.all.iter().find(|kind| kind.namespace == namespace && kind.path() == path).filter(|kind| may_read(caller, kind))
    }

    /// The kind of the record with this id, if `caller` may look at it.
    pub fn find_of_id(&self, caller: &Caller, id: &str) -> Option<&KindDoc> {
        self.of_id(id).filter(|kind| may_read(caller, kind))
    }

    /// The kind of the record with this id, if it is one.
    pub fn of_id(&self, id: &str) -> Option<&KindDoc> {
        let (prefix, suffix) = id.rsplit_once('_')?;
        let looks_like_one = suffix.len() == 26 && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        self.by_prefix.get(prefix).filter(|_| looks_like_one).map(|index| &self.all[*index])
    }

    /// The kind whose ids have this prefix.
    pub fn with_prefix(&self, prefix: &str) -> Option<&KindDoc> {
        self.by_prefix.get(prefix).map(|index| &self.all[*index])
    }
}

fn may_read(caller: &Caller, kind: &KindDoc) -> bool {
    caller.grant.allows_all(kind.reading)
}
