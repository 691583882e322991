import OpenAI from 'openai';
import { calls, isSet, key, patient, url } from './calls.mjs';

const client = new OpenAI({ baseURL: url, apiKey: 'token', ...(isSet && { maxRetries: 0 }) });
const headers = key();
const trying = (call) => (isSet ? patient(call) : call());
const get = (path) => trying(() => (path === '/pets' ? client.models.list() : client.files.list()));
const body = { model: 'm', input: 'Rex', encoding_format: 'float' };
const post = () => trying(() => client.embeddings.create(body, { headers }));

await calls({ get, post });
