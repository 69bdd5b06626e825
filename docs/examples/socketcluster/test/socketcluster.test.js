// The documented socket server and app, against the real service: docs/realtime.md.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import socketClusterClient from 'socketcluster-client';
import { connect } from '../app.js';
import { publish, start } from '../server.js';
import { changeOrder, createDriver, createOrder, logOut, register } from './people.js';
import { startPortico, stopAll } from './service.js';

const KEY = 'rPZb7eP1iXhUe1dZb3Zq5mKxkq8mCk0wB0r9G2yQz0M=';
// The validity of a token and of a decision in this test, in seconds.
const LIFETIME = 4;
const ANSWER_LIFETIME = 1;

let portico, plain, server, open, ada, bob, driver, ofAda, ofBob;
const sockets = [];

before(async () => {
  portico = await startPortico({
    PORTICO_SOCKET__KEY: KEY,
    PORTICO_SOCKET__LIFETIME: `${LIFETIME}s`,
    PORTICO_SOCKET__ANSWER_LIFETIME: `${ANSWER_LIFETIME}s`,
  });
  plain = await startPortico();
  server = await start({ port: 0, portico: portico.url, key: KEY });
  open = await start({ port: 0 });
  [ada, bob] = [await register(portico, 'ada@socket.example'), await register(portico, 'bob@socket.example')];
  driver = await createDriver(portico, 'Max');
  ofAda = await createOrder(portico, { customer: ada.id, driver: driver.id });
  ofBob = await createOrder(portico, { customer: bob.id });
});

after(async () => {
  for (const socket of sockets) socket.disconnect();
  for (const { agServer, httpServer } of [server, open]) {
    await agServer.close();
    httpServer.close();
  }
  await stopAll();
});

// The app of a customer. It renews its token automatically.
function appOf({ customerToken }, instance = portico, at = server) {
  const address = { hostname: '127.0.0.1', port: at.httpServer.address().port, secure: false };
  const socket = connect({ portico: instance.url, storeKey: instance.store_key, customerToken, server: address });
  sockets.push(socket);
  return socket;
}

// An app with one token that it never renews, or without a token.
async function forgetfulAppOf(customer) {
  let token = null;
  if (customer) {
    const headers = { 'Authorization': `Bearer ${portico.store_key}`, 'Customer-Token': customer.customerToken };
    const answer = await fetch(`${portico.url}/storefront/v1/customers/socket-token`, { method: 'POST', headers });
    ({ token } = await answer.json());
  }
  const authEngine = { loadToken: async () => token, saveToken: async () => {}, removeToken: async () => null };
  const socket = socketClusterClient.create({ hostname: '127.0.0.1', port: server.httpServer.address().port, authEngine });
  sockets.push(socket);
  return socket;
}

// Subscribes and returns the channel once the server has accepted, or throws the error of the server.
async function follow(socket, name) {
  const channel = socket.subscribe(name);
  const agreed = channel.listener('subscribe').once();
  const refused = channel.listener('subscribeFail').once().then(({ error }) => { throw error; });
  await Promise.race([agreed, refused]);
  return channel;
}

// Has `meet` called with the number of each request for a token of this customer, before the request is made.
function interceptRenewals(context, { customerToken }, meet) {
  const { fetch } = globalThis;
  const renewals = { count: 0 };
  renewals.first = new Promise((begun) => {
    context.mock.method(globalThis, 'fetch', async (url, options) => {
      if (url.endsWith('/socket-token') && options.headers['Customer-Token'] === customerToken) {
        renewals.count += 1;
        begun();
        await meet(renewals.count);
      }
      return fetch(url, options);
    });
  });
  return renewals;
}

const refusedBecause = (reason) => (error) => (assert.equal(error.name, reason), true);

// A test that waits longer than the timeout has failed.
const story = (name, run) => test(name, { timeout: 20_000 }, run);

// The next message on a channel, or undefined if none comes soon.
const next = (channel) => Promise.race([channel.once(), wait(1500, undefined, { ref: false })]);

story('a customer can subscribe to an own order, under both forms of its id', async () => {
  const socket = appOf(ada);
  for (const id of [ofAda.id, ofAda.uuid]) {
    const channel = await follow(socket, `order.${id}`);
    const message = next(channel);
    await publish(server.agServer, 'order', ofAda, { status: 'created' });
    assert.deepEqual(await message, { status: 'created' });
  }
  await follow(socket, `customer.${ada.id}`);
  assert.equal(socket.authState, socket.AUTHENTICATED);
});

story('a subscription to the channel of another customer is refused', async () => {
  const socket = appOf(ada);
  for (const channel of [`order.${ofBob.id}`, `order.${ofBob.uuid}`, `customer.${bob.id}`]) {
    await assert.rejects(follow(socket, channel), refusedBecause('not_own'));
  }
  await assert.rejects(follow(socket, 'everything'), refusedBecause('channel_unknown'));
});

story('a subscription without a token is refused', async () => {
  const socket = await forgetfulAppOf(null);
  await assert.rejects(follow(socket, `order.${ofAda.id}`), refusedBecause('no_token'));
});

