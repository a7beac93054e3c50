// Targets and their parameters. Only what is asked for is cut out: building a
// map of all parameters costs more than the whole answer to a sum.

/** Path and query of a target, which may be in absolute form. */
export function split(target) {
  if (target.charCodeAt(0) !== 47) {
    const authority = target.indexOf('://');
    const slash = authority < 0 ? -1 : target.indexOf('/', authority + 3);
    target = slash < 0 ? '/' : target.slice(slash);
  }
  const mark = target.indexOf('?');
  return mark < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
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
