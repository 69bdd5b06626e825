import base64, hashlib, hmac, time

def verify(secret: str, headers: dict, body: bytes) -> bool:
    """Whether a delivery is genuine and at most five minutes old; header names in lower case."""
    event_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in headers["webhook-signature"].split(" "))
