// What makes the console quicker for those who have scripts. Everything works without.
'use strict';

const rows = () => [...document.querySelectorAll('tbody tr')];
const typing = (element) => element.closest('input, textarea, select, [contenteditable]') !== null;

/** `/` searches, `j` and `k` go through the rows, Enter opens one. */
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const all = rows();
  const here = all.findIndex((row) => row.classList.contains('here'));
  const go = (index) => {
    all[here]?.classList.remove('here');
    all[index]?.classList.add('here');
    all[index]?.querySelector('a')?.focus();
  };
  switch (event.key) {
    case '/':
      document.getElementById('search')?.focus();
      break;
    case 'j':
      go(Math.min(here + 1, all.length - 1));
      break;
    case 'k':
      go(Math.max(here - 1, 0));
      break;
    default:
      return;
  }
  event.preventDefault();
});

/** What is to be copied gets a button for it. */
for (const element of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'link';
  button.textContent = document.documentElement.lang === 'de' ? 'Kopieren' : 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = document.documentElement.lang === 'de' ? 'Kopiert' : 'Copied';
  });
  element.after(' ', button);
}

/** The key of a link stands behind its #, so that no log of requests contains it. */
for (const field of document.querySelectorAll('[data-from-fragment]')) {
  if (location.hash.length > 1) {
    field.value = location.hash.slice(1);
    history.replaceState(null, '', location.pathname);
  }
}

/** Filters are sent without what is empty, so that addresses stay short. */
for (const form of document.querySelectorAll('form.filters')) {
  form.addEventListener('submit', () => {
    for (const field of form.elements) if (field.name && field.value === '') field.disabled = true;
  });
}

/** What is live is drawn again every two seconds, unless somebody is busy in it. */
for (const region of document.querySelectorAll('[data-live]')) {
  let shown = region;
  setInterval(async () => {
    if (document.hidden || shown.contains(document.activeElement) || !document.getSelection().isCollapsed) return;
    const response = await fetch(location.href).catch(() => null);
    if (!response?.ok || response.redirected) return;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-live]');
    if (!fresh || fresh.dataset.live === shown.dataset.live) return;
    const open = [...shown.querySelectorAll('details')].map((details) => details.open);
    fresh.querySelectorAll('details').forEach((details, index) => { if (open.length > index) details.open = open[index]; });
    shown.replaceWith(document.adoptNode(fresh));
    shown = fresh;
  }, 2000);
}
