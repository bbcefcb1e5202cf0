//! Nexus endpoints of a dev server, for tests of agents whose tools are Nexus operations.

use temporalio_client::grpc::OperatorService;
use temporalio_common::protos::temporal::api::{
    nexus::v1::{
        EndpointSpec, EndpointTarget,
        endpoint_target::{Variant, Worker},
    },
    operatorservice::v1::CreateNexusEndpointRequest,
};
use tonic::Request;

use super::{DevServer, DevServerError};

impl DevServer {
    /// Creates a Nexus endpoint that routes to the workers of this task queue of
    /// [`namespace`](Self::namespace).
    ///
    /// The name consists of letters, digits and `-`, and begins with a letter. Endpoints belong to
    /// the whole server: an `AgentEnvironment` that creates one needs a server of its own
    /// (`server_options(DevServerOptions::default())`).
    ///
    /// # Errors
    /// [`DevServerError::NexusEndpoint`], for example if an endpoint of that name already exists.
    pub async fn create_nexus_endpoint(&self, name: &str, task_queue: &str) -> Result<(), DevServerError> {
        let worker = Worker { namespace: self.namespace().to_owned(), task_queue: task_queue.to_owned() };
        let target = EndpointTarget { variant: Some(Variant::Worker(worker)) };
        let spec = EndpointSpec { name: name.to_owned(), description: None, target: Some(target) };
        let request = Request::new(CreateNexusEndpointRequest { spec: Some(spec) });
        let mut client = self.client().await?;
        match OperatorService::create_nexus_endpoint(&mut client, request).await {
            Ok(_) => Ok(()),
            Err(status) => Err(DevServerError::NexusEndpoint { name: name.to_owned(), source: Box::new(status) }),
        }
    }
}
