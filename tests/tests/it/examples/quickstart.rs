//! The quickstart; its program is tested in `examples/tests`.

use std::time::Duration;

use temporal_agents_examples::quickstart::{
    model,
    trip::{Plan, Request, TravelData, Trip, travel_desk},
};

use super::{Cache, Played, histories};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Plan>> {
    let model = model::scripted(Duration::ZERO);
    let env = cache.environment::<Trip>()?.agents((travel_desk,)).state(TravelData { delay: Duration::ZERO });
    let env = env.model(&model).start().await?;
    let request = Request { prompt: "Two nights in Oslo, please.".to_owned(), heartbeat_seconds: 30 };
    let run = env.run(Trip::run, request).await?;
    let histories = histories::<Trip>(&env, &run.workflow_id).await?;
    let output = run.output()?;
    env.finish().await?;
    Ok(Played { output, histories, calls: model.calls() })
}
