import axios from 'axios';
import axiosRetry from 'axios-retry';
import { calls, isSet, key, url } from './calls.mjs';

const retryCondition = (error) =>
  axiosRetry.isNetworkError(error) || error.response?.status === 429 || error.response?.status >= 500;
axiosRetry(axios, isSet ? { retryDelay: axiosRetry.exponentialDelay, retryCondition } : {});
const headers = key(),
  get = (path) => axios.get(url + path);
const post = (path) => axios.post(url + path, { name: 'Rex' }, { headers });

await calls({ get, post });
