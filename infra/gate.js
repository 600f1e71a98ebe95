// What every request meets first: CloudFront Functions, JavaScript runtime 2.0, viewer request.
//
// Public keys stay absent from the bucket until a promotion is live, so a request that passes through is a
// genuine miss before go-live. Whatever the store does (it throws, is empty, lags), the answer may come late,
// never early. The store's keys:
//   a:<prefix>         -> another prefix; once, before all else; `prefix` has at most MAX_ALIAS_SEGMENTS
//   d:<folder>         -> anything: the folder has an index page ("d:" alone is the root)
//   p:<public key>     -> id of the promotion that brings this key
//   s:<promotion id>   -> "live" or "withdrawn"; anything else hides
// No prefix, folder or key here begins or ends with a slash.
import cf from 'cloudfront';

const store = cf.kvs();

const PENDING = '_pending';
// No public key contains "~", so this one never exists. It is asked for all the same: a hidden thing and an
// absent one get the same answer from the same place.
const NOWHERE = '/~';
// S3 keys have at most 1,024 bytes, each of which can be spelled as three characters.
const MAX_URI = 3 * 1024 + 1;
const MAX_KEY = 480;
const MAX_ALIAS_SEGMENTS = 3;
const KEY = /^[A-Za-z0-9._+-]+(\/[A-Za-z0-9._+-]+)*$/;
const DOTS = /(^|\/)\.\.?(\/|$)/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;

async function handler(event) {
  const request = event.request;
  if (request.uri.length > MAX_URI) {
    return send(request, NOWHERE);
  }
  const path = decode(request.uri);
  if (isPending(path)) {
    return send(request, NOWHERE);
  }
  const isFolder = path.charAt(path.length - 1) === '/';
  const name = path.slice(1, isFolder && path !== '/' ? -1 : undefined);
  if (request.uri.charAt(0) !== '/' || (path !== '/' && !isKey(name))) {
    // It cannot be in the store, and what it means is the bucket's business.
    return request;
  }
  const target = await follow(name);
  if (isPending(target)) {
    return send(request, NOWHERE);
  }
  if (isFolder) {
    return openFolder(request, target);
  }
  return openFile(request, name, target);
}

async function openFolder(request, folder) {
  const below = folder === '' ? '/' : '/' + spell(folder) + '/';
  const hasIndex = await read('d:' + folder);
  if (hasIndex === undefined) {
    return send(request, below);
  }
  const page = folder === '' ? 'index.html' : folder + '/index.html';
  const id = await read('p:' + page);
  const listed = await answer(request, page, id);
  return listed || send(request, below + 'index.html');
}

async function openFile(request, name, key) {
  const id = await read('p:' + key);
  if (id !== undefined) {
    const listed = await answer(request, key, id);
    return listed || send(request, '/' + spell(key));
  }
  const hasIndex = await read('d:' + key);
  if (hasIndex !== undefined) {
    return {
      statusCode: 301,
      statusDescription: 'Moved Permanently',
      headers: {
        location: { value: '/' + spell(name) + '/' },
        'cache-control': { value: 'public, max-age=300' },
      },
    };
  }
  return send(request, '/' + spell(key === '' ? name : key));
}

// The gate itself: what a listed key answers, or undefined where the promotion is not (or no longer) of interest.
async function answer(request, key, id) {
  if (id === undefined || !ID.test(id)) {
    return undefined;
  }
  const state = await read('s:' + id);
  if (state === 'live') {
    return send(request, '/' + PENDING + '/' + id + '/' + spell(key));
  }
  if (state === 'withdrawn') {
    return { statusCode: 410, statusDescription: 'Gone', headers: { 'cache-control': { value: 'no-store' } } };
  }
  return undefined;
}

// The longest alias wins. One that leads to no possible key is ignored.
async function follow(name) {
  const segments = name === '' ? [] : name.split('/');
  for (let count = Math.min(segments.length, MAX_ALIAS_SEGMENTS); count > 0; count--) {
    const prefix = await read('a:' + segments.slice(0, count).join('/'));
    if (prefix !== undefined) {
      const parts = [prefix.replace(/^\/+|\/+$/g, '')].concat(segments.slice(count));
      const target = parts.filter((part) => part !== '').join('/');
      return target === '' || isKey(target) ? target : name;
    }
  }
  return name;
}

// A missing key and a store in trouble fail alike, and are treated alike: as not listed.
async function read(key) {
  try {
    const value = await store.get(key);
    return typeof value === 'string' ? value : undefined;
  } catch (error) {
    return undefined;
  }
}

// Once, as S3 does, and byte by byte: a stray "%" or bytes beyond ASCII stay what no key contains, and nothing throws.
function decode(uri) {
  return uri.replace(/%[0-9A-Fa-f]{2}/g, (code) => String.fromCharCode(parseInt(code.slice(1), 16)));
}

// Stricter than S3, which takes dots and empty segments literally: no reading of a path may lead there.
function isPending(path) {
  const segments = [];
  const all = path.split(/[\/\\]/);
  for (let index = 0; index < all.length; index++) {
    if (all[index] === '..') {
      segments.pop();
    } else if (all[index] !== '' && all[index] !== '.') {
      segments.push(all[index]);
    }
    if (segments[0] === PENDING) {
      return true;
    }
  }
  return false;
}

function isKey(name) {
  return name.length <= MAX_KEY && KEY.test(name) && !DOTS.test(name);
}

// One spelling for each key, so that caching and invalidation see one URL. S3 takes "+" for a blank.
function spell(key) {
  return key.replace(/\+/g, '%2B');
}

function send(request, uri) {
  request.uri = uri;
  return request;
}
