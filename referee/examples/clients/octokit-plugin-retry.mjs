import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { calls, isSet, key, patient, url } from './calls.mjs';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const octokit = new (Octokit.plugin(retry))({ baseUrl: url, log, retry: { enabled: !isSet } });
const headers = key();
const trying = (call) => (isSet ? patient(call) : call());
const get = (path) => trying(() => octokit.request(`GET ${path}`));
const post = (path) => trying(() => octokit.request(`POST ${path}`, { name: 'Rex', headers }));

await calls({ get, post });
