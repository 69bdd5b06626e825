// Lets the customers of a Portico deployment listen to what is theirs, and to nothing else.

import { createHmac } from 'node:crypto';

/**
 * Puts itself in front of every channel of a SocketCluster server.
 *
 * The server must have been made with `authKey: key` and `authAlgorithm: 'HS256'`: it verifies socket tokens by itself.
 * What their holders may listen to only Portico knows, because it changes while a token is valid. So Portico is asked when a channel is
 * subscribed to, and again before a message leaves on it once the last answer has run out.
 */
export function guard(agServer, { portico, key }) {
  // For each connection, the channels that were allowed, to which token and until when.
  const grants = new WeakMap();

  // A new token may be somebody else's: a grant counts for the token that was asked about, and for no other.
  function isGranted(socket, channel) {
    const grant = grants.get(socket)?.get(channel);
    return grant !== undefined && grant.token === socket.signedAuthToken && grant.until > Date.now();
  }

  // The reason why `socket` may not listen to `channel`; undefined if it may.
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
        // Whoever could publish could tell others where their driver is.
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
        // Portico cannot be asked. The message is withheld; the subscription waits for better times.
        action.block(named('portico_unavailable'));
      }
    }
  });

  // A connection whose token is over, or was given up, listens to nothing any more, even if nothing is said.
  (async () => {
    for await (const { socket } of agServer.listener('deauthentication')) socket.kickOut(undefined, 'no_token');
  })();
}

// The answer to a question, which Portico believes because it is signed with the key both know.
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

// What the app gets to see: an error by the name of the reason.
function named(reason) {
  const error = new Error(`Portico: ${reason}`);
  error.name = reason;
  return error;
}
