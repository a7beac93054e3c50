// Targets and their parameters. Only what is asked for is cut out: building a
// map of all parameters costs more than the whole answer to a sum.

/** Path and query of a request's address, which Bun gives whole. */
export function split(address) {
  const path = address.indexOf('/', address.indexOf('://') + 3);
  const mark = address.indexOf('?', path);
  return mark < 0
    ? { path: address.slice(path), query: '' }
    : { path: address.slice(path, mark), query: address.slice(mark + 1) };
}

/** The first value of a parameter, decoded, or undefined. */
export function param(query, name) {
  let from = 0;
  while (from < query.length) {
    let to = query.indexOf('&', from);
    if (to < 0) to = query.length;
    const equals = from + name.length;
    if (query.startsWith(name, from) && (equals === to || query[equals] === '=')) {
      return decoded(query.slice(equals + 1, to));
    }
    from = to + 1;
  }
  return undefined;
}

function decoded(text) {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
