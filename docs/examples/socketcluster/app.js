// The connection of a customer's app.

import socketClusterClient from 'socketcluster-client';

/** Connects to the socket server at `server` ({ hostname, port, secure }) as a signed-in customer. */
export function connect({ portico, storeKey, customerToken, server }) {
  let refresh;

  // A new token, or null if the socket server has no authentication.
  async function socketToken() {
    const answer = await fetch(`${portico}/storefront/v1/customers/socket-token`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${storeKey}`, 'Customer-Token': customerToken },
    });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`no socket token: ${answer.status}`);
    const { token, expires_in } = await answer.json();
    clearTimeout(refresh);
    refresh = setTimeout(renew, Math.max(expires_in - 60, expires_in / 2) * 1000);
    return token;
  }

  // Gives the open connection a new token. A new connection fetches its own.
  async function renew() {
    if (socket.state !== socket.OPEN) return;
    const token = await socketToken();
    if (token) await socket.authenticate(token);
  }

  // Called at every handshake. The token is kept in memory only.
  const authEngine = { loadToken: socketToken, saveToken: async (_, token) => token, removeToken: async () => null };
  const socket = socketClusterClient.create({ ...server, authEngine });
  (async () => {
    for await (const _ of socket.listener('disconnect')) clearTimeout(refresh);
  })();
  return socket;
}
