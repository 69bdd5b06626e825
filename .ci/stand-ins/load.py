"""Reads and writes until a file appears, and fails if a request has failed.

    load.py URL KEY FILE
"""

import collections
import http.client
import json
import os
import sys
import threading
import time
import urllib.parse

CLIENTS = 6
PAUSE = 0.01

url, key, done = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], sys.argv[3]
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
order = json.dumps({"payload": {"pickup": "1 Mill Lane", "dropoff": "2 High Street"}})
REQUESTS = [("POST", "/fleet/int/v1/orders", order, 201), ("GET", "/fleet/int/v1/orders?limit=1", None, 200)]
counts, failures, slowest = collections.Counter(), collections.Counter(), [0.0]


def client():
    while not os.path.exists(done):
        for method, path, body, expected in REQUESTS:
            begun = time.monotonic()
            try:
                connection = http.client.HTTPConnection(url.hostname, url.port, timeout=40)
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                if answer.status == expected:
                    counts[method] += 1
                else:
                    failures[f"{method} {answer.status} {text[:200]}"] += 1
            except OSError as error:
                failures[f"{method} {error!r}"] += 1
            slowest[0] = max(slowest[0], time.monotonic() - begun)
            time.sleep(PAUSE)


threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for failure, count in failures.items():
    print(f"{count} times: {failure}")
print(f"{counts['POST']} orders were created and {counts['GET']} lists read, {sum(failures.values())} requests failed; "
      f"the slowest took {slowest[0]:.2f} s")
sys.exit(bool(failures) or not counts["POST"])
