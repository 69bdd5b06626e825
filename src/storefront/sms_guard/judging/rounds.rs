//! Which texts of a group are judged at the same time: those that make no difference to each other. One that does is judged in a later round,
//! when the earlier ones have been counted.

use std::collections::HashMap;

use ipnet::IpNet;

use crate::kernel::ids::StoreId;
use crate::storefront::sms_guard::asked_text::AskedText;

/// What a text counts for when the guard looks back, beside the sums of its store.
#[derive(PartialEq, Eq, Hash)]
enum Counted<'a> {
    /// Everywhere.
    Number(&'a str),
    Range(StoreId, &'a str),
    Network(StoreId, IpNet),
    /// Texts that solved challenges let through.
    Challenges(StoreId),
    /// The code that a text carries takes the place of an older one for the same identity.
    Identity(StoreId, &'a str),
}

fn counted(asked: &AskedText) -> impl Iterator<Item = Counted<'_>> {
    let (store, number) = (asked.store, &asked.recipient.number);
    let network = asked.network.map(|network| Counted::Network(store, network));
    let challenges = asked.may_be_challenged().then_some(Counted::Challenges(store));
    let identity = asked.new_code().map(|code| Counted::Identity(store, &code.identity));
    [Counted::Number(number.as_str()), Counted::Range(store, number.range())].into_iter().chain(network).chain(challenges).chain(identity)
}

/// The rounds of a group, one after the other, as places in it. Texts that count for each other keep their order.
pub(super) fn rounds<'a>(asked: impl IntoIterator<Item = &'a AskedText>) -> Vec<Vec<usize>> {
    let (mut rounds, mut first_free) = (Vec::<Vec<_>>::new(), HashMap::new());
    for (place, asked) in asked.into_iter().enumerate() {
        let round = counted(asked).filter_map(|counted| first_free.get(&counted)).copied().max().unwrap_or(0);
        if round == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[round].push(place);
        first_free.extend(counted(asked).map(|counted| (counted, round + 1)));
    }
    rounds
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::contact::PhoneNumber;
    use crate::kernel::ids::CompanyId;
    use crate::storefront::challenges;
    use crate::storefront::sms_guard::recipient::Recipient;

    fn asked(store: StoreId, number: &str, network: &str) -> AskedText {
        AskedText {
            store,
            company: CompanyId::new(DateTime::UNIX_EPOCH),
            recipient: Recipient::stranger(PhoneNumber::parse(number).unwrap()),
            code: None,
            network: Some(network.parse().unwrap()),
            challenge: challenges::Standing::NotOffered,
            has_provider: true,
            by_own: false,
            at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn texts_that_count_for_each_other_are_judged_one_after_the_other() {
        let [one, other] = [1, 2].map(|_| StoreId::new(DateTime::UNIX_EPOCH));
        let texts = [
            asked(one, "+12015550123", "192.0.2.1/32"),
            asked(one, "+12025550123", "192.0.2.2/32"),
            // The same number, the range of the first one, a network, and all of it in another store.
            asked(other, "+12015550123", "192.0.2.3/32"),
            asked(one, "+12015550124", "192.0.2.4/32"),
            asked(one, "+12035550123", "192.0.2.2/32"),
            asked(other, "+12025550124", "192.0.2.2/32"),
        ];
        assert_eq!(rounds(&texts), [vec![0, 1, 5], vec![2, 3, 4]]);
        let pumping: Vec<_> = (0..4).map(|_| asked(one, "+12015550123", "192.0.2.1/32")).collect();
        assert_eq!(rounds(&pumping), [[0], [1], [2], [3]]);
    }
}
