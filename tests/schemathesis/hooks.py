"""What generated requests cannot know: keys, a signed-in customer, verification codes and the signature of the socket server.

`.ci/schemathesis` sets the environment.
"""

import hashlib
import hmac
import itertools
import os
import time

import requests
import schemathesis
from schemathesis import GenerationMode

URL = os.environ["URL"]
CUSTOMERS = "/storefront/v1/customers"
STORE_KEY = {"Authorization": f"Bearer {os.environ['STORE_KEY']}"}
API_KEY = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
SOCKET_KEY = os.environ["PORTICO_SOCKET__KEY"].encode()
PASSWORD = "correct horse"

# The routes that take a code, each with the route that sends it and the field that names the recipient there.
SENDING = {
    "": ("/request-creation-code", "identity"),
    "/verify-code": ("/login-with-sms", "identity"),
    "/reset-password": ("/login-with-sms", "identity"),
    "/verify-phone-number": ("/request-phone-verification", "phone"),
    "/verify-email": ("/request-email-verification", "email"),
    "/confirm-account-closure": ("/account-closure", "identity"),
}
# The routes that end the session with which they are called.
ENDING = ("/logout", "/logout-all", "/confirm-account-closure")

numbers = itertools.count(1)
turns = itertools.cycle([True, False])


def client():
    """The address of a new client, because some rate limits count the requests of each client."""
    n = next(numbers)
    return {"X-Forwarded-For": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"}


def post(path, body, headers=None):
    headers = STORE_KEY | client() | (headers or {})
    return requests.post(f"{URL}{CUSTOMERS}{path}", json=body, headers=headers, timeout=30).json()


def last_code(identity):
    """The code that was last sent to an identity."""
    messages = requests.get(f"{URL}/dev/mailbox", timeout=30).json()
    return next(message["code"] for message in messages if message["to"] == identity and message["code"])


class Customer:
    """A new customer, who is signed in."""

    def __init__(self):
        self.identity = f"ada-{os.getpid()}-{next(numbers)}@example.com"
        post("/request-creation-code", {"identity": self.identity})
        code = last_code(self.identity)
        answer = post("", {"name": "Ada", "identity": self.identity, "password": PASSWORD, "code": code})
        self.id, self.token = answer["customer"]["id"], {"Customer-Token": answer["token"]}


customer = Customer()
own_key = requests.get(f"{URL}/developers/int/v1/api-keys", headers=API_KEY, timeout=30).json()["api_keys"][0]


class Auth:
    def get(self, case, context):
        return self.credentials()

    def set(self, case, headers, context):
        case.headers.update(headers)


@schemathesis.auth(refresh_interval=None).apply_to(path_regex="^/storefront/v1/")
class CustomerAuth(Auth):
    def credentials(self):
        return STORE_KEY | customer.token


@schemathesis.auth(refresh_interval=None).apply_to(path_regex="/int/v1/|^/webhooks$")
class CompanyAuth(Auth):
    def credentials(self):
        return API_KEY


class SocketServerAuth(requests.auth.AuthBase):
    def __call__(self, request):
        body = request.body or b""
        timestamp = str(int(time.time()))
        signed = f"{timestamp}.".encode() + (body if isinstance(body, bytes) else body.encode())
        request.headers["X-Socket-Timestamp"] = timestamp
        request.headers["X-Socket-Signature"] = hmac.digest(SOCKET_KEY, signed, hashlib.sha256).hex()
        return request


schemathesis.auth.set_from_requests(SocketServerAuth()).apply_to(path="/socket/authorize")


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers.update(client())
    path, body = case.operation.path, case.body
    if path.startswith("/developers/int/v1/api-keys/") and case.path_parameters.get("uuid") in (own_key["id"], own_key["uuid"]):
        # Without its own key, every later request would be refused.
        case.path_parameters["uuid"] = "01890a5d-ac96-774b-bcce-b302099a8057"
    if isinstance(body, dict) and str(body.get("url")).startswith("http"):
        # No host of a generated URL is looked up.
        body["url"] = "https://127.0.0.1:4430/"
    is_valid = case.meta and case.meta.generation.mode == GenerationMode.POSITIVE
    # Every other valid request stays as it was generated.
    if is_valid and next(turns):
        if isinstance(case.query, dict):
            case.query.pop("after", None)
        if path.startswith(CUSTOMERS):
            prepare(path.removeprefix(CUSTOMERS), case)


def prepare(path, case):
    """Changes a valid request of a customer into one that can succeed."""
    global customer
    body, n = case.body, next(numbers)
    if path == "/{id}":
        case.path_parameters["id"] = customer.id
    if not isinstance(body, dict) or case.operation.method == "put":
        return
    if path in SENDING and "Customer-Token" in case.headers:
        # A second code within a minute would not be sent, and wrong guesses lock a code.
        customer = Customer()
        case.headers.update(customer.token)
    mail, phone = f"new-{n}@example.com", f"+1201{n % 700 + 200}0123"
    identity = {"": mail, "/request-creation-code": mail, "/verify-email": mail, "/verify-phone-number": phone}.get(path, customer.identity)
    if path == "":
        body.pop("email", None)
        body.pop("phone", None)
        body["identity"] = identity
    values = {
        "identity": phone if body.get("mode") == "sms" else identity,
        "email": mail,
        "phone": phone,
        "password": PASSWORD,
        "idpCUserId": str(n),
    }
    body.update((name, value) for name, value in values.items() if name in body)
    if path in SENDING:
        sending, recipient = SENDING[path]
        post(sending, {recipient: identity}, customer.token)
        body["code"] = last_code(identity)


@schemathesis.hook
def after_call(context, case, response):
    global customer
    if response.request.headers.get("Customer-Token") != customer.token["Customer-Token"]:
        return
    has_ended = response.status_code == 200 and (case.operation.method == "delete" or case.operation.path.endswith(ENDING))
    if has_ended or response.status_code == 401 and response.json()["code"] == "customer_token_invalid":
        customer = Customer()
