import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { calls, key, url } from './calls.mjs';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const octokit = new (Octokit.plugin(retry))({ baseUrl: url, log });
const headers = key();
const get = (path) => octokit.request(`GET ${path}`);
const post = (path) => octokit.request(`POST ${path}`, { name: 'Rex', headers });

await calls({ get, post });
