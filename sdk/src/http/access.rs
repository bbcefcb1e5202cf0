//! The decision who may do what.

use sha2::{Digest, Sha256};

/// Decides who may use the service, and what for. The defaults of the methods permit everything to
/// a caller who was authenticated, except to read and edit agents as data.
pub trait AccessPolicy: Send + Sync + 'static {
    /// Returns the caller of a request with this `Authorization` header; `None` refuses the
    /// request with status 401.
    fn authenticate(&self, authorization: Option<&str>) -> Option<Caller>;

    /// Returns `true` if the caller may start runs of this agent.
    fn may_start(&self, _caller: &Caller, _agent: &str) -> bool {
        true
    }

    /// Returns `true` if the caller may read this run. Lists leave the others out.
    fn may_see(&self, _caller: &Caller, _run_id: &str) -> bool {
        true
    }

    /// Returns `true` if the caller may decide, supply outputs, send messages and cancel. A caller
    /// who may not see the run may do none of these.
    fn may_decide(&self, _caller: &Caller, _run_id: &str) -> bool {
        true
    }

    /// Returns `true` if the caller may edit the agent of this name, which is data. Default:
    /// nobody may, since who edits an agent decides what it does with the tools of the workers.
    fn may_edit_spec(&self, _caller: &Caller, _agent: &str) -> bool {
        false
    }

    /// Returns `true` if the caller may read the specs of this agent, with its instructions.
    /// Default: callers who may edit it.
    fn may_read_spec(&self, caller: &Caller, agent: &str) -> bool {
        self.may_edit_spec(caller, agent)
    }

    /// Returns `true` if the caller may start runs in this thread, which makes the model read the
    /// thread's conversation. Default: a caller who may see and decide a run of this id.
    fn may_use_thread(&self, caller: &Caller, thread: &str) -> bool {
        self.may_see(caller, thread) && self.may_decide(caller, thread)
    }
}

/// The sender of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Name or id of the person, which decisions carry in history.
    pub name: Option<String>,
}

/// Permits everything to callers who send `Authorization: Bearer <token>`, except to read and edit
/// agents as data unless [`allow_edit_specs`](Self::allow_edit_specs) is set.
#[derive(Clone)]
pub struct BearerToken {
    digest: [u8; 32],
    caller: Caller,
    edits_specs: bool,
}

impl BearerToken {
    /// Creates a policy with one token, whose owner has this name.
    ///
    /// # Panics
    /// If the token is empty.
    pub fn new(token: &str, name: impl Into<String>) -> Self {
        assert!(!token.is_empty(), "a bearer token must not be empty");
        let caller = Caller { name: Some(name.into()) };
        Self { digest: Sha256::digest(token).into(), caller, edits_specs: false }
    }

    /// Permits the owner of the token to read and edit agents as data.
    #[must_use]
    pub fn allow_edit_specs(mut self) -> Self {
        self.edits_specs = true;
        self
    }
}

impl AccessPolicy for BearerToken {
    fn authenticate(&self, authorization: Option<&str>) -> Option<Caller> {
        let (scheme, token) = authorization?.split_once(' ')?;
        // Digests are compared, so that the time says nothing about the token.
        let digest: [u8; 32] = Sha256::digest(token.trim()).into();
        (scheme.eq_ignore_ascii_case("bearer") && digest == self.digest).then(|| self.caller.clone())
    }

    fn may_edit_spec(&self, _caller: &Caller, _agent: &str) -> bool {
        self.edits_specs
    }
}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BearerToken").field("caller", &self.caller).finish_non_exhaustive()
    }
}
