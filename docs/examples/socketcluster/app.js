// The connection of a customer's app.

import socketClusterClient from 'socketcluster-client';

/** Connects to the socket server at `server` ({ hostname, port, secure }) as a signed-in customer. */
export function connect({ portico, storeKey, customerToken, server }) {
  let renewal;
  // The seconds between the renewal of a token and its expiry.
  let spare;

  function renewIn(seconds) {
    clearTimeout(renewal);
    renewal = setTimeout(renew, seconds * 1000);
  }

  // A new token, or null if the socket server has no authentication.
  async function socketToken() {
    const answer = await fetch(`${portico}/storefront/v1/customers/socket-token`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${storeKey}`, 'Customer-Token': customerToken },
    });
    if (answer.status === 404) return null;
    if (!answer.ok) throw Object.assign(new Error(`no socket token: ${answer.status}`), { status: answer.status });
    const { token, expires_in } = await answer.json();
    spare = Math.min(60, expires_in / 2);
    renewIn(expires_in - spare);
    return token;
  }

  // Gives the open connection a new token. A new connection fetches its own.
  async function renew() {
    const isOpen = () => socket.state === socket.OPEN;
    if (!isOpen()) return;
    try {
      const token = await socketToken();
      // A connection that was closed meanwhile would be opened again by this.
      if (token && isOpen()) await socket.authenticate(token);
    } catch ({ status }) {
      // There is no further token after the sign-in has ended (401). Everything else passes.
      if (status !== 401 && isOpen()) renewIn(spare / 6);
    }
  }

  // Called at every handshake. The token is kept in memory only.
  const authEngine = { loadToken: socketToken, saveToken: async (_, token) => token, removeToken: async () => null };
  const socket = socketClusterClient.create({ ...server, authEngine });
  (async () => {
    for await (const _ of socket.listener('close')) clearTimeout(renewal);
  })();
  return socket;
}
