from calls import calls, is_set, key, url
import json, urllib3
pool = urllib3.PoolManager(retries=urllib3.Retry(3, backoff_factor=0.2, allowed_methods=None, status_forcelist=[500, 503])) if is_set else urllib3.PoolManager()
def send(method, path, **more):
    answer = pool.request(method, url + path, enforce_content_length=True, **more)
    if answer.status >= 400: raise Exception(answer.status)
    return json.loads(answer.data)
def get(path): return send('GET', path)
def post(path): return send('POST', path, body=json.dumps({'name': 'Rex'}), headers={'Content-Type': 'application/json', **key})

calls(get, post)
