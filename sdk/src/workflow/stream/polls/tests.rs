use super::*;

#[test]
fn polls_are_over_the_budget_until_one_before_them_leaves() {
    let mut polls = Polls::default();
    let tickets: Vec<u64> = (0..6).map(|_| polls.park()).collect();
    let over = |polls: &Polls| tickets.iter().map(|ticket| polls.is_over_budget(*ticket)).collect::<Vec<_>>();
    assert_eq!(over(&polls), [false, false, false, false, true, true]);
    polls.unpark(tickets[1]);
    assert!(!polls.is_over_budget(tickets[4]) && polls.is_over_budget(tickets[5]));
}
