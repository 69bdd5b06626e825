# Stands in for the image with the compiler: what it compiles is known.
FROM debian-stand-in
COPY portico tree /compiled/
COPY cargo /usr/local/bin/cargo
