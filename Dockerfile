# Portico, and nothing that it does not load: no shell, no package manager. Works with the classic builder.

FROM rust:1.95-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082 AS build
WORKDIR /portico
# The symbols are split from the program below, so the compiler does not strip them.
ENV CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none

# Builds all dependencies with an empty crate, so that this layer is only rebuilt when they change. Tests and benchmarks are not
# part of the image, so the manifest must not name any.
COPY Cargo.toml Cargo.lock askama.toml ./
RUN sed --in-place '/^\[\[/,/^$/d' Cargo.toml \
    && mkdir src \
    && touch src/lib.rs \
    && echo 'fn main() {}' > src/main.rs \
    && cargo build --release --locked

# The metadata of the queries is in .sqlx, so the build needs no database.
COPY .sqlx .sqlx
COPY config config
# The guides are part of the program.
COPY README.md README.md
COPY docs docs
COPY migrations migrations
COPY ops ops
COPY src src
# The copied files keep the modification times of the checkout, so cargo would consider the empty crate's build up to date.
# Packed relocations are two megabytes smaller; the C library of the image (2.36) knows them.
RUN touch src/lib.rs src/main.rs \
    && cargo rustc --release --locked --bin portico -- -C link-arg=-Wl,-z,pack-relative-relocs
# The program names the file of its symbols, with its checksum: beside the program, debuggers and backtraces find it.
RUN cd target/release \
    && objcopy --only-keep-debug --compress-debug-sections portico portico.debug \
    && objcopy --strip-all portico \
    && objcopy --add-gnu-debuglink=portico.debug portico
COPY deploy/image deploy/image
RUN deploy/image/rootfs target/release/portico /rootfs

# docker build --target symbols: the names and line tables of the program, for backtraces and debuggers (docs/operating.md).
FROM scratch AS symbols
COPY --from=build /portico/target/release/portico.debug /portico.debug

FROM scratch
COPY --from=build /rootfs /
WORKDIR /portico
# Numbers, so that a platform that forbids root can check them.
USER 10001:10001
ENV PORTICO_ENVIRONMENT=production PORTICO_HTTP__LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["portico", "healthcheck"]
ENTRYPOINT ["portico"]
CMD ["serve"]