story('customers cannot publish', async () => {
  const socket = appOf(ada);
  const channel = await follow(socket, `order.${ofAda.id}`);
  await assert.rejects(channel.invokePublish({ status: 'completed' }), refusedBecause('publishing_refused'));
});

story('an expired token\'s open subscription is dropped', async () => {
  const socket = await forgetfulAppOf(ada);
  const channel = await follow(socket, `order.${ofAda.id}`);
  const kicked = channel.listener('kickOut').once();
  await wait((LIFETIME + 1) * 1000);
  const message = next(channel);
  await publish(server.agServer, 'order', ofAda, { status: 'too late' });
  assert.equal(await message, undefined);
  assert.match((await kicked).message, /token_expired|no_token/);
  await assert.rejects(follow(socket, `order.${ofAda.id}`), refusedBecause('no_token'));
});

story('an expired token\'s open subscription ends even without a message', async () => {
  const socket = await forgetfulAppOf(bob);
  const channel = await follow(socket, `order.${ofBob.id}`);
  // The server notices at its next ping, every eight seconds.
  assert.deepEqual(await channel.listener('kickOut').once(), { message: 'no_token' });
});

story('an app that renews its token keeps its subscriptions', async () => {
  const socket = appOf(ada);
  const channel = await follow(socket, `order.${ofAda.id}`);
  await wait((LIFETIME + 1) * 1000);
  const message = next(channel);
  await publish(server.agServer, 'order', ofAda, { status: 'still there' });
  assert.deepEqual(await message, { status: 'still there' });
});

story('a renewal that failed is tried again before the token expires', async (context) => {
  const socket = appOf(bob);
  const channel = await follow(socket, `customer.${bob.id}`);
  const renewals = interceptRenewals(context, bob, (number) => {
    if (number < 3) throw new TypeError('fetch failed');
  });
  await wait((LIFETIME + 1) * 1000);
  assert.ok(renewals.count > 3);
  const message = next(channel);
  await publish(server.agServer, 'customer', bob, 'still there');
  assert.equal(await message, 'still there');
  socket.disconnect();
});

story('an app whose sign-in has ended does not ask for tokens again', async (context) => {
  const fay = await register(portico, 'fay@socket.example');
  await follow(appOf(fay), `customer.${fay.id}`);
  await logOut(portico, fay);
  const renewals = interceptRenewals(context, fay, () => {});
  await wait((LIFETIME + 1) * 1000);
  assert.equal(renewals.count, 1);
});

story('an app that disconnects during a renewal stays disconnected', async (context) => {
  const socket = appOf(bob);
  await follow(socket, `customer.${bob.id}`);
  let answer;
  const answered = new Promise((resolve) => { answer = resolve; });
  const renewals = interceptRenewals(context, bob, () => answered);
  await renewals.first;
  socket.disconnect();
  const opened = socket.listener('connecting').once().then(() => 'opened');
  answer();
  assert.equal(await Promise.race([opened, wait(500, 'closed')]), 'closed');
});

story('a subscription to a driver ends with the order', async () => {
  const socket = appOf(ada);
  const channel = await follow(socket, `driver.${driver.id}`);
  await changeOrder(portico, ofAda, { status: 'cancelled' });
  await wait((ANSWER_LIFETIME + 0.5) * 1000);
  const kicked = channel.listener('kickOut').once();
  const message = next(channel);
  await publish(server.agServer, 'driver', driver, { latitude: 52.5, longitude: 13.4 });
  assert.equal((await kicked).message, 'not_own');
  assert.equal(await message, undefined);
  await assert.rejects(follow(socket, `driver.${driver.id}`), refusedBecause('not_own'));
  await follow(socket, `order.${ofAda.id}`);
});

story('a revoked session loses its subscription when the decision expires', async () => {
  const eve = await register(portico, 'eve@socket.example');
  const socket = appOf(eve);
  const channel = await follow(socket, `customer.${eve.id}`);
  await logOut(portico, eve);
  await wait((ANSWER_LIFETIME + 0.5) * 1000);
  const kicked = channel.listener('kickOut').once();
  await publish(server.agServer, 'customer', eve, 'hello');
  assert.equal((await kicked).message, 'signed_out');
});

story('new subscriptions are refused while Portico is unavailable', async () => {
  const lonely = await start({ port: 0, portico: 'http://127.0.0.1:9', key: KEY });
  try {
    await assert.rejects(follow(appOf(ada, portico, lonely), `order.${ofAda.id}`), refusedBecause('portico_unavailable'));
  } finally {
    sockets.pop().disconnect();
    await lonely.agServer.close();
    lonely.httpServer.close();
  }
});

story('without socket authentication, Portico responds with 404 and the app connects without a token', async () => {
  const socket = appOf(ada, plain, open);
  const channel = await follow(socket, `order.${ofAda.id}`);
  assert.equal(socket.authState, socket.UNAUTHENTICATED);
  const message = next(channel);
  await publish(open.agServer, 'order', ofAda, { status: 'created' });
  assert.deepEqual(await message, { status: 'created' });
});
