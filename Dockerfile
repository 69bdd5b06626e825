# Portico alone on a small Debian. The classic builder suffices.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /portico

# An empty crate needs all the dependencies: this layer is only made anew when they change. Tests and benchmarks stay outside, so the
# manifest must not name any.
COPY Cargo.toml Cargo.lock ./
RUN sed --in-place '/^\[\[/,/^$/d' Cargo.toml \
    && mkdir src \
    && touch src/lib.rs \
    && echo 'fn main() {}' > src/main.rs \
    && cargo build --release --locked

# What PostgreSQL says about the queries lies in .sqlx: no database is needed here.
COPY .sqlx .sqlx
COPY config config
COPY migrations migrations
COPY src src
# The copies are as old as in the checkout, and cargo would take them for the empty crate that it has built since.
RUN touch src/lib.rs src/main.rs \
    && cargo build --release --locked

FROM debian:bookworm-slim
# Without certificates of authorities no provider and no subscriber can be reached.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin portico
COPY --from=build /portico/target/release/portico /usr/local/bin/portico
# The extensions that ship, where the program looks for them; a directory that is mounted there takes their place.
WORKDIR /portico
COPY config/extensions config/extensions

# By number, so that a platform which forbids root need not look it up.
USER 10001:10001
ENV PORTICO_HTTP__LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["portico", "healthcheck"]
ENTRYPOINT ["portico"]
CMD ["serve"]
