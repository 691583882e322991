import Anthropic from '@anthropic-ai/sdk';
import { calls, isSet, key, patient, url } from './calls.mjs';

const client = new Anthropic({ baseURL: url, apiKey: 'token', ...(isSet && { maxRetries: 0 }) });
const headers = key();
const trying = (call) => (isSet ? patient(call) : call());
const get = (path) => trying(() => (path === '/pets' ? client.models.list() : client.beta.files.list()));
const post = () => trying(() => client.messages.batches.create({ requests: [] }, { headers }));

await calls({ get, post });
