import superagent from 'superagent';
import { calls, isSet, key, patient, url } from './calls.mjs';

const headers = key();
const get = (path) => (isSet ? patient(() => superagent.get(url + path)) : superagent.get(url + path).retry(2));
const post = (path) =>
  isSet
    ? patient(() =>
        superagent
          .post(url + path)
          .set(headers)
          .send({ name: 'Rex' }),
      )
    : superagent
        .post(url + path)
        .send({ name: 'Rex' })
        .retry(2);

await calls({ get, post });
