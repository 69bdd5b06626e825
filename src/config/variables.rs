//! The variables of the environment that are settings: those with `__` behind `PORTICO_`, and the keys that belong to no section.
//!
//! Others may have names that begin in the same way. Kubernetes gives every container the address of every service of its namespace, as
//! `PORTICO_SERVICE_HOST` and `PORTICO_PORT_8080_TCP` for a service that is named `portico`. They are left alone, unless they look like a
//! setting that was misspelt: an operator who wrote `PORTICO_HTTP_LISTEN` must not believe that it has an effect.
//!
//! A variable with `__FILE` behind the name of a setting names a file that has its value ([`files`]).

use std::collections::HashMap;

use config::{ConfigError, Environment, File, FileFormat, Source, Value, ValueKind};

use crate::config::files;

const PREFIX: &str = "PORTICO_";
const SEPARATOR: &str = "__";
/// The settings that belong to no section, whose variables therefore have no separator.
const WITHOUT_SECTION: [&str; 3] = ["ENVIRONMENT", "APPLICATION_KEY", "PREVIOUS_APPLICATION_KEYS"];
/// How many letters may be missing, wrong, swapped or too many in a variable that is taken for a misspelt setting.
const SLIPS: usize = 2;

/// The settings among `variables`. The file `defaults` has every setting.
///
/// # Errors
/// Names a variable that looks like a setting without being one, or a file that cannot be used.
pub(super) fn settings(variables: impl Iterator<Item = (String, String)>, defaults: &str) -> Result<Environment, ConfigError> {
    let mut ours = HashMap::new();
    for (name, value) in variables {
        let Some(key) = name.strip_prefix(PREFIX) else { continue };
        if key.contains(SEPARATOR) || WITHOUT_SECTION.contains(&key) {
            ours.insert(name, value);
        } else if let Some(meant) = nearest_setting(key, defaults)? {
            return Err(ConfigError::Message(format!("{name} is not a setting; is {PREFIX}{meant} meant?")));
        }
    }
    let ours = files::read(ours).map_err(|refused| ConfigError::Message(refused.to_string()))?;
    Ok(Environment::with_prefix("PORTICO").prefix_separator("_").separator(SEPARATOR).source(Some(ours)))
}

/// The variable of the setting that differs from `key` in its underscores or by a slip, or the one that names a file with its value.
fn nearest_setting(key: &str, defaults: &str) -> Result<Option<String>, ConfigError> {
    if let Some(setting) = key.strip_suffix("_FILE") {
        return Ok(nearest_setting(setting, defaults)?.map(|meant| meant + files::SUFFIX));
    }
    let squeezed = |name: &str| name.replace('_', "").to_uppercase();
    let distance = |setting: &String| strsim::damerau_levenshtein(&squeezed(setting), &squeezed(key));
    let mut known = Vec::new();
    for (name, value) in File::from_str(defaults, FileFormat::Toml).collect()? {
        gather(&name, &value, &mut known);
    }
    // By name too, so that the same mistake has the same message.
    Ok(known.into_iter().filter(|setting| distance(setting) <= SLIPS).min_by_key(|setting| (distance(setting), setting.clone())))
}

/// The variables of all settings below `name`.
fn gather(name: &str, value: &Value, known: &mut Vec<String>) {
    match &value.kind {
        ValueKind::Table(section) => section.iter().for_each(|(key, value)| gather(&format!("{name}{SEPARATOR}{key}"), value, known)),
        _ => known.push(name.to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Result<usize, String> {
        let read = settings([(name.to_owned(), "x".to_owned())].into_iter(), include_str!("../../config/default.toml"))
            .map_err(|error| error.to_string())?;
        Ok(read.collect().unwrap().len())
    }

    #[test]
    fn the_addresses_of_services_in_kubernetes_are_no_settings() {
        for name in [
            "PORTICO_SERVICE_HOST",
            "PORTICO_SERVICE_PORT",
            "PORTICO_SERVICE_PORT_HTTP",
            "PORTICO_PORT",
            "PORTICO_PORT_8080_TCP",
            "PORTICO_PORT_8080_TCP_PROTO",
            "PORTICO_PORT_8080_TCP_PORT",
            "PORTICO_PORT_8080_TCP_ADDR",
            "PORTICO_MAIL_SERVICE_HOST",
            "PORTICO_HTTP_PORT",
            "PORTICO_VERSION",
            "PORTICO_URL",
            "PORTICO_API_KEY",
            "PORTICOS_HTTP__LISTEN",
        ] {
            assert_eq!(read(name), Ok(0), "{name}");
        }
    }

    #[test]
    fn every_setting_can_be_in_a_file() {
        let (file, text) = (concat!(env!("CARGO_MANIFEST_DIR"), "/rustfmt.toml"), include_str!("../../rustfmt.toml").trim_end());
        let defaults = include_str!("../../config/default.toml");
        let value = |name: String, value: &str| {
            let read = settings([(name, value.to_owned())].into_iter(), defaults).unwrap().collect().unwrap();
            read.into_iter().map(|(key, value)| (key, value.into_string().unwrap())).collect::<Vec<_>>()
        };
        let mut known = Vec::new();
        for (name, value) in File::from_str(defaults, FileFormat::Toml).collect().unwrap() {
            gather(&name, &value, &mut known);
        }
        assert!(known.len() > 80);
        for setting in known {
            let variable = format!("PORTICO_{setting}");
            assert_eq!(value(format!("{variable}__FILE"), file), value(variable, text), "{setting}");
        }
    }

    #[test]
    fn a_misspelt_setting_is_not_taken_for_somebody_elses() {
        for (name, meant) in [
            ("PORTICO_HTTP_LISTEN", "PORTICO_HTTP__LISTEN"),
            ("PORTICO_DATABASE_URL", "PORTICO_DATABASE__URL"),
            ("PORTICO_APLICATION_KEY", "PORTICO_APPLICATION_KEY"),
            ("PORTICO_ENVIRONEMNT", "PORTICO_ENVIRONMENT"),
            ("PORTICO_SMS_TWILIO_AUTH_TOKEN", "PORTICO_SMS__TWILIO__AUTH_TOKEN"),
            ("PORTICO_APPLICATION_KEY_FILE", "PORTICO_APPLICATION_KEY__FILE"),
            ("PORTICO_SOCKET_KEY_FILE", "PORTICO_SOCKET__KEY__FILE"),
        ] {
            assert_eq!(read(name), Err(format!("{name} is not a setting; is {meant} meant?")));
        }
        assert_eq!(read("PORTICO_HTTP__LISTN"), Ok(1), "what it means is judged with all other keys");
    }
}
