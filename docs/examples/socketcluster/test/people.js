// The requests of customers and of the shop to Portico.

async function post(url, key, body, headers = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Authorization': `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${url}: ${JSON.stringify(json)}`);
  return json;
}

/** Registers a customer and signs them in. */
export async function register({ url, store_key }, email) {
  const customers = `${url}/storefront/v1/customers`;
  await post(`${customers}/request-creation-code`, store_key, { identity: email });
  const mailbox = await (await fetch(`${url}/dev/mailbox`)).json();
  const { code } = mailbox.find((message) => message.to === email);
  const { token, customer } = await post(customers, store_key, { name: email, identity: email, code });
  return { ...customer, customerToken: token };
}

export const logOut = ({ url, store_key }, { customerToken }) =>
  post(`${url}/storefront/v1/customers/logout`, store_key, {}, { 'Customer-Token': customerToken });

export const createDriver = async ({ url, api_key }, name) => (await post(`${url}/fleet/int/v1/drivers`, api_key, { name })).driver;

export const createOrder = async ({ url, api_key }, body) => (await post(`${url}/fleet/int/v1/orders`, api_key, body)).order;

export async function changeOrder({ url, api_key }, order, body) {
  const headers = { 'Authorization': `Bearer ${api_key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`${url}/fleet/int/v1/orders/${order.id}`, { method: 'PUT', body: JSON.stringify(body), headers });
  if (!answer.ok) throw new Error(await answer.text());
}
