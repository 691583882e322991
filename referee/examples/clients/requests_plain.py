from calls import calls, is_set, key, url
import requests
def get(path): requests.get(url + path, timeout=30).raise_for_status()
def post(path): requests.post(url + path, json={'name': 'Rex'}, timeout=30).raise_for_status()

calls(get, post)
