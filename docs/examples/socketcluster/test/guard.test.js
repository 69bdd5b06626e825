// The guard between two authorization requests, tested with a mock server.

import assert from 'node:assert/strict';
import test from 'node:test';

import { guard } from '../guard.js';

/** Adds the guard to a mock server and returns a function that passes an action to the guard. */
function guarded() {
  const middleware = {};
  guard(
    {
      MIDDLEWARE_INBOUND: 'inbound',
      MIDDLEWARE_OUTBOUND: 'outbound',
      setMiddleware: (kind, handle) => { middleware[kind] = handle; },
      listener: () => [],
    },
    { portico: 'http://portico.example', key: 'k'.repeat(32) },
  );
  // Resolves to whether the guard allowed the action.
  return (kind, action) => new Promise((resolve) => {
    const verdict = { allow: () => resolve(true), block: () => resolve(false) };
    middleware[kind]([{ SUBSCRIBE: 'subscribe', PUBLISH_IN: 'publish', AUTHENTICATE: 'authenticate', ...action, ...verdict }]);
  });
}

test('a permission does not apply to a token that replaces its token during the request', async (context) => {
  let answerOld;
  const oldAnswer = new Promise((resolve) => { answerOld = resolve; });
  const asked = [];
  context.mock.method(globalThis, 'fetch', async (_, { body }) => {
    const { token } = JSON.parse(body);
    asked.push(token);
    if (token === 'old') await oldAnswer;
    return { ok: true, json: async () => ({ allow: token === 'old', ttl: 60, reason: 'not_own' }) };
  });
  const act = guarded();
  const socket = { signedAuthToken: 'old', kickOut() {} };
  const message = { socket, channel: 'order.1' };
  const toOld = act('outbound', message);
  await act('inbound', { type: 'authenticate', socket });
  socket.signedAuthToken = 'new';
  answerOld();
  await toOld;
  assert.equal(await act('outbound', message), false);
  assert.deepEqual(asked, ['old', 'new']);
});

test('a permission applies to its token until its TTL has passed', async (context) => {
  const fetch = context.mock.method(globalThis, 'fetch', async () => ({ ok: true, json: async () => ({ allow: true, ttl: 60 }) }));
  const act = guarded();
  const message = { socket: { signedAuthToken: 'own' }, channel: 'order.1' };
  for (const _ of [1, 2, 3]) assert.equal(await act('outbound', message), true);
  assert.equal(fetch.mock.callCount(), 1);
});
