import axios from 'axios';
import { calls, url } from './calls.mjs';

const get = (path) => axios.get(url + path),
  post = (path) => axios.post(url + path, { name: 'Rex' });

await calls({ get, post });
