//! `watch`
use crate::session::Session;
use delaylab_proto::Failure;
use serde_json::Value;
pub fn serve(_: Value, _: &mut Session) -> Result<Value, Failure> {
    Err(Failure::new("watch", "not yet"))
}
