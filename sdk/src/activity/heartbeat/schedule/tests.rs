use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn values_are_due_in_order_every_period() {
    let (mut schedule, start) = (Schedule::default(), Instant::now());
    assert_eq!(schedule.add("slow", ms(300), start), (0, start + ms(300)));
    assert_eq!(schedule.add("fast", ms(100), start), (1, start + ms(100)));
    let mut beats = Vec::new();
    while let Some(due) = schedule.first().filter(|due| *due <= start + ms(400)) {
        beats.push((due.duration_since(start).as_millis(), schedule.take_due(due)));
    }
    let at_300 = vec!["slow", "fast"];
    assert_eq!(beats, [(100, vec!["fast"]), (200, vec!["fast"]), (300, at_300), (400, vec!["fast"])]);
}

#[test]
fn a_value_that_is_late_is_due_once_and_a_period_later_again() {
    let (mut schedule, start) = (Schedule::default(), Instant::now());
    schedule.add("late", ms(100), start);
    assert_eq!(schedule.take_due(start + ms(950)), ["late"]);
    assert_eq!(schedule.first(), Some(start + ms(1_050)));
}

#[test]
fn nothing_is_due_of_a_value_that_was_removed() {
    let (mut schedule, start) = (Schedule::default(), Instant::now());
    let (gone, _) = schedule.add("gone", ms(100), start);
    let (stays, due) = schedule.add("stays", ms(200), start);
    assert_eq!((schedule.remove(gone), schedule.remove(gone)), (Some("gone"), None));
    assert_eq!(schedule.first(), Some(due));
    assert_eq!(schedule.take_due(due), ["stays"]);
    assert_eq!(schedule.remove(stays), Some("stays"), "also after it was due");
    assert_eq!((schedule.first(), schedule.take_due(start + ms(9_000))), (None, vec![]));
}
