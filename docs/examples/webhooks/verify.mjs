import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether a delivery is genuine and at most five minutes old; `body` is the Buffer that arrived, not parsed JSON. */
export function verify(secret, headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  return signatures.split(" ").map((one) => Buffer.from(one)).some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
