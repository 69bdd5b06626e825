# Stands in for the image of PostgreSQL.
FROM debian-stand-in
COPY postgres /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
