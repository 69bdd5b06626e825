// Authorizes the channels of a SocketCluster server for the customers of a Portico deployment.

import { createHmac } from 'node:crypto';

/**
 * Adds authorization to every channel of a SocketCluster server.
 *
 * The server has to be created with `authKey: key` and `authAlgorithm: 'HS256'`, so that it verifies socket tokens.
 * What a token may subscribe to changes while it is valid, so Portico is asked at each subscription, and again before a message is sent
 * once the permission has expired.
 */
export function guard(agServer, { portico, key }) {
  // For each connection: the permitted channels, with the token they were permitted to and the time the permission expires.
  const grants = new WeakMap();

  // A new token may belong to another customer: a permission is valid only for the token it was requested with.
  function isGranted(socket, channel) {
    const grant = grants.get(socket)?.get(channel);
    return grant !== undefined && grant.token === socket.signedAuthToken && grant.until > Date.now();
  }

  // The reason why `socket` may not subscribe to `channel`; undefined if it may.
  async function refusal(socket, channel) {
    const token = socket.signedAuthToken;
    if (!token) return 'no_token';
    const { allow, ttl, reason } = await ask(portico, key, { token, channel });
    if (!allow) return reason;
    if (!grants.has(socket)) grants.set(socket, new Map());
    grants.get(socket).set(channel, { token, until: Date.now() + ttl * 1000 });
  }

  agServer.setMiddleware(agServer.MIDDLEWARE_INBOUND, async (actions) => {
    for await (const action of actions) {
      const { type, socket, channel } = action;
      if (type === action.SUBSCRIBE) {
        const refused = await refusal(socket, channel).catch(() => 'portico_unavailable');
        if (refused) action.block(named(refused));
        else action.allow();
      } else if (type === action.PUBLISH_IN) {
        // A customer who could publish could send others a false position of their driver.
        action.block(named('publishing_refused'));
      } else {
        action.allow();
      }
    }
  });

  agServer.setMiddleware(agServer.MIDDLEWARE_OUTBOUND, async (actions) => {
    for await (const action of actions) {
      const { socket, channel } = action;
      if (isGranted(socket, channel)) {
        action.allow();
        continue;
      }
      try {
        const refused = await refusal(socket, channel);
        if (refused) {
          action.block(named(refused));
          socket.kickOut(channel, refused);
        } else {
          action.allow();
        }
      } catch {
        // Portico is unavailable. The message is withheld; the subscription stays.
        action.block(named('portico_unavailable'));
      }
    }
  });

  // A connection whose token has expired or was removed loses its subscriptions, even without a message.
  (async () => {
    for await (const { socket } of agServer.listener('deauthentication')) socket.kickOut(undefined, 'no_token');
  })();
}

// Asks Portico, with a request that is signed with the shared key.
async function ask(portico, key, question) {
  const body = JSON.stringify(question);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
  const answer = await fetch(`${portico}/socket/authorize`, {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json', 'X-Socket-Timestamp': timestamp, 'X-Socket-Signature': signature },
    signal: AbortSignal.timeout(5000),
  });
  if (!answer.ok) throw new Error(`Portico answers ${answer.status}`);
  return answer.json();
}

// The error that the app receives: its name is the reason.
function named(reason) {
  const error = new Error(`Portico: ${reason}`);
  error.name = reason;
  return error;
}
