"""Publishes events until a file appears, and says of each when it was acknowledged.

    publish.py URL API_KEY DIRECTORY

Each event has an idempotency key of its own, and is sent again until it is acknowledged. Writes DIRECTORY/acknowledged: the time (seconds since 1970),
the key and the uuid of each, and ends once DIRECTORY/enough is there and everything is acknowledged.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

url, key, directory = sys.argv[1:]
enough = os.path.join(directory, "enough")
writing = threading.Lock()


def request(path, body=None):
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, body, headers), timeout=15) as answer:
        return json.load(answer)


def publish(name, sample, acknowledged):
    body = json.dumps({"event": "driver.online", "data": sample, "idempotency_key": name}).encode()
    while True:
        try:
            uuid = request("/developers/int/v1/events", body)["event"]["uuid"]
        except urllib.error.HTTPError as error:
            if error.code != 503:
                print(f"{name}: {error.code} {error.read().decode()}", file=sys.stderr, flush=True)
                os._exit(1)
            time.sleep(0.1)
            continue
        except OSError:
            time.sleep(0.1)
            continue
        with writing:
            acknowledged.write(f"{time.time():.3f} {name} {uuid}\n")
            acknowledged.flush()
        return


def client(number, sample, acknowledged):
    made = 0
    while not os.path.exists(enough):
        publish(f"drill-{number}-{made}", sample, acknowledged)
        made += 1


sample = request("/developers/int/v1/event-types/driver.online")["event_type"]["sample"]["data"]
with open(os.path.join(directory, "acknowledged"), "w", encoding="ascii") as acknowledged:
    clients = [threading.Thread(target=client, args=(number, sample, acknowledged)) for number in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
