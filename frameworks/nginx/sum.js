// SUM: the integers a and b of the query and the one in the body.

const LIMIT = 9007199254740991;
const HALF = 1e10;
const MAX = [922337203, 6854775807];
const MIN = [922337203, 6854775808];

// An integer as [high, low] of ten digits each, both with its sign; null for
// what is none. This engine's numbers are exact to 53 bits only.
function parse(text) {
    const found = /^([+-]?)0*([0-9]{1,19})$/.exec(text);
    if (!found) {
        return null;
    }
    const sign = found[1] === '-' ? -1 : 1;
    const digits = found[2];
    const cut = Math.max(0, digits.length - 10);
    const pair = [Number(digits.slice(0, cut)), Number(digits.slice(cut))];
    const most = sign < 0 ? MIN : MAX;
    if (above(pair, most)) {
        return null;
    }
    return [sign * pair[0], sign * pair[1]];
}

function above(a, b) {
    return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
}

// The decimal of a sum of pairs; null where 64 bits cannot hold it.
function decimal(high, low) {
    high += Math.trunc(low / HALF);
    low %= HALF;
    // Both halves get the same sign.
    if (high > 0 && low < 0) {
        high -= 1;
        low += HALF;
    } else if (high < 0 && low > 0) {
        high += 1;
        low -= HALF;
    }
    const negative = high < 0 || low < 0;
    const pair = [Math.abs(high), Math.abs(low)];
    if (above(pair, negative ? MIN : MAX)) {
        return null;
    }
    const tail = String(pair[1]);
    const text = pair[0] === 0
        ? tail
        : String(pair[0]) + '0'.repeat(10 - tail.length) + tail;
    return (negative ? '-' : '') + text;
}

// The sum of decimal integers as text; null where one is no integer.
function add(texts) {
    let plain = 0;
    let fits = true;
    for (let i = 0; i < texts.length; i++) {
        fits = fits && /^-?[0-9]{1,15}$/.test(texts[i]);
        plain += fits ? Number(texts[i]) : 0;
    }
    if (fits && Math.abs(plain) <= LIMIT) {
        return String(plain + 0);
    }
    let high = 0;
    let low = 0;
    for (let i = 0; i < texts.length; i++) {
        const pair = parse(texts[i]);
        if (pair === null) {
            return null;
        }
        high += pair[0];
        low += pair[1];
    }
    return decimal(high, low);
}

function answer(r) {
    if (r.method !== 'GET' && r.method !== 'HEAD' && r.method !== 'POST') {
        r.headersOut.Allow = 'GET, HEAD, POST';
        r.return(405);
        return;
    }
    // A parameter that comes twice is an array, and no integer.
    const texts = [String(r.args.a), String(r.args.b)];
    if (r.method === 'POST') {
        texts.push((r.requestText || '').trim());
    }
    const sum = add(texts);
    if (sum === null) {
        r.return(400);
        return;
    }
    r.headersOut['Content-Type'] = 'text/plain';
    r.return(200, sum);
}

export default {answer, add};
