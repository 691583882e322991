from calls import calls, is_set, key, url
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry
session = requests.Session()
more = dict(backoff_factor=0.2, allowed_methods=None, status_forcelist=[429, 500, 503]) if is_set else dict(status_forcelist=[429, 500, 503], allowed_methods=None)
session.mount('http://', HTTPAdapter(max_retries=Retry(3, **more)))
def get(path): session.get(url + path, timeout=30).raise_for_status()
def post(path): session.post(url + path, json={'name': 'Rex'}, headers=key, timeout=30).raise_for_status()

calls(get, post)
