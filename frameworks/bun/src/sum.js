// Sums of signed 64-bit integers. Below 2^53 a number is exact and quick; what
// is longer is added as BigInt.

const SHORT = /^[+-]?\d{1,15}$/;
const LONG = /^[+-]?\d{1,40}$/;

/** The decimal sum, or null where a term or the sum is no 64-bit integer. */
export function sum(terms) {
  let total = 0;
  for (const term of terms) {
    if (term === undefined || !SHORT.test(term)) return long(terms);
    total += Number(term);
  }
  return String(total);
}

function long(terms) {
  let total = 0n;
  for (const term of terms) {
    if (term === undefined || !LONG.test(term)) return null;
    const value = BigInt(term.startsWith('+') ? term.slice(1) : term);
    if (!fits(value)) return null;
    total += value;
  }
  return fits(total) ? String(total) : null;
}

function fits(value) {
  return BigInt.asIntN(64, value) === value;
}
