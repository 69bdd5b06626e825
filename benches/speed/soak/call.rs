//! What is asked for, and how often.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Me,
    List,
    Order,
    Event,
    Callback,
    SignIn,
}

impl Call {
    pub const ALL: [Self; 6] = [Self::Me, Self::List, Self::Order, Self::Event, Self::Callback, Self::SignIn];

    /// How many of a hundred requests.
    const fn share(self) -> usize {
        match self {
            Self::Me => 49,
            Self::List => 10,
            Self::Order => 12,
            Self::Event => 18,
            Self::Callback => 10,
            Self::SignIn => 1,
        }
    }

    /// The request with this number. Each kind is spread evenly over the hundred.
    pub fn number(number: usize) -> Self {
        // 37 and 100 have no common divisor.
        let mut place = number * 37 % 100;
        for call in Self::ALL {
            match place.checked_sub(call.share()) {
                Some(rest) => place = rest,
                None => return call,
            }
        }
        unreachable!("the shares are a hundred")
    }

    /// Its method and route, as the metrics name them.
    pub fn route(self) -> (&'static str, &'static str) {
        match self {
            Self::Me => ("GET", "/storefront/v1/customers/me"),
            Self::List => ("GET", "/fleet/int/v1/orders"),
            Self::Order => ("POST", "/fleet/int/v1/orders"),
            Self::Event => ("POST", "/developers/int/v1/events"),
            Self::Callback => ("POST", "/webhooks/{gateway}"),
            Self::SignIn => ("POST", "/storefront/v1/customers/login"),
        }
    }

    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Me => "me",
            Self::List => "orders",
            Self::Order => "order",
            Self::Event => "event",
            Self::Callback => "callback",
            Self::SignIn => "sign-in",
        }
    }
}
