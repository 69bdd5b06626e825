//! The URL as PostgreSQL's own programs take it, which anybody on the machine can read in their arguments.

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::database::DatabaseUrl;
use crate::kernel::database::servers::WANTED;

/// The names that libpq has for parameters which may be written otherwise.
const OTHER_NAMES: [(&str, &str); 5] =
    [("ssl-mode", "sslmode"), ("ssl-root-cert", "sslrootcert"), ("ssl-ca", "sslrootcert"), ("ssl-cert", "sslcert"), ("ssl-key", "sslkey")];

impl DatabaseUrl {
    /// The URL without the password and without what libpq does not know, and the password. Of several servers, libpq uses the one that
    /// accepts writes too.
    pub fn for_libpq(&self) -> (String, Option<SecretString>) {
        let (scheme, rest) = self.0.expose_secret().split_once("://").expect("the URL was validated when it was read");
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password)));
        let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
        let parameters = parameters.split('&').filter_map(|parameter| parameter.split_once('='));
        let asked = parameters.clone().find(|(name, _)| *name == "password").map(|(_, value)| value);
        let mut kept = vec![format!("{WANTED}=read-write")];
        for (name, value) in parameters {
            let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
            if name != "password" && name != WANTED && !name.contains(['-', '[', '%']) {
                kept.push(format!("{name}={value}"));
            }
        }
        let at = if user.is_empty() { "" } else { "@" };
        let url = format!("{scheme}://{user}{at}{hosts}{path}?{}", kept.join("&"));
        (url, asked.or(password).map(|password| percent_decode_str(password).decode_utf8_lossy().into_owned().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_taken_out_and_what_libpq_does_not_know_is_left_out() {
        let split = |url: &str| {
            let (url, password) = url.parse::<DatabaseUrl>().unwrap().for_libpq();
            (url, password.map(|password| password.expose_secret().to_owned()))
        };
        let of = |url: &str, password: Option<&str>| (url.to_owned(), password.map(str::to_owned));
        assert_eq!(
            split("postgres://shop:a%2C+b@one,two:6432/portico?target_session_attrs=primary&ssl-mode=require&statement-cache-capacity=7"),
            of("postgres://shop@one,two:6432/portico?target_session_attrs=read-write&sslmode=require", Some("a,+b"))
        );
        assert_eq!(split("postgres://db/portico"), of("postgres://db/portico?target_session_attrs=read-write", None));
        assert_eq!(
            split("postgres://portico@%2Ftmp%2Fs:5433/portico?password=p%26q"),
            of("postgres://portico@%2Ftmp%2Fs:5433/portico?target_session_attrs=read-write", Some("p&q"))
        );
    }
}
