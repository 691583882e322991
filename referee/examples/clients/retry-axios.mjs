import axios from 'axios';
import * as rax from 'retry-axios';
import { calls, isSet, key, url } from './calls.mjs';

rax.attach();
const statusCodesToRetry = [
  [429, 429],
  [500, 599],
];
const raxConfig = isSet ? { httpMethodsToRetry: ['GET', 'POST'], statusCodesToRetry, noResponseRetries: 3 } : {};
const headers = key();
const get = (path) => axios.get(url + path, { raxConfig });
const post = (path) => axios.post(url + path, { name: 'Rex' }, { headers, raxConfig });

await calls({ get, post });
