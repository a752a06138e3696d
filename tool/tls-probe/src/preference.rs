//! A server's order of preference, from its choices among the same groups in two orders.

/// The order that a server follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Its own, whatever the client's is.
    Server,
    /// The client's.
    Client,
    /// Its own between the tiers, and the client's inside of each.
    Tiers,
    /// There are fewer than two groups.
    Single,
    /// Its choices follow no order, or are not all known.
    Unknown,
}

/// Groups by preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// The order.
    pub order: Order,
    /// The groups of equal preference, best first.
    pub tiers: Vec<Vec<u16>>,
}

impl Tiers {
    /// Compares the choices of a server: `forward` for a client's list of groups, and `backward`
    /// for the same list in reverse. The server's first choice comes first in both.
    pub(crate) fn new(forward: &[u16], backward: &[u16]) -> Self {
        let sorted = |list: &[u16]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        if sorted(forward) != sorted(backward) {
            return Self::unknown(forward);
        }
        let mut tiers: Vec<Vec<u16>> = Vec::new();
        let mut start = 0;
        for end in 1..=forward.len() {
            if sorted(&forward[start..end]) != sorted(&backward[start..end]) {
                continue;
            }
            // The client's order inside of a tier is the opposite one, the second time.
            if !forward[start..end].iter().eq(backward[start..end].iter().rev()) {
                return Self::unknown(forward);
            }
            tiers.push(forward[start..end].to_vec());
            start = end;
        }
        let order = match (forward.len(), tiers.len()) {
            (0 | 1, _) => Order::Single,
            (_, 1) => Order::Client,
            (groups, tiers) if groups == tiers => Order::Server,
            _ => Order::Tiers,
        };
        Self { order, tiers }
    }

    /// Returns groups whose order is not known.
    pub(crate) fn unknown(groups: &[u16]) -> Self {
        let order = if groups.len() < 2 { Order::Single } else { Order::Unknown };
        Self { order, tiers: vec![groups.to_vec()] }
    }

    /// Returns the groups, best first.
    pub fn groups(&self) -> impl Iterator<Item = u16> {
        self.tiers.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(forward: &[u16], backward: &[u16]) -> (Order, Vec<Vec<u16>>) {
        let found = Tiers::new(forward, backward);
        assert!(found.groups().eq(forward.iter().copied()));
        (found.order, found.tiers)
    }

    #[test]
    fn the_order_is_that_of_the_choices() {
        assert_eq!(order(&[1, 2, 3], &[1, 2, 3]), (Order::Server, vec![vec![1], vec![2], vec![3]]));
        assert_eq!(order(&[1, 2, 3], &[3, 2, 1]), (Order::Client, vec![vec![1, 2, 3]]));
        let tiers = vec![vec![1], vec![2, 3], vec![4]];
        assert_eq!(order(&[1, 2, 3, 4], &[1, 3, 2, 4]), (Order::Tiers, tiers));
        assert_eq!(order(&[1], &[1]), (Order::Single, vec![vec![1]]));
        assert_eq!(order(&[], &[]), (Order::Single, vec![]));
    }

    #[test]
    fn choices_without_an_order_are_unknown() {
        // 2 before 1 and 3, and then after them.
        assert_eq!(order(&[1, 2, 3], &[2, 3, 1]).0, Order::Unknown);
        assert_eq!(order(&[1, 2], &[1, 3]).0, Order::Unknown);
        assert_eq!(order(&[1, 2], &[1]).0, Order::Unknown);
    }
}
