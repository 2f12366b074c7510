//! The fields of a request.

use delaylab_proto::{Context, Failure};
use serde_json::Value;

/// Parse the fields of a request. Fail on fields that the operation does not have.
pub fn fields<T: serde::de::DeserializeOwned>(mut request: Value) -> Result<T, Failure> {
    let op = request.as_object_mut().and_then(|fields| fields.remove("op"));
    let what = format!("read the request `{}`", op.as_ref().and_then(Value::as_str).unwrap_or(""));
    serde_json::from_value(request).context(what)
}
