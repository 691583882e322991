import OpenAI from 'openai';
import { calls, key, url } from './calls.mjs';

const client = new OpenAI({ baseURL: url, apiKey: 'token' }),
  headers = key();
const get = (path) => (path === '/pets' ? client.models.list() : client.files.list());
const post = () => client.embeddings.create({ model: 'm', input: 'Rex', encoding_format: 'float' }, { headers });

await calls({ get, post });
