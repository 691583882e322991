import { GraphQLClient } from 'graphql-request';
import { calls, url } from './calls.mjs';

const client = new GraphQLClient(`${url}/graphql`);
const get = (path) =>
  client.request(path === '/pets' ? 'query Pets { pets { id } }' : 'query Orders { orders { id } }');
const post = () => client.request('mutation AddPet { addPet(name: "Rex") { id } }');

await calls({ get, post });
