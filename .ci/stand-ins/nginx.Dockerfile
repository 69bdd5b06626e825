# Stands in for the image of nginx.
FROM debian-stand-in
STOPSIGNAL SIGQUIT
CMD ["nginx", "-g", "daemon off;"]
