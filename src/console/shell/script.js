// What makes the console quicker for those who have scripts. Everything works without.
'use strict';

const words = document.body.dataset;
/** What stands beside the page once somebody is signed in, or in the portal. */
const HEADER = 'body > header';
const parsed = async (response) => new DOMParser().parseFromString(await response.text(), 'text/html');
const busy = (region) => region.contains(document.activeElement) || !document.getSelection().isCollapsed;

/** Adds to a part of the page what works with a script alone. */
function enhance(part) {
  for (const element of part.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) break;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'link';
    button.textContent = words.wordCopy;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(element.textContent);
      button.textContent = words.wordCopied;
    });
    element.after(' ', button);
  }
  // The key of a link stands behind its #, so that no log of requests contains it.
  for (const field of part.querySelectorAll('[data-from-fragment]')) {
    if (location.hash.length > 1) {
      field.value = location.hash.slice(1);
      history.replaceState(null, '', location.pathname);
      // In a frame of another page nobody expects a button first.
      if (field.form.hasAttribute('data-submit-with-fragment')) field.form.requestSubmit();
    }
  }
  // Filters are sent without what is empty, so that addresses stay short.
  for (const form of part.querySelectorAll('form.filters[method="get"]')) {
    form.addEventListener('submit', () => {
      for (const field of form.elements) if (field.name && field.value === '') field.disabled = true;
    });
  }
  // What is said once is not said again when the page is loaded again.
  const address = new URL(location.href);
  if (address.searchParams.has('done')) {
    address.searchParams.delete('done');
    history.replaceState(null, '', address);
  }
}

/** Shows what has changed in the live region of the page; where that would move what somebody looks at, it waits behind a button. */
const live = {
  source: null,
  open() {
    live.source?.close();
    live.source = null;
    if (document.hidden || !document.querySelector('[data-live]')) return;
    live.source = new EventSource(location.href);
    live.source.addEventListener('message', (event) => live.offer(JSON.parse(event.data)));
  },
  offer(html) {
    const region = document.querySelector('[data-live]');
    const fresh = region.cloneNode(false);
    fresh.replaceChildren(...new DOMParser().parseFromString(html, 'text/html').body.childNodes);
    if (text(fresh) === text(region)) return;
    document.querySelector('.news')?.remove();
    if (region.getBoundingClientRect().top > 0 && !busy(region)) {
      live.show(region, fresh);
      return;
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'news';
    button.textContent = words.wordNews;
    button.addEventListener('click', () => {
      button.remove();
      live.show(region, fresh);
      fresh.scrollIntoView({ block: 'start' });
    });
    region.before(button);
  },
  show(region, fresh) {
    const opened = [...region.querySelectorAll('details')].map((details) => details.open);
    [...fresh.querySelectorAll('details')].slice(-opened.length).forEach((details, index) => { details.open ||= opened[index]; });
    region.replaceWith(fresh);
    enhance(fresh);
  },
};
/** What a region says, without the ages of things. */
const text = (region) => {
  const copy = region.cloneNode(true);
  for (const other of copy.querySelectorAll('time, button.link')) other.remove();
  return copy.textContent.replace(/\s+/g, ' ').trim();
};
document.addEventListener('visibilitychange', live.open);

/** Where somebody confirms that it is them, and the part of the page whose form has led there: what they have typed is there again afterwards. */
const CONFIRM = '/console/confirm';
let typed = null;

/** Forms are answered in place. */
document.addEventListener('submit', async (event) => {
  const form = event.target;
  const main = form.closest('main');
  if (form.method !== 'post' || !main) return;
  if (!document.querySelector(HEADER)) {
    // Nobody is signed in, so the browser sends it: once, if it is clicked twice.
    if (event.timeStamp - (form.sentAt ?? -Infinity) < 2000) event.preventDefault();
    else form.sentAt = event.timeStamp;
    return;
  }
  event.preventDefault();
  if (main.ariaBusy === 'true') return;
  main.ariaBusy = 'true';
  try {
    const response = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form, event.submitter)) });
    if (!response.headers.get('content-type')?.startsWith('text/html')) {
      await save(response);
      return;
    }
    const page = await parsed(response);
    if (response.redirected) history.pushState(null, '', response.url);
    if (!page.querySelector(HEADER)) {
      location.reload();
      return;
    }
    document.title = page.title;
    document.querySelector(HEADER).replaceWith(document.adoptNode(page.querySelector(HEADER)));
    const confirming = new URL(response.url).pathname === CONFIRM;
    const again = confirming ? null : typed;
    if (!confirming) typed = null;
    else if (new URL(form.action).pathname !== CONFIRM) typed = main;
    const fresh = again ?? document.adoptNode(page.querySelector('main'));
    const first = fresh.querySelector('.wrong input, .wrong select, .wrong textarea') ?? fresh.querySelector('[autofocus]');
    // The browser would complain that something has the focus already.
    fresh.querySelector('[autofocus]')?.removeAttribute('autofocus');
    main.replaceWith(fresh);
    if (again) live.open();
    else begin(fresh);
    (first ?? fresh).focus();
    first?.select?.();
  } catch {
    const failed = document.createElement('p');
    failed.className = 'refusal';
    failed.role = 'alert';
    failed.textContent = words.wordFailed;
    main.prepend(failed);
  } finally {
    main.ariaBusy = 'false';
  }
});
// A page that was answered in place has no anchor; going to one needs no reload.
window.addEventListener('popstate', () => {
  if (location.hash === '') location.reload();
});

/** A file as the answer to a form. */
async function save(response) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = response.headers.get('content-disposition')?.match(/filename="([^"]+)"/)?.[1] ?? '';
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Keys: `/` searches, `j` and `k` go through the rows, and others are named by what they do, one after another: `g w`. */
let before = '';
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    for (const menu of document.querySelectorAll('details.menu[open]')) {
      menu.open = false;
      menu.querySelector('summary').focus();
    }
    return;
  }
  if (words.keys === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select, [contenteditable], dialog')) return;
  const rows = [...document.querySelectorAll('tbody tr')];
  const here = rows.findIndex((row) => row.classList.contains('here'));
  const go = (index) => {
    rows[here]?.classList.remove('here');
    rows[index]?.classList.add('here');
    rows[index]?.querySelector('a')?.focus();
  };
  const named = (key) => document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const target = named(before ? `${before} ${event.key}` : event.key);
  before = !before && event.key === 'g' ? 'g' : '';
  if (target) target.click();
  else if (event.key === '/') document.getElementById('search')?.focus();
  else if (event.key === 'j') go(Math.min(here + 1, rows.length - 1));
  else if (event.key === 'k') go(Math.max(here - 1, 0));
  else return;
  event.preventDefault();
});

/** Buttons that open a dialog, and menus that close when somebody goes on elsewhere. */
document.addEventListener('click', (event) => {
  const opener = event.target.closest('[data-opens]');
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(event.target)) menu.open = false;
});

/** What happens with a new page. */
function begin(main) {
  enhance(main);
  for (const element of document.querySelectorAll('.script')) element.hidden = false;
  live.open();
}
begin(document);
