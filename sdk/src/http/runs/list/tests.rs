use super::*;

/// A source of rows that a list consists of.
struct Numbers {
    left: Vec<u32>,
    place: u32,
}

impl Rows for Numbers {
    type Place = u32;

    async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        let Some(number) = self.left.pop() else { return Ok(None) };
        self.place = number;
        Ok(Some(row(number)))
    }

    fn place(&self) -> u32 {
        self.place
    }
}

fn row(number: u32) -> Row {
    let execution = temporalio_common::protos::temporal::api::common::v1::WorkflowExecution {
        workflow_id: format!("run-{number}"),
        run_id: String::new(),
    };
    let info = temporalio_common::protos::temporal::api::workflow::v1::WorkflowExecutionInfo {
        execution: Some(execution),
        ..Default::default()
    };
    let context = temporalio_common::data_converters::SerializationContextData::None;
    Row::of_info(
        &info,
        &temporalio_client::Memo::from_raw(
            None,
            temporalio_common::data_converters::PayloadConverter::default(),
            context,
        ),
    )
}

#[tokio::test]
async fn runs_that_do_not_match_cost_the_budget_and_move_the_place() {
    let is_second = |id: &str| id == "run-2";
    let filter = Filter { waiting: false, open: false, ..Filter::waiting(&is_second) };
    let mut source = Source::new(Part::After(9), |place| Some(Numbers { left: vec![1, 2, 3, 4], place }));
    let mut budget = 1;
    source.fill(&filter, &mut budget).await.unwrap();
    assert_eq!((source.head.is_some(), &source.place, budget), (false, &Part::After(4), 0));
    budget = 9;
    source.fill(&filter, &mut budget).await.unwrap();
    // The place is the one before the run, until it is taken.
    assert_eq!((&source.place, budget), (&Part::After(3), 7));
    assert_eq!(source.take().map(|row| row.id), Some("run-2".to_owned()));
    assert_eq!(source.place, Part::After(2));
    source.fill(&filter, &mut budget).await.unwrap();
    assert_eq!((source.is_over(), &source.place), (true, &Part::End));
}

#[test]
fn a_cursor_is_read_as_it_was_written() {
    let place = Place { tasks: Part::After(RunPlace { started_at: 7, key: "k".to_owned() }), ..Place::default() };
    assert_eq!(decoded::<Place>(&encoded(&place)).ok(), Some(place));
    assert!(decoded::<Place>("no cursor").is_err());
}
