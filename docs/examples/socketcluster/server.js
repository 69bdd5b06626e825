// A SocketCluster server for the customers of a Portico deployment.
//
// PORTICO_URL=http://127.0.0.1:8080 PORTICO_SOCKET_KEY=… PORT=8000 node server.js

import http from 'node:http';
import { pathToFileURL } from 'node:url';
import socketClusterServer from 'socketcluster-server';
import { guard } from './guard.js';

/** Starts a server. Without a key there is no socket authentication: every client may subscribe to every channel. */
export async function start({ port, portico, key }) {
  const httpServer = http.createServer();
  const agServer = socketClusterServer.attach(httpServer, key ? { authKey: key, authAlgorithm: 'HS256' } : {});
  if (key) guard(agServer, { portico, key });
  await new Promise((listening) => httpServer.listen(port, listening));
  return { agServer, httpServer };
}

/** Publishes a message on the channels of a record, under both forms of its id. */
export async function publish(agServer, kind, record, message) {
  await Promise.all([record.id, record.uuid].map((id) => agServer.exchange.invokePublish(`${kind}.${id}`, message)));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { PORT, PORTICO_URL, PORTICO_SOCKET_KEY } = process.env;
  if (!PORTICO_SOCKET_KEY) console.warn('PORTICO_SOCKET_KEY is not set: every client may subscribe to every channel');
  await start({ port: PORT ?? 8000, portico: PORTICO_URL, key: PORTICO_SOCKET_KEY });
}
