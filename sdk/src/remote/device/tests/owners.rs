//! Devices of several users.

use std::collections::BTreeSet;

use serde_json::Map;
use temporal_agents_core::{
    tool::{CallInfo, RunContext, ToolContext},
    wire::remote_call::RemoteTarget,
};

use super::*;

fn laptop_of(owner: &str) -> Device {
    Device::announced(&hello("laptop", &tools()), owner).expect("it is a hello")
}

/// Makes a call of the laptop of this user, from this process; returns the output, or the message for
/// the model.
async fn outcome(gateway: &DeviceGateway, user: Option<&str>) -> String {
    let target = json!({"toolset": "laptop", "tool": "run", "timeout_seconds": 3, "once": true, "user": user});
    let target: RemoteTarget = serde_json::from_value(target).expect("it is a target");
    let mut ctx = ToolContext::new(CallInfo::new("run", "c1", "assistant", 1), RunContext::default());
    match body(gateway, target)(&mut ctx, Map::new()).await {
        Ok(output) => json!(output).to_string(),
        Err(error) => error.into_parts().0.tell_model.expect("the model is told"),
    }
}

/// Answers the next call of a device with the name of its owner.
async fn answer_with_owner(connection: &mut DeviceConnection) -> Result<(), BoxError> {
    let (id, _) = called(connection).await;
    let result = FromDevice::Result(ToolResultMessage::new(id, json!(connection.device().owner)));
    connection.receive(&json!(result).to_string())?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn two_users_may_have_a_device_of_one_name() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let here = DeviceGateway::new(channels.clone());
    let elsewhere = DeviceGateway::new(channels);
    let mut of_ada = here.connect(laptop_of("ada")).await?;
    let mut of_bob = here.connect(laptop_of("bob")).await?;
    for gateway in [&here, &elsewhere] {
        // Both calls have the same id, as those of runs of different users may.
        for (user, connection) in [("ada", &mut of_ada), ("bob", &mut of_bob)] {
            let found = gateway.find_device(user, "laptop").await?.expect("it is connected");
            assert_eq!(found.owner, user);
            if Arc::ptr_eq(&gateway.0, &here.0) {
                let (told, answered) = tokio::join!(outcome(gateway, Some(user)), answer_with_owner(connection));
                answered?;
                assert_eq!(told, json!(user).to_string());
            } else {
                // The process that holds the device knows the call.
                assert_eq!(outcome(gateway, Some(user)).await, json!(user).to_string());
            }
        }
    }
    // Nobody else learns that there is such a device.
    for user in [Some("eve"), Some(""), None] {
        assert!(outcome(&elsewhere, user).await.contains("device 'laptop' is offline"), "{user:?}");
    }
    drop(of_bob);
    while elsewhere.find_device("bob", "laptop").await?.is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(elsewhere.find_device("ada", "laptop").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn no_owner_shares_a_channel_with_another() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels.clone());
    let long = "x".repeat(2000);
    let owners = ["", "ada", "ada:laptop", "ada:laptop:rpc", "ada laptop", "*", "rpc-reply", "ada\0", &long];
    let names = ["laptop", "rpc", "a", "ada"];
    let mut used = BTreeSet::new();
    for owner in owners {
        for name in names {
            let key = DeviceKey::new(owner, name);
            let place = gateway.0.record_key(&key);
            assert_eq!(channels.get(&place).await?, None, "channels accept {place}");
            for channel in [place, gateway.0.requests(&key)] {
                assert!(used.insert(channel.clone()), "{owner:?} and {name:?} have the channel {channel} of others");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_device_with_an_owner_of_odd_characters_is_found() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let here = DeviceGateway::new(channels.clone());
    let elsewhere = DeviceGateway::new(channels);
    for owner in ["Ada Lovelace <ada@example.org>", "*?[]", "", "\u{0}"] {
        let _connection = here.connect(laptop_of(owner)).await?;
        let query = ToolsetQuery::new(vec!["laptop".to_owned()], Some(owner.to_owned()));
        assert_eq!(elsewhere.find(&query).await?.len(), 1, "{owner:?}");
    }
    Ok(())
}
