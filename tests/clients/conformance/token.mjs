// Shows a token with every request of the suite, which has no option for one.
// MILEPOST_TOKEN is the token; it runs before the suite, in the folder that has its packages.

import http from 'node:http';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const { getGlobalDispatcher, setGlobalDispatcher } = createRequire(join(process.cwd(), 'x'))('undici');
const authorization = `Bearer ${process.env.MILEPOST_TOKEN}`;

/** The headers of a request with one more, in whatever form they are. */
function withToken(headers) {
  if (Array.isArray(headers)) return [...headers, 'authorization', authorization];
  if (typeof headers?.[Symbol.iterator] === 'function') {
    return { ...Object.fromEntries(headers), authorization };
  }
  return { ...headers, authorization };
}

// The `fetch` of Node asks the same dispatcher.
setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (options, handler) => {
    return dispatch({ ...options, headers: withToken(options.headers) }, handler);
  }),
);

// Where the suite needs its own spelling of headers, it asks without a dispatcher.
const { request } = http;
http.request = (...given) => {
  const options = given.find((one) => typeof one === 'object' && !(one instanceof URL));
  if (options !== undefined) options.headers = withToken(options.headers);
  return request(...given);
};
syncBuiltinESMExports();
