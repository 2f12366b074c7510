//! Errors with the operation that failed, as failures.

use crate::Failure;

/// The description of a failed operation, added to its error.
pub trait Context<T> {
    /// Return the value, or a failure of the operation `what` with the error as its cause.
    fn context(self, what: impl Into<String>) -> Result<T, Failure>;

    /// Return the same as [`Context::context`]; `what` is built only after an error.
    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Failure>;
}

impl<T, E: ToString> Context<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what, error))
    }

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_cause_of_a_failure_that_names_the_operation() {
        let wrong = "x".parse::<u8>();
        let expected = Failure::new("count", "invalid digit found in string");
        assert_eq!(wrong.clone().context("count"), Err(expected.clone()));
        assert_eq!(wrong.with_context(|| format!("co{}", "unt")), Err(expected));
        let never = || -> String { panic!("nothing failed") };
        assert_eq!("7".parse::<u8>().with_context(never), Ok(7));
    }
}
